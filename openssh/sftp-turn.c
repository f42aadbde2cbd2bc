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
#include <string.h>

#include "bdp-names.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-turn.h"
#include "sshbuf.h"

/* Extensions that a client of ours sends before it knows the version */
static const char *const early[] = {
	"limits@openssh.com", BDP_OPEN_FILE, BDP_END_SESSION
};

/* Returns 1 if an extended request behind its id is an early one, else 0. */
static int
is_early_extension(const u_char *p, size_t len)
{
	size_t i, name_len;

	if (len < 4 || (name_len = PEEK_U32(p)) > len - 4)
		return 0;
	for (i = 0; i < sizeof(early) / sizeof(early[0]); i++) {
		if (name_len == strlen(early[i]) &&
		    memcmp(p + 4, early[i], name_len) == 0)
			return 1;
	}
	return 0;
}

/*
 * Returns 1 if the first message is one that a client of ours sends before it
 * knows the version, else 0. None of them takes long.
 */
static int
is_early(const struct sshbuf *requests)
{
	const u_char *p = sshbuf_ptr(requests);
	size_t len = sshbuf_len(requests);

	if (len < 5)
		return 0;
	switch (p[4]) {
	case SSH2_FXP_OPEN:
	case SSH2_FXP_CLOSE:
	case SSH2_FXP_READ:
	case SSH2_FXP_WRITE:
	case SSH2_FXP_LSTAT:
	case SSH2_FXP_STAT:
	case SSH2_FXP_FSETSTAT:
	case SSH2_FXP_REALPATH:
		return 1;
	case SSH2_FXP_EXTENDED:
		return len >= 9 && is_early_extension(p + 9, len - 9);
	default:
		return 0;
	}
}

void
sftp_turn_begin(struct sftp_turn *t, enum sftp_turn_kind kind, size_t replies,
    double now_s)
{
	t->kind = kind;
	t->had = replies;
	t->began_s = now_s;
	t->n = 0;
}

int
sftp_turn_goes_on(struct sftp_turn *t, const struct sshbuf *requests,
    size_t replies, double now_s)
{
	t->n++;
	if (replies >= t->had + SFTP_MAX_MSG_LENGTH)
		return 0;
	switch (t->kind) {
	case SFTP_TURN_FIRST:
		return t->n < SFTP_TURN_FIRST_MAX && is_early(requests);
	case SFTP_TURN_BEHIND:
		return now_s < t->began_s + SFTP_TURN_S;
	default:
		return 0;
	}
}
