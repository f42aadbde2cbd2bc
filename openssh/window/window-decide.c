/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include "misc.h"
#include "sshbuf.h"
#include "window-decide.h"

uint32_t
window_decide(struct window_control *cw, struct window_budget *budget,
    struct window_budget_share *share, const struct window_facts *facts)
{
	uint64_t outstanding = facts->window + facts->backlog;

	/* What waits in an sshbuf can't be more. */
	window_update(cw, facts->consumed, facts->backlog, &facts->rtt,
	    facts->now_us, SSHBUF_SIZE_MAX);
	window_limit(cw, window_budget_ask(budget, share, cw->target,
	    MINIMUM(outstanding, UINT32_MAX)));
	return window_credit(cw, facts->window, facts->maxpacket);
}
