/*
 * Copyright (c) 2026 The openssh-bdp authors
 *
 * Permission to use, copy, modify, and distribute this software for any
 * purpose with or without fee is hereby granted, provided that the above
 * copyright notice and this permission notice appear in all copies.
 *
 * THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES
 * WITH REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF
 * MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR
 * ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES
 * WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN
 * ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF
 * OR IN CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.
 */


#include "includes.h"

#include <sys/types.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bdp-names.h"
#include "sftp.h"
#include "sftp-burst.h"
#include "sftp-common.h"
#include "sshbuf.h"
#include "ssherr.h"

/* The handle that OpenSSH's sftp-server gives the first file */
static const u_char guess[4];

/*
 * Starts the burst's next request in msg. Returns 0 or an SSH_ERR_* code.
 */
static int
start(struct sftp_burst *b, u_char type, struct sshbuf *msg)
{
	int r;

	sshbuf_reset(msg);
	if ((r = sshbuf_put_u8(msg, type)) != 0 ||
	    (r = sshbuf_put_u32(msg, b->first + b->requests)) != 0)
		return r;
	if (type == SSH2_FXP_READ)
		b->reads++;
	b->requests++;
	b->outstanding++;
	return type == SSH2_FXP_OPEN || type == SSH2_FXP_EXTENDED ? 0 :
	    sshbuf_put_string(msg, guess, sizeof(guess));
}

/*
 * Appends OPEN, or its like of ours if there is a name, to out, by way of msg.
 * Returns 0 or an SSH_ERR_* code.
 */
static int
put_open(struct sftp_burst *b, u_int id, const char *path, const char *name,
    u_int flags, const Attrib *attrs, struct sshbuf *msg, struct sshbuf *out)
{
	Attrib none;
	int r;

	memset(b, 0, sizeof(*b));
	b->first = id;
	attrib_clear(&none);
	if (name == NULL) {
		if ((r = start(b, SSH2_FXP_OPEN, msg)) != 0 ||
		    (r = sshbuf_put_cstring(msg, path)) != 0)
			return r;
	} else if ((r = start(b, SSH2_FXP_EXTENDED, msg)) != 0 ||
	    (r = sshbuf_put_cstring(msg, BDP_OPEN_FILE)) != 0 ||
	    (r = sshbuf_put_cstring(msg, path)) != 0 ||
	    (r = sshbuf_put_cstring(msg, name)) != 0)
		return r;
	if ((r = sshbuf_put_u32(msg, flags)) != 0 ||
	    (r = encode_attrib(msg, attrs != NULL ? attrs : &none)) != 0)
		return r;
	return sshbuf_put_stringb(out, msg);
}

/* The same for CLOSE. */
static int
put_close(struct sftp_burst *b, struct sshbuf *msg, struct sshbuf *out)
{
	int r;

	b->close = b->requests;
	if ((r = start(b, SSH2_FXP_CLOSE, msg)) != 0)
		return r;
	return sshbuf_put_stringb(out, msg);
}

/* The same for what ends the session if all requests before it succeed. */
static int
put_end(struct sftp_burst *b, struct sshbuf *msg, struct sshbuf *out)
{
	int r;

	b->end = b->requests;
	if ((r = start(b, SSH2_FXP_EXTENDED, msg)) != 0 ||
	    (r = sshbuf_put_cstring(msg, BDP_END_SESSION)) != 0 ||
	    (r = sshbuf_put_u32(msg, b->end)) != 0)
		return r;
	return sshbuf_put_stringb(out, msg);
}

/* The same for a READ. */
static int
put_read(struct sftp_burst *b, uint64_t offset, size_t len,
    struct sshbuf *msg, struct sshbuf *out)
{
	int r;

	if ((r = start(b, SSH2_FXP_READ, msg)) != 0 ||
	    (r = sshbuf_put_u64(msg, offset)) != 0 ||
	    (r = sshbuf_put_u32(msg, len)) != 0)
		return r;
	return sshbuf_put_stringb(out, msg);
}

/* The same for FSETSTAT. */
static int
put_attrs(struct sftp_burst *b, const Attrib *attrs, struct sshbuf *msg,
    struct sshbuf *out)
{
	int r;

	if ((r = start(b, SSH2_FXP_FSETSTAT, msg)) != 0 ||
	    (r = encode_attrib(msg, attrs)) != 0)
		return r;
	return sshbuf_put_stringb(out, msg);
}

int
sftp_burst_put(struct sftp_burst *b, u_int id,
    const struct sftp_burst_put *put, struct sshbuf *out)
{
	struct sshbuf *msg;
	Attrib size;
	int r;

	if ((msg = sshbuf_new()) == NULL)
		return SSH_ERR_ALLOC_FAIL;
	if ((r = put_open(b, id, put->path, put->name, put->flags, put->attrs,
	    msg, out)) != 0)
		goto out;
	if (put->len != 0 &&
	    ((r = start(b, SSH2_FXP_WRITE, msg)) != 0 ||
	    (r = sshbuf_put_u64(msg, 0)) != 0 ||
	    (r = sshbuf_put_string(msg, put->data, put->len)) != 0 ||
	    (r = sshbuf_put_stringb(out, msg)) != 0))
		goto out;
	if (put->part) {
		/* Its reply is kept for whoever sends the rest. */
		b->reads = 1;
		b->any_size = 1;
		goto out;
	}
	attrib_clear(&size);
	size.flags = SSH2_FILEXFER_ATTR_SIZE;
	size.size = put->len;
	if (put->truncate && (r = put_attrs(b, &size, msg, out)) != 0)
		goto out;
	if (put->times != NULL &&
	    (r = put_attrs(b, put->times, msg, out)) != 0)
		goto out;
	if ((r = put_close(b, msg, out)) == 0 && put->end)
		r = put_end(b, msg, out);
 out:
	sshbuf_free(msg);
	return r;
}

int
sftp_burst_get(struct sftp_burst *b, u_int id, const char *path, size_t size,
    const size_t len[SFTP_BURST_KEPT], struct sshbuf *out)
{
	struct sshbuf *msg;
	uint64_t offset = 0;
	int i, r;

	if ((msg = sshbuf_new()) == NULL)
		return SSH_ERR_ALLOC_FAIL;
	if ((r = put_open(b, id, path, NULL, SSH2_FXF_READ, NULL, msg,
	    out)) != 0)
		goto out;
	b->size = size;
	for (i = 0; i < SFTP_BURST_KEPT; i++) {
		if ((r = put_read(b, offset, len[i], msg, out)) != 0)
			goto out;
		offset += len[i];
	}
	r = put_close(b, msg, out);
 out:
	sshbuf_free(msg);
	return r;
}

int
sftp_burst_get_any(struct sftp_burst *b, u_int id, const char *path,
    const size_t len[SFTP_BURST_ANY], int end, struct sshbuf *out)
{
	struct sshbuf *msg;
	uint64_t offset = 0;
	int i, r;

	if ((msg = sshbuf_new()) == NULL)
		return SSH_ERR_ALLOC_FAIL;
	r = put_open(b, id, path, "", SSH2_FXF_READ, NULL, msg, out);
	for (i = 0; i < SFTP_BURST_ANY && r == 0; i++) {
		r = put_read(b, offset, len[i], msg, out);
		offset += len[i];
	}
	if (r == 0 && end)
		r = put_end(b, msg, out);
	b->any_size = 1;
	sshbuf_free(msg);
	return r;
}

/*
 * Keeps the reply to a READ, of which m is what follows the id. Notes if it is
 * not the data of the size, and after that the end. Returns 0 or an SSH_ERR_*
 * code.
 */
static int
keep(struct sftp_burst *b, u_int read, u_char type, struct sshbuf *m,
    const struct sshbuf *msg)
{
	size_t len;
	u_int status = SSH2_FX_OK;
	int r;

	if ((b->kept[read] = sshbuf_new()) == NULL)
		return SSH_ERR_ALLOC_FAIL;
	if ((r = sshbuf_putb(b->kept[read], msg)) != 0 || b->any_size)
		return r;
	if (read == 0 && b->size != 0) {
		if (type != SSH2_FXP_DATA || sshbuf_get_string_direct(m, NULL,
		    &len) != 0 || len != b->size)
			b->refused = 1;
	} else if (type != SSH2_FXP_STATUS ||
	    sshbuf_get_u32(m, &status) != 0 || status != SSH2_FX_EOF)
		b->refused = 1;
	return 0;
}

int
sftp_burst_reply(struct sftp_burst *b, const struct sshbuf *msg)
{
	struct sshbuf *m;
	u_int id, request, status;
	u_char type;
	int r;

	if ((m = sshbuf_fromb((struct sshbuf *)msg)) == NULL)
		return SSH_ERR_ALLOC_FAIL;
	if ((r = sshbuf_get_u8(m, &type)) != 0 ||
	    (r = sshbuf_get_u32(m, &id)) != 0)
		goto out;
	request = id - b->first;
	if (request >= b->requests || (b->answered & (1U << request)) != 0) {
		r = SSH_ERR_INVALID_FORMAT;
		goto out;
	}
	b->answered |= 1U << request;
	b->outstanding--;
	if (request == 0 && type == SSH2_FXP_HANDLE) {
		if ((r = sshbuf_get_string(m, &b->handle,
		    &b->handle_len)) != 0)
			goto out;
		if (b->handle_len != sizeof(guess) ||
		    memcmp(b->handle, guess, sizeof(guess)) != 0)
			b->refused = 1;
	} else if (request != 0 && request <= b->reads)
		r = keep(b, request - 1, type, m, msg);
	else if (request != 0 && request == b->end)
		b->ended = type == SSH2_FXP_STATUS &&
		    sshbuf_get_u32(m, &status) == 0 && status == SSH2_FX_OK;
	else if (request == 0 || type != SSH2_FXP_STATUS ||
	    sshbuf_get_u32(m, &status) != 0 || status != SSH2_FX_OK)
		b->refused = 1;
	else if (request == b->close)
		b->closed = 1;
 out:
	sshbuf_free(m);
	return r;
}

int
sftp_burst_succeeded(const struct sftp_burst *b)
{
	return b->outstanding == 0 && b->handle != NULL && !b->refused;
}

size_t
sftp_burst_read_len(const struct sftp_burst *b, u_int read)
{
	struct sshbuf *m;
	size_t len = 0;
	u_char type;

	if (b->kept[read] == NULL ||
	    (m = sshbuf_fromb(b->kept[read])) == NULL)
		return 0;
	if (sshbuf_get_u8(m, &type) != 0 || type != SSH2_FXP_DATA ||
	    sshbuf_get_u32(m, NULL) != 0 ||
	    sshbuf_get_string_direct(m, NULL, &len) != 0)
		len = 0;
	sshbuf_free(m);
	return len;
}

int
sftp_burst_cut(struct sftp_burst *b)
{
	struct sshbuf *end;
	u_int i;
	int r, n = 0;

	for (i = 1; i < b->reads; i++) {
		if (b->kept[i] == NULL || (end = b->kept[i - 1]) == NULL ||
		    sftp_burst_read_len(b, i - 1) != 0)
			continue;
		n += sftp_burst_read_len(b, i) != 0;
		sshbuf_reset(b->kept[i]);
		if ((r = sshbuf_putb(b->kept[i], end)) != 0 ||
		    (r = sshbuf_poke_u32(b->kept[i], 1,
		    b->first + 1 + i)) != 0)
			return r;
	}
	return n;
}

int
sftp_burst_take(struct sftp_burst *b, struct sshbuf *msg)
{
	int i, r;

	for (i = 0; i < SFTP_BURST_ANY; i++) {
		if (b->kept[i] == NULL)
			continue;
		sshbuf_reset(msg);
		r = sshbuf_putb(msg, b->kept[i]);
		sshbuf_free(b->kept[i]);
		b->kept[i] = NULL;
		return r == 0;
	}
	return 0;
}

void
sftp_burst_end(struct sftp_burst *b)
{
	int i;

	for (i = 0; i < SFTP_BURST_ANY; i++) {
		sshbuf_free(b->kept[i]);
		b->kept[i] = NULL;
	}
	free(b->handle);
	b->handle = NULL;
}
