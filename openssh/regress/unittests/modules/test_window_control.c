/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/* The controller's rules, one by one, and its invariants at random. */

#include "includes.h"

#include <sys/types.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "fake.h"
#include "misc.h"
#include "sshbuf.h"
#include "window-control.h"

#define BASE		(2U * 1024 * 1024)
#define PACKET		(32U * 1024)
#define MIB		(1024 * 1024)
#define NO_LIMIT	UINT32_MAX
#define RATE		125000ULL	/* bytes/ms, 1 Gbit/s */
#define RTT_US		200000
#define BDP		(RATE * RTT_US / 1000)

void test_window_control(void);

static struct window_control cw;
static uint64_t now_us;

static void
start(int bounded)
{
	now_us = 1000000;
	window_init(&cw, BASE, bounded, now_us);
}

static void
update(uint64_t consumed, uint64_t backlog, uint64_t rtt_us)
{
	struct window_facts facts = { .now_us = now_us,
	    .rtt = { rtt_us, rtt_us, 0 }, .consumed = consumed,
	    .backlog = backlog };

	window_update(&cw, &facts);
}

/*
 * Delivers `rate` bytes/ms for `ms` ms in pieces of 100 us. They are consumed
 * as they come, with `backlog` bytes standing all along. (A round trip counts
 * the pieces at both its ends, so they should be small against it.)
 */
static void
deliver(uint64_t rate, uint64_t ms, uint64_t backlog, uint64_t rtt_us)
{
	uint64_t i;

	for (i = 0; i < ms * 10; i++) {
		now_us += 100;
		update(rate / 10, backlog, rtt_us);
	}
}

static void
initial_window(void)
{
	uint64_t i;

	TEST_START("window: initial while the RTT is unknown, and on a LAN");
	start(1);
	ASSERT_U32_EQ(cw.target, BASE);
	deliver(100000, 2000, 0, 0);
	ASSERT_U32_EQ(cw.target, BASE);
	ASSERT_INT_EQ(cw.limited, WINDOW_BY_BASE);
	/* 1 GB/s, but in one burst of a whole window every 2 ms */
	start(1);
	for (i = 0; i < 1000; i++) {
		now_us += 2000;
		update(BASE, 0, 200);
		ASSERT_U32_EQ(cw.target, BASE);
	}
	TEST_DONE();
}

/* What a target may be, in the order of the rule. */
static void
target_is(uint64_t want, enum window_limited limited)
{
	ASSERT_U64_EQ(cw.target, want);
	ASSERT_INT_EQ(cw.limited, limited);
}

static void
rule(void)
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
	uint64_t bdp;
	size_t i;

	TEST_START("window: 3 BDP, or a BDP and 3 MiB if nothing bounds it");
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		t = &tests[i];
		test_subtest_info("%zu", i);
		bdp = t->rate * t->rtt_us / 1000;
		start(1);
		deliver(t->rate, 10 * t->rtt_us / 1000, 0, t->rtt_us);
		ASSERT_U64_GE(cw.bdp, bdp - bdp / 100);
		ASSERT_U64_LE(cw.bdp, bdp + bdp / 100);
		target_is(3 * cw.bdp, WINDOW_BY_PATH);
		start(0);
		deliver(t->rate, 10 * t->rtt_us / 1000, 0, t->rtt_us);
		ASSERT_U64_LE(cw.bdp, bdp + bdp / 100);
		target_is(cw.bdp + WINDOW_HEADROOM_MAX, WINDOW_BY_PEER);
	}
	start(0);		/* headroom is less than the 3 MiB */
	deliver(10000, 1000, 0, 100000);
	target_is(3 * cw.bdp, WINDOW_BY_PATH);
	TEST_DONE();
}

/*
 * Delivers at a rate for some ms, with a queue of `percent` of the minimum RTT
 * in what TCP says, or with SSH's own RTT, in which there is none.
 */
static void
queue(u_int percent, int inband, u_int rate, u_int ms)
{
	struct window_facts facts = { .consumed = rate / 10,
	    .rtt = { RTT_US, RTT_US * 100ULL / (100 + percent), inband } };
	u_int i;

	for (i = 0; i < 10 * ms; i++) {
		facts.now_us = now_us += 100;
		window_update(&cw, &facts);
	}
}

static void
queues(void)
{
	static const u_int percent[] = { 0, 25, 100 };
	u_int i;

	TEST_START("window: at most 3 BDP of the least RTT");
	for (i = 0; i < 3; i++) {
		start(1);
		queue(percent[i], 0, RATE, 2000);
		target_is(3 * cw.bdp * 100 / (100 + percent[i]),
		    WINDOW_BY_PATH);
	}
	TEST_DONE();
	TEST_START("window: by SSH's RTT 2 BDP, but 3 while delivery grows");
	start(1);
	queue(0, 1, RATE, 2000);
	target_is(2 * cw.bdp, WINDOW_BY_PATH);
	queue(0, 1, RATE + RATE / 5, RTT_US / 1000);
	target_is(2 * cw.bdp, WINDOW_BY_PATH);
	queue(0, 1, 2 * RATE, RTT_US / 1000);
	target_is(3 * cw.bdp, WINDOW_BY_PATH);
	queue(0, 1, 2 * RATE, 5 * RTT_US / 1000);
	target_is(2 * cw.bdp, WINDOW_BY_PATH);
	TEST_DONE();
}

/* The same in pieces of a ms, with samples of the history 10 ms apart. */
static void
pieces(uint64_t rate, uint64_t ms, uint64_t backlog)
{
	for (; ms > 0; ms--) {
		now_us += 1000;
		update(rate, backlog, 160000);
	}
}

static void
history(void)
{
	TEST_START("window: delivered is that of the last round trip");
	/* One that is younger than a round trip counts from its start. */
	start(1);
	pieces(40000, 50, 0);
	ASSERT_U64_EQ(cw.bdp, 50 * 40000);
	pieces(40000, 50, 0);
	ASSERT_U64_EQ(cw.bdp, 100 * 40000);
	/* A faster round trip, between two samples */
	start(1);
	pieces(1000, 330, 0);
	pieces(5000, 165, 0);
	ASSERT_U64_GE(cw.bdp + 10000, 160 * 5000);
	ASSERT_U64_LE(cw.bdp, 160 * 5000 + 10000);
	/* It is remembered for three more, and then forgotten. */
	pieces(1000, 3 * 160, 0);
	ASSERT_U64_GE(cw.bdp + 10000, 160 * 5000);
	pieces(1000, 3 * 160, 0);
	ASSERT_U64_LE(cw.bdp, 161 * 1000);
	/* For one if nothing bounds the sender's buffers */
	start(0);
	pieces(5000, 500, 0);
	pieces(1000, 100, 0);
	ASSERT_U64_GE(cw.bdp + 10000, 160 * 5000);
	pieces(1000, 400, 0);
	ASSERT_U64_LE(cw.bdp, 161 * 1000);
	TEST_DONE();
}

static void
standing(void)
{
	TEST_START("window: a reader lags if it did for a whole round trip");
	/* Not before there was one */
	start(1);
	pieces(50000, 150, 2 * WINDOW_LAG_BYTES);
	ASSERT_INT_NE(cw.limited, WINDOW_BY_READER);
	pieces(50000, 20, WINDOW_LAG_BYTES);
	ASSERT_INT_EQ(cw.limited, WINDOW_BY_READER);
	/* Nor once it kept up for a moment, between two samples */
	pieces(50000, 5, WINDOW_LAG_BYTES);
	pieces(50000, 1, WINDOW_LAG_BYTES - 1);
	pieces(50000, 155, WINDOW_LAG_BYTES);
	ASSERT_INT_NE(cw.limited, WINDOW_BY_READER);
	pieces(50000, 20, WINDOW_LAG_BYTES);
	ASSERT_INT_EQ(cw.limited, WINDOW_BY_READER);
	/* Nor by a history that is too short, as the RTT jumps */
	start(1);
	deliver(1000000, 100, WINDOW_LAG_BYTES, 5000);
	ASSERT_INT_EQ(cw.limited, WINDOW_BY_READER);
	deliver(1000000, 150, WINDOW_LAG_BYTES, 200000);
	ASSERT_INT_NE(cw.limited, WINDOW_BY_READER);
	deliver(1000000, 60, WINDOW_LAG_BYTES, 200000);
	ASSERT_INT_EQ(cw.limited, WINDOW_BY_READER);
	TEST_DONE();
	TEST_START("window: at most the base more while the reader lags");
	start(1);
	deliver(40000, 2000, 0, RTT_US);
	ASSERT_U32_GE(cw.target, 8000000 + 3 * MIB);
	deliver(40000, 2000, WINDOW_LAG_BYTES, RTT_US);
	target_is(cw.bdp + BASE, WINDOW_BY_READER);
	ASSERT_U64_LE(cw.bdp, 8000000 + 80000);
	/* and its window goes as it slows down */
	deliver(4000, 2000, WINDOW_LAG_BYTES, RTT_US);
	ASSERT_U32_LE(cw.target, 800000 + 8000 + BASE);
	TEST_DONE();
}

/* All at once is a burst, whatever it waited for. */
static void
bursts(void)
{
	uint32_t target;

	TEST_START("window: a backlog that is emptied is no rate");
	start(1);
	deliver(RATE, 2000, 0, RTT_US);
	/* The reader stops: 25 MB arrive over a round trip and wait. */
	now_us += RTT_US;
	update(1, BDP, RTT_US);
	/* Ten seconds later it takes them in one go. */
	now_us += 10000000;
	update(BDP, 0, RTT_US);
	ASSERT_U32_EQ(cw.target, BASE);
	TEST_DONE();
	TEST_START("window: what comes behind a lost segment is no rate");
	start(0);
	deliver(RATE, 2000, 0, RTT_US);
	target = cw.target;
	/* Nothing for a round trip, then all at once, and on as before. */
	now_us += RTT_US;
	update(BDP, 0, RTT_US);
	ASSERT_U32_LE(cw.target, target);
	deliver(RATE, 100, 0, RTT_US);
	ASSERT_U32_LE(cw.target, target + target / 50);
	deliver(RATE, 100, 0, RTT_US);
	ASSERT_U32_LE(cw.target, target + target / 50);
	ASSERT_U32_GE(cw.target, target - target / 50);
	TEST_DONE();
}

static void
remembered(void)
{
	uint64_t i;
	int little;

	TEST_START("window: the BDP is remembered while the reader stops");
	start(1);
	deliver(RATE, 2000, 0, RTT_US);
	/* the reader stops, what is under way comes, and then nothing */
	for (i = 1; i <= 2000; i++) {
		now_us += 100;
		update(0, i * BDP / 2000, RTT_US);
	}
	now_us += 5000000;
	/* it goes on, slower than the path, and has a while to do */
	for (i = 0; i < 1000; i++) {
		now_us += 1000;
		update(10000, cw.now.backlog - 10000, RTT_US);
		ASSERT_U64_GE(cw.bdp, BDP - BDP / 100);
		ASSERT_U64_LE(cw.target, BDP + BDP / 100 + BASE);
	}
	/* and if the sender stops, with nothing waiting, it is forgotten */
	deliver(0, 2000, 0, RTT_US);
	ASSERT_U32_EQ(cw.target, BASE);
	TEST_DONE();
	/* A stock sender with less than a quarter of its window left */
	TEST_START("window: the BDP is remembered a while without credit");
	for (little = 0; little < 2; little++) {
		start(0);
		deliver(RATE, 2000, 0, RTT_US);
		(void)window_credit(&cw, cw.target / 4 - little, PACKET);
		deliver(1000, 500, 0, RTT_US);
		ASSERT_INT_EQ(cw.bdp > 20000000, little);
		deliver(1000, 300, 0, RTT_US);
		ASSERT_INT_EQ(cw.bdp > 20000000, 0);
	}
	TEST_DONE();
}

static void
credit(void)
{
	TEST_START("window: credit comes in worthwhile pieces");
	start(1);
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
	cw.now.backlog = 2 * MIB;
	ASSERT_U32_EQ(window_credit(&cw, 62 * MIB, PACKET), 0);
	/* a 64th of a round trip apart, if more calls are certain */
	cw.rtt_us = 64000;
	cw.granted_us = cw.now.t_us - 999;
	ASSERT_U32_EQ(window_credit(&cw, 20 * MIB, PACKET), 0);
	cw.now.backlog = 0;
	ASSERT_U32_EQ(window_credit(&cw, 32 * MIB, PACKET), 0);
	ASSERT_U32_EQ(window_credit(&cw, 32 * MIB - 1, PACKET), 32 * MIB + 1);
	ASSERT_U64_EQ(cw.granted_us, cw.now.t_us);
	cw.granted_us = cw.now.t_us - 1000;
	ASSERT_U32_EQ(window_credit(&cw, 32 * MIB, PACKET), 32 * MIB);
	/* a window smaller than three packets doesn't starve */
	cw.target = PACKET;
	ASSERT_U32_EQ(window_credit(&cw, 0, PACKET), PACKET);
	TEST_DONE();
}

static void
clocks_and_counters(void)
{
	uint32_t target;

	TEST_START("window: counters wrap, clocks stand and step back");
	start(1);
	deliver(RATE, 3000, 0, RTT_US);
	target = cw.target;
	fake.counters = UINT64_MAX - 1000000;
	start(1);
	fake.counters = 0;
	deliver(RATE, 3000, 0, RTT_US);
	ASSERT_U64_LT(cw.now.consumed, 1000000000);
	ASSERT_U32_EQ(cw.target, target);
	/* back in time: same window, and still in working order after */
	now_us -= 2500000;
	update(0, 0, RTT_US);
	ASSERT_U64_EQ(cw.now.t_us, now_us + 2500000);
	ASSERT_U32_EQ(cw.target, target);
	/* a year passes */
	now_us += 365ULL * 86400 * 1000000;
	update(1, 0, RTT_US);
	ASSERT_U32_EQ(cw.target, BASE);
	deliver(RATE, 3000, 0, RTT_US);
	ASSERT_U32_GE(cw.target, target - target / 100);
	TEST_DONE();
}

/* A small deterministic generator: a failure repeats. */
static uint32_t
rnd(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

static void
random_walk(uint64_t seed)
{
	struct window_facts facts = { .maxpacket = PACKET };
	struct window_budget budget;
	struct window_budget_share share;
	struct rtt_in_use rtt = { 0, 0, 0 };
	uint64_t backlog = 0, take, sum;
	uint32_t window = BASE, limit = NO_LIMIT, gets, send;
	u_int i;

	start(rnd(&seed) & 1);
	for (i = 0; i < 20000; i++) {
		if (rnd(&seed) % 500 == 0) {
			rtt.rtt_us = rnd(&seed) % 400000;
			rtt.least_us = rnd(&seed) % 400000;
			rtt.inband = rnd(&seed) & 1;
		}
		if (rnd(&seed) % 1000 == 0)
			limit = rnd(&seed) % (256 * MIB);
		now_us += rnd(&seed) % 3000;
		if (rnd(&seed) % 2000 == 0)
			now_us += rnd(&seed);
		/* (not within MINIMUM, which would draw twice) */
		send = rnd(&seed) % (1 << (rnd(&seed) % 24));
		send = MINIMUM(window, send);
		window -= send;
		backlog += send;
		take = rnd(&seed) % (1 << (rnd(&seed) % 24));
		take = MINIMUM(backlog, take);
		backlog -= take;
		facts.now_us = now_us;
		facts.rtt = rtt;
		facts.consumed = take;
		facts.backlog = backlog;
		facts.window = window;
		memset(&share, 0, sizeof(share));
		share.base = BASE;
		window_budget_init(&budget, limit, BASE);
		gets = window_decide(&cw, &budget, &share, &facts);
		ASSERT_U32_GE(cw.target, BASE);
		ASSERT_U32_LE(cw.target, MAXIMUM(limit, BASE));
		ASSERT_U64_LE(cw.target, MAXIMUM(3 * cw.bdp, BASE));
		if (rtt.rtt_us == 0)
			ASSERT_U32_EQ(cw.target, BASE);
		if (gets != 0) {
			sum = window + backlog + gets;
			ASSERT_U64_EQ(sum, cw.target);
			ASSERT_U64_GE(gets, MAXIMUM(3 * PACKET,
			    cw.target / WINDOW_QUANTUM));
		}
		window += gets;
		/* Never starved: something is on its way, or waits for us */
		ASSERT_U64_GT(window + backlog, 0);
	}
}

static void
invariants(void)
{
	uint64_t seed;

	TEST_START("window: invariants on random walks");
	for (seed = 1; seed <= 50; seed++) {
		test_subtest_info("seed %llu", (unsigned long long)seed);
		random_walk(seed);
	}
	TEST_DONE();
}

/* A decision on a channel that has a budget to itself */
struct flow {
	struct window_control cw;
	struct window_budget budget;
	struct window_budget_share share;
	struct window_facts facts;
};

static void
flow_open(struct flow *f, uint32_t limit)
{
	memset(f, 0, sizeof(*f));
	f->facts.now_us = 1000000;
	f->facts.rtt.rtt_us = f->facts.rtt.least_us = 100000;
	f->facts.window = BASE;
	f->facts.maxpacket = PACKET;
	window_budget_init(&f->budget, limit, BASE);
	f->share.base = BASE;
	window_init(&f->cw, BASE, 1, f->facts.now_us);
}

/* len bytes come and are consumed. Returns the credit, which is granted. */
static uint32_t
step(struct flow *f, uint64_t us, uint32_t len)
{
	uint32_t gets;

	len = MINIMUM(len, f->facts.window);
	f->facts.now_us += us;
	f->facts.consumed = len;
	f->facts.window -= len;
	gets = window_decide(&f->cw, &f->budget, &f->share, &f->facts);
	f->facts.window += gets;
	return gets;
}

static void
flow_close(struct flow *f)
{
	window_budget_leave(&f->budget, &f->share);
}

static void
decisions(void)
{
	struct flow a, b;
	u_int i;

	TEST_START("window: a decision is within what the budget allows");
	flow_open(&a, 100 * MIB);
	flow_open(&b, 8 * MIB);
	for (i = 0; i < 2000; i++) {
		step(&a, 1000, 100 * 1024);
		step(&b, 1000, 100 * 1024);
		ASSERT_U32_LE(b.facts.window, 8 * MIB);
	}
	ASSERT_U32_GT(a.cw.target, 28 * MIB);
	ASSERT_U32_EQ(b.cw.target, 8 * MIB);
	ASSERT_INT_EQ(b.cw.limited, WINDOW_BY_BUDGET);
	/* It tells the budget what is out: at most 2^32-1 bytes. */
	b.facts.backlog = 3 * MIB;
	step(&b, 1000, 0);
	ASSERT_U32_EQ(fake.outstanding, b.facts.window + 3 * MIB);
	b.facts.backlog = UINT32_MAX;
	ASSERT_U32_EQ(step(&b, 1000, 0), 0);
	ASSERT_U32_EQ(fake.outstanding, UINT32_MAX);
	flow_close(&a);
	flow_close(&b);
	/* What waits in an sshbuf can't be more than that takes. */
	flow_open(&a, UINT32_MAX);
	for (i = 0; i < 3000; i++)
		step(&a, 1000, 1024 * 1024);
	ASSERT_U32_EQ(a.cw.target, SSHBUF_SIZE_MAX);
	flow_close(&a);
	/* The same facts make the same decisions: there is no other input. */
	flow_open(&a, 50 * MIB);
	flow_open(&b, 50 * MIB);
	for (i = 0; i < 5000; i++) {
		a.facts.backlog = b.facts.backlog = i * 31 % PACKET;
		fake.now_us = i;	/* the machine's clock */
		ASSERT_U32_EQ(step(&a, 1 + i * 7919 % 2000, i * 99),
		    step(&b, 1 + i * 7919 % 2000, i * 99));
		ASSERT_INT_EQ(memcmp(&a.cw, &b.cw, sizeof(a.cw)), 0);
	}
	flow_close(&a);
	flow_close(&b);
	TEST_DONE();
}

void
test_window_control(void)
{
	fake_reset();
	initial_window();
	rule();
	queues();
	history();
	standing();
	bursts();
	remembered();
	credit();
	clocks_and_counters();
	invariants();
	decisions();
	fake_reset();
}
