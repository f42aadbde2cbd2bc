/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <string.h>

#include "misc.h"
#include "sshbuf.h"
#include "window-control.h"

/* Returns the sample i intervals back; 0 is the current interval. */
static const struct window_sample *
sample_back(const struct window_control *cw, u_int i)
{
	return &cw->samples[(cw->head + WINDOW_SAMPLES - i) % WINDOW_SAMPLES];
}

/* Begins a new interval. */
static void
sample_push(struct window_control *cw)
{
	cw->head = (cw->head + 1) % WINDOW_SAMPLES;
	if (cw->nsamples < WINDOW_SAMPLES)
		cw->nsamples++;
	cw->samples[cw->head] = cw->now;
}

/* Returns value * part / whole, but at most the value. */
static uint64_t
scale(uint64_t value, uint64_t part, uint64_t whole)
{
	if (part >= whole)
		return value;
	return (double)value * part / whole;
}

/*
 * Sets the cumulative bytes of *at to those at time t_us, from the samples
 * around it. For earlier times, they are those of the oldest sample, which can
 * only understate what was delivered since.
 */
static void
history_at(const struct window_control *cw, uint64_t t_us,
    struct window_sample *at)
{
	const struct window_sample *s, *next = &cw->now;
	uint64_t part, whole;
	u_int i;

	for (i = 0; i < cw->nsamples; i++, next = s) {
		s = sample_back(cw, i);
		if (s->t_us > t_us)
			continue;
		part = t_us - s->t_us;
		whole = next->t_us - s->t_us;
		at->consumed = s->consumed +
		    scale(next->consumed - s->consumed, part, whole);
		at->received = s->received +
		    scale(next->received - s->received, part, whole);
		return;
	}
	*at = *next;
}

/* Returns the bytes that both came and were consumed between two points. */
static uint64_t
delivered(const struct window_sample *from, const struct window_sample *to)
{
	return MINIMUM(to->consumed - from->consumed,
	    to->received - from->received);
}

/* Returns the least backlog (bytes) in the last interval_us. */
static uint64_t
standing_backlog(const struct window_control *cw, uint64_t interval_us)
{
	const struct window_sample *s;
	uint64_t least = cw->now.backlog;
	u_int i;

	for (i = 0; i < cw->nsamples; i++) {
		s = sample_back(cw, i);
		least = MINIMUM(least, s->backlog);
		if (cw->now.t_us - s->t_us >= interval_us)
			return least;
	}
	return 0;	/* history too short */
}

/*
 * Returns 1 if the sender lacked credit in the last interval_us, so that the
 * bytes that came do not show the path's rate. Either few bytes came and the
 * backlog stayed large; or a peer with unbounded buffers had little credit
 * (starved_us) less than two intervals ago. The second case needs an empty
 * backlog: otherwise the consumer is slow.
 */
static int
lacked_credit(const struct window_control *cw, uint64_t came,
    uint64_t interval_us)
{
	if (came < WINDOW_LAG_BYTES &&
	    standing_backlog(cw, interval_us) >= WINDOW_LAG_BYTES)
		return 1;
	return !cw->bounded && cw->starved_us != 0 &&
	    cw->now.t_us - cw->starved_us < 2 * interval_us &&
	    cw->now.backlog < WINDOW_LAG_BYTES;
}

/* Ages the best deliveries by the round trips that have passed. */
static void
age(struct window_control *cw, uint64_t came, uint64_t interval_us)
{
	uint64_t i, shift = (cw->now.t_us - cw->round_us) / interval_us;

	if (shift == 0)
		return;
	cw->round_us = cw->now.t_us;
	if (lacked_credit(cw, came, interval_us))
		return;
	for (i = WINDOW_ROUNDS; i-- > 0;)
		cw->best[i] = i >= shift ? cw->best[i - shift] : 0;
}

/* Updates the best deliveries and the bdp from the history. */
static void
measure(struct window_control *cw, uint64_t interval_us)
{
	struct window_sample s1, s2;
	uint64_t t1, t2, now, before, i;
	uint64_t rounds = cw->bounded ?
	    WINDOW_ROUNDS : WINDOW_ROUNDS_UNBOUNDED;

	t1 = cw->now.t_us > interval_us ? cw->now.t_us - interval_us : 0;
	t2 = t1 > interval_us ? t1 - interval_us : 0;
	history_at(cw, t1, &s1);
	history_at(cw, t2, &s2);
	now = delivered(&s1, &cw->now);
	before = delivered(&s2, &s1);
	/*
	 * After a loss, up to two round trips' worth of data becomes readable
	 * in one. A peer with unbounded buffers gets no credit for such a
	 * burst: its rate is the mean of this round trip and the last.
	 */
	if (!cw->bounded && before < now)
		now = (now + before) / 2;
	/* Bytes in an interval to bytes in a round trip, if that is shorter */
	if (interval_us > cw->rtt_us)
		now = now * cw->rtt_us / interval_us;
	age(cw, cw->now.received - s1.received, interval_us);
	cw->best[0] = MAXIMUM(cw->best[0], now);
	for (cw->bdp = 0, i = 0; i < rounds; i++)
		cw->bdp = MAXIMUM(cw->bdp, cw->best[i]);
}

/* Returns 1 if this round trip delivered over 5/4 of those before the last. */
static int
growing(const struct window_control *cw)
{
	return cw->best[0] / 5 * 4 > MAXIMUM(cw->best[2], cw->best[3]);
}

/* Sets the target, and what decided it. */
static void
decide(struct window_control *cw, const struct rtt_in_use *rtt,
    uint64_t interval_us)
{
	/* With 2 * bdp of headroom, a target is 3 * bdp at most: 32 bits. */
	uint64_t bdp = MINIMUM(cw->bdp, UINT32_MAX / 3);
	uint64_t least_us = MINIMUM(rtt->least_us, rtt->rtt_us);
	uint64_t headroom = rtt->inband && !growing(cw) ? bdp : 2 * bdp;
	uint64_t want;

	cw->limited = WINDOW_BY_PATH;
	if (!cw->bounded && headroom > WINDOW_HEADROOM_MAX) {
		headroom = WINDOW_HEADROOM_MAX;
		cw->limited = WINDOW_BY_PEER;
	}
	if (standing_backlog(cw, interval_us) >= WINDOW_LAG_BYTES) {
		/* For a lagging reader, buffer no more than stock does. */
		headroom = MINIMUM(headroom, cw->base);
		cw->limited = WINDOW_BY_READER;
	}
	want = MINIMUM(bdp + headroom,
	    scale(3 * bdp, least_us, rtt->rtt_us));
	if (want <= cw->base) {
		want = cw->base;
		cw->limited = WINDOW_BY_BASE;
	}
	cw->target = want;
}

void
window_init(struct window_control *cw, uint32_t base, int bounded,
    uint64_t now_us)
{
	memset(cw, 0, sizeof(*cw));
	cw->base = cw->target = base;
	cw->bounded = bounded;
	cw->now.t_us = cw->round_us = now_us;
	sample_push(cw);
}

void
window_update(struct window_control *cw, const struct window_facts *facts)
{
	uint64_t interval_us;
	struct window_sample *s;

	/* ignore a step back */
	cw->now.t_us = MAXIMUM(cw->now.t_us, facts->now_us);
	cw->rtt_us = facts->rtt.rtt_us;
	interval_us = MAXIMUM(cw->rtt_us, WINDOW_INTERVAL_MIN_US);

	/*
	 * Push a sample before the counters change. After an idle gap the
	 * history then rises at its end, not evenly across it.
	 */
	if (cw->now.t_us - cw->samples[cw->head].t_us >=
	    interval_us / WINDOW_PER_RTT)
		sample_push(cw);
	cw->now.consumed += facts->consumed;
	cw->now.received = cw->now.consumed + facts->backlog;
	cw->now.backlog = facts->backlog;
	s = &cw->samples[cw->head];
	s->backlog = MINIMUM(s->backlog, facts->backlog);

	if (cw->rtt_us == 0) {
		cw->target = cw->base;
		cw->limited = WINDOW_BY_BASE;
	} else {
		measure(cw, interval_us);
		decide(cw, &facts->rtt, interval_us);
	}
}

uint32_t
window_credit(struct window_control *cw, uint32_t window, uint32_t maxpacket)
{
	uint64_t outstanding = window + cw->now.backlog;
	uint64_t quantum, credit;

	quantum = MAXIMUM(3 * (uint64_t)maxpacket,
	    cw->target / WINDOW_QUANTUM);
	/* However small the window, half of it is worth a message */
	quantum = MINIMUM(quantum, cw->target / 2);
	if (window < cw->target / 4)
		cw->starved_us = cw->now.t_us;
	/* Credit cannot be taken back. Wait until the peer has used it. */
	if (outstanding >= cw->target)
		return 0;
	credit = cw->target - outstanding;
	if (credit <= quantum)
		return 0;
	/*
	 * A burst that consumes a backlog, or a target that jumps, would cause
	 * more adjusts. Delay them if this function is certain to be called
	 * again: when backlog is consumed, or when the rest of a large window
	 * comes.
	 */
	if (cw->now.t_us - cw->granted_us < cw->rtt_us / WINDOW_QUANTUM &&
	    (cw->now.backlog > 0 || window >= cw->target / 2))
		return 0;
	cw->granted_us = cw->now.t_us;
	return credit;
}

uint32_t
window_decide(struct window_control *cw, struct window_budget *budget,
    struct window_budget_share *share, const struct window_facts *facts)
{
	uint64_t outstanding = facts->window + facts->backlog;
	uint32_t limit;

	window_update(cw, facts);
	/* An sshbuf holds at most SSHBUF_SIZE_MAX bytes. */
	limit = window_budget_ask(budget, share, MINIMUM(cw->target,
	    SSHBUF_SIZE_MAX), MINIMUM(outstanding, UINT32_MAX));
	if (cw->target > limit) {
		cw->target = limit;
		cw->limited = WINDOW_BY_BUDGET;
	}
	return window_credit(cw, facts->window, facts->maxpacket);
}
