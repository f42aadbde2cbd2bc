/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef COPY_STREAM_H
#define COPY_STREAM_H

#include "openbsd-compat/sys-tree.h"

#include "copy-item.h"

/*
 * A stream is an sftp session that never waits: requests go into a buffer, and
 * each reply is handed to the request that it answers.
 */

/* A server's name for what it has opened; p is NULL if there is none. */
struct handle {
	u_char *p;
	size_t len;
};

/* A reply, taken apart */
struct reply {
	u_char type;		/* SSH2_FXP_* */
	u_int status;		/* SSH2_FX_*; OK if the type is not STATUS */
	const u_char *data;	/* the handle, or what was read */
	size_t len;		/* bytes of data */
	Attrib a;		/* if the type is ATTRS */
	struct sshbuf *m;	/* the rest of NAME and EXTENDED_REPLY */
	int lost;		/* 1: the stream ended before the reply came */
};

struct request;

/* Takes the reply to a request. Never waits. */
typedef void copy_got(struct request *req, struct reply *reply);

/* A request that has not been answered */
struct request {
	RB_ENTRY(request) entry;
	u_int id;
	u_char want;		/* type of the reply, if nothing goes wrong */
	struct item *item;	/* what it is for */
	struct stream *stream;
	size_t at;		/* its offset in stream->out, at first */
	uint64_t offset;	/* of a READ or WRITE, in bytes */
	size_t len;		/* bytes of data that it asks for or sends */
	u_int others;		/* handles open when this OPEN was sent */
	double sent_s;		/* when it was made */
	copy_got *got;		/* the request is freed afterwards */
};

RB_HEAD(requests_by_id, request);

enum stream_state {
	STREAM_OPENING,		/* its server has not introduced itself */
	STREAM_UNCHECKED,	/* it may not have the same files */
	STREAM_UP,
	STREAM_LOST
};

struct stream {
	struct sftp_conn *conn;
	u_int index;		/* in copy->streams */
	int primary;		/* 1: its loss is fatal */
	enum stream_state state;
	struct sshbuf *out;	/* requests that are not sent yet */
	u_char *in;		/* STREAM_IN bytes: replies not handled yet */
	size_t in_at, in_end;	/* offsets of the first byte and the end */
	struct requests_by_id requests;
	u_int outstanding;	/* number of requests without a reply */
	u_int handles;		/* that it has asked for, or has */
	u_int granted;		/* that it has */
	u_int proven;		/* most of these at a time */
	uint64_t unrequested;	/* bytes of the files that began on it */
	double since_s;		/* when it was started, or last sent anything */
	struct sftp_conn *limited;	/* whose limit (-l) counts for it */
	int close_late;		/* 1: a CLOSE waits for what is before it */
};

/*
 * Makes a stream of a session. Its descriptors do not block until
 * stream_free(). One that is not primary sends INIT, and is open once its
 * server has introduced itself.
 */
struct stream *stream_new(struct sftp_conn *conn, u_int index, int primary);

/* Frees a stream, which has no outstanding requests. NULL is fine. */
void	 stream_free(struct stream *s);

/* Sends as much as the descriptor takes. Returns 0, or -1 if it was lost. */
int	 stream_write(struct stream *s);

/*
 * Receives what there is, once, and hands over the replies. Returns 0, or -1 if
 * the stream was lost.
 */
int	 stream_read(struct stream *s);

/*
 * Notes that the stream can't be used any more, for a reason (NULL: none that
 * has to be told). Answers all outstanding requests with `lost` set.
 */
void	 stream_lose(struct stream *s, const char *why);

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
 * Returns the bytes that it had. If that is 0, at its end, or -errno, as they
 * could not be read, nothing is sent.
 */
ssize_t	 copy_send_file(struct stream *s, struct item *item, copy_got *got,
	    const struct handle *h, uint64_t offset, int fd, size_t len);

/*
 * copy-more.c: further streams of a connection (-X streams=N). They are started
 * for the first copy that has a use for them, and serve later ones. Each is
 * used once it has been shown to have the same files as the primary. Whatever
 * goes wrong with one, the copy goes on without it.
 */

/* Returns what starts them, or NULL if no program was noted. */
struct copy_more *copy_more_new(void);

/* Ends them; NULL is fine. */
void	 copy_more_free(struct copy_more *more);

/*
 * Starts those that are missing, if the copy has a use for them, leaves out
 * those that are late, and begins to check those that are open.
 */
void	 copy_more_tend(struct copy *copy);

#endif /* COPY_STREAM_H */
