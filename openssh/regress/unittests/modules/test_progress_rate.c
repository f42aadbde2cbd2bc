/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "progress-rate.h"

#define MB	1000000ULL

void test_progress_rate(void);

/* Looks each second for s seconds, at `rate` bytes/s. Returns the last rate. */
static uint64_t
run(struct progress_rate *p, double *now, uint64_t *bytes, int s, uint64_t rate)
{
	uint64_t shown = 0;

	while (s-- > 0) {
		*now += 1;
		*bytes += rate;
		shown = progress_rate(p, *now, *bytes);
	}
	return shown;
}

static void
last_seconds(void)
{
	struct progress_rate p;
	double now = 1000;
	uint64_t bytes = 5000 * MB;	/* it was resumed there */

	memset(&p, 0, sizeof(p));
	ASSERT_U64_EQ(progress_rate(&p, now, bytes), 0);
	ASSERT_U64_EQ(run(&p, &now, &bytes, 1, MB), MB);
	ASSERT_U64_EQ(run(&p, &now, &bytes, 100, MB), MB);
	/* Nothing of before is left 5 s after a change. */
	ASSERT_U64_EQ(run(&p, &now, &bytes, 1, 11 * MB), 3 * MB);
	ASSERT_U64_EQ(run(&p, &now, &bytes, 4, 11 * MB), 11 * MB);
	ASSERT_U64_EQ(run(&p, &now, &bytes, 5, 0), 0);
	ASSERT_U64_EQ(run(&p, &now, &bytes, 1, 10 * MB), 2 * MB);
	/* A new file starts anew. */
	memset(&p, 0, sizeof(p));
	ASSERT_U64_EQ(progress_rate(&p, now, bytes), 0);
	ASSERT_U64_EQ(run(&p, &now, &bytes, 1, 7 * MB), 7 * MB);
}

/* A terminal that is resized all the time; the ring holds fewer samples. */
static void
many_looks(void)
{
	struct progress_rate p;
	uint64_t bytes = 0, shown = 0;
	int i;

	memset(&p, 0, sizeof(p));
	for (i = 0; i <= 2000; i++) {
		bytes = i <= 1000 ? i * MB : 1000 * MB + (i - 1000) * 3 * MB;
		shown = progress_rate(&p, i / 100.0, bytes);
		if (i == 1250)
			ASSERT_INT_EQ(shown > 190 * MB && shown < 210 * MB, 1);
	}
	ASSERT_INT_EQ(shown > 299 * MB && shown < 301 * MB, 1);
}

/* Clocks and counts that stand or step back, and a stop in the background */
static void
odd(void)
{
	struct progress_rate p;

	memset(&p, 0, sizeof(p));
	ASSERT_U64_EQ(progress_rate(&p, 10, 0), 0);
	ASSERT_U64_EQ(progress_rate(&p, 10, MB), 0);
	ASSERT_U64_EQ(progress_rate(&p, 9, 2 * MB), 0);
	ASSERT_U64_EQ(progress_rate(&p, 11, 0), 0);
	memset(&p, 0, sizeof(p));
	ASSERT_U64_EQ(progress_rate(&p, 10, 0), 0);
	ASSERT_U64_EQ(progress_rate(&p, 11, 100 * MB), 100 * MB);
	ASSERT_U64_EQ(progress_rate(&p, 111, 200 * MB), MB);
	/* More than an int can hold */
	ASSERT_U64_EQ(progress_rate(&p, 121, 100200 * MB), 10000 * MB);
}

void
test_progress_rate(void)
{
	TEST_START("progress: the rate is that of the last seconds");
	last_seconds();
	TEST_DONE();
	TEST_START("progress: more calls than samples");
	many_looks();
	TEST_DONE();
	TEST_START("progress: odd clocks and counts");
	odd();
	TEST_DONE();
}
