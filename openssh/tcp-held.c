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

#include "misc.h"
#include "tcp-held.h"
#include "tcp-limit.h"

/*
 * A path that is full carries data without a pause. A sender that waits for an
 * acknowledgement leaves one of this part (1/n) of the time, at least.
 */
#define QUIET		4

/*
 * A round trip shows a queue if it takes a quarter longer than the least one,
 * and beyond that the smaller of this (us) and another quarter.
 */
#define QUEUE_US	2000

int
tcp_held_is_due(const struct tcp_held *h, uint64_t now_us)
{
	/* What comes once in a round trip may come a little early. */
	uint64_t round_us = h->last.rtt_us - h->last.rtt_us / 8;
	uint64_t least_us = MAXIMUM(round_us, TCP_HELD_LOOK_US);

	return h->last.at_us == 0 || now_us < h->last.at_us ||
	    now_us - h->last.at_us >= least_us;
}

/* Returns 1 if data waits in a queue of the path. */
static int
is_queued(const struct tcp_held_look *look)
{
	uint64_t quarter_us = look->min_rtt_us / 4;

	return look->rtt_us > look->min_rtt_us + quarter_us +
	    MINIMUM(quarter_us, QUEUE_US);
}

/* Returns by how much a total has grown; one that steps back has not. */
static uint64_t
increase(uint64_t now, uint64_t then)
{
	return now > then ? now - then : 0;
}

/*
 * Notes losses. Those of a path that is full don't count: they come soon after
 * a queue was seen, or all at one time, at the end of slow start.
 */
static void
note_losses(struct tcp_held *h, const struct tcp_held_look *look)
{
	if (is_queued(look))
		h->queued = TCP_HELD_EVENT;
	if (h->lost != 0 && h->lost <= TCP_HELD_EVENT)
		h->lost++;
	if (look->resent == h->last.resent || h->queued != 0)
		return;
	if (h->lost > TCP_HELD_EVENT)
		h->lossy = TCP_HELD_LOSSY;
	else if (h->lost == 0)
		h->lost = 1;
}

/* Returns the part of took_us for which the sender waited. Sets h->wide. */
static uint64_t
sender_us(struct tcp_held *h, const struct tcp_held_look *look,
    uint64_t took_us)
{
	const struct tcp_held_look *last = &h->last;
	uint64_t buffers_us = increase(look->buffers_us, last->buffers_us);
	uint64_t window_us = increase(look->window_us, last->window_us);

	if (h->lossy != 0 && look->filled)
		return took_us;
	h->wide = window_us > buffers_us &&
	    look->room / TCP_HELD_WIDE >= MAXIMUM(look->in_flight, 1);
	if (look->blocked)
		return took_us;
	return MINIMUM(MAXIMUM(buffers_us, window_us), took_us);
}

/*
 * Returns the part of took_us for which the sender at the other end waited, as
 * far as that shows here: our window was full, or data comes in bursts with
 * pauses in between, at a rate that stays.
 */
static uint64_t
receiver_us(const struct tcp_held *h, const struct tcp_held_look *look,
    uint64_t rate, uint64_t took_us)
{
	uint64_t before = h->rates[h->n % TCP_HELD_RATES];

	if (tcp_limit_window_is_full(look->received - h->last.received,
	    look->min_rtt_us, took_us, look->rcv_wnd))
		return took_us;
	/* Slow start doubles it in each round trip. */
	if (h->n < TCP_HELD_RATES || rate > before + before / 4)
		return 0;
	return look->quiet_us - h->last.quiet_us >= took_us / QUIET ?
	    took_us : 0;
}

void
tcp_held_add(struct tcp_held *h, const struct tcp_held_look *look)
{
	const struct tcp_held_look *last = &h->last;
	uint64_t took_us, acked, received, rate;

	if (last->at_us == 0 || look->at_us <= last->at_us ||
	    look->min_rtt_us == 0) {
		h->last = *look;
		return;
	}
	took_us = look->at_us - last->at_us;
	acked = look->acked - last->acked;
	received = look->received - last->received;
	rate = tcp_limit_bytes(MAXIMUM(acked, received), 1000000, took_us);
	note_losses(h, look);
	h->wide = 0;
	if (rate >= TCP_LIMIT_IDLE && !is_queued(look))
		h->held_us += acked >= received ?
		    sender_us(h, look, took_us) :
		    receiver_us(h, look, rate, took_us);
	if (h->lossy != 0)
		h->lossy--;
	if (h->queued != 0)
		h->queued--;
	h->rates[h->n++ % TCP_HELD_RATES] = rate;
	h->last = *look;
}
