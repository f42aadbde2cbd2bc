/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef WINDOW_DECIDE_H
#define WINDOW_DECIDE_H

#include "window-budget.h"
#include "window-control.h"

/* What was gathered of a channel for the decision on its credit */
struct window_facts {
	uint64_t now_us;	/* time, of a clock that doesn't step back */
	struct rtt_in_use rtt;
	uint32_t consumed;	/* bytes consumed since the last decision */
	uint64_t backlog;	/* bytes that came and wait for the consumer */
	uint32_t window;	/* bytes that the peer may still send */
	uint32_t maxpacket;	/* bytes of the largest packet */
};

/*
 * Decides how much credit a channel gets: its controller says what window it
 * wants, and the budget what it may have. Returns the credit to send now
 * (bytes), or 0 for none.
 */
uint32_t window_decide(struct window_control *cw,
	    struct window_budget *budget, struct window_budget_share *share,
	    const struct window_facts *facts);

#endif /* WINDOW_DECIDE_H */
