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

#ifndef SFTP_TURN_H
#define SFTP_TURN_H

#include <sys/types.h>

struct sshbuf;

/*
 * How many requests sftp-server processes before it looks at its client again,
 * which may have gone. Pure: times are seconds of one clock.
 */
enum sftp_turn_kind {
	SFTP_TURN_ONE,		/* one */
	SFTP_TURN_FIRST,	/* what came with INIT, if it is short */
	SFTP_TURN_BEHIND	/* what came behind replies that nobody reads */
};

/* Requests in a first turn: more than a client of ours sends ahead */
#define SFTP_TURN_FIRST_MAX	16
/* Time (s) after which another turn begins, unless it is a first one */
#define SFTP_TURN_S		0.01

struct sftp_turn {
	enum sftp_turn_kind kind;
	size_t	had;		/* bytes of replies as it began */
	double	began_s;
	u_int	n;		/* requests, until now */
};

/* Begins a turn. `replies` is the number of bytes of replies that wait. */
void	 sftp_turn_begin(struct sftp_turn *t, enum sftp_turn_kind kind,
	    size_t replies, double now_s);

/*
 * Notes that a request was processed. `requests` begins with the next one,
 * which is whole. `replies` is the number of bytes of replies that wait.
 * Returns 1 if the next request belongs to the same turn, else 0. The turn ends
 * with the reply by which replies have grown by SFTP_MAX_MSG_LENGTH or more.
 */
int	 sftp_turn_goes_on(struct sftp_turn *t, const struct sshbuf *requests,
	    size_t replies, double now_s);

#endif /* SFTP_TURN_H */
