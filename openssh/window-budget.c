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
#include <stdlib.h>

#include "window-budget.h"
#include "misc.h"

struct window_budget *
window_budget_new(uint32_t limit)
{
	struct window_budget *b;

	if ((b = calloc(1, sizeof(*b))) == NULL)
		return NULL;
	b->limit = limit;
	TAILQ_INIT(&b->shares);
	return b;
}

void
window_budget_free(struct window_budget *b)
{
	free(b);
}

void
window_budget_join(struct window_budget *b, struct window_budget_share *s,
    uint32_t base)
{
	s->base = base;
	s->want = s->held = 0;
	b->bases += base;
	TAILQ_INSERT_TAIL(&b->shares, s, entry);
}

void
window_budget_leave(struct window_budget *b, struct window_budget_share *s)
{
	b->bases -= s->base;
	b->wants -= s->want;
	b->held -= s->held;
	b->wanting -= s->want != 0;
	TAILQ_REMOVE(&b->shares, s, entry);
}

/* Notes what a share wants. Those that want something stay in front. */
static void
set_want(struct window_budget *b, struct window_budget_share *s, uint32_t want)
{
	b->wants -= s->want;
	b->wants += want;
	if ((s->want != 0) != (want != 0)) {
		TAILQ_REMOVE(&b->shares, s, entry);
		if (want != 0) {
			TAILQ_INSERT_HEAD(&b->shares, s, entry);
			b->wanting++;
		} else {
			TAILQ_INSERT_TAIL(&b->shares, s, entry);
			b->wanting--;
		}
	}
	s->want = want;
}

/*
 * Returns the fair share of pool bytes: the largest f such that each share can
 * have min(want, f). Shares that want less than an equal part leave the rest to
 * the others, round after round, until there are no new ones. Only shares that
 * want more than their base are looked at, and only if the pool is too small.
 */
static uint64_t
fair_share(const struct window_budget *b, uint64_t pool)
{
	const struct window_budget_share *s;
	uint64_t fair = 0, next, left, n;
	u_int i;

	if (pool == 0)
		return 0;
	if (b->wants <= pool)
		return UINT32_MAX;
	for (;;) {
		left = pool;
		n = 0;
		s = TAILQ_FIRST(&b->shares);
		for (i = 0; i < b->wanting; i++, s = TAILQ_NEXT(s, entry)) {
			if (s->want <= fair)
				left -= s->want;
			else
				n++;
		}
		if (n == 0 || (next = left / n) <= fair)
			return fair;
		fair = next;
	}
}

uint32_t
window_budget_ask(struct window_budget *b, struct window_budget_share *me,
    uint32_t want, uint32_t outstanding)
{
	uint64_t pool, others, fair, extra, out;

	pool = b->limit > b->bases ? b->limit - b->bases : 0;
	others = b->held - me->held;
	set_want(b, me, want > me->base ? want - me->base : 0);
	fair = fair_share(b, pool);
	extra = MINIMUM(me->want, fair);
	/* What others hold beyond their part has to come back first. */
	extra = MINIMUM(extra, pool > others ? pool - others : 0);
	out = outstanding > me->base ? outstanding - me->base : 0;
	me->held = MAXIMUM(extra, out);
	b->held = others + me->held;
	return me->base + extra;
}
