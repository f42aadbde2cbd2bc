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

#include <limits.h>

#include "sftp.h"
#include "sftp-end.h"

/* One more, up to the largest number */
static u_int
count_one(u_int n)
{
	return n < UINT_MAX ? n + 1 : n;
}

void
sftp_end_short(struct sftp_end *e, int at_end)
{
	e->is_short = at_end ? 1 : -1;
}

void
sftp_end_answered(struct sftp_end *e, u_char type, u_int status)
{
	int hole = e->is_short == -1 || (type == SSH2_FXP_READ &&
	    e->behind && status == SSH2_FX_OK);

	if ((status == SSH2_FX_OK || status == SSH2_FX_EOF) && !hole)
		e->good = count_one(e->good);
	else
		e->good = 0;
	if (type == SSH2_FXP_READ) {
		e->since_read = 0;
		e->read_ended = status == SSH2_FX_EOF;
		e->behind |= e->is_short != 0 || e->read_ended;
	} else {
		e->since_read = count_one(e->since_read);
		e->behind = 0;
	}
	e->is_short = 0;
}

int
sftp_end_may(const struct sftp_end *e, u_int count)
{
	if (count == 0 || e->good < count)
		return 0;
	return e->since_read >= count || e->read_ended;
}
