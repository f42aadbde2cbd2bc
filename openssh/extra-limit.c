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

#include "extra-limit.h"
#include "misc.h"

u_int
extra_limit(const struct extra_limit_facts *f)
{
	if (f->is_ours)
		return 1;
	if (f->by == EXTRA_LIMIT_ASKED)
		return EXTRA_LIMIT_MAX;
	if (f->by == EXTRA_LIMIT_OPTION && f->option != 0)
		return MINIMUM((u_int)f->option, EXTRA_LIMIT_MAX);
	/*
	 * Other servers may take a second session amiss. Without a socket, or
	 * with a forwarder behind it, nobody knows how far away they are.
	 */
	return f->is_openssh && f->rtt_us >= EXTRA_LIMIT_RTT_US ?
	    EXTRA_LIMIT_MAX : 1;
}
