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

#ifndef WINDOW_DECIDE_H
#define WINDOW_DECIDE_H

#include "window-budget.h"
#include "window-control.h"

/* What was gathered of a channel for the decision on its credit */
struct window_facts {
	uint64_t now_us;	/* time, of a clock that doesn't step back */
	uint64_t rtt_us;	/* round trip time; 0: unknown */
	int late;		/* 1: data may have waited for a lost segment */
	int forwarded;		/* 1: the RTT is SSH's own */
	uint32_t consumed;	/* bytes consumed since the last decision */
	uint64_t counted;	/* bytes that count as consumed since then:
				 * with those that have begun to wait */
	uint64_t early;		/* bytes that have counted so, and now are in
				 * the backlog */
	uint64_t waiting;	/* bytes that wait in the kernel, behind a lost
				 * segment, and count: part of window */
	uint64_t backlog;	/* bytes that came and wait for the consumer */
	uint32_t window;	/* bytes that the peer may still send */
	uint32_t maxpacket;	/* bytes of the largest packet */
};

/*
 * Decides how much credit a channel gets: its controller says what window it
 * wants, and the budget what it may have. Pure: no socket, clock or log.
 * Returns the credit to send now (bytes), or 0 for none. Updates cw, with the
 * target that was decided on, and the share of the budget.
 */
uint32_t window_decide(struct window_control *cw,
	    struct window_budget *budget, struct window_budget_share *share,
	    const struct window_facts *facts);

#endif /* WINDOW_DECIDE_H */
