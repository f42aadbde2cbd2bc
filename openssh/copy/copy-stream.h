/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef COPY_STREAM_H
#define COPY_STREAM_H

#include <sys/types.h>

#include <stdint.h>

#include "openbsd-compat/sys-tree.h"

struct item;
struct request;
struct sftp_conn;
struct sshbuf;

/*
 * A stream is an sftp session that never waits: requests go into a buffer, and
 * each reply is handed to the request that it answers.
 */

/* Most streams of a copy */
#define COPY_STREAMS	8

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

/* Takes the reply to a request. Never waits. */
typedef void copy_got(struct request *req, struct reply *reply);

/* A request that has not been answered */
struct request {
	RB_ENTRY(request) entry;
	u_int id;
	u_char want;		/* type of the reply, if nothing goes wrong */
	struct item *item;	/* what it is for */
	u_int *inflight;	/* counts its requests without a reply */
	struct stream *stream;
	size_t at;		/* its offset in stream->out, at first */
	uint64_t offset;	/* of a READ or WRITE, in bytes */
	size_t len;		/* bytes of data that it asks for or sends */
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
	int vital;		/* 1: its loss is fatal */
	enum stream_state state;
	struct sshbuf *out;	/* requests that are not sent yet */
	u_char *in;		/* STREAM_IN bytes: replies not handled yet */
	size_t in_at, in_end;	/* offsets of the first byte and the end */
	struct requests_by_id requests;
	u_int outstanding;	/* number of requests without a reply */
	uint64_t ahead;		/* bytes of its files, not requested yet */
	double since_s;		/* when it was started, or last sent anything */
	struct sftp_conn *limited;	/* whose limit (-l) counts for it */
	int careful;		/* 1: a CLOSE waits for what is before it */
};

/*
 * Makes a stream of a session. Its descriptors do not block until
 * stream_free(). One that is not vital sends INIT, and is open once its server
 * has introduced itself.
 */
struct stream *stream_new(struct sftp_conn *conn, u_int index, int vital);

/* Frees a stream, which has no outstanding requests. NULL is fine. */
void	 stream_free(struct stream *s);

/*
 * Makes the request that is composed next, for an item, and counts it in
 * *inflight until its reply is there, which has the type `want` or is a STATUS.
 * Returns the request.
 */
struct request *stream_request(struct stream *s, struct item *item,
	    u_int *inflight, u_char want, copy_got *got);

/* Drops a request that is not sent. */
void	 stream_cancel(struct request *req);

/* Notes that a request is for len bytes from an offset. */
void	 stream_data(struct request *req, uint64_t offset, size_t len);

/* Sends as much as the descriptor takes. Returns 0, or -1 if it was lost. */
int	 stream_write(struct stream *s);

/*
 * Receives what there is, once, and hands over the replies. Returns 0, or -1 if
 * the stream was lost.
 */
int	 stream_read(struct stream *s);

/* Returns the bytes that wait to be sent. */
size_t	 stream_unsent(const struct stream *s);

/*
 * Notes that the stream can't be used any more, for a reason (NULL: none that
 * has to be told). Answers all outstanding requests with `lost` set.
 */
void	 stream_lose(struct stream *s, const char *why);

#endif /* COPY_STREAM_H */
