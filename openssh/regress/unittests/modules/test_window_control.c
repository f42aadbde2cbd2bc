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

/* The controller's rules, one by one, and its invariants at random. */

#include "includes.h"

#include <sys/types.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "window-control.h"
#include "misc.h"

#define BASE		(2U * 1024 * 1024)
#define PACKET		(32U * 1024)
#define MIB		(1024 * 1024)
#define NO_LIMIT	UINT32_MAX

void test_window_control(void);

/* Starts a controller, and the clock. */
static void
start(struct window_control *cw, uint64_t *now_us, int bounded_peer)
{
	*now_us = 1000000;
	window_init(cw, BASE, bounded_peer, *now_us);
}

/*
 * Delivers `rate` bytes/ms for `ms` ms in pieces of 100 us. They are consumed
 * as they come, with `backlog` bytes standing all along. (A round trip counts
 * the pieces at both its ends, so they should be small against it.)
 */
static void
deliver(struct window_control *cw, uint64_t *now_us, uint64_t rate, uint64_t ms,
    uint64_t backlog, uint64_t rtt_us)
{
	uint64_t i;

	for (i = 0; i < ms * 10; i++) {
		*now_us += 100;
		window_update(cw, rate / 10, backlog, rtt_us, *now_us,
		    NO_LIMIT);
	}
}

static void
unknown_rtt(void)
{
	struct window_control cw;
	uint64_t now;

	TEST_START("window unknown RTT keeps the initial window");
	start(&cw, &now, 1);
	deliver(&cw, &now, 100000, 2000, 0, 0);
	ASSERT_U32_EQ(cw.target, BASE);
	ASSERT_INT_EQ(cw.limited, WINDOW_BASE);
	TEST_DONE();
}

static void
lan(void)
{
	struct window_control cw;
	uint64_t now, i;

	TEST_START("window LAN keeps the initial window, bursts and all");
	start(&cw, &now, 1);
	/* 1 GB/s, but in one burst of a whole window every 2 ms */
	for (i = 0; i < 1000; i++) {
		now += 2000;
		window_update(&cw, BASE, 0, 200, now, NO_LIMIT);
		ASSERT_U32_EQ(cw.target, BASE);
	}
	TEST_DONE();
}

static void
follows_bdp(void)
{
	static const struct {
		uint64_t rate;		/* bytes/ms */
		uint64_t rtt_us;
	} *t, tests[] = {
		{ 12500, 300000 },	/* 100 Mbit/s x 300 ms */
		{ 125000, 50000 },	/* 1 Gbit/s x 50 ms */
		{ 125000, 200000 },	/* 1 Gbit/s x 200 ms */
		{ 1250000, 20000 },	/* 10 Gbit/s x 20 ms */
		{ 1250000, 100000 },	/* 10 Gbit/s x 100 ms */
	};
	struct window_control cw;
	uint64_t now, bdp;
	size_t i;

	TEST_START("window target is BDP plus bounded headroom");
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		t = &tests[i];
		bdp = t->rate * t->rtt_us / 1000;
		start(&cw, &now, 1);
		deliver(&cw, &now, t->rate, 10 * t->rtt_us / 1000, 0,
		    t->rtt_us);
		test_subtest_info("rate %llu rtt %llu",
		    (unsigned long long)t->rate,
		    (unsigned long long)t->rtt_us);
		ASSERT_U64_GE(cw.bdp, bdp - bdp / 100);
		ASSERT_U64_LE(cw.bdp, bdp + bdp / 100);
		ASSERT_U64_EQ(cw.target, cw.bdp +
		    MINIMUM(2 * cw.bdp, 3 * cw.growth +
		    MAXIMUM(WINDOW_HEADROOM_MAX, cw.bdp / 2)));
		ASSERT_U64_LE(cw.growth, bdp / 100);
		ASSERT_INT_EQ(cw.limited, WINDOW_PATH);
	}
	TEST_DONE();
}

/* The same in pieces of a ms, with samples of the history 10 ms apart. */
static void
pieces(struct window_control *cw, uint64_t *now_us, uint64_t rate, uint64_t ms,
    uint64_t backlog)
{
	for (; ms > 0; ms--) {
		*now_us += 1000;
		window_update(cw, rate, backlog, 160000, *now_us, NO_LIMIT);
	}
}

static void
history(void)
{
	struct window_control cw;
	uint64_t now;

	TEST_START("window delivered is that of the last round trip");
	/* One that is younger than a round trip counts from its start. */
	start(&cw, &now, 1);
	pieces(&cw, &now, 40000, 50, 0);
	ASSERT_U64_EQ(cw.bdp, 50 * 40000);
	pieces(&cw, &now, 40000, 50, 0);
	ASSERT_U64_EQ(cw.bdp, 100 * 40000);
	/* Two round trips, the last one faster, between two samples */
	start(&cw, &now, 1);
	pieces(&cw, &now, 1000, 330, 0);
	pieces(&cw, &now, 5000, 165, 0);
	ASSERT_U64_GE(cw.growth + 10000, 160 * 5000 - (155 * 1000 + 5 * 5000));
	ASSERT_U64_LE(cw.growth, 160 * 5000 - (155 * 1000 + 5 * 5000) + 10000);
	ASSERT_U64_GE(cw.bdp + 10000, 160 * 5000);
	ASSERT_U64_LE(cw.bdp, 160 * 5000 + 10000);
	/* A rate that falls is no growth. */
	pieces(&cw, &now, 1000, 80, 0);
	ASSERT_U64_EQ(cw.growth, 0);
	TEST_DONE();
}

static void
standing(void)
{
	struct window_control cw;
	uint64_t now;

	TEST_START("window a reader lags if it did for a whole round trip");
	/* Not before there was one */
	start(&cw, &now, 1);
	pieces(&cw, &now, 50000, 150, 2 * WINDOW_LAG);
	ASSERT_INT_NE(cw.limited, WINDOW_READER);
	pieces(&cw, &now, 50000, 20, WINDOW_LAG);
	ASSERT_INT_EQ(cw.limited, WINDOW_READER);
	/* Nor once it kept up for a moment, between two samples */
	pieces(&cw, &now, 50000, 5, WINDOW_LAG);
	pieces(&cw, &now, 50000, 1, WINDOW_LAG - 1);
	pieces(&cw, &now, 50000, 155, WINDOW_LAG);
	ASSERT_INT_NE(cw.limited, WINDOW_READER);
	pieces(&cw, &now, 50000, 20, WINDOW_LAG);
	ASSERT_INT_EQ(cw.limited, WINDOW_READER);
	TEST_DONE();
}

/* After a jump of the RTT the history is too short for one (new) RTT. */
static void
standing_too_short(void)
{
	struct window_control cw;
	uint64_t now;

	TEST_START("window no reader lags by a history that is too short");
	start(&cw, &now, 1);
	deliver(&cw, &now, 1000000, 100, WINDOW_LAG, 5000);
	ASSERT_INT_EQ(cw.limited, WINDOW_READER);
	deliver(&cw, &now, 1000000, 1, WINDOW_LAG, 200000);
	ASSERT_INT_NE(cw.limited, WINDOW_READER);
	deliver(&cw, &now, 1000000, 150, WINDOW_LAG, 200000);
	ASSERT_INT_NE(cw.limited, WINDOW_READER);
	deliver(&cw, &now, 1000000, 50, WINDOW_LAG, 200000);
	ASSERT_INT_EQ(cw.limited, WINDOW_READER);
	TEST_DONE();
}

static void
reader_lags(void)
{
	struct window_control cw;
	uint64_t now;

	TEST_START("window lagging reader gets no headroom");
	start(&cw, &now, 1);
	deliver(&cw, &now, 40000, 2000, 0, 200000);
	ASSERT_U32_GE(cw.target, 8000000 + WINDOW_HEADROOM_MAX);
	deliver(&cw, &now, 40000, 2000, WINDOW_LAG, 200000);
	ASSERT_INT_EQ(cw.limited, WINDOW_READER);
	ASSERT_U32_LE(cw.target, 8000000 + 80000 + BASE);
	/* and its window goes as it slows down */
	deliver(&cw, &now, 4000, 2000, WINDOW_LAG, 200000);
	ASSERT_U32_LE(cw.target, 800000 + 8000 + BASE);
	TEST_DONE();
}

static void
burst_out_of_backlog(void)
{
	struct window_control cw;
	uint64_t now;
	uint32_t target;

	TEST_START("window emptying a backlog is not delivery");
	start(&cw, &now, 1);
	deliver(&cw, &now, 125000, 2000, 0, 200000);
	target = cw.target;
	/* The reader stops: 25 MB arrive over a round trip and wait. */
	now += 200000;
	window_update(&cw, 1, 25000000, 200000, now, NO_LIMIT);
	/* Ten seconds later it takes them in one go. */
	now += 10000000;
	window_update(&cw, 25000000, 0, 200000, now, NO_LIMIT);
	ASSERT_U32_LE(cw.target, BASE);
	ASSERT_U32_LT(cw.target, target);
	TEST_DONE();
}

static void
burst_after_loss(void)
{
	struct window_control cw;
	uint64_t now;
	uint32_t target;

	TEST_START("window what a lost segment held up is not a rate");
	start(&cw, &now, 0);
	deliver(&cw, &now, 125000, 2000, 0, 200000);
	target = cw.target;
	/* Nothing for a round trip, then all at once, and on as before. */
	now += 200000;
	window_update(&cw, 125000 * 200, 0, 200000, now, NO_LIMIT);
	ASSERT_U32_LE(cw.target, target);
	deliver(&cw, &now, 125000, 100, 0, 200000);
	ASSERT_U32_LE(cw.target, target + target / 50);
	deliver(&cw, &now, 125000, 100, 0, 200000);
	ASSERT_U32_LE(cw.target, target + target / 50);
	ASSERT_U32_GE(cw.target, target - target / 50);
	TEST_DONE();
}

static void
stop_is_no_news(void)
{
	struct window_control cw;
	uint64_t now, bdp = 25000000, i;

	TEST_START("window BDP is remembered while the reader stops");
	start(&cw, &now, 1);
	deliver(&cw, &now, 125000, 2000, 0, 200000);
	/* the reader stops, what is under way comes, and then nothing */
	for (i = 1; i <= 2000; i++)
		window_update(&cw, 0, i * bdp / 2000, 200000, now += 100,
		    NO_LIMIT);
	now += 5000000;
	/* it goes on, slower than the path, and has a while to do */
	for (i = 0; i < 1000; i++) {
		window_update(&cw, 10000, cw.backlog - 10000, 200000,
		    now += 1000, NO_LIMIT);
		ASSERT_U64_GE(cw.bdp, bdp - bdp / 100);
		ASSERT_U64_LE(cw.target, bdp + bdp / 100 + BASE);
	}
	/* and if the sender stops, with nothing waiting, it is forgotten */
	deliver(&cw, &now, 0, 2000, 0, 200000);
	ASSERT_U32_EQ(cw.target, BASE);
	TEST_DONE();
}

/* A little growth is the path's: the sender is there. */
static void
little_growth(void)
{
	struct window_control cw;
	uint64_t now;

	TEST_START("window growth is more than a sixteenth of the BDP");
	start(&cw, &now, 1);
	deliver(&cw, &now, 125000, 2000, 0, 200000);
	deliver(&cw, &now, 131000, 200, 0, 200000);
	ASSERT_INT_EQ(cw.limited, WINDOW_PATH);
	deliver(&cw, &now, 145000, 200, 0, 200000);
	ASSERT_INT_EQ(cw.limited, WINDOW_GREW);
	TEST_DONE();
}

/* A stock sender with less than a quarter of its window left */
static void
little_credit(void)
{
	struct window_control cw;
	uint64_t now;
	int little;

	TEST_START("window BDP is remembered for a while without credit");
	for (little = 0; little < 2; little++) {
		start(&cw, &now, 0);
		deliver(&cw, &now, 125000, 2000, 0, 200000);
		(void)window_credit(&cw, cw.target / 4 - little, PACKET);
		deliver(&cw, &now, 1000, 500, 0, 200000);
		ASSERT_INT_EQ(cw.bdp > 20000000, little);
		deliver(&cw, &now, 1000, 200, 0, 200000);
		ASSERT_INT_EQ(cw.bdp > 20000000, 0);
	}
	TEST_DONE();
}

/*
 * Returns the credit (bytes) that accrues in a hundredth of a round trip, with
 * a window of 64 MiB and that much gain (bytes).
 */
static uint64_t
accrues(uint64_t gain)
{
	struct window_control cw;

	window_init(&cw, BASE, 0, 1000000);
	cw.rtt_us = 100000;
	cw.target = 64 * MIB;
	cw.gain = gain;
	cw.paced_us = cw.now_us - cw.rtt_us / 100;
	(void)window_credit(&cw, cw.target, PACKET);
	return cw.allowance;
}

static void
pacing(void)
{
	TEST_START("window credit is paced by the window, and what it gains");
	ASSERT_U64_EQ(accrues(0), 64 * MIB / 100);
	ASSERT_U64_EQ(accrues(MIB), 66 * MIB / 100);
	ASSERT_U64_EQ(accrues(8 * MIB), (64 * MIB +
	    WINDOW_HEADROOM_UNBOUNDED) / 100);
	TEST_DONE();
}

/* Time goes on from when the window began, and never back. */
static void
clocks(void)
{
	struct window_control cw;

	TEST_START("a window's clock");
	memset(&cw, 0x55, sizeof(cw));
	window_init(&cw, BASE, 1, 5000000);
	ASSERT_U64_EQ(cw.now_us, 5000000);
	ASSERT_U64_EQ(cw.round_us, 5000000);
	ASSERT_U32_EQ(cw.target, BASE);
	window_update(&cw, 1, 0, 100000, 4999999, UINT32_MAX);
	ASSERT_U64_EQ(cw.now_us, 5000000);
	window_update(&cw, 1, 0, 100000, 5000001, UINT32_MAX);
	ASSERT_U64_EQ(cw.now_us, 5000001);
	TEST_DONE();
}

static void
quantum(void)
{
	struct window_control cw;

	TEST_START("window credit comes in worthwhile pieces");
	window_init(&cw, BASE, 1, 0);
	ASSERT_U32_EQ(window_credit(&cw, BASE, PACKET), 0);
	ASSERT_U32_EQ(window_credit(&cw, BASE + 1, PACKET), 0);
	ASSERT_U32_EQ(window_credit(&cw, UINT32_MAX, PACKET), 0);
	/* like stock: when more than three packets are due */
	ASSERT_U32_EQ(window_credit(&cw, BASE - 3 * PACKET, PACKET), 0);
	ASSERT_U32_EQ(window_credit(&cw, BASE - 3 * PACKET - 1, PACKET),
	    3 * PACKET + 1);
	cw.target = 64 * MIB;
	ASSERT_U32_EQ(window_credit(&cw, 63 * MIB, PACKET), 0);
	ASSERT_U32_EQ(window_credit(&cw, 62 * MIB, PACKET), 2 * MIB);
	/* what waits for the consumer counts */
	cw.backlog = 2 * MIB;
	ASSERT_U32_EQ(window_credit(&cw, 62 * MIB, PACKET), 0);
	/* what is too soon for another message is due at no time of its own */
	cw.backlog = 0;
	cw.rtt_us = 100000;
	cw.granted_us = cw.now_us;
	ASSERT_U32_EQ(window_credit(&cw, 40 * MIB, PACKET), 0);
	ASSERT_U64_EQ(cw.due_us, 0);
	cw.rtt_us = 0;
	/* a window smaller than three packets doesn't starve */
	cw.target = PACKET;
	ASSERT_U32_EQ(window_credit(&cw, 0, PACKET), PACKET);
	TEST_DONE();
}

static void
clocks_and_counters(void)
{
	struct window_control cw, fresh;
	uint64_t now, now2;

	TEST_START("window counters wrap and clocks may stand");
	start(&fresh, &now2, 1);
	start(&cw, &now, 1);
	cw.consumed = cw.received = UINT64_MAX - 1000000;
	cw.samples[cw.head].consumed = cw.samples[cw.head].received =
	    cw.consumed;
	deliver(&fresh, &now2, 125000, 3000, 0, 200000);
	deliver(&cw, &now, 125000, 3000, 0, 200000);
	ASSERT_U64_LT(cw.consumed, 1000000000);
	ASSERT_U32_EQ(cw.target, fresh.target);
	/* back in time: same window, and still in working order after */
	window_update(&cw, 0, 0, 200000, 5, NO_LIMIT);
	ASSERT_U32_EQ(cw.target, fresh.target);
	/* a year passes */
	now += 365ULL * 86400 * 1000000;
	window_update(&cw, 1, 0, 200000, now, NO_LIMIT);
	ASSERT_U32_EQ(cw.target, BASE);
	deliver(&cw, &now, 125000, 3000, 0, 200000);
	ASSERT_U64_GE(cw.target, 25000000 + WINDOW_HEADROOM_MAX);
	TEST_DONE();
}

/* A small deterministic generator: a failure repeats. */
static uint32_t
rnd(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

/* Bytes: less credit than this is not worth a message. */
static uint64_t
most_quantum(const struct window_control *cw)
{
	return MAXIMUM(3 * PACKET, cw->target / WINDOW_QUANTUM);
}

static void
random_walk(uint64_t seed)
{
	struct window_control cw;
	uint64_t now = rnd(&seed), rtt = 0, backlog = 0, take;
	uint32_t window = BASE, limit = NO_LIMIT, credit, send;
	u_int i;

	window_init(&cw, BASE, rnd(&seed) & 1, now);
	for (i = 0; i < 20000; i++) {
		if (rnd(&seed) % 500 == 0)
			rtt = rnd(&seed) % 400000;
		if (rnd(&seed) % 1000 == 0)
			limit = rnd(&seed) % (256 * MIB);
		now += rnd(&seed) % 3000;
		if (rnd(&seed) % 2000 == 0)
			now += rnd(&seed);
		/* (not within MINIMUM, which would draw twice) */
		send = rnd(&seed) % (1 << (rnd(&seed) % 24));
		send = MINIMUM(window, send);
		window -= send;
		backlog += send;
		take = rnd(&seed) % (1 << (rnd(&seed) % 24));
		take = MINIMUM(backlog, take);
		backlog -= take;
		window_update(&cw, take, backlog, rtt, now, limit);
		ASSERT_U32_GE(cw.target, BASE);
		ASSERT_U32_LE(cw.target, MAXIMUM(limit, BASE));
		if (rtt == 0)
			ASSERT_U32_EQ(cw.target, BASE);
		credit = window_credit(&cw, window, PACKET);
		if (credit != 0 && cw.bounded_peer)
			ASSERT_U64_EQ(window + backlog + credit, cw.target);
		if (credit != 0) {
			ASSERT_U64_LE(window + backlog + credit, cw.target);
			ASSERT_U64_GE(credit, most_quantum(&cw));
		}
		window += credit;
		/* what is paced and withheld goes out within a round trip */
		if (window + backlog + most_quantum(&cw) < cw.target &&
		    !cw.bounded_peer && rtt != 0 &&
		    cw.target > WINDOW_HEADROOM_MAX)
			ASSERT_U64_GT(cw.due_us, cw.now_us);
		if (cw.due_us != 0)
			ASSERT_U64_LE(cw.due_us, cw.now_us + 1 + rtt);
		/* never starved: something is on its way, waits for us ... */
		if (window + backlog == 0) {
			/* ... or goes out when it is due */
			ASSERT_U64_GT(cw.due_us, cw.now_us);
			now = MAXIMUM(now, cw.due_us);
		}
	}
}

static void
invariants(void)
{
	uint64_t seed;

	TEST_START("window invariants on random walks");
	for (seed = 1; seed <= 50; seed++) {
		test_subtest_info("seed %llu", (unsigned long long)seed);
		random_walk(seed);
	}
	TEST_DONE();
}

/* Credit of the last round trip is not unspent, older credit is. */
static void
unspent(void)
{
	struct window_control cw;
	uint64_t now, i;

	TEST_START("window unspent credit");
	start(&cw, &now, 0);
	ASSERT_U64_EQ(window_unspent(&cw, 5000, now), 5000);
	for (i = 0; i < 300; i++) {
		deliver(&cw, &now, 1000, 1, 0, 100000);
		cw.granted += 1000;
		if (i < 200)
			continue;
		/* At any time, not only when a sample begins */
		ASSERT_U64_EQ(window_unspent(&cw, 99000, now), 0);
		ASSERT_U64_GE(window_unspent(&cw, 250000, now), 149000);
		ASSERT_U64_LE(window_unspent(&cw, 250000, now), 151000);
	}
	/* Half of it has grown old, which takes no decision. */
	now += 50000;
	ASSERT_U64_GE(window_unspent(&cw, 250000, now), 199000);
	ASSERT_U64_LE(window_unspent(&cw, 250000, now), 201000);
	deliver(&cw, &now, 0, 110, 0, 100000);
	ASSERT_U64_EQ(window_unspent(&cw, 250000, now), 250000);
	/* All that there is was granted just now. */
	cw.granted += 250000;
	ASSERT_U64_EQ(window_unspent(&cw, 250000, now), 0);
	ASSERT_U64_EQ(window_unspent(&cw, 250000, 5), 0);
	TEST_DONE();
}

static void
names(void)
{
	TEST_START("window names of what decided the target");
	ASSERT_STRING_EQ(window_limited_name(WINDOW_BASE), "base");
	ASSERT_STRING_EQ(window_limited_name(WINDOW_GREW), "grew");
	ASSERT_STRING_EQ(window_limited_name(WINDOW_PATH), "path");
	ASSERT_STRING_EQ(window_limited_name(WINDOW_PEER), "peer");
	ASSERT_STRING_EQ(window_limited_name(WINDOW_READER), "reader");
	ASSERT_STRING_EQ(window_limited_name(WINDOW_BUDGET), "budget");
	TEST_DONE();
}

void
test_window_control(void)
{
	names();
	unspent();
	unknown_rtt();
	lan();
	follows_bdp();
	history();
	standing();
	standing_too_short();
	reader_lags();
	burst_out_of_backlog();
	burst_after_loss();
	stop_is_no_news();
	little_growth();
	little_credit();
	pacing();
	clocks();
	quantum();
	clocks_and_counters();
	invariants();
}
