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

#include "sftp-spacing.h"

void
sftp_spacing_begin(struct sftp_spacing *s, double now_s)
{
	s->began_s[s->n++ % SFTP_SPACING_MAX] = now_s;
}

int
sftp_spacing_may(const struct sftp_spacing *s, double now_s)
{
	u_int most;

	if (s->kept >= SFTP_SPACING_MAX)
		return 0;
	most = SFTP_SPACING_MAX - s->kept;
	return s->n < most || now_s - s->began_s[(s->n - most) %
	    SFTP_SPACING_MAX] > SFTP_SPACING_S;
}
