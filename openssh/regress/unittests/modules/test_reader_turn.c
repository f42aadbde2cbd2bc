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

/* When the connection is left unread, so that a reader can take its data. */

#include "includes.h"

#include <sys/types.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "reader-turn.h"

#define MUCH	(READER_TURN_BACKLOG + 1)
#define NOW_US	1000000

void test_reader_turn(void);

static void
who_is_waited_for(void)
{
	static const struct {
		uint64_t backlog, before, took_us;
		int first;
	} *t, tests[] = {
		{ MUCH, 0, NOW_US, 1 },
		{ MUCH, MUCH - 1, NOW_US, 1 },
		{ MUCH, MUCH, NOW_US, 0 },	/* others' data came */
		{ MUCH, MUCH + 1, NOW_US, 0 },
		{ READER_TURN_BACKLOG, 0, NOW_US, 0 },
		{ MUCH, 0, NOW_US - READER_TURN_LATELY_US + 1, 1 },
		{ MUCH, 0, NOW_US - READER_TURN_LATELY_US, 0 },
		{ MUCH, 0, 0, 0 },
		{ MUCH, 0, NOW_US + 1, 0 },	/* the clock has gone back */
	};
	struct reader_turn rt;
	u_int i;

	TEST_START("reader turn, who is waited for");
	for (i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		t = &tests[i];
		test_subtest_info("%u", i);
		memset(&rt, 0, sizeof(rt));
		ASSERT_INT_EQ(reader_turn_first(&rt, NOW_US), 0);
		ASSERT_INT_EQ(reader_turn_look(&rt, t->backlog, t->before,
		    t->took_us, NOW_US), t->first);
		/* Other channels have none. */
		ASSERT_INT_EQ(reader_turn_look(&rt, 0, 0, NOW_US, NOW_US), 0);
		ASSERT_INT_EQ(reader_turn_first(&rt, NOW_US), t->first);
		/* Each turn is decided anew. */
		ASSERT_INT_EQ(reader_turn_first(&rt, NOW_US), 0);
	}
	TEST_DONE();
}

/*
 * Runs ms turns of a millisecond. What is read in one is in the backlog that
 * the next one looks at. Returns how many left it unread.
 */
static u_int
turns(struct reader_turn *rt, uint64_t *now_us, u_int ms)
{
	uint64_t backlog = 2 * MUCH, before = MUCH;
	u_int unread = 0;
	int first;

	for (; ms > 0; ms--) {
		reader_turn_look(rt, backlog, before, *now_us, *now_us);
		first = reader_turn_first(rt, *now_us);
		before = backlog;
		backlog += first ? -1 : 1;
		unread += first;
		*now_us += 1000;
	}
	return unread;
}

static void
how_long(void)
{
	struct reader_turn rt;
	uint64_t now_us = NOW_US;

	TEST_START("reader turn, how long at most");
	memset(&rt, 0, sizeof(rt));
	ASSERT_U_INT_EQ(turns(&rt, &now_us, 2), 2);
	ASSERT_U_INT_EQ(turns(&rt, &now_us, 1), 0);
	/* It is read once in three ms. */
	ASSERT_U_INT_EQ(turns(&rt, &now_us, 300), 200);
	/* The time counts from when it was read last. */
	ASSERT_U_INT_EQ(turns(&rt, &now_us, 1), 1);
	ASSERT_INT_EQ(reader_turn_first(&rt, now_us), 0);
	ASSERT_U_INT_EQ(turns(&rt, &now_us, 2), 2);
	/* A wait that has begun goes on while nothing comes. */
	memset(&rt, 0, sizeof(rt));
	reader_turn_look(&rt, MUCH, 0, NOW_US, NOW_US);
	ASSERT_INT_EQ(reader_turn_first(&rt, NOW_US), 1);
	reader_turn_look(&rt, MUCH, MUCH, NOW_US, NOW_US);
	ASSERT_INT_EQ(reader_turn_first(&rt, NOW_US + 1000), 1);
	reader_turn_look(&rt, MUCH, MUCH, NOW_US, NOW_US);
	ASSERT_INT_EQ(reader_turn_first(&rt, NOW_US + 2000), 0);
	reader_turn_look(&rt, MUCH, MUCH, NOW_US, NOW_US);
	ASSERT_INT_EQ(reader_turn_first(&rt, NOW_US + 2000), 0);
	/* Turns in which no time passes */
	memset(&rt, 0, sizeof(rt));
	reader_turn_look(&rt, MUCH, 0, NOW_US, NOW_US);
	ASSERT_INT_EQ(reader_turn_first(&rt, NOW_US), 1);
	reader_turn_look(&rt, MUCH, 0, NOW_US, NOW_US);
	ASSERT_INT_EQ(reader_turn_first(&rt, NOW_US +
	    READER_TURN_MOST_US - 1), 1);
	reader_turn_look(&rt, MUCH, 0, NOW_US, NOW_US);
	ASSERT_INT_EQ(reader_turn_first(&rt, NOW_US +
	    READER_TURN_MOST_US), 0);
	TEST_DONE();
}

void
test_reader_turn(void)
{
	who_is_waited_for();
	how_long();
}
