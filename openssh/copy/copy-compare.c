/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "atomicio.h"
#include "log.h"
#include "sshbuf.h"
#include "xmalloc.h"
#include "sftp-check-file.h"
#include "copy-file.h"

#define REQUESTS	8		/* in flight: neither end is idle */
#define SAMPLE		(1024 * 1024)	/* bytes to compare, without digests */

/* Returns 1 if no more requests are needed. */
static int
is_over(const struct compare *c)
{
	return c->next == c->end || c->differs != UINT64_MAX || c->unknown;
}

/* Decides which bytes stay, and tells the user if necessary. */
static void
finish(struct file *f)
{
	struct compare *c = &f->compare;
	uint64_t keep = MINIMUM(c->differs, c->end);

	if (c->unknown || (c->differs != UINT64_MAX &&
	    keep < file_without_gaps(f, f->have)))
		keep = 0;
	if (keep == 0 && f->have != 0)
		logit("\"%s\" %s a prefix of the source: copying all of it",
		    f->item.dst, c->unknown ? "cannot be verified as" :
		    "is not");
	else if (!c->digests && f->have != 0)
		logit("\"%s\": keeping %llu bytes because the last of them "
		    "are the same: the server can't compare all",
		    f->item.dst, (unsigned long long)keep);
	debug("\"%s\": keeping %llu of %llu bytes", f->item.dst,
	    (unsigned long long)keep, (unsigned long long)f->size);
	target_keep(f, keep);
}

/* Goes on with the comparison, or ends it after all replies. */
static void
go_on(struct file *f)
{
	copy_item_queue(&f->item);
	if (f->item.inflight == 0 && is_over(&f->compare))
		finish(f);
}

void
copy_compare(struct file *f)
{
	struct compare *c = &f->compare;
	uint64_t have = f->have;

	c->differs = UINT64_MAX;
	c->digests = f->home->conn->exts & SFTP_EXT_CHECK_FILE;
	f->phase = FILE_COMPARING;
	if (have > f->size)
		c->differs = 0;
	else if (c->digests) {
		c->end = have;
		/* A few bytes have no digest, as it would reveal them. */
		c->unknown = have != 0 && have != f->size &&
		    have < SFTP_CHECK_BLOCK_MIN;
	} else {
		c->end = file_without_gaps(f, have);
		c->next = c->end - MINIMUM(c->end, SAMPLE);
		c->unknown = c->end == 0 && have != 0;
	}
	go_on(f);
}

/* Records whether the bytes at an offset are the same, or unknown (-1). */
static void
note(struct file *f, uint64_t offset, int same)
{
	struct compare *c = &f->compare;

	if (same == -1)
		c->unknown = 1;
	else if (same == 0)
		c->differs = MINIMUM(c->differs, offset);
	go_on(f);
}

/*
 * Returns the length of the range at an offset. One ends where gaps may begin.
 * The server digests no range that is too short, except at the end of the file.
 */
static uint64_t
range(const struct file *f, uint64_t offset)
{
	const struct compare *c = &f->compare;
	uint64_t edge = file_without_gaps(f, f->have), left = c->end - offset;

	if (offset < edge && edge >= SFTP_CHECK_BLOCK_MIN &&
	    c->end - edge >= SFTP_CHECK_BLOCK_MIN)
		left = edge - offset;
	if (left <= SFTP_CHECK_BYTES)
		return left;
	if (left - SFTP_CHECK_BYTES < SFTP_CHECK_BLOCK_MIN)
		return SFTP_CHECK_BYTES - SFTP_CHECK_BLOCK_MIN;
	return SFTP_CHECK_BYTES;
}

/* Compares the server's digest of a range with ours. */
static void
got_digest(struct request *req, struct reply *reply)
{
	struct file *f = file_of(req->item);
	u_char ours[SFTP_CHECK_LEN], theirs[SFTP_CHECK_LEN];
	struct sshbuf *b;
	uint64_t total;
	int same = -1;

	if ((b = sshbuf_new()) == NULL)
		fatal_f("sshbuf_new failed");
	if (reply->type == SSH2_FXP_EXTENDED_REPLY &&
	    sftp_check_reply(reply->m, theirs) == 0)
		same = sftp_check_file(f->fd, req->offset,
		    range(f, req->offset), 0, -1, -1, b, &total) == 0 &&
		    sshbuf_get(b, ours, sizeof(ours)) == 0 &&
		    memcmp(ours, theirs, sizeof(ours)) == 0;
	sshbuf_free(b);
	note(f, req->offset, same);
}

/* Returns 1 if the local file has these bytes there. */
static int
is_same(const struct file *f, uint64_t offset, const u_char *data, size_t len)
{
	u_char *ours = xmalloc(len);
	int same = lseek(f->fd, offset, SEEK_SET) != -1 &&
	    atomicio(read, f->fd, ours, len) == len &&
	    memcmp(ours, data, len) == 0;

	free(ours);
	return same;
}

static copy_got	 got_sample;

static void
send_sample(struct file *f, struct stream *s, uint64_t offset, size_t len)
{
	copy_send(s, &f->item, SSH2_FXP_READ, got_sample, &(struct body){
	    .h = &f->part[s->index].handle, .offset = offset, .len = len });
}

static void
got_sample(struct request *req, struct reply *reply)
{
	struct file *f = file_of(req->item);
	uint64_t offset = req->offset;
	size_t len = reply->len, left = req->len - len;

	if (reply->type != SSH2_FXP_DATA || len == 0) {
		note(f, offset, -1);
		return;
	}
	if (left != 0)
		send_sample(f, req->stream, offset + len, left);
	note(f, offset, is_same(f, offset, reply->data, len));
}

int
copy_compare_send(struct file *f, struct stream *s)
{
	struct compare *c = &f->compare;
	uint64_t len;

	if (s != f->home)
		return 0;
	if (f->item.inflight == REQUESTS || is_over(c)) {
		copy_item_unqueue(&f->item);
		return 0;
	}
	if (c->digests) {
		len = range(f, c->next);
		copy_send(s, &f->item, SSH2_FXP_EXTENDED, got_digest,
		    &(struct body){ .extension = "check-file-handle",
		    .h = &f->part[s->index].handle, .offset = c->next,
		    .len = len });
	} else {
		len = MINIMUM(s->conn->download_buflen, c->end - c->next);
		send_sample(f, s, c->next, len);
	}
	c->next += len;
	return 1;
}
