/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "misc.h"
#include "progressmeter.h"
#include "sshbuf.h"
#include "ssherr.h"
#include "xmalloc.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-conn.h"
#include "copy-ahead.h"
#include "copy-stream.h"

/* Bytes of the buffer for replies: a message of any length fits twice */
#define STREAM_IN	(2 * (SFTP_MAX_MSG_LENGTH + 4))

/* Bytes to receive at once while there is a limit (-l) */
#define LIMITED_READ	(16 * 1024)

/* If this many bytes of a message are missing, no more are received. */
#define MISSING_LARGE	(16 * 1024)

static int
by_id(const struct request *a, const struct request *b)
{
	return a->id < b->id ? -1 : a->id > b->id;
}

RB_GENERATE_STATIC(requests_by_id, request, entry, by_id)

/* Sends INIT. */
static void
introduce(struct stream *s)
{
	int r;

	s->state = STREAM_OPENING;
	if ((r = sshbuf_put_u32(s->out, 1 + 4)) != 0 ||
	    (r = sshbuf_put_u8(s->out, SSH2_FXP_INIT)) != 0 ||
	    (r = sshbuf_put_u32(s->out, SSH2_FILEXFER_VERSION)) != 0)
		fatal_fr(r, "compose");
}

struct stream *
stream_new(struct sftp_conn *conn, u_int index, int vital)
{
	struct stream *s = xcalloc(1, sizeof(*s));

	s->conn = conn;
	s->index = index;
	s->vital = vital;
	s->state = STREAM_UP;
	s->limited = conn;
	if ((s->out = sshbuf_new()) == NULL)
		fatal_f("sshbuf_new failed");
	s->in = xmalloc(STREAM_IN);
	RB_INIT(&s->requests);
	set_nonblock(conn->fd_in);
	set_nonblock(conn->fd_out);
	if (!vital)
		introduce(s);
	return s;
}

void
stream_free(struct stream *s)
{
	if (s == NULL)
		return;
	if (s->state != STREAM_LOST) {
		unset_nonblock(s->conn->fd_in);
		unset_nonblock(s->conn->fd_out);
	}
	sshbuf_free(s->out);
	free(s->in);
	free(s);
}

struct request *
stream_request(struct stream *s, struct item *item, u_int *inflight,
    u_char want, copy_got *got)
{
	struct request *req = xcalloc(1, sizeof(*req));

	req->id = s->conn->msg_id++;
	req->want = want;
	req->item = item;
	req->inflight = inflight;
	(*inflight)++;
	req->stream = s;
	req->got = got;
	req->sent_s = monotime_double();
	if (RB_INSERT(requests_by_id, &s->requests, req) != NULL)
		fatal_f("two requests with the id %u", req->id);
	s->outstanding++;
	sftp_inflight_ask(&s->conn->depth, 0);
	return req;
}

void
stream_data(struct request *req, uint64_t offset, size_t len)
{
	struct sftp_inflight *depth = &req->stream->conn->depth;

	sftp_inflight_end(depth, req->len);
	sftp_inflight_ask(depth, len);
	req->offset = offset;
	req->len = len;
}

/* Takes a request out of those that wait for a reply. */
static void
request_end(struct request *req)
{
	struct stream *s = req->stream;

	RB_REMOVE(requests_by_id, &s->requests, req);
	s->outstanding--;
	(*req->inflight)--;
	sftp_inflight_end(&s->conn->depth, req->len);
}

/* Hands the reply to a request over. */
static void
request_answer(struct request *req, struct reply *reply)
{
	request_end(req);
	req->got(req, reply);
	free(req);
}

void
stream_cancel(struct request *req)
{
	request_end(req);
	free(req);
}

void
stream_lose(struct stream *s, const char *why)
{
	struct reply reply = { .type = SSH2_FXP_STATUS,
	    .status = SSH2_FX_CONNECTION_LOST, .lost = 1 };
	struct request *req;

	if (s->state == STREAM_LOST)
		return;
	if (why != NULL)
		debug("stream %u is not used: %s", s->index, why);
	s->state = STREAM_LOST;
	close(s->conn->fd_in);
	if (s->conn->fd_out != s->conn->fd_in)
		close(s->conn->fd_out);
	while ((req = RB_MIN(requests_by_id, &s->requests)) != NULL)
		request_answer(req, &reply);
}

/*
 * A stream can't go on: the end of a further stream, for the reason why, or
 * else fatal, with a message. Returns -1.
 */
static int
broken(struct stream *s, const char *why, const char *fmt, ...)
{
	va_list args;
	char *message;

	if (s->vital) {
		va_start(args, fmt);
		xvasprintf(&message, fmt, args);
		va_end(args);
		fatal("%s", message);
	}
	stream_lose(s, why);
	return -1;
}

size_t
stream_unsent(const struct stream *s)
{
	return sshbuf_len(s->out);
}

/* Shows progress, and waits if there is a limit (-l). */
static void
moved(struct stream *s, struct bwlimit *limit, size_t len)
{
	refresh_progress_meter(0);
	if (s->limited->limit_kbps > 0)
		bandwidth_limit(limit, len);
}

/*
 * As write(2). Without a further stream the copy goes on: it is a socket, and
 * its end must not raise a signal.
 */
static ssize_t
send_bytes(const struct stream *s, const void *p, size_t len)
{
#ifdef MSG_NOSIGNAL
	if (!s->vital)
		return send(s->conn->fd_out, p, len, MSG_NOSIGNAL);
#endif
	return write(s->conn->fd_out, p, len);
}

int
stream_write(struct stream *s)
{
	ssize_t n;
	int r;

	while (sshbuf_len(s->out) != 0) {
		n = send_bytes(s, sshbuf_ptr(s->out),
		    s->conn->limit_kbps == 0 ? sshbuf_len(s->out) :
		    MINIMUM(sshbuf_len(s->out), LIMITED_READ));
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return 0;
		if (n == -1)
			return broken(s, "it takes no more",
			    "Couldn't send packet: %s", strerror(errno));
		if ((r = sshbuf_consume(s->out, n)) != 0)
			fatal_fr(r, "consume");
		moved(s, &s->limited->bwlimit_out, n);
	}
	return 0;
}

/* Returns the name of a type of replies. */
static const char *
type_name(u_char type)
{
	static const char *const names[] = {
		"STATUS", "HANDLE", "DATA", "NAME", "ATTRS"
	};

	return type == SSH2_FXP_EXTENDED_REPLY ? "EXTENDED_REPLY" :
	    names[type - SSH2_FXP_STATUS];
}

/* Takes apart what follows the id. Returns 0, or -1 if it is malformed. */
static int
parse(const struct request *req, struct sshbuf *m, struct reply *reply)
{
	int r = 0;

	reply->m = m;
	if (reply->type == SSH2_FXP_STATUS) {
		r = sshbuf_get_u32(m, &reply->status);
		/* A status can't stand for what was asked for. */
		if (reply->status == SSH2_FX_OK &&
		    req->want != SSH2_FXP_STATUS &&
		    req->want != SSH2_FXP_NAME)
			reply->status = SSH2_FX_FAILURE;
	} else if (reply->type != req->want)
		return -1;
	else if (reply->type == SSH2_FXP_HANDLE ||
	    reply->type == SSH2_FXP_DATA)
		r = sshbuf_get_string_direct(m, &reply->data, &reply->len);
	else if (reply->type == SSH2_FXP_ATTRS)
		r = decode_attrib(m, &reply->a);
	return r == 0 ? 0 : -1;
}

/*
 * Takes the message by which the server introduces itself. Returns 0, or -1 if
 * the stream was lost.
 */
static int
introduced(struct stream *s, const u_char *p, size_t len)
{
	if (len < 1 + 4 || p[0] != SSH2_FXP_VERSION ||
	    PEEK_U32(p + 1) != s->conn->version) {
		stream_lose(s, "its server is another one");
		return -1;
	}
	s->state = STREAM_UNCHECKED;
	return 0;
}

/* Hands a message of len bytes over. Returns 0, or -1 if it was lost. */
static int
hand_over(struct stream *s, const u_char *p, size_t len)
{
	static const char bad[] = "it sent a bad reply";
	struct request find = { .id = 0 }, *req;
	struct reply reply;
	struct sshbuf *m;
	int r = 0;

	if (s->state == STREAM_OPENING)
		return introduced(s, p, len);
	memset(&reply, 0, sizeof(reply));
	if ((m = sshbuf_from(p, len)) == NULL)
		fatal_f("sshbuf_from failed");
	/* Nobody has asked for what was sent ahead. */
	if (copy_ahead_keep(s->conn, m)) {
		sshbuf_free(m);
		return 0;
	}
	if (sshbuf_get_u8(m, &reply.type) != 0 ||
	    sshbuf_get_u32(m, &find.id) != 0)
		r = broken(s, bad, "Received message too short %zu", len);
	else if ((req = RB_FIND(requests_by_id, &s->requests, &find)) == NULL)
		r = broken(s, bad, "Unexpected reply %u", find.id);
	else if (parse(req, m, &reply) != 0)
		r = broken(s, bad, "Expected SSH2_FXP_%s(%u) packet, got %u",
		    type_name(req->want), req->want, reply.type);
	else if (reply.type == SSH2_FXP_DATA && reply.len > req->len)
		r = broken(s, bad, "Received more data than asked for "
		    "%zu > %zu", reply.len, req->len);
	else {
		sftp_inflight_got(&s->conn->depth,
		    reply.type == SSH2_FXP_DATA ? reply.len :
		    req->want == SSH2_FXP_STATUS ? req->len : 0,
		    monotime_double());
		request_answer(req, &reply);
	}
	sshbuf_free(m);
	return s->state == STREAM_LOST ? -1 : r;
}

/* Hands all whole messages over. Returns 0, or -1 if the stream was lost. */
static int
take_messages(struct stream *s)
{
	size_t have, len;

	while ((have = s->in_end - s->in_at) >= 4) {
		len = PEEK_U32(s->in + s->in_at);
		if (len > SFTP_MAX_MSG_LENGTH)
			return broken(s, "it sent a message that is too long",
			    "Received message too long %zu", len);
		if (have < 4 + len)
			break;
		s->in_at += 4 + len;
		if (hand_over(s, s->in + s->in_at - len, len) == -1)
			return -1;
	}
	return 0;
}

int
stream_read(struct stream *s)
{
	size_t have = s->in_end - s->in_at, missing = 0, want;
	ssize_t n;

	if (have >= 4)
		missing = 4 + PEEK_U32(s->in + s->in_at) - have;
	/* There has to be room behind what is there. */
	if (have == 0 || STREAM_IN - s->in_end <
	    MAXIMUM(missing, STREAM_IN / 2)) {
		memmove(s->in, s->in + s->in_at, have);
		s->in_at = 0;
		s->in_end = have;
	}
	want = STREAM_IN - s->in_end;
	/* The next message then begins where the buffer does. */
	if (missing > MISSING_LARGE)
		want = missing;
	if (s->conn->limit_kbps > 0)
		want = MINIMUM(want, LIMITED_READ);
	n = read(s->conn->fd_in, s->in + s->in_end, want);
	if (n == -1 && (errno == EINTR || errno == EAGAIN ||
	    errno == EWOULDBLOCK))
		return 0;
	if (n == 0 || (n == -1 && errno == ECONNRESET))
		return broken(s, "it ended", "Connection closed");
	if (n == -1)
		return broken(s, "it ended", "Couldn't read packet: %s",
		    strerror(errno));
	s->in_end += n;
	s->since_s = monotime_double();
	moved(s, &s->limited->bwlimit_in, n);
	return take_messages(s);
}
