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

/*
 * The kernel tells how much memory all unread data takes, and how much of that
 * data is in order. The rest waits behind a lost segment. How much data a byte
 * of memory holds depends on the kernel and on the network card. So that is
 * measured while no data arrives in order: then every segment that arrives has
 * to wait, unless it has come before.
 */

#include "includes.h"

#include <sys/types.h>

#include <stdint.h>
#include <string.h>

#include "misc.h"
#include "late-bytes.h"

/*
 * The share of the memory that is data, in parts of SHARE_UNIT: what is assumed
 * until it was measured, and the least that is believed. (1448 bytes that take
 * 2304 bytes of memory are a share of 0.63.)
 */
#define SHARE_UNIT	1024
#define SHARE_UNKNOWN	(SHARE_UNIT / 2)
#define SHARE_LEAST	(SHARE_UNIT / 64)

/* Fewer segments than this do not tell the share. */
#define SHARE_SEGMENTS	8

/*
 * Weight of a larger share than before: one in this many. A smaller one counts
 * at once, as segments that come twice only ever raise it.
 */
#define SHARE_SMOOTHING	16

/* What is more than this (bytes) is no socket's memory. */
#define MEMORY_MAX	((uint64_t)1 << 40)

/* Returns the time (us) between two looks. */
static uint64_t
spacing_us(uint64_t rtt_us)
{
	return MAXIMUM(rtt_us / LATE_PER_RTT, LATE_SPACING_MIN_US);
}

static void
measure_share(struct late_bytes *lb, const struct late_look *look)
{
	const struct late_look *last = &lb->last;
	uint64_t segments = look->late - last->late, memory, share;

	if (last->memory == 0 || look->memory <= last->memory ||
	    look->memory > MEMORY_MAX || look->received != last->received ||
	    look->unread != 0 || last->unread != 0 ||
	    segments < SHARE_SEGMENTS || segments > UINT32_MAX ||
	    look->segment == 0 || look->segment > UINT16_MAX)
		return;
	memory = look->memory - last->memory;
	share = segments * look->segment * SHARE_UNIT / memory;
	if (share > SHARE_UNIT)
		return;		/* some have come before, and take no memory */
	share = MAXIMUM(share, SHARE_LEAST);
	if (lb->share == 0)
		lb->share = SHARE_UNKNOWN;
	if (share < lb->share)
		lb->share = share;
	else
		lb->share = (lb->share * (SHARE_SMOOTHING - 1) + share +
		    SHARE_SMOOTHING - 1) / SHARE_SMOOTHING;
}

void
late_bytes_arrived(struct late_bytes *lb, uint64_t bytes, uint64_t rtt_us,
    uint64_t now_us)
{
	uint64_t next_us = now_us + spacing_us(rtt_us);

	/* The lost segment has come, and what comes waited behind it. */
	lb->held -= MINIMUM(lb->held, bytes);
	lb->waiting = MINIMUM(lb->waiting, lb->held);
	lb->news_us = now_us;
	if (lb->look_us == 0 || lb->look_us > next_us)
		lb->look_us = next_us;
}

int
late_bytes_due(const struct late_bytes *lb, uint64_t now_us)
{
	return lb->look_us != 0 && now_us >= lb->look_us;
}

void
late_bytes_look(struct late_bytes *lb, const struct late_look *look,
    uint64_t window, uint64_t rtt_us, uint64_t now_us)
{
	uint64_t memory = MINIMUM(look->memory, MEMORY_MAX), data, late;
	uint64_t patience_us, quiet_us;

	measure_share(lb, look);
	data = memory * (lb->share != 0 ? lb->share : SHARE_UNKNOWN) /
	    SHARE_UNIT;
	late = data > look->unread ? data - look->unread : 0;
	/* What waited and can be read now counts until it was read. */
	lb->held = MINIMUM(MAXIMUM(late, lb->held), data);
	lb->held = MINIMUM(lb->held, window);
	lb->waiting = MINIMUM(lb->waiting, lb->held);
	if (look->late != lb->last.late || look->memory != lb->last.memory ||
	    now_us < lb->news_us)
		lb->news_us = now_us;
	lb->last = *look;
	quiet_us = now_us - lb->news_us;
	patience_us = lb->held != 0 ? LATE_PATIENCE_RTTS * rtt_us :
	    LATE_PATIENCE * spacing_us(rtt_us);
	lb->look_us = quiet_us >= patience_us ? 0 :
	    now_us + MAXIMUM(spacing_us(rtt_us), quiet_us / 4);
}

void
late_bytes_allow(struct late_bytes *lb, uint64_t least, uint64_t limit,
    uint64_t bdp, uint64_t unspent, uint64_t rtt_us, uint64_t now_us)
{
	uint64_t took_us = 0, fewer;

	if (lb->allowed_us != 0 && now_us > lb->allowed_us)
		took_us = MINIMUM(now_us - lb->allowed_us, rtt_us);
	lb->most = MAXIMUM(lb->most, least);
	if (unspent >= LATE_UNSPENT) {
		fewer = MINIMUM(unspent - LATE_UNSPENT, UINT32_MAX);
		fewer = fewer * took_us / rtt_us;
		lb->most -= MINIMUM(lb->most - least, fewer);
	} else if (lb->held > lb->most)
		lb->most += MAXIMUM(LATE_MORE, bdp / 4) * took_us / rtt_us;
	lb->most = MINIMUM(lb->most, limit);
	lb->allowed_us = now_us;
	lb->waiting = MINIMUM(lb->held, lb->most);
}

void
late_bytes_stop(struct late_bytes *lb)
{
	lb->held = lb->waiting = lb->most = 0;
	lb->allowed_us = 0;
	lb->look_us = 0;
	memset(&lb->last, 0, sizeof(lb->last));
}

uint64_t
late_bytes_count(struct late_bytes *lb, uint64_t consumed)
{
	uint64_t all = consumed + lb->waiting, more;

	if (all < lb->ahead) {
		lb->ahead -= consumed;
		return 0;
	}
	more = all - lb->ahead;
	lb->ahead = lb->waiting;
	return more;
}
