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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "openbsd-compat/sys-queue.h"

#include "../test_helper/test_helper.h"

#include "channels.h"
#include "fake.h"
#include "log.h"
#include "fixture.h"
#include "sftp-bottleneck.h"

void test_sftp_bottleneck(void);

/* Simulates a transfer that does each thing for s[] seconds, turn by turn. */
static void
transfer(struct sftp_times *l, const int s[SFTP_DOINGS])
{
	double now = 500;
	int i, k;

	memset(l, 0, sizeof(*l));
	/* What comes before and after is not the transfer's. */
	sftp_times_does(l, SFTP_WAITS, now);
	now += 1000;
	sftp_times_begin(l, now, 7);
	for (i = 0; i < SFTP_DOINGS; i++) {
		for (k = 0; k < s[i]; k++) {
			sftp_times_does(l, i, now);
			now += 1;
			ASSERT_INT_EQ(sftp_times_does(l, SFTP_WORKS, now), i);
		}
	}
	sftp_times_end(l, now, 8);
	sftp_times_does(l, SFTP_FILES, now);
	sftp_times_does(l, SFTP_WORKS, now + 1000);
	l->bytes = 123456789;
}

static void
verdicts(void)
{
	static const struct {
		int s[SFTP_DOINGS];	/* works, waits, full, slows, files */
		double ssh_cpu_s;
		enum sftp_limited limited;
	} cases[] = {
		{ { 3, 94, 1, 0, 2 }, 10, SFTP_LIMITED_CONNECTION },
		{ { 3, 30, 60, 0, 7 }, 10, SFTP_LIMITED_REQUESTS },
		{ { 3, 30, 0, 60, 7 }, 99, SFTP_LIMITED_RATE },
		{ { 3, 30, 1, 0, 66 }, 99, SFTP_LIMITED_FILES },
		{ { 60, 30, 1, 0, 9 }, 99, SFTP_LIMITED_CPU },
		{ { 3, 94, 1, 0, 2 }, 90, SFTP_LIMITED_SSH_CPU },
		{ { 3, 10, 85, 0, 2 }, 90, SFTP_LIMITED_SSH_CPU },
		/* What a login takes is most of so short a time. */
		{ { 0, 0, 0, 0, 0 }, 1, SFTP_LIMITED_CPU },
	};
	struct sftp_times l;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		test_subtest_info("%zu", i);
		transfer(&l, cases[i].s);
		l.ssh_cpu_s = cases[i].ssh_cpu_s;
		ASSERT_INT_EQ(sftp_times_verdict(&l), cases[i].limited);
	}
	memset(&l, 0, sizeof(l));
	l.spent_s[SFTP_WAITS] = l.ssh_cpu_s = 0.5;
	ASSERT_INT_EQ(sftp_times_verdict(&l), SFTP_LIMITED_CONNECTION);
	l.spent_s[SFTP_WAITS] = 64 * SFTP_BOTTLENECK_SSH_MIN_S;
	l.ssh_cpu_s = 64 * SFTP_BOTTLENECK_SSH_CPU;
	ASSERT_INT_EQ(sftp_times_verdict(&l), SFTP_LIMITED_SSH_CPU);
	l.ssh_cpu_s -= 0.01;
	ASSERT_INT_EQ(sftp_times_verdict(&l), SFTP_LIMITED_CONNECTION);
}

/* What each verdict is called */
static void
names(void)
{
	static const struct {
		enum sftp_doing doing;
		int ssh_cpu_s;
		const char *name;
	} cases[] = {
		{ SFTP_WORKS, 0, " by its own CPU; " },
		{ SFTP_WAITS, 0, " by the connection; " },
		{ SFTP_WAITS_FULL, 0, " by the number of requests; " },
		{ SFTP_SLOWS, 0, " by the rate given; " },
		{ SFTP_FILES, 0, " by local files; " },
		{ SFTP_WAITS, 10, " by ssh's CPU; " },
	};
	struct sftp_times l;
	char buf[512];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(&l, 0, sizeof(l));
		l.spent_s[cases[i].doing] = 10;
		l.ssh_cpu_s = cases[i].ssh_cpu_s;
		sftp_times_text(&l, buf, sizeof(buf));
		ASSERT_PTR_NE(strstr(buf, cases[i].name), NULL);
	}
}

/* The process's own: 3 s of waiting in two ways, and real CPU time */
static void
process(void)
{
	struct heard heard;
	clock_t end;

	fake_reset();
	fixture_listen(&heard, "limited by");
	sftp_bottleneck_report();
	ASSERT_STRING_EQ(heard.lines, "");
	fake.now_us = 1000000;
	sftp_bottleneck_begin();
	sftp_bottleneck_now(SFTP_WAITS);
	fake.now_us += 1000000;
	ASSERT_U64_GE(sftp_bottleneck_waited_us(), 999998);
	ASSERT_U64_LE(sftp_bottleneck_waited_us(), 1000002);
	sftp_bottleneck_full(1);
	ASSERT_INT_EQ(sftp_bottleneck_now(SFTP_WAITS), SFTP_WAITS);
	fake.now_us += 2000000;
	ASSERT_INT_EQ(sftp_bottleneck_now(SFTP_FILES), SFTP_WAITS_FULL);
	ASSERT_INT_EQ(sftp_bottleneck_now(SFTP_WAITS), SFTP_FILES);
	ASSERT_INT_EQ(sftp_bottleneck_now(SFTP_WORKS), SFTP_WAITS);
	ASSERT_U64_GE(sftp_bottleneck_waited_us(), 2999998);
	ASSERT_U64_LE(sftp_bottleneck_waited_us(), 3000002);
	for (end = clock() + CLOCKS_PER_SEC * 2 / 5; clock() < end; )
		;
	sftp_bottleneck_bytes(1000000);
	sftp_bottleneck_bytes(500000);
	ASSERT_U64_EQ(sftp_bottleneck_moved(), 1500000);
	fake.now_us += 1000000;
	sftp_bottleneck_end();
	sftp_bottleneck_report();
	fixture_listen_ends();
	fake_reset();
	/* 0.4 s of 4 s, rounded */
	ASSERT_PTR_NE(strstr(heard.lines, "1.5 MB in 4.0 s, limited by the "
	    "number of requests; time: connection 25 %, requests 50 %, rate "
	    "given 0 %, local files 0 %, else 25 %; CPU: own 10 %"), NULL);
}

static void
text(void)
{
	static const int s[SFTP_DOINGS] = { 3, 94, 1, 0, 2 }, none[SFTP_DOINGS];
	struct sftp_times l;
	char buf[512];

	transfer(&l, s);
	l.ssh_cpu_s = 12;
	sftp_times_text(&l, buf, sizeof(buf));
	ASSERT_STRING_EQ(buf, "123.5 MB in 100.0 s, limited by the connection; "
	    "time: connection 94 %, requests 1 %, rate given 0 %, "
	    "local files 2 %, else 3 %; CPU: own 1 %, ssh's 12 %");
	transfer(&l, none);
	sftp_times_text(&l, buf, sizeof(buf));
	ASSERT_PTR_NE(strstr(buf, " in 0.0 s, "), NULL);
	ASSERT_PTR_NE(strstr(buf, "ssh's 0 %"), NULL);
	sftp_times_text(&l, buf, 10);
	ASSERT_STRING_EQ(buf, "123.5 MB ");
}

/* The files of a tree count within the tree, each moment once. */
static void
beside(void)
{
	struct sftp_times l;

	memset(&l, 0, sizeof(l));
	sftp_times_begin(&l, 10, 1);
	sftp_times_does(&l, SFTP_WAITS, 11);
	sftp_times_begin(&l, 14, 2);
	sftp_times_does(&l, SFTP_FILES, 15);
	sftp_times_end(&l, 17, 3);
	sftp_times_end(&l, 20, 5);
	sftp_times_begin(&l, 100, 50);
	sftp_times_end(&l, 101, 50.5);
	ASSERT_INT_EQ(l.spent_s[SFTP_WORKS] == 1 + 1 + 3 + 1, 1);
	ASSERT_INT_EQ(l.spent_s[SFTP_WAITS] == 3, 1);
	ASSERT_INT_EQ(l.spent_s[SFTP_FILES] == 2, 1);
	ASSERT_INT_EQ(l.cpu_s == 4.5, 1);
	/* A clock that stepped back takes nothing away. */
	sftp_times_begin(&l, 200, 0);
	sftp_times_end(&l, 190, 0);
	ASSERT_INT_EQ(l.spent_s[SFTP_WORKS] == 6, 1);
}

void
test_sftp_bottleneck(void)
{
	TEST_START("sftp: what limited a transfer");
	verdicts();
	TEST_DONE();
	TEST_START("sftp: how that is said");
	text();
	names();
	process();
	TEST_DONE();
	TEST_START("sftp: concurrent transfers");
	beside();
	TEST_DONE();
}
