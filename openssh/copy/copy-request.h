/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef COPY_REQUEST_H
#define COPY_REQUEST_H

#include "copy-stream.h"

/* By which a server knows what it has opened; p is NULL if there is none. */
struct handle {
	u_char *p;
	size_t len;
};

/* Keeps the handle that a reply has. */
void	 handle_take(struct handle *h, const struct reply *reply);

/* Frees a handle, if there is one. */
void	 handle_free(struct handle *h);

/* What a request has behind its id, in this order: 0 if its type has none */
struct body {
	const char *extension;	/* name of an EXTENDED request */
	const char *path;	/* either this, */
	const struct handle *h;	/* or this */
	u_int flags;		/* SSH2_FXF_*: of an OPEN */
	const Attrib *a;	/* of an OPEN (NULL: none), or to be set */
	uint64_t offset;	/* of a READ, WRITE or check-file-handle */
	size_t len;		/* bytes from there */
	const u_char *data;	/* len bytes, of a WRITE */
};

/*
 * Appends a request of a type to what the stream sends, for an item whose
 * got() takes the reply, and counts it in item->inflight. Neither waits nor
 * fails.
 */
void	 copy_send(struct stream *s, struct item *item, u_char type,
	    copy_got *got, const struct body *b);

/*
 * The same for a WRITE of up to len bytes of a local file, from an offset.
 * Returns the bytes that it had, 0 at its end: then nothing is sent. Returns -1
 * with errno set if they could not be read.
 */
ssize_t	 copy_send_file(struct stream *s, struct item *item, copy_got *got,
	    const struct handle *h, uint64_t offset, int fd, size_t len);

#endif /* COPY_REQUEST_H */
