/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <stdint.h>
#include <string.h>

#include "log.h"
#include "misc.h"
#include "sshbuf.h"
#include "ssherr.h"
#include "sftp.h"
#include "sftp-check-file.h"
#include "sftp-resume.h"

int
sftp_resume_ask(const struct sftp_resume *s)
{
	return s->have <= s->size &&
	    (s->have >= SFTP_CHECK_BLOCK_MIN || s->have == s->size) &&
	    s->have != 0;
}

uint64_t
sftp_resume_at(const struct sftp_resume *s)
{
	if (!sftp_resume_ask(s) || s->same == SFTP_SAME_NO)
		return 0;
	if (s->same == SFTP_SAME_YES)
		return s->have;
	/*
	 * Only scp -p gives a copy its source's time, at the end. The last
	 * write to an interrupted copy is later than that to its source.
	 */
	if (s->have == s->size)
		return s->have_mtime == s->mtime ? s->have : 0;
	return s->have_mtime >= s->mtime ? s->have : 0;
}

void
sftp_resume_say(const struct sftp_resume *s, const char *path)
{
	uint64_t at = sftp_resume_at(s);

	if (s->have == 0)
		return;
	if (at == 0)
		logit("\"%s\" %s what the source begins with: "
		    "copying all of it", path, s->have <= s->size &&
		    s->same == SFTP_SAME_UNKNOWN ? "may not be" : "is not");
	else if (s->same == SFTP_SAME_UNKNOWN)
		logit("\"%s\": keeping %llu bytes because of size and time "
		    "only: the server can't compare content", path,
		    (unsigned long long)at);
	else
		debug("\"%s\": %llu of %llu bytes are the same", path,
		    (unsigned long long)at, (unsigned long long)s->size);
}

void
sftp_compare_start(struct sftp_compare *c, int fd, uint64_t len)
{
	memset(c, 0, sizeof(*c));
	c->fd = fd;
	c->len = len;
	c->step = SFTP_CHECK_BYTES;
	c->same = SFTP_SAME_YES;
}

int
sftp_compare_more(const struct sftp_compare *c)
{
	return c->same == SFTP_SAME_YES && c->asked < c->len &&
	    c->outstanding < SFTP_COMPARE_AHEAD;
}

int
sftp_compare_ask(struct sftp_compare *c, struct sshbuf *m, u_int id,
    const u_char *handle, size_t handle_len)
{
	struct sftp_piece *p = &c->piece[c->outstanding++];

	memset(p, 0, sizeof(*p));
	p->id = id;
	p->start = c->asked;
	p->len = MINIMUM(c->len - c->asked, c->step);
	/* The server digests no short piece: the last one gets its part. */
	if (p->len == c->step && c->len - c->asked - p->len != 0 &&
	    c->len - c->asked - p->len < SFTP_CHECK_BLOCK_MIN)
		p->len -= SFTP_CHECK_BLOCK_MIN;
	c->asked += p->len;
	return sftp_check_request(m, id, handle, handle_len, p->start, p->len);
}

static void
digest_piece(const struct sftp_compare *c, struct sftp_piece *p)
{
	struct sshbuf *b;
	uint64_t total;

	if ((b = sshbuf_new()) == NULL)
		fatal_f("sshbuf_new failed");
	p->digested = 1;
	p->failed = sftp_check_file(c->fd, p->start, p->len, 0, -1, -1,
	    b, &total) != 0 || sshbuf_get(b, p->ours, sizeof(p->ours)) != 0;
	sshbuf_free(b);
}

void
sftp_compare_read(struct sftp_compare *c)
{
	u_int i;

	for (i = 0; i < c->outstanding; i++) {
		if (!c->piece[i].digested) {
			digest_piece(c, &c->piece[i]);
			return;
		}
	}
}

/* Returns what a reply says of a piece; m is what follows the reply's id. */
static enum sftp_same
compare_piece(const struct sftp_compare *c, struct sftp_piece *p, u_char type,
    struct sshbuf *m)
{
	u_char theirs[SFTP_CHECK_LEN];

	if (type != SSH2_FXP_EXTENDED_REPLY || sftp_check_reply(m, theirs) != 0)
		return SFTP_SAME_UNKNOWN;
	if (!p->digested)
		digest_piece(c, p);
	return !p->failed && memcmp(p->ours, theirs, sizeof(theirs)) == 0 ?
	    SFTP_SAME_YES : SFTP_SAME_NO;
}

int
sftp_compare_reply(struct sftp_compare *c, struct sshbuf *m)
{
	u_char type;
	u_int i, id;
	int r;

	if ((r = sshbuf_get_u8(m, &type)) != 0 ||
	    (r = sshbuf_get_u32(m, &id)) != 0)
		return r;
	for (i = 0; i < c->outstanding && c->piece[i].id != id; i++)
		;
	if (i == c->outstanding)
		return SSH_ERR_INVALID_FORMAT;
	/* Once it is known, later pieces don't matter. */
	if (c->same == SFTP_SAME_YES)
		c->same = compare_piece(c, &c->piece[i], type, m);
	c->outstanding--;
	memmove(&c->piece[i], &c->piece[i + 1],
	    (c->outstanding - i) * sizeof(c->piece[0]));
	return 0;
}
