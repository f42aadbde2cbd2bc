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

/* A decision on a channel's credit depends on its facts and nothing else. */

#include "includes.h"

#include <sys/types.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "fake.h"
#include "misc.h"
#include "sshbuf.h"
#include "window-decide.h"

#define MIB	(1024U * 1024)
#define BASE	(2 * MIB)
#define PACKET	32768U
#define RTT_US	100000
#define RATE	(100 * 1024U)	/* bytes/ms */

/* What belongs to one channel that has a budget to itself */
struct flow {
	struct window_control cw;
	struct window_budget *budget;
	struct window_budget_share share;
	struct window_facts facts;
};

void test_window_decide(void);

static void
flow_open(struct flow *f, int bounded_peer, uint32_t limit)
{
	memset(f, 0, sizeof(*f));
	f->facts.now_us = 1000000;
	f->facts.rtt_us = RTT_US;
	f->facts.window = BASE;
	f->facts.maxpacket = PACKET;
	ASSERT_PTR_NE((f->budget = window_budget_new(limit)), NULL);
	window_budget_join(f->budget, &f->share, BASE);
	window_init(&f->cw, BASE, bounded_peer, f->facts.now_us);
}

static void
flow_close(struct flow *f)
{
	window_budget_leave(f->budget, &f->share);
	window_budget_free(f->budget);
}

/* len bytes come and are consumed. Returns the credit, which is granted. */
static uint32_t
step(struct flow *f, uint64_t us, uint32_t len)
{
	uint32_t credit;

	len = MINIMUM(len, f->facts.window);
	f->facts.now_us += us;
	f->facts.consumed = f->facts.counted = len;
	f->facts.window -= len;
	credit = window_decide(&f->cw, f->budget, &f->share, &f->facts);
	f->facts.window += credit;
	return credit;
}

static void
deliver(struct flow *f, u_int ms)
{
	for (; ms > 0; ms--)
		step(f, 1000, RATE);
}

/* Without an RTT the window stays, and what is consumed comes back. */
static void
unknown_rtt(void)
{
	struct flow f;

	TEST_START("window_decide unknown RTT");
	flow_open(&f, 1, 100 * MIB);
	f.facts.rtt_us = 0;
	ASSERT_U32_EQ(step(&f, 1000, PACKET), 0);
	ASSERT_U32_EQ(step(&f, 1000, MIB), MIB + PACKET);
	ASSERT_U32_EQ(f.facts.window, BASE);
	flow_close(&f);
	TEST_DONE();
}

/* The controller wants a BDP and headroom; the budget may not allow it. */
static void
budget(void)
{
	struct flow rich, poor;

	TEST_START("window_decide target is what the budget allows");
	flow_open(&rich, 1, 100 * MIB);
	flow_open(&poor, 1, 8 * MIB);
	deliver(&rich, 2000);
	deliver(&poor, 2000);
	ASSERT_U32_GT(rich.cw.target, 10 * MIB);
	ASSERT_U32_EQ(poor.cw.target, 8 * MIB);
	ASSERT_INT_EQ(poor.cw.limited, WINDOW_BUDGET);
	ASSERT_U32_LE(poor.facts.window, 8 * MIB);
	flow_close(&rich);
	flow_close(&poor);
	TEST_DONE();
}

/* Outstanding credit is window plus backlog, at most 2^32-1 bytes. */
static void
outstanding(void)
{
	struct flow f;

	TEST_START("window_decide tells the budget what is out");
	flow_open(&f, 1, 100 * MIB);
	f.facts.backlog = 3 * MIB;
	ASSERT_U32_EQ(step(&f, 1000, 0), 0);
	ASSERT_U32_EQ(fake.outstanding, 5 * MIB);
	f.facts.backlog = UINT32_MAX;
	ASSERT_U32_EQ(step(&f, 1000, 0), 0);
	ASSERT_U32_EQ(fake.outstanding, UINT32_MAX);
	flow_close(&f);
	TEST_DONE();
}

/* Late data asks for more, for as long as it is late. */
static void
late(void)
{
	struct flow f;
	uint32_t target;

	TEST_START("window_decide late data");
	flow_open(&f, 1, 200 * MIB);
	deliver(&f, 2000);
	target = f.cw.target;
	f.facts.late = 1;
	deliver(&f, 200);
	ASSERT_U32_GT(f.cw.target, target + target / 8);
	f.facts.late = 0;
	deliver(&f, 500);
	ASSERT_U32_LE(f.cw.target, target + target / 8);
	flow_close(&f);
	TEST_DONE();
}

/*
 * Behind a forwarder a stock sender gets less headroom, and less while there is
 * gain; 12 ms of a fast path, but not more than without a forwarder.
 */
static void
forwarded(void)
{
	static const struct {
		uint64_t rtt_us;
		u_int rate;			/* bytes/ms */
		uint64_t least, most;		/* headroom, bytes */
	} paths[] = {
		{ RTT_US, 50 * 1024, 3 * MIB / 2, 3 * MIB / 2 },
		{ RTT_US, 200 * 1024, 2400 * 1024, 2450 * 1024 },
		{ RTT_US, 600 * 1024, 3 * MIB, 3 * MIB },
		/* no more than the BDP, as it is less */
		{ 5000, 400 * 1024, 2000 * 1024, 2450 * 1024 },
	};
	struct flow f;
	uint64_t room, most = 0;
	u_int i, ms;

	TEST_START("window_decide a forwarder");
	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		flow_open(&f, 0, 200 * MIB);
		f.facts.forwarded = 1;
		f.facts.rtt_us = paths[i].rtt_us;
		for (ms = 0; ms < 3000; ms++)
			step(&f, 1000, paths[i].rate);
		ASSERT_U64_EQ(f.cw.gain, 0);
		room = f.cw.target - f.cw.bdp;
		ASSERT_U64_GE(room, paths[i].least);
		ASSERT_U64_LE(room, paths[i].most);
		f.facts.forwarded = 0;
		step(&f, 1000, paths[i].rate);
		ASSERT_U64_GE(f.cw.target - f.cw.bdp, room);
		if (paths[i].rtt_us == RTT_US)
			ASSERT_U64_EQ(f.cw.target - f.cw.bdp, 3 * MIB);
		flow_close(&f);
	}
	TEST_DONE();

	TEST_START("window_decide a forwarder, with gain");
	flow_open(&f, 0, 200 * MIB);
	f.facts.forwarded = 1;
	deliver(&f, 1000);
	for (ms = 0, room = 0; ms < 1000; ms++) {
		step(&f, 1000, 6 * RATE);
		room = MAXIMUM(room, f.cw.target - f.cw.bdp);
		if (f.cw.bdp < 32 * MIB)
			most = room;
	}
	ASSERT_U64_EQ(most, 4 * MIB);
	/* 1/8 of the BDP in the end, but not more than without a forwarder */
	ASSERT_U64_EQ(room, 6 * MIB);
	flow_close(&f);
	TEST_DONE();
}

/*
 * Credit that is withheld from a stock sender is decided on when it is due. No
 * more than `most` bytes go out in one piece, at a rate in bytes/ms.
 */
static void
withheld(int forwarded, u_int rate, uint32_t most)
{
	struct flow f;
	uint32_t had, all = 0;
	u_int asked = 0, ms;

	TEST_START("window_decide withheld credit is due later");
	flow_open(&f, 0, 100 * MIB);
	f.facts.forwarded = forwarded;
	for (ms = 0; ms < 3000; ms++)
		step(&f, 1000, rate);
	had = f.facts.window;
	all = step(&f, 60000, had);	/* all at once, after a stall */
	ASSERT_U32_GT(all, 0);
	ASSERT_U32_LE(all, most);
	while (f.cw.due_us != 0 && asked++ < 1000)
		all += step(&f, f.cw.due_us - f.facts.now_us, 0);
	ASSERT_U_INT_GT(asked, 0);
	ASSERT_U_INT_LT(asked, 1000);
	ASSERT_U32_GE(all + MIB, had);
	flow_close(&f);
	TEST_DONE();
}

/*
 * A reader stops for 100 ms on a path whose window is less than 6 MiB. What its
 * backlog held comes back piece by piece behind a forwarder.
 */
static void
reader_stops(void)
{
	struct flow f;
	uint32_t credit, rate = RATE * 2 / 5;
	u_int ms;

	TEST_START("window_decide a reader stops, behind a forwarder");
	flow_open(&f, 0, 100 * MIB);
	f.facts.forwarded = 1;
	for (ms = 0; ms < 3000; ms++)
		step(&f, 1000, rate);
	ASSERT_U32_LT(f.cw.target, 6 * MIB);
	f.facts.consumed = f.facts.counted = 0;
	for (ms = 0; ms < 100; ms++) {
		f.facts.now_us += 1000;
		f.facts.window -= rate;
		f.facts.backlog += rate;
		f.facts.window += window_decide(&f.cw, f.budget, &f.share,
		    &f.facts);
	}
	ASSERT_U64_GT(f.facts.backlog, 3 * MIB);
	f.facts.now_us += 1000;
	f.facts.consumed = f.facts.counted = f.facts.backlog;
	f.facts.backlog = 0;
	credit = window_decide(&f.cw, f.budget, &f.share, &f.facts);
	ASSERT_U32_LT(f.cw.target, 6 * MIB);
	ASSERT_U32_GT(credit, 0);
	ASSERT_U32_LE(credit, WINDOW_BURST_FORWARDED);
	flow_close(&f);
	TEST_DONE();
}

/*
 * For a round trip a lost segment holds up all that arrives, and then it comes.
 * If what waits counts, a stock sender gets credit for it as it arrives, and
 * none for it when it is consumed.
 */
static uint32_t
hole(struct flow *f, int counts)
{
	uint32_t now, credit = 0, waits = 0;
	u_int ms;

	for (ms = 0; ms < 100; ms++) {
		f->facts.now_us += 1000;
		f->facts.consumed = 0;
		waits += RATE;
		f->facts.counted = counts ? RATE : 0;
		f->facts.waiting = counts ? waits : 0;
		now = window_decide(&f->cw, f->budget, &f->share, &f->facts);
		f->facts.window += now;
		credit += now;
		/* What waits takes memory until it was consumed. */
		ASSERT_U32_LE(f->facts.window, f->share.base + f->share.held);
	}
	f->facts.now_us += 1000;
	f->facts.consumed = waits;
	f->facts.counted = counts ? 0 : waits;
	f->facts.waiting = 0;
	f->facts.window -= waits;
	f->facts.window += window_decide(&f->cw, f->budget, &f->share,
	    &f->facts);
	return credit;
}

static void
waiting(void)
{
	struct flow f;
	uint32_t target, credit;

	TEST_START("window_decide what waits behind a lost segment");
	flow_open(&f, 0, 100 * MIB);
	deliver(&f, 3000);
	credit = hole(&f, 0);
	ASSERT_U32_LE(credit, MIB);
	flow_close(&f);
	flow_open(&f, 0, 100 * MIB);
	deliver(&f, 3000);
	target = f.cw.target;
	credit = hole(&f, 1);
	ASSERT_U32_GE(credit, 99 * RATE);
	ASSERT_U32_LE(credit, 101 * RATE + MIB);
	ASSERT_U32_LE(f.facts.window, target + target / 50);
	ASSERT_U32_LE(f.cw.target, target + target / 50);
	ASSERT_U64_LE(f.cw.gain, RATE);
	flow_close(&f);
	TEST_DONE();
}

/*
 * What has counted while it waited comes while the reader has stopped: it does
 * not come again, and the BDP outlasts the stop.
 */
static void
waited_for_a_reader(void)
{
	struct flow f;
	uint64_t received;
	uint32_t target, waits = 50 * RATE;
	u_int ms;

	TEST_START("window_decide what waited, and a reader that stops");
	flow_open(&f, 0, 100 * MIB);
	deliver(&f, 3000);
	target = f.cw.target;
	for (ms = 0; ms < 50; ms++) {
		f.facts.now_us += 1000;
		f.facts.consumed = 0;
		f.facts.counted = RATE;
		f.facts.waiting += RATE;
		f.facts.window += window_decide(&f.cw, f.budget, &f.share,
		    &f.facts);
	}
	received = f.cw.received;
	f.facts.counted = 0;
	f.facts.waiting = 0;
	f.facts.window -= waits;
	f.facts.backlog = f.facts.early = waits;
	for (ms = 0; ms < 1000; ms++) {
		f.facts.now_us += 1000;
		f.facts.window += window_decide(&f.cw, f.budget, &f.share,
		    &f.facts);
		ASSERT_U64_EQ(f.cw.received, received);
	}
	for (ms = 0; ms < 50; ms++) {
		f.facts.now_us += 1000;
		f.facts.consumed = RATE;
		f.facts.backlog -= RATE;
		f.facts.early -= RATE;
		f.facts.window += window_decide(&f.cw, f.budget, &f.share,
		    &f.facts);
		ASSERT_U64_EQ(f.cw.received, received);
	}
	ASSERT_U32_GE(f.cw.target, target / 2);
	flow_close(&f);
	TEST_DONE();
}

/*
 * What is out, with what waits, is never more than a buffer holds, whatever the
 * limit; and an adjust is worth its message.
 */
static void
waiting_most(void)
{
	struct flow f;
	uint32_t credit, room;

	TEST_START("window_decide what waits fits into a buffer");
	flow_open(&f, 0, UINT32_MAX);
	deliver(&f, 3000);
	for (room = 0; room < 400 * 1024; room += 1024) {
		f.facts.now_us += 100000;
		f.facts.consumed = f.facts.counted = 0;
		f.facts.window = SSHBUF_SIZE_MAX - room;
		f.facts.waiting = f.facts.window;
		credit = window_decide(&f.cw, f.budget, &f.share, &f.facts);
		ASSERT_U32_LE(credit, room);
		if (credit != 0)
			ASSERT_U32_GE(credit, 3 * f.facts.maxpacket);
	}
	ASSERT_U32_GT(credit, 0);
	flow_close(&f);
	TEST_DONE();
}

/* All that is out, with what waits, is bounded by the budget. */
static void
waiting_bound(void)
{
	struct flow f;
	uint32_t credit, limit = 14 * MIB;
	u_int i;

	TEST_START("window_decide a bound on what waits");
	flow_open(&f, 0, limit);
	deliver(&f, 3000);
	ASSERT_U32_GT(f.cw.target, 12 * MIB);
	/* A hostile peer has all of its window wait. */
	for (i = 0; i < 1000; i++) {
		f.facts.now_us += 10000;
		f.facts.consumed = 0;
		f.facts.counted = f.facts.window - f.facts.waiting;
		f.facts.waiting = f.facts.window;
		credit = window_decide(&f.cw, f.budget, &f.share, &f.facts);
		f.facts.window += credit;
		ASSERT_U32_LE(f.facts.window, limit);
		ASSERT_U32_LE(f.share.base + f.share.held, limit);
	}
	ASSERT_U32_GT(f.facts.window, 12 * MIB);
	/* More than the window can't wait; what is in the backlog is out. */
	f.facts.counted = 0;
	f.facts.waiting = 40 * MIB;
	f.facts.backlog = 3 * MIB;
	f.facts.window = 10 * MIB;
	for (i = 0; i < 100; i++) {
		f.facts.now_us += 10000;
		credit = window_decide(&f.cw, f.budget, &f.share, &f.facts);
		f.facts.window += credit;
		ASSERT_U32_LE(f.facts.window, 11 * MIB);
	}
	ASSERT_U32_GT(f.facts.window, 10 * MIB);
	flow_close(&f);
	TEST_DONE();
}

/* The same facts make the same decisions: there is no other input. */
static void
pure(void)
{
	struct flow a, b;
	uint64_t us;
	u_int i, len;

	TEST_START("window_decide depends on its facts only");
	flow_open(&a, 0, 50 * MIB);
	flow_open(&b, 0, 50 * MIB);
	for (i = 0; i < 5000; i++) {
		us = 1 + i * 7919 % 2000;
		len = i * 104729 % (3 * RATE);
		a.facts.backlog = b.facts.backlog = i * 31 % PACKET;
		a.facts.late = b.facts.late = i % 97 == 0;
		fake.now_us = i;	/* the machine's clock */
		ASSERT_U32_EQ(step(&a, us, len), step(&b, us, len));
		ASSERT_INT_EQ(memcmp(&a.cw, &b.cw, sizeof(a.cw)), 0);
		ASSERT_U32_EQ(a.share.held, b.share.held);
	}
	flow_close(&a);
	flow_close(&b);
	fake_reset();
	TEST_DONE();
}

void
test_window_decide(void)
{
	unknown_rtt();
	budget();
	outstanding();
	late();
	forwarded();
	withheld(0, RATE, WINDOW_BURST);
	withheld(1, RATE / 2, WINDOW_BURST_FORWARDED);
	reader_stops();
	waiting();
	waited_for_a_reader();
	waiting_most();
	waiting_bound();
	pure();
}
