/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef COPY_STREAM_H
#define COPY_STREAM_H

#include "openbsd-compat/sys-tree.h"

#include "copy-item.h"

/* A stream is an sftp session that never blocks: requests are buffered. */

/* A server's name for an open file. `p` is NULL if none is open. */
struct handle {
	u_char *p;
	size_t len;
};

/* A parsed reply */
struct reply {
	u_char type;		/* SSH2_FXP_* */
	u_int status;		/* SSH2_FX_*; OK if the type is not STATUS */
	const u_char *data;	/* the handle, or the data read */
	size_t len;		/* bytes of data */
	Attrib a;		/* if the type is ATTRS */
	struct sshbuf *m;	/* the rest of NAME and EXTENDED_REPLY */
	int lost;		/* 1: the stream ended before the reply came */
};

struct request;

/* Handles the reply to a request. Never blocks. */
typedef void copy_got(struct request *req, struct reply *reply);

/* An outstanding request */
struct request {
	RB_ENTRY(request) entry;
	u_int id;
	u_char want;		/* type of the reply on success */
	struct item *item;	/* for which it was sent */
	struct stream *stream;
	size_t at;		/* its offset in stream->out when it was made */
	uint64_t offset;	/* of a READ or WRITE, in bytes */
	size_t len;		/* bytes of data to read or to write */
	double sent_s;		/* time when it was made */
	copy_got *got;		/* called before the request is freed */
};

RB_HEAD(requests_by_id, request);

enum stream_state {
	STREAM_OPENING,		/* waits for SSH_FXP_VERSION */
	STREAM_UNCHECKED,	/* its server may not have the same files */
	STREAM_UP,
	STREAM_LOST
};

struct stream {
	struct sftp_conn *conn;
	struct copy *copy;	/* of a primary, whose loss is fatal, or NULL */
	u_int index;		/* in copy->streams */
	enum stream_state state;
	struct sshbuf *out;	/* unsent requests */
	u_char *in;		/* STREAM_IN bytes: unhandled replies */
	size_t in_at, in_end;	/* offsets of the first byte and the end */
	struct requests_by_id requests;
	u_int outstanding;	/* number of requests without a reply */
	uint64_t unrequested;	/* bytes of the files that began on it */
	double since_s;		/* time of its start, or of its last data */
	struct sftp_conn *limited;	/* session with its limit (-l) */
	int close_late;		/* 1: a CLOSE waits for earlier replies */
};

/*
 * Returns the stream of a session: the primary of `copy`, or, if that is NULL,
 * an additional one, which sends SSH_FXP_INIT and is open when its server has
 * sent SSH_FXP_VERSION. The descriptors do not block until stream_free().
 */
struct stream *stream_new(struct sftp_conn *conn, u_int index,
	    struct copy *copy);

/* Frees a stream without outstanding requests. */
void	 stream_free(struct stream *s);

/*
 * Sends what the descriptor accepts, or receives available data once and
 * handles the replies. Returns 0, or -1 if the stream was lost.
 */
int	 stream_write(struct stream *s);
int	 stream_read(struct stream *s);

/*
 * Records that the stream is lost, and prints the reason `why` unless it is
 * NULL. Answers all outstanding requests with `lost` set.
 */
void	 stream_lose(struct stream *s, const char *why);

/*
 * Handles an error of a stream's server, with the reason: fatal if the stream
 * is primary, else the stream is lost. Returns -1.
 */
int	 stream_fail(struct stream *s, const char *fmt, ...)
	    __attribute__((format(printf, 2, 3)));

/* Stores the handle of a reply, or frees a handle, if there is one. */
void	 handle_take(struct handle *h, const struct reply *reply);
void	 handle_free(struct handle *h);

/* The fields of a request after its id, in order. Unused ones are 0. */
struct body {
	const char *extension;	/* name of an EXTENDED request */
	const char *path;	/* NULL if `h` is used */
	const struct handle *h;	/* NULL if `path` is used */
	u_int flags;		/* SSH2_FXF_*: of an OPEN */
	const Attrib *a;	/* of an OPEN or SETSTAT; NULL: none */
	uint64_t offset;	/* of a READ, WRITE or check-file-handle */
	size_t len;		/* bytes from `offset` on */
	const u_char *data;	/* `len` bytes, of a WRITE */
};

/*
 * Appends a request of `type` for `item` to the stream's send buffer, and
 * counts it in item->inflight. `got` handles the reply. Never blocks or fails.
 */
void	 copy_send(struct stream *s, struct item *item, u_char type,
	    copy_got *got, const struct body *b);

/*
 * The same for a WRITE of up to `len` bytes of a local file, from `offset` on.
 * Returns the number of bytes read. If this is 0 (end of file) or -errno (read
 * error), nothing is sent.
 */
ssize_t	 copy_send_file(struct stream *s, struct item *item, copy_got *got,
	    const struct handle *h, uint64_t offset, int fd, size_t len);

/*
 * copy-more.c: additional streams of a connection (-X streams=N). They are
 * started for the first copy that can use them, and serve later copies. Each is
 * used after a check that its server has the same files as the primary's. If
 * one fails, the copy continues without it.
 */

/* Returns the streams' state, or NULL without an earlier copy_program*(). */
struct copy_more *copy_more_new(void);

/* Ends the streams and frees their state. NULL is fine. */
void	 copy_more_free(struct copy_more *more);

/* Starts missing streams if useful, drops late ones, and checks open ones. */
void	 copy_more_tend(struct copy *copy);

/* Returns 1 if two files may be the same, by the known attributes of a. */
int	 copy_more_is_same(const Attrib *a, const Attrib *b);

#endif /* COPY_STREAM_H */
