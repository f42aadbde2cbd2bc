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

#ifndef SFTP_SPACING_H
#define SFTP_SPACING_H

#include <sys/types.h>

/*
 * At most SFTP_SPACING_MAX connections begin within SFTP_SPACING_S (s), with
 * the first: common firewalls refuse the sixth within 30 s. Pure: times are
 * seconds of one clock.
 */
#define SFTP_SPACING_MAX	5
#define SFTP_SPACING_S		30.0

struct sftp_spacing {
	double began_s[SFTP_SPACING_MAX];	/* ring */
	u_int n;			/* connections that began, in all */
	u_int kept;			/* places for those to come */
};

/* Notes that a connection begins. */
void	 sftp_spacing_begin(struct sftp_spacing *s, double now_s);

/*
 * Returns 1 if one more connection may begin, else 0. s->kept places are left
 * for connections that begin without a call of this.
 */
int	 sftp_spacing_may(const struct sftp_spacing *s, double now_s);

#endif /* SFTP_SPACING_H */
