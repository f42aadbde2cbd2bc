/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/* Which round trip time the window is taken over. */

#include "includes.h"

#include <sys/types.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "misc.h"
#include "path-rtt.h"

#define MS	1000ULL

void test_path_rtt(void);

/* A connection whose data comes at some rate, and what a source says of it */
static struct path_rtt pr;
static struct path_info path;
static const struct rtt_in_use *const use = &pr.use;
static uint64_t now_us;
static int ssh;			/* the source is SSH's own */

static void
start(int bounded, int inband, uint64_t min_rtt_us)
{
	memset(&pr, 0, sizeof(pr));
	pr.bounded = bounded;
	pr.use.inband = ssh = inband;
	path.min_rtt_us = min_rtt_us;
	now_us = 1000 * MS;
}

static void
update(uint64_t us, uint64_t bytes)
{
	now_us += us;
	path_rtt_update(&pr, &path, bytes, now_us);
	ASSERT_U64_LE(use->least_us, use->rtt_us);
	ASSERT_INT_EQ(use->inband, ssh);
}

/* Runs ms milliseconds at rate bytes/ms. Returns the last RTT (us) in use. */
static uint64_t
run(uint64_t ms, uint64_t rate, uint64_t rtt_us)
{
	uint64_t end_us = now_us + ms * MS;

	path.rtt_us = rtt_us;
	while (now_us < end_us)
		update(rtt_us, rate * rtt_us / MS);
	return use->rtt_us;
}

static void
queues(void)
{
	uint64_t i, most;
	int bounded, inband;

	TEST_START("path rtt: a queue counts to twice the least, 5/4, or not");
	for (bounded = 0; bounded < 2; bounded++)
	for (inband = 0; inband < 2; inband++) {
		start(bounded, inband, inband ? 1 * MS : 20 * MS);
		ASSERT_U64_EQ(run(1000, 125000, 20 * MS), 20 * MS);
		most = inband ? 20 : bounded ? 40 : 25;
		ASSERT_U64_EQ(run(1000, 125000, 22 * MS),
		    MINIMUM(22, most) * MS);
		for (i = 30; i <= 400; i += 10) { /* at the same rate */
			ASSERT_U64_EQ(run(1000, 125000, i * MS),
			    MINIMUM(i, most) * MS);
			ASSERT_U64_EQ(use->least_us, 20 * MS);
		}
		/* nor does a rate that wavers make a path longer */
		run(1000, 100000, 400 * MS);
		ASSERT_U64_EQ(use->least_us, 20 * MS);
		ASSERT_U64_EQ(run(1000, 125000, 21 * MS),
		    MINIMUM(21, most) * MS);
		/* and a shorter one counts at once */
		ASSERT_U64_EQ(run(10, 125000, 10 * MS), 10 * MS);
		run(1000, 125000, 90 * MS);
		ASSERT_U64_EQ(use->least_us, 10 * MS);
	}
	/* A kernel that knows no least */
	start(1, 0, 0);
	ASSERT_U64_EQ(run(100, 125000, 50 * MS), 50 * MS);
	ASSERT_U64_EQ(run(1000, 125000, 150 * MS), 100 * MS);
	TEST_DONE();
}

static void
longer(void)
{
	static const u_int rates[] = { 12500, 87500 };
	u_int bounded, i;

	TEST_START("path rtt: TCP's least is raised if the rate falls, too");
	for (bounded = 0; bounded < 2; bounded++)
	for (i = 0; i < 2; i++) {
		start(bounded, 0, 20 * MS);
		run(1000, 125000, 20 * MS);
		/* the same window, over ten times the RTT: in two of them */
		ASSERT_U64_EQ(run(400, rates[i], 200 * MS), 200 * MS);
		ASSERT_U64_EQ(use->least_us, bounded ? 100 * MS : 160 * MS);
		/* the rate comes back, then a queue: no more than that */
		run(2000, 125000, 200 * MS);
		ASSERT_U64_EQ(run(4000, 125000, 900 * MS), 200 * MS);
		ASSERT_U64_EQ(run(20, 125000, 20 * MS), 20 * MS);
	}
	/* also if the kernel's mean takes its time to get there */
	start(1, 0, 20 * MS);
	run(1000, 125000, 20 * MS);
	run(100, 12500, 45 * MS);
	run(200, 12500, 95 * MS);
	ASSERT_U64_EQ(run(400, 12500, 200 * MS), 200 * MS);
	/* and on a path of less than a byte a microsecond */
	start(1, 0, 20 * MS);
	run(1000, 100, 20 * MS);
	ASSERT_U64_EQ(run(400, 10, 200 * MS), 200 * MS);
	TEST_DONE();
	TEST_START("path rtt: SSH's least is not raised while data flows");
	start(1, 1, 0);
	run(1000, 125000, 20 * MS);
	run(60000, 12500, 200 * MS);
	ASSERT_U64_EQ(use->least_us, 20 * MS);
	ASSERT_U64_EQ(use->rtt_us, 20 * MS);
	TEST_DONE();
	TEST_START("path rtt: the best rate is forgotten");
	start(1, 0, 20 * MS);
	run(1000, 125000, 20 * MS);
	run(3000, 60000, 20 * MS);	/* 150 round trips */
	for (i = 20; i <= 200; i++)
		run(500, 60000, i * MS);
	ASSERT_U64_EQ(use->least_us, 20 * MS);
	TEST_DONE();
}

static void
pauses(void)
{
	int after;

	TEST_START("path rtt: the kernel is asked for its least after a pause");
	for (after = 0; after < 2; after++) {
		start(1, 0, 20 * MS);
		run(1000, 125000, 20 * MS);
		path.rtt_us = path.min_rtt_us = 200 * MS;
		update(PATH_RTT_PAUSE_US + after, 1000);
		ASSERT_U64_EQ(use->least_us, after ? 200 * MS : 20 * MS);
	}
	/* with its rate: less is no reason to raise it again */
	run(1000, 12500, 200 * MS);
	run(1000, 12500, 600 * MS);
	ASSERT_U64_EQ(use->least_us, 200 * MS);
	/* SSH's own is what it was. */
	start(1, 1, 0);
	run(1000, 125000, 20 * MS);
	path.rtt_us = path.min_rtt_us = 200 * MS;
	update(2 * PATH_RTT_PAUSE_US, 1000);
	ASSERT_U64_EQ(use->least_us, 20 * MS);
	TEST_DONE();
	TEST_START("path rtt: a sender that stops makes no path longer");
	start(1, 0, 20 * MS);
	run(1000, 125000, 60 * MS);		/* a queue */
	update(61 * MS, 1000);
	update(59 * MS, 125000 * 59);
	ASSERT_U64_EQ(use->least_us, 20 * MS);
	/* One that comes in bursts, but in each round trip, is slower. */
	update(59 * MS, 1000);
	update(59 * MS, 1000);
	ASSERT_U64_EQ(use->least_us, 30 * MS);
	TEST_DONE();
}

static void
bursts(void)
{
	uint64_t i;

	TEST_START("path rtt: bursts and the silence between them are no rate");
	start(1, 0, 20 * MS);
	run(1000, 125000, 20 * MS);
	path.rtt_us = 200 * MS;
	for (i = 0; i < 20; i++) {		/* a fifth of each RTT */
		update(40 * MS, i % 5 == 0 ? 125000 * 40 : 0);
		if (i > 10)
			ASSERT_U64_EQ(use->rtt_us, 200 * MS);
	}
	start(1, 0, 20 * MS);
	run(1000, 125000, 20 * MS);
	path.rtt_us = 400 * MS;			/* a queue, drained in bursts */
	for (i = 0; i < 100; i++) {
		update(40 * MS, i % 2 == 0 ? 125000 * 80 : 0);
		ASSERT_U64_EQ(use->rtt_us, 40 * MS);
	}
	/* On a LAN one turn of the main loop brings much, the next nothing. */
	start(1, 0, 200);
	for (i = 0; i < 10000; i++) {
		path.rtt_us = MINIMUM(200 + i, 6000);
		update(200, i % 7 == 0 ? 7 * 240000 : 0);
		ASSERT_U64_LE(use->rtt_us, 400);
	}
	/* The clock stands, or the rate wraps: no crash */
	update(0, 0);
	update(10 * MS, UINT64_MAX - 1000);
	ASSERT_U64_LE(use->rtt_us, 400);
	ASSERT_U64_NE(use->rtt_us, 0);
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
		{ 100, 100, 130, 130, 0 },
		{ 100, 100, 131, 131, 1 },	/* a proxy */
		{ 1, 1, 6, 6, 0 },		/* LAN, the same slack */
		{ 1, 1, 50, 50, 1 },		/* a nearby proxy */
		{ 180, 100, 400, 101, 0 },	/* queues on a direct path */
		{ 180, 100, 190, 190, 1 },	/* and with a proxy */
		{ 100, 0, 120, 120, 0 },	/* the kernel has no least */
		{ 100, 0, 131, 131, 1 },
	};
	struct path_info tcp, ssh;
	size_t i;

	TEST_START("path rtt: SSH's own where a relay shows");
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

void
test_path_rtt(void)
{
	sources();
	queues();
	longer();
	pauses();
	bursts();
}
