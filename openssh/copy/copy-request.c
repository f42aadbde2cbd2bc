/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "misc.h"
#include "sshbuf.h"
#include "ssherr.h"
#include "xmalloc.h"
#include "sftp.h"
#include "sftp-check-file.h"
#include "sftp-common.h"
#include "sftp-conn.h"
#include "copy-item.h"
#include "copy-request.h"

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

/* Ends if what is composed could not be appended. */
static void
put(int r)
{
	if (r != 0)
		fatal_fr(r, "compose");
}

/* Returns the type of the reply to a request, if that is no STATUS. */
static u_char
reply_type(u_char type)
{
	switch (type) {
	case SSH2_FXP_OPEN:
	case SSH2_FXP_OPENDIR:
		return SSH2_FXP_HANDLE;
	case SSH2_FXP_READ:
		return SSH2_FXP_DATA;
	case SSH2_FXP_READDIR:
		return SSH2_FXP_NAME;
	case SSH2_FXP_STAT:
		return SSH2_FXP_ATTRS;
	default:
		return SSH2_FXP_STATUS;
	}
}

/* Starts a request, which end() is to be called for. */
static struct request *
begin(struct stream *s, struct item *item, u_char type, copy_got *got)
{
	struct request *req = stream_request(s, item, &item->inflight,
	    reply_type(type), got);

	req->at = sshbuf_len(s->out);
	put(sshbuf_put_u32(s->out, 0));
	put(sshbuf_put_u8(s->out, type));
	put(sshbuf_put_u32(s->out, req->id));
	debug3("stream %u: sending type %u, id %u", s->index, type, req->id);
	return req;
}

/* Sets its length, now that all of it is there. */
static void
end(const struct request *req)
{
	struct sshbuf *out = req->stream->out;
	size_t len = sshbuf_len(out) - req->at - 4;

	if (len > SFTP_MAX_MSG_LENGTH)
		fatal("Outbound message too long %zu", len);
	put(sshbuf_poke_u32(out, req->at, len));
}

/* Appends what a request of a type has behind its path or handle. */
static void
put_rest(struct request *req, u_char type, const struct body *b)
{
	struct sshbuf *out = req->stream->out;
	Attrib none;

	switch (type) {
	case SSH2_FXP_OPEN:
		put(sshbuf_put_u32(out, b->flags));
		/* FALLTHROUGH */
	case SSH2_FXP_MKDIR:
	case SSH2_FXP_SETSTAT:
	case SSH2_FXP_FSETSTAT:
		attrib_clear(&none);
		put(encode_attrib(out, b->a == NULL ? &none : b->a));
		break;
	case SSH2_FXP_READ:
		stream_data(req, b->offset, b->len);
		put(sshbuf_put_u64(out, b->offset));
		put(sshbuf_put_u32(out, b->len));
		break;
	case SSH2_FXP_WRITE:
		stream_data(req, b->offset, b->len);
		put(sshbuf_put_u64(out, b->offset));
		put(sshbuf_put_string(out, b->data, b->len));
		break;
	case SSH2_FXP_EXTENDED:
		if (b->len == 0)
			break;
		/* check-file-handle */
		req->want = SSH2_FXP_EXTENDED_REPLY;
		req->offset = b->offset;
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

/* Reads from a file. Returns as pread(2), but is not interrupted. */
static ssize_t
read_file(int fd, u_char *p, size_t len, uint64_t offset)
{
	ssize_t n;

	do {
		n = pread(fd, p, len, offset);
	} while (n == -1 && (errno == EINTR || errno == EAGAIN ||
	    errno == EWOULDBLOCK));
	return n;
}

ssize_t
copy_send_file(struct stream *s, struct item *item, copy_got *got,
    const struct handle *h, uint64_t offset, int fd, size_t len)
{
	struct request *req = begin(s, item, SSH2_FXP_WRITE, got);
	u_char *p;
	ssize_t n;
	int e;

	put(sshbuf_put_string(s->out, h->p, h->len));
	put(sshbuf_put_u64(s->out, offset));
	/* The data goes where it will be sent from, behind its length. */
	put(sshbuf_reserve(s->out, 4 + len, &p));
	n = read_file(fd, p + 4, len, offset);
	if (n <= 0) {
		e = errno;
		put(sshbuf_consume_end(s->out, sshbuf_len(s->out) - req->at));
		stream_cancel(req);
		errno = e;
		return n;
	}
	POKE_U32(p, n);
	put(sshbuf_consume_end(s->out, len - n));
	stream_data(req, offset, n);
	end(req);
	return n;
}
