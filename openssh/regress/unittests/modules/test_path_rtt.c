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

/* Which round trip time the window is taken over. */

#include "includes.h"

#include <sys/types.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "misc.h"
#include "tcp-path.h"

#define MS	1000ULL

void test_path_rtt(void);

/* A connection whose data comes at some rate, and its RTT in the kernel. */
struct flow {
	struct path_rtt pr;
	struct path_info path;
	uint64_t now_us, consumed;
};

/* Runs ms milliseconds at rate bytes/ms. Returns the last RTT (us) in use. */
static uint64_t
flow_run(struct flow *f, uint64_t ms, uint64_t rate, uint64_t rtt_us)
{
	uint64_t used_us = 0, end_us = f->now_us + ms * MS;

	f->path.rtt_us = rtt_us;
	while (f->now_us < end_us) {
		f->now_us += rtt_us;
		f->consumed += rate * rtt_us / MS;
		used_us = path_rtt_us(&f->pr, &f->path, f->consumed, f->now_us);
	}
	return used_us;
}

static void
flow_init(struct flow *f, uint64_t min_rtt_us)
{
	memset(f, 0, sizeof(*f));
	f->now_us = 1000 * MS;
	f->path.min_rtt_us = min_rtt_us;
}

static void
own_queue(void)
{
	struct flow f;
	uint64_t i;

	TEST_START("path rtt, a queue counts up to twice the least");
	flow_init(&f, 20 * MS);
	ASSERT_U64_EQ(flow_run(&f, 1000, 125000, 22 * MS), 22 * MS);
	for (i = 30; i <= 400; i += 10)	/* at the same rate: a queue */
		ASSERT_U64_EQ(flow_run(&f, 1000, 125000, i * MS),
		    MINIMUM(i, 40) * MS);
	/* nor does a rate that wavers make a path longer */
	ASSERT_U64_EQ(flow_run(&f, 1000, 100000, 400 * MS), 40 * MS);
	ASSERT_U64_EQ(flow_run(&f, 1000, 125000, 21 * MS), 21 * MS);
	TEST_DONE();
}

static void
longer_path(void)
{
	struct flow f;

	TEST_START("path rtt, a longer path is followed");
	flow_init(&f, 20 * MS);
	flow_run(&f, 1000, 125000, 20 * MS);
	/* the same window, over ten times the RTT: within two of them */
	ASSERT_U64_EQ(flow_run(&f, 400, 12500, 200 * MS), 200 * MS);
	/* also if the window lets most of the rate through */
	flow_init(&f, 20 * MS);
	flow_run(&f, 1000, 125000, 20 * MS);
	ASSERT_U64_EQ(flow_run(&f, 400, 87500, 200 * MS), 200 * MS);
	/* also if the kernel's mean takes its time to get there */
	flow_init(&f, 20 * MS);
	flow_run(&f, 1000, 125000, 20 * MS);
	flow_run(&f, 100, 12500, 45 * MS);
	flow_run(&f, 200, 12500, 95 * MS);
	ASSERT_U64_EQ(flow_run(&f, 400, 12500, 200 * MS), 200 * MS);
	/* the rate comes back, then a queue: no more than that */
	flow_run(&f, 2000, 125000, 200 * MS);
	ASSERT_U64_EQ(flow_run(&f, 4000, 125000, 900 * MS), 200 * MS);
	/* and shorter again: at once */
	ASSERT_U64_EQ(flow_run(&f, 20, 125000, 20 * MS), 20 * MS);
	ASSERT_U64_EQ(flow_run(&f, 1000, 125000, 90 * MS), 40 * MS);
	TEST_DONE();
}

static void
cautious(void)
{
	struct flow f;

	TEST_START("path rtt, towards a sender that buffers");
	flow_init(&f, 20 * MS);
	f.pr.cautious = 1;
	ASSERT_U64_EQ(flow_run(&f, 1000, 125000, 22 * MS), 22 * MS);
	ASSERT_U64_EQ(flow_run(&f, 1000, 125000, 40 * MS), 25 * MS);
	ASSERT_U64_EQ(flow_run(&f, 400, 12500, 200 * MS), 200 * MS);
	ASSERT_U64_EQ(flow_run(&f, 20, 125000, 20 * MS), 20 * MS);
	TEST_DONE();
	TEST_START("path rtt, towards a sender that buffers, by SSH's own");
	flow_init(&f, 20 * MS);
	f.pr.cautious = f.pr.inband = 1;
	ASSERT_U64_EQ(flow_run(&f, 1000, 125000, 22 * MS), 20 * MS);
	ASSERT_U64_EQ(flow_run(&f, 1000, 125000, 40 * MS), 20 * MS);
	/* less comes as well: the path got longer, with a queue of a quarter */
	ASSERT_U64_EQ(flow_run(&f, 400, 12500, 200 * MS), 160 * MS);
	ASSERT_U64_EQ(flow_run(&f, 20, 125000, 20 * MS), 20 * MS);
	/* a sender with bounded buffers gets its queue all the same */
	f.pr.cautious = 0;
	ASSERT_U64_EQ(flow_run(&f, 1000, 125000, 60 * MS), 40 * MS);
	TEST_DONE();
}

static void
bursts(void)
{
	struct flow f;
	uint64_t i, used_us = 0;

	TEST_START("path rtt, a window's worth in one burst is no rate");
	flow_init(&f, 20 * MS);
	flow_run(&f, 1000, 125000, 20 * MS);
	f.path.rtt_us = 200 * MS;
	for (i = 0; i < 20; i++) {		/* a fifth of each RTT */
		f.now_us += 40 * MS;
		f.consumed += i % 5 == 0 ? 125000 * 40 : 0;
		used_us = path_rtt_us(&f.pr, &f.path, f.consumed, f.now_us);
		if (i > 10)
			ASSERT_U64_EQ(used_us, 200 * MS);
	}
	TEST_DONE();
	TEST_START("path rtt, and the silence between two no longer path");
	flow_init(&f, 20 * MS);
	flow_run(&f, 1000, 125000, 20 * MS);
	f.path.rtt_us = 400 * MS;		/* a queue, drained in bursts */
	for (i = 0; i < 100; i++) {
		f.now_us += 40 * MS;
		f.consumed += i % 2 == 0 ? 125000 * 80 : 0;
		ASSERT_U64_EQ(path_rtt_us(&f.pr, &f.path, f.consumed,
		    f.now_us), 40 * MS);
	}
	TEST_DONE();
}

static void
slower_path(void)
{
	struct flow f;
	uint64_t i, used_us = 0;

	TEST_START("path rtt, the rate of a path that got slower is forgotten");
	flow_init(&f, 20 * MS);
	flow_run(&f, 1000, 125000, 20 * MS);
	flow_run(&f, 3000, 60000, 20 * MS);	/* 150 round trips */
	for (i = 20; i <= 200; i++)
		used_us = flow_run(&f, 500, 60000, i * MS);
	ASSERT_U64_EQ(used_us, 40 * MS);
	TEST_DONE();
}

static void
kernels(void)
{
	struct flow f;

	TEST_START("path rtt, kernels without a least one, and no time at all");
	flow_init(&f, 0);
	ASSERT_U64_EQ(flow_run(&f, 100, 125000, 50 * MS), 50 * MS);
	ASSERT_U64_EQ(flow_run(&f, 1000, 125000, 150 * MS), 100 * MS);
	/* the clock stands, or the counter wraps: no rate, no crash */
	ASSERT_U64_EQ(path_rtt_us(&f.pr, &f.path, f.consumed, f.now_us),
	    100 * MS);
	f.now_us -= 500 * MS;
	ASSERT_U64_NE(path_rtt_us(&f.pr, &f.path, 0, f.now_us), 0);
	TEST_DONE();
}

static void
sources(void)
{
	static const struct {
		uint64_t tcp, tcp_min, ssh, ssh_min;	/* ms */
		int ssh_is_it;
	} *t, tests[] = {
		{ 0, 0, 0, 0, 0 },		/* nothing known */
		{ 100, 100, 0, 0, 0 },		/* not answered yet */
		{ 0, 0, 200, 200, 1 },		/* a pipe */
		{ 100, 100, 101, 101, 0 },	/* direct */
		{ 100, 100, 130, 129, 0 },	/* a busy peer */
		{ 100, 100, 131, 131, 1 },	/* a forwarder */
		{ 100, 100, 200, 200, 1 },
		{ 1, 1, 6, 6, 0 },		/* LAN, the same slack */
		{ 1, 1, 50, 50, 1 },		/* a forwarder near by */
		{ 180, 100, 400, 101, 0 },	/* queues on a direct path */
		{ 180, 100, 190, 190, 1 },	/* and with a forwarder */
		{ 100, 0, 120, 120, 0 },	/* the kernel has no least */
		{ 100, 0, 131, 131, 1 },
	};
	struct path_info tcp, ssh;
	size_t i;

	TEST_START("path sources, SSH's own where a forwarder shows");
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		t = &tests[i];
		test_subtest_info("%zu", i);
		tcp.rtt_us = t->tcp * MS;
		tcp.min_rtt_us = t->tcp_min * MS;
		ssh.rtt_us = t->ssh * MS;
		ssh.min_rtt_us = t->ssh_min * MS;
		ASSERT_PTR_EQ((void *)path_rtt_choose(&tcp, &ssh),
		    (void *)(t->ssh_is_it ? &ssh : &tcp));
	}
	TEST_DONE();
}

/*
 * A LAN's RTT is shorter than a turn of the main loop. One turn brings much and
 * the next nothing. A queue of our own makes the RTT longer, but it is still
 * the same path.
 */
static void
test_lan_in_bursts(void)
{
	struct path_rtt pr = { 0 };
	struct path_info path = { .rtt_us = 200, .min_rtt_us = 200 };
	uint64_t now_us = 1000000, consumed = 0, i;

	TEST_START("bursts on a LAN");
	for (i = 0; i < 10000; i++) {
		now_us += 200;
		if (i % 7 == 0)
			consumed += 7 * 240000;
		path.rtt_us = MINIMUM(200 + i, 6000);
		ASSERT_U64_LE(path_rtt_us(&pr, &path, consumed, now_us), 400);
	}
	TEST_DONE();
}

/* What may wait unsent is worth the same time at any rate, within bounds. */
static void
test_unsent(void)
{
	static const struct {
		uint64_t mbit;
		u_int unsent;
	} rates[] = {
		{ 0, TCP_PATH_UNSENT_MAX },		/* unknown */
		{ 1, 16 * 1024 }, { 10, 16 * 1024 },
		{ 33, 16 * 1024 }, { 50, 24 * 1024 }, { 100, 48 * 1024 },
		{ 200, 96 * 1024 }, { 263, TCP_PATH_UNSENT_MAX },
		{ 1000, TCP_PATH_UNSENT_MAX }, { 400000, TCP_PATH_UNSENT_MAX },
	};
	size_t i;

	TEST_START("what may wait unsent");
	for (i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		ASSERT_U_INT_EQ(tcp_path_unsent(rates[i].mbit * 125000),
		    rates[i].unsent);
	ASSERT_U_INT_EQ(tcp_path_unsent(UINT64_MAX), TCP_PATH_UNSENT_MAX);
	ASSERT_U_INT_EQ(tcp_path_unsent(1), TCP_PATH_UNSENT_MIN);
	TEST_DONE();
}

void
test_path_rtt(void)
{
	test_unsent();
	test_lan_in_bursts();
	sources();
	own_queue();
	longer_path();
	cautious();
	bursts();
	slower_path();
	kernels();
}
