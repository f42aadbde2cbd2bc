/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/*
 * The controller on simulated links: 100 random ones, each with a sender in
 * TCP's slow start, in BBR's startup, and with a congestion window that is
 * open from the start; with a peer known to bound its buffer and one not
 * known to; with readers that are slower than the link or stop, and with links
 * that become slower.
 *
 * Time goes in steps of 1/256 of the RTT. What leaves the sender passes a
 * bottleneck queue and is half an RTT on the way, as are acknowledgements
 * and credit in the other direction.
 */

#include "includes.h"

#include <sys/types.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "window-control.h"
#include "window-budget.h"
#include "misc.h"

#define BASE		(2U * 1024 * 1024)
#define PACKET		(32U * 1024)
#define MIB		(1024 * 1024)
#define LIMIT		WINDOW_BUDGET_DEFAULT
#define UNSPENT_MAX	(8 * 1024 * 1024)	/* bytes, of a stock sender */
#define MSS		1448
#define TURN		(256 * 1024)	/* the main loop's */
#define STEPS_PER_RTT	256
#define HALF		(STEPS_PER_RTT / 2)
#define ROUNDS		60
#define NLINKS		100

void test_window_link(void);

enum startup { SLOW_START, BBR_STARTUP, OPEN_WINDOW };

struct link {
	/* configuration */
	uint64_t rate;		/* bytes per step, of the bottleneck */
	uint64_t rtt_us;
	uint64_t reader;	/* bytes per step that the consumer takes */
	enum startup startup;
	int bounded;
	u_int stops;		/* rounds that it stops for, and goes on for */
	u_int hole;		/* round in which the queue drops something */

	/* state */
	struct window_control cw;
	uint64_t now_us;
	uint64_t cwnd, inflight, queue, credit;		/* sender, bytes */
	uint64_t data[HALF], acks[HALF], credits[HALF];	/* on the way */
	uint64_t behind_hole;		/* bytes, behind a lost segment */
	uint64_t backlog;				/* receiver, bytes */
	uint32_t window;
	int started;		/* the startup phase is over */
	u_int round;

	/* what was seen */
	uint64_t steps, limited;	/* steps; held up by the window only */
	uint64_t adjusts;
	uint64_t unspent_max, backlog_end_max, target_max, delivered_max;
	uint64_t round_bytes;
	u_int full_round;	/* first round at 95 % of the link */
};

static void
link_init(struct link *l)
{
	window_init(&l->cw, BASE, l->bounded, l->now_us);
	l->credit = l->window = BASE;
	l->cwnd = 10 * MSS;
	if (l->startup == OPEN_WINDOW) {
		l->cwnd = 2 * l->rate * STEPS_PER_RTT;
		l->started = 1;
	}
}

/* Acknowledgements open the congestion window until the queue is full. */
static void
sender_acked(struct link *l, uint64_t acked)
{
	uint64_t limited = l->inflight >= l->cwnd / 2;

	l->inflight -= acked;
	if (!limited)
		return;
	if (l->started) {	/* probes on, slowly, where there is no queue */
		if (l->queue < l->rate)
			l->cwnd += acked / 16;
		return;
	}
	l->cwnd += l->startup == BBR_STARTUP ? acked * 189 / 100 : acked;
	if (l->queue > l->rate * STEPS_PER_RTT / 2)
		l->started = 1;
}

static void
sender_step(struct link *l, u_int slot)
{
	uint64_t room, sent;

	l->credit += l->credits[slot];
	sender_acked(l, l->acks[slot]);
	room = l->cwnd > l->inflight ? l->cwnd - l->inflight : 0;
	sent = MINIMUM(room, l->credit);
	l->credit -= sent;
	l->inflight += sent;
	l->queue += sent;
	l->unspent_max = MAXIMUM(l->unspent_max, l->credit);
	/* Held up: TCP would send, the link would carry, credit is out. */
	if (room - sent >= MSS && l->queue < l->rate)
		l->limited++;
	l->steps++;
}

/* The RTT with the queue, at most twice that of the empty path, or 5/4 */
static void
loaded(const struct link *l, struct rtt_in_use *rtt)
{
	rtt->least_us = rtt->rtt_us = l->rtt_us;
	rtt->inband = 0;
	if (l->hole != 0 || !l->bounded)
		rtt->rtt_us += MINIMUM(l->rtt_us / (l->bounded ? 1 : 4),
		    l->rtt_us / STEPS_PER_RTT * l->queue / l->rate);
}

/* A turn of the main loop. Returns the credit that it grants. */
static uint32_t
receiver_turn(struct link *l, uint64_t arrived, uint64_t *reader)
{
	struct window_facts facts = { .now_us = l->now_us };
	struct window_budget_share share = { .base = BASE };
	struct window_budget budget;
	uint32_t credit = 0;
	uint64_t taken;

	ASSERT_U64_LE(arrived, l->window);
	l->window -= arrived;
	l->backlog += arrived;
	l->round_bytes += arrived;
	taken = MINIMUM(l->backlog, *reader);
	l->backlog -= taken;
	*reader -= taken;
	if (taken != 0 || arrived != 0) {
		loaded(l, &facts.rtt);
		facts.consumed = taken;
		facts.backlog = l->backlog;
		facts.window = l->window;
		facts.maxpacket = PACKET;
		window_budget_init(&budget, LIMIT, BASE);
		credit = window_decide(&l->cw, &budget, &share, &facts);
		l->window += credit;
		l->adjusts += credit != 0;
	}
	l->target_max = MAXIMUM(l->target_max, l->cw.target);
	/* Never more than the limit, nor less than stock */
	ASSERT_U64_LE(l->window + l->backlog, LIMIT);
	ASSERT_U32_GE(l->cw.target, BASE);
	/* At most three times what a round trip brought */
	l->delivered_max = MAXIMUM(l->delivered_max, l->cw.bdp);
	ASSERT_U64_LE(l->cw.target, MAXIMUM(BASE, 3 * l->delivered_max));
	return credit;
}

static void
receiver_step(struct link *l, u_int slot)
{
	uint64_t left = l->data[slot], piece, reader = l->reader;

	if (l->stops != 0 && l->round / l->stops % 2 == 1)
		reader = 0;

	l->acks[slot] = left;
	/* It takes a round trip, two with the queue, to fill a hole. */
	if (l->hole != 0 && l->round >= l->hole && l->round < l->hole + 2) {
		l->behind_hole += left;
		left = 0;
	} else {
		left += l->behind_hole;
		l->behind_hole = 0;
	}
	l->credits[slot] = 0;
	do {
		piece = MINIMUM(left, TURN);
		l->credits[slot] += receiver_turn(l, piece, &reader);
	} while ((left -= piece) > 0);
}

static void
link_round(struct link *l, u_int round)
{
	uint64_t out, adjusts = l->adjusts;
	u_int i, slot;

	l->round_bytes = 0;
	l->round = round;
	for (i = 0; i < STEPS_PER_RTT; i++) {
		l->now_us += l->rtt_us / STEPS_PER_RTT;
		slot = i % HALF;
		sender_step(l, slot);
		receiver_step(l, slot);
		out = MINIMUM(l->queue, l->rate);
		l->queue -= out;
		l->data[slot] = out;
	}
	if (l->full_round == 0 &&
	    l->round_bytes >= l->rate * STEPS_PER_RTT * 95 / 100)
		l->full_round = round;
	if (round > ROUNDS - 10)
		l->backlog_end_max = MAXIMUM(l->backlog_end_max, l->backlog);
	/* The larger the window, the more bytes an adjust is for */
	ASSERT_U64_LE(l->adjusts - adjusts, WINDOW_QUANTUM);
}

static void
link_run(struct link *l)
{
	u_int round;

	test_subtest_info("rate %llu B/RTT rtt %llu us startup %d bounded %d "
	    "reader %llu", (unsigned long long)l->rate * STEPS_PER_RTT,
	    (unsigned long long)l->rtt_us, l->startup, l->bounded,
	    (unsigned long long)l->reader);
	link_init(l);
	for (round = 1; round <= ROUNDS; round++)
		link_round(l, round);
}

/* Link i of the 100: both rate and RTT spread evenly over their decades. */
static void
link_random(struct link *l, u_int i)
{
	uint64_t state = i * 2654435761ULL + 12345, bps;
	u_int k;

	memset(l, 0, sizeof(*l));
	for (k = 0; k < 4; k++)
		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	bps = 1000000;
	for (k = (state >> 33) % 41; k > 0; k--)	/* 10^(k/10) */
		bps = bps * 12589 / 10000;
	l->rtt_us = 1000;
	for (k = (state >> 45) % 26; k > 0; k--)	/* to 300 ms */
		l->rtt_us = l->rtt_us * 12589 / 10000;
	l->rtt_us -= l->rtt_us % STEPS_PER_RTT;
	l->rate = bps / 8 * l->rtt_us / 1000000 / STEPS_PER_RTT + 1;
	l->reader = UINT64_MAX;
	l->now_us = 1000000;
}

/*
 * Returns the round trips that a window takes from its initial size to `bytes`
 * if it triples in each, or exceeds the mean of the last two by the headroom.
 */
static u_int
rounds_to_reach(uint64_t bytes, int bounded)
{
	uint64_t w = BASE, before = 0, d;
	u_int n = 0;

	for (; w < bytes; n++) {
		d = bounded ? w : (w + before) / 2;
		before = w;
		w = d + (bounded ? 2 * d :
		    MINIMUM(2 * d, WINDOW_HEADROOM_MAX));
	}
	return n;
}

static void
fast_reader(enum startup startup, int bounded)
{
	struct link l;
	uint64_t bdp;
	u_int i;

	for (i = 0; i < NLINKS; i++) {
		link_random(&l, i);
		l.startup = startup;
		l.bounded = bounded;
		link_run(&l);
		bdp = l.rate * STEPS_PER_RTT;
		/* BDP and headroom, once growth is over */
		bdp += bounded ? 0 : bdp / 4;	/* its queue */
		ASSERT_U64_LE(l.cw.target, MAXIMUM(BASE, bdp + bdp / 10 +
		    (bounded ? 2 * bdp + bdp / 5 :
		    MINIMUM(2 * bdp, WINDOW_HEADROOM_MAX))));
		bdp = l.rate * STEPS_PER_RTT;
		/* Where stock's window suffices it stays that */
		if (3 * bdp <= BASE)
			ASSERT_U64_EQ(l.target_max, BASE);
		if (!bounded)
			ASSERT_U64_LE(l.unspent_max, UNSPENT_MAX);
		if (bdp + bdp / 20 > LIMIT) {
			ASSERT_U32_EQ(l.cw.target, LIMIT);
			continue;	/* the budget is the bottleneck */
		}
		ASSERT_U64_GE(l.cw.target, bdp);
		/*
		 * The window is never the bottleneck, except that the bound on
		 * unspent credit has to limit a startup.
		 */
		if (bounded && startup != OPEN_WINDOW)
			ASSERT_U64_LE(l.limited * 100, l.steps * 2);
		if (startup == OPEN_WINDOW) {
			ASSERT_U32_NE(l.full_round, 0);
			ASSERT_U32_LE(l.full_round,
			    rounds_to_reach(bdp, bounded) + 4);
		}
	}
}

/*
 * A queue as long as the path is full and drops a segment: what is behind it
 * comes a round trip late, and nothing had announced that. CUBIC backs off to
 * 0.7 of what was in flight, which still fills the path, and so does credit.
 */
static void
first_hole(void)
{
	struct link l;
	uint64_t limited, all = 0, links = 0;
	u_int i, round;

	for (i = 0; i < NLINKS; i++) {
		link_random(&l, i);
		l.startup = OPEN_WINDOW;
		l.bounded = 1;
		l.hole = 40;
		if (6 * l.rate * STEPS_PER_RTT > LIMIT)
			continue;	/* the budget may be the bottleneck */
		link_init(&l);
		for (round = 1; round < l.hole; round++)
			link_round(&l, round);
		l.cwnd = l.cwnd * 7 / 10;
		limited = l.limited;
		for (; round < l.hole + 4; round++)
			link_round(&l, round);
		test_subtest_info("rate %llu B/RTT, held up %llu steps of %u",
		    (unsigned long long)l.rate * STEPS_PER_RTT,
		    (unsigned long long)(l.limited - limited),
		    4 * STEPS_PER_RTT);
		/* The target is 3 BDP of a path that has no queue. */
		ASSERT_U64_LE((l.limited - limited) * 100,
		    4 * STEPS_PER_RTT * 3);
		all += l.limited - limited;
		links++;
	}
	ASSERT_U64_LE(all * 100, links * 4 * STEPS_PER_RTT / 2);
}

static void
slow_reader(void)
{
	struct link l;
	uint64_t percent;
	u_int i;

	for (i = 0; i < NLINKS; i++) {
		for (percent = 10; percent <= 70; percent += 30) {
			link_random(&l, i);
			l.bounded = i & 1;
			l.reader = MAXIMUM(l.rate * percent / 100, 1);
			link_run(&l);
			/* The window follows the reader, not the link. */
			ASSERT_U64_LE(l.backlog_end_max,
			    BASE + WINDOW_LAG_BYTES +
			    l.reader * STEPS_PER_RTT / 4);
			ASSERT_U64_LE(l.cw.target, BASE +
			    l.reader * STEPS_PER_RTT * 11 / 10 + PACKET);
		}
	}
}

/* A reader that goes on takes its backlog in a burst, which is no rate. */
static void
reader_in_bursts(void)
{
	struct link l;
	uint64_t bdp;
	u_int i;

	for (i = 0; i < NLINKS; i++) {
		link_random(&l, i);
		l.startup = i & 1 ? SLOW_START : OPEN_WINDOW;
		l.bounded = 1;
		l.stops = 2 + i % 5;
		link_run(&l);
		bdp = l.rate * STEPS_PER_RTT;
		ASSERT_U64_LE(l.delivered_max, bdp + bdp / 10 + 4 * PACKET);
	}
}

/* The rate falls to a quarter: within a second, so does the window. */
static void
slower_link(void)
{
	struct link l;
	uint64_t bdp;
	u_int i, round;

	for (i = 0; i < NLINKS; i++) {
		link_random(&l, i);
		l.startup = OPEN_WINDOW;
		l.bounded = i & 1;
		link_init(&l);
		for (round = 1; round <= ROUNDS; round++)
			link_round(&l, round);
		l.rate = l.rate / 4 + 1;
		l.cwnd = 2 * l.rate * STEPS_PER_RTT;
		l.queue = MINIMUM(l.queue, l.rate * STEPS_PER_RTT);
		l.inflight = l.cwnd;
		l.unspent_max = 0;
		for (round = 1; round <= 20; round++)
			link_round(&l, round);
		bdp = l.rate * STEPS_PER_RTT * 5 / 4;
		test_subtest_info("rate %llu B/RTT, target %u",
		    (unsigned long long)l.rate * STEPS_PER_RTT, l.cw.target);
		ASSERT_U64_LE(l.cw.target, MAXIMUM(BASE, bdp + bdp / 10 +
		    (l.bounded ? 2 * bdp + bdp / 5 :
		    MINIMUM(2 * bdp, WINDOW_HEADROOM_MAX))));
	}
}

void
test_window_link(void)
{
	TEST_START("window 100 links, slow start");
	fast_reader(SLOW_START, 1);
	TEST_DONE();
	TEST_START("window 100 links, BBR startup");
	fast_reader(BBR_STARTUP, 1);
	TEST_DONE();
	TEST_START("window 100 links, congestion window open");
	fast_reader(OPEN_WINDOW, 1);
	TEST_DONE();
	TEST_START("window 100 links, unknown peer, slow start");
	fast_reader(SLOW_START, 0);
	TEST_DONE();
	TEST_START("window 100 links, unknown peer, window open");
	fast_reader(OPEN_WINDOW, 0);
	TEST_DONE();
	TEST_START("window 100 links, a first segment lost");
	first_hole();
	TEST_DONE();
	TEST_START("window 100 links, slow readers");
	slow_reader();
	TEST_DONE();
	TEST_START("window 100 links, links that become slower");
	slower_link();
	TEST_DONE();
	TEST_START("window 100 links, readers in bursts");
	reader_in_bursts();
	TEST_DONE();
}
