/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/socket.h>

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "progressmeter.h"
#include "sshbuf.h"
#include "xmalloc.h"
#include "sftp-check-file.h"
#include "copy-stream.h"

#define STREAM_IN	(2 * (SFTP_MAX_MSG_LENGTH + 4)) /* bytes of replies */
#define LIMITED_READ	(16 * 1024)	/* bytes at once, with a limit (-l) */
#define MISSING_LARGE	(16 * 1024)	/* if more lack, read only these */
#define HANDLE_MAX	256	/* bytes, by the protocol */

/* Types of replies other than STATUS, by the type of the request */
static const u_char wanted[SSH2_FXP_EXTENDED + 1] = {
	[SSH2_FXP_OPEN] = SSH2_FXP_HANDLE,
	[SSH2_FXP_OPENDIR] = SSH2_FXP_HANDLE,
	[SSH2_FXP_READ] = SSH2_FXP_DATA,
	[SSH2_FXP_READDIR] = SSH2_FXP_NAME,
	[SSH2_FXP_STAT] = SSH2_FXP_ATTRS,
};

static int
by_id(const struct request *a, const struct request *b)
{
	return a->id < b->id ? -1 : a->id > b->id;
}

/* What is freed is taken out: NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
RB_GENERATE_STATIC(requests_by_id, request, entry, by_id)

/* Ends the program if data could not be appended. */
static void
put(int r)
{
	if (r != 0)
		fatal_fr(r, "compose");
}

struct stream *
stream_new(struct sftp_conn *conn, u_int index, struct copy *copy)
{
	struct stream *s = xcalloc(1, sizeof(*s));

	s->conn = conn;
	s->index = index;
	s->copy = copy;
	s->state = copy != NULL ? STREAM_UP : STREAM_OPENING;
	s->limited = conn;
	if ((s->out = sshbuf_new()) == NULL)
		fatal_f("sshbuf_new failed");
	s->in = xmalloc(STREAM_IN);
	RB_INIT(&s->requests);
	set_nonblock(conn->fd_in);
	set_nonblock(conn->fd_out);
	if (copy != NULL)
		return s;
	put(sshbuf_put_u32(s->out, 1 + 4));
	put(sshbuf_put_u8(s->out, SSH2_FXP_INIT));
	put(sshbuf_put_u32(s->out, SSH2_FILEXFER_VERSION));
	return s;
}

void
stream_free(struct stream *s)
{
	if (s->state != STREAM_LOST) {
		unset_nonblock(s->conn->fd_in);
		unset_nonblock(s->conn->fd_out);
	}
	sshbuf_free(s->out);
	free(s->in);
	free(s);
}

/* Passes a reply to its request, which is then no longer outstanding. */
static void
request_answer(struct request *req, struct reply *reply)
{
	struct stream *s = req->stream;

	RB_REMOVE(requests_by_id, &s->requests, req);
	s->outstanding--;
	req->item->inflight--;
	sftp_inflight_end(&s->conn->depth, req->len);
	req->got(req, reply);
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
	close(s->conn->fd_in);	/* a socket, which is fd_out, too */
	while ((req = RB_MIN(requests_by_id, &s->requests)) != NULL)
		request_answer(req, &reply);
}

int
stream_fail(struct stream *s, const char *fmt, ...)
{
	va_list args;
	char *message;

	va_start(args, fmt);
	xvasprintf(&message, fmt, args);
	va_end(args);
	if (s->copy != NULL) {
		copy_item_stop(s->copy, s);
		fatal("%s", message);
	}
	stream_lose(s, message);
	free(message);
	return -1;
}

/* Shows progress, and waits if there is a limit (-l). */
static void
show_and_limit(struct stream *s, struct bwlimit *limit, size_t len)
{
	refresh_progress_meter(0);
	if (s->limited->limit_kbps > 0)
		bandwidth_limit(limit, len);
}

/* Like write(2), but without a SIGPIPE if the descriptor is a socket. */
static ssize_t
send_bytes(const struct stream *s, const void *p, size_t len)
{
#ifdef MSG_NOSIGNAL
	ssize_t n = send(s->conn->fd_out, p, len, MSG_NOSIGNAL);

	if (n != -1 || errno != ENOTSOCK)
		return n;
#endif
	return write(s->conn->fd_out, p, len);
}

int
stream_write(struct stream *s)
{
	ssize_t n;

	while (sshbuf_len(s->out) != 0) {
		n = send_bytes(s, sshbuf_ptr(s->out),
		    s->conn->limit_kbps == 0 ? sshbuf_len(s->out) :
		    MINIMUM(sshbuf_len(s->out), LIMITED_READ));
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return 0;
		if (n == -1 && errno == EPIPE && s->copy != NULL) {
			copy_item_stop(s->copy, s);
			raise(SIGPIPE);
			errno = EPIPE;	/* SIGPIPE is ignored */
		}
		if (n == -1)
			return stream_fail(s, "Couldn't send packet: %s",
			    strerror(errno));
		put(sshbuf_consume(s->out, n));
		show_and_limit(s, &s->limited->bwlimit_out, n);
	}
	return 0;
}

/* Returns the name of a type of replies. */
static const char *
type_name(u_char type)
{
	static const char *const names[] = { "STATUS", "HANDLE", "DATA",
	    "NAME", "ATTRS" };

	return type == SSH2_FXP_EXTENDED_REPLY ? "EXTENDED_REPLY" :
	    names[type - SSH2_FXP_STATUS];
}

/* Parses the data after the id. Returns 0, or -1 if it is malformed. */
static int
parse(const struct request *req, struct sshbuf *m, struct reply *reply)
{
	int r = 0;

	reply->m = m;
	if (reply->type == SSH2_FXP_STATUS) {
		r = sshbuf_get_u32(m, &reply->status);
		/* A status cannot replace the requested data. */
		if (reply->status == SSH2_FX_OK &&
		    req->want != SSH2_FXP_STATUS && req->want != SSH2_FXP_NAME)
			reply->status = SSH2_FX_FAILURE;
	} else if (reply->type != req->want || (req->stream->copy == NULL &&
	    reply->type == SSH2_FXP_HANDLE && sshbuf_len(m) > 4 + HANDLE_MAX))
		return -1;
	else if (reply->type == SSH2_FXP_HANDLE || reply->type == SSH2_FXP_DATA)
		r = sshbuf_get_string_direct(m, &reply->data, &reply->len);
	else if (reply->type == SSH2_FXP_ATTRS)
		r = decode_attrib(m, &reply->a);
	return r == 0 ? 0 : -1;
}

/* Handles a message of len bytes. Returns 0, or -1 if the stream was lost. */
static int
hand_over(struct stream *s, const u_char *p, size_t len)
{
	struct request find = { .id = 0 }, *req;
	struct reply reply = { .lost = 0 };
	struct sshbuf *m;
	int r = 0;

	if (s->state == STREAM_OPENING) {
		if (len < 1 + 4 || p[0] != SSH2_FXP_VERSION ||
		    PEEK_U32(p + 1) != s->conn->version)
			return stream_fail(s, "unexpected VERSION from server");
		s->state = STREAM_UNCHECKED;
		return 0;
	}
	if ((m = sshbuf_from(p, len)) == NULL)
		fatal_f("sshbuf_from failed");
	/* The program does not wait for requests sent ahead. */
	if (copy_ahead_keep(s->conn, m)) {
		sshbuf_free(m);
		return 0;
	}
	if (sshbuf_get_u8(m, &reply.type) != 0 ||
	    sshbuf_get_u32(m, &find.id) != 0)
		r = stream_fail(s, "Received message too short %zu", len);
	else if ((req = RB_FIND(requests_by_id, &s->requests, &find)) == NULL)
		r = stream_fail(s, "Unexpected reply %u", find.id);
	else if (parse(req, m, &reply) != 0)
		r = stream_fail(s, "Expected SSH2_FXP_%s(%u) packet, got %u",
		    type_name(req->want), req->want, reply.type);
	else if (reply.type == SSH2_FXP_DATA && reply.len > req->len)
		r = stream_fail(s, "Received more data than asked for "
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

/* Handles all whole messages. Returns 0, or -1 if the stream was lost. */
static int
take_messages(struct stream *s)
{
	size_t have, len;

	while ((have = s->in_end - s->in_at) >= 4) {
		len = PEEK_U32(s->in + s->in_at);
		if (len > SFTP_MAX_MSG_LENGTH)
			return stream_fail(s,
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
	/* The buffer needs free space at its end. */
	if (have == 0 || STREAM_IN - s->in_end <
	    MAXIMUM(missing, STREAM_IN / 2)) {
		memmove(s->in, s->in + s->in_at, have);
		s->in_at = 0;
		s->in_end = have;
	}
	want = STREAM_IN - s->in_end;
	/* Read only these, so the next message starts the buffer. */
	if (missing > MISSING_LARGE)
		want = missing;
	if (s->conn->limit_kbps > 0)
		want = MINIMUM(want, LIMITED_READ);
	n = read(s->conn->fd_in, s->in + s->in_end, want);
	if (n == -1 && (errno == EINTR || errno == EAGAIN ||
	    errno == EWOULDBLOCK))
		return 0;
	if (n == 0 || (n == -1 && errno == ECONNRESET))
		return stream_fail(s, "Connection closed");
	if (n == -1)
		return stream_fail(s, "Couldn't read packet: %s",
		    strerror(errno));
	s->in_end += n;
	s->since_s = monotime_double();
	show_and_limit(s, &s->limited->bwlimit_in, n);
	return take_messages(s);
}

void
handle_take(struct handle *h, const struct reply *reply)
{
	h->p = xmalloc(MAXIMUM(reply->len, 1));
	memcpy(h->p, reply->data, reply->len);
	h->len = reply->len;
}

void
handle_free(struct handle *h)
{
	free(h->p);
	h->p = NULL;
}

/* Starts to compose a request; end() completes it. */
static struct request *
begin(struct stream *s, struct item *item, u_char type, copy_got *got)
{
	struct request *req = xcalloc(1, sizeof(*req));

	req->id = s->conn->msg_id++;
	req->want = wanted[type] != 0 ? wanted[type] : SSH2_FXP_STATUS;
	req->item = item;
	req->stream = s;
	req->at = sshbuf_len(s->out);
	req->sent_s = monotime_double();
	req->got = got;
	put(sshbuf_put_u32(s->out, 0));
	put(sshbuf_put_u8(s->out, type));
	put(sshbuf_put_u32(s->out, req->id));
	debug3("stream %u: sending type %u, id %u", s->index, type, req->id);
	return req;
}

/* Sets the length of the complete request, and counts it. */
static void
end(struct request *req)
{
	struct stream *s = req->stream;
	size_t len = sshbuf_len(s->out) - req->at - 4;

	if (len > SFTP_MAX_MSG_LENGTH)
		fatal("Outbound message too long %zu", len);
	put(sshbuf_poke_u32(s->out, req->at, len));
	if (RB_INSERT(requests_by_id, &s->requests, req) != NULL)
		fatal_f("two requests with the id %u", req->id);
	req->item->inflight++;
	s->outstanding++;
	sftp_inflight_ask(&s->conn->depth, req->len);
}

/* Appends the fields of a request of a type after its path or handle. */
static void
put_rest(struct request *req, u_char type, const struct body *b)
{
	struct sshbuf *out = req->stream->out;
	const Attrib none = { .flags = 0 };

	req->offset = b->offset;
	switch (type) {
	case SSH2_FXP_OPEN:
		put(sshbuf_put_u32(out, b->flags));
		/* FALLTHROUGH */
	case SSH2_FXP_MKDIR:
	case SSH2_FXP_SETSTAT:
	case SSH2_FXP_FSETSTAT:
		put(encode_attrib(out, b->a == NULL ? &none : b->a));
		break;
	case SSH2_FXP_READ:
		req->len = b->len;
		put(sshbuf_put_u64(out, b->offset));
		put(sshbuf_put_u32(out, b->len));
		break;
	case SSH2_FXP_WRITE:
		req->len = b->len;
		put(sshbuf_put_u64(out, b->offset));
		put(sshbuf_put_string(out, b->data, b->len));
		break;
	case SSH2_FXP_EXTENDED:
		if (b->len == 0)
			break;
		/* check-file-handle */
		req->want = SSH2_FXP_EXTENDED_REPLY;
		put(sshbuf_put_cstring(out, SFTP_CHECK_ALG));
		put(sshbuf_put_u64(out, b->offset));
		put(sshbuf_put_u64(out, b->len));
		put(sshbuf_put_u32(out, 0));
		break;
	}
}

void
copy_send(struct stream *s, struct item *item, u_char type, copy_got *got,
    const struct body *b)
{
	struct request *req = begin(s, item, type, got);

	if (b->extension != NULL)
		put(sshbuf_put_cstring(s->out, b->extension));
	if (b->path != NULL)
		put(sshbuf_put_cstring(s->out, b->path));
	else
		put(sshbuf_put_string(s->out, b->h->p, b->h->len));
	put_rest(req, type, b);
	end(req);
}

ssize_t
copy_send_file(struct stream *s, struct item *item, copy_got *got,
    const struct handle *h, uint64_t offset, int fd, size_t len)
{
	struct request *req = begin(s, item, SSH2_FXP_WRITE, got);
	u_char *p;
	ssize_t n;

	req->offset = offset;
	put(sshbuf_put_string(s->out, h->p, h->len));
	put(sshbuf_put_u64(s->out, offset));
	/* Read the data straight into the send buffer, after its length. */
	put(sshbuf_reserve(s->out, 4 + len, &p));
	do {
		n = pread(fd, p + 4, len, offset);
		/* One stream reads in order. */
		if (n == -1 && errno == ESPIPE && item->copy->most == 1)
			n = read(fd, p + 4, len);
	} while (n == -1 && (errno == EINTR || errno == EAGAIN ||
	    errno == EWOULDBLOCK));
	if (n <= 0) {
		n = n == 0 ? 0 : -errno;
		put(sshbuf_consume_end(s->out, sshbuf_len(s->out) - req->at));
		free(req);
		return n;
	}
	POKE_U32(p, n);
	put(sshbuf_consume_end(s->out, len - n));
	req->len = n;
	end(req);
	return n;
}
