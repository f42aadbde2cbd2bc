/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <string.h>

#include "misc.h"
#include "window-budget.h"

void
window_budget_init(struct window_budget *b, uint32_t limit, uint32_t base)
{
	memset(b, 0, sizeof(*b));
	b->limit = limit;
	b->pool = limit > base ? limit - base : 0;
}

static void
set_want(struct window_budget *b, struct window_budget_share *s, uint32_t want)
{
	b->wants += (uint64_t)want - s->want_over;
	b->wanting += (want != 0) - (s->want_over != 0);
	s->want_over = want;
}

void
window_budget_leave(struct window_budget *b, struct window_budget_share *s)
{
	set_want(b, s, 0);
	b->held -= s->held;
	s->held = 0;
}

uint32_t
window_budget_ask(struct window_budget *b, struct window_budget_share *me,
    uint32_t want, uint32_t outstanding)
{
	uint64_t others = b->held - me->held, part, extra, out;

	set_want(b, me, want > me->base ? want - me->base : 0);
	part = MAXIMUM(b->pool - MINIMUM(b->pool, b->wants - me->want_over),
	    b->pool / MAXIMUM(b->wanting, 1));
	/* Wait for what others hold beyond their part. */
	extra = MINIMUM(MINIMUM(me->want_over, part),
	    b->pool - MINIMUM(b->pool, others));
	out = outstanding > me->base ? outstanding - me->base : 0;
	me->held = MAXIMUM(extra, out);
	b->held = others + me->held;
	return me->base + extra;
}
