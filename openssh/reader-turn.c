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

#include "reader-turn.h"

int
reader_turn_look(struct reader_turn *rt, uint64_t backlog, uint64_t before,
    uint64_t took_us, uint64_t now_us)
{
	if (backlog <= READER_TURN_BACKLOG ||
	    (backlog <= before && rt->since_us == 0) ||
	    now_us - took_us >= READER_TURN_LATELY_US)
		return 0;
	rt->behind = 1;
	return 1;
}

int
reader_turn_first(struct reader_turn *rt, uint64_t now_us)
{
	int behind = rt->behind;

	rt->behind = 0;
	if (!behind) {
		rt->since_us = 0;
		return 0;
	}
	if (rt->since_us == 0)
		rt->since_us = now_us;
	if (now_us - rt->since_us < READER_TURN_MOST_US)
		return 1;
	rt->since_us = 0;
	return 0;
}
