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

/* A connection's budget: shares, guarantees, and what is lent and returned */

#include "includes.h"

#include <sys/types.h>
#include <sys/mman.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "window-budget.h"
#include "misc.h"

#define MIB	(1024U * 1024)
#define BASE	(2 * MIB)
#define LIMIT	(100 * MIB)
#define NSHARES	8

void test_window_budget(void);

static void
alone(void)
{
	struct window_budget *b;
	struct window_budget_share s;

	TEST_START("window_budget one channel may have all of it");
	ASSERT_PTR_NE((b = window_budget_new(LIMIT)), NULL);
	window_budget_join(b, &s, BASE);
	ASSERT_U32_EQ(window_budget_ask(b, &s, BASE, BASE), BASE);
	ASSERT_U32_EQ(window_budget_ask(b, &s, 50 * MIB, BASE), 50 * MIB);
	ASSERT_U32_EQ(window_budget_ask(b, &s, UINT32_MAX, BASE), LIMIT);
	ASSERT_U32_EQ(window_budget_ask(b, &s, 0, 0), BASE);
	window_budget_leave(b, &s);
	window_budget_free(b);
	TEST_DONE();
}

static void
shared(void)
{
	struct window_budget *b;
	struct window_budget_share s[3];
	uint32_t pool = LIMIT - 3 * BASE;

	TEST_START("window_budget shares by demand, lent credit returns first");
	ASSERT_PTR_NE((b = window_budget_new(LIMIT)), NULL);
	window_budget_join(b, &s[0], BASE);
	window_budget_join(b, &s[1], BASE);
	window_budget_join(b, &s[2], BASE);
	/* The first holds everything when the others come. */
	ASSERT_U32_EQ(window_budget_ask(b, &s[0], LIMIT, BASE), BASE + pool);
	ASSERT_U32_EQ(window_budget_ask(b, &s[1], LIMIT, BASE), BASE);
	ASSERT_U32_EQ(window_budget_ask(b, &s[2], 4 * MIB, BASE), BASE);
	/* It is asked back, and with it goes what the second may have. */
	ASSERT_U32_EQ(window_budget_ask(b, &s[0], LIMIT, BASE + pool),
	    BASE + (pool - 2 * MIB) / 2);
	ASSERT_U32_EQ(window_budget_ask(b, &s[1], LIMIT, BASE), BASE);
	ASSERT_U32_EQ(window_budget_ask(b, &s[0], LIMIT,
	    BASE + pool - 10 * MIB),
	    BASE + (pool - 2 * MIB) / 2);
	ASSERT_U32_EQ(window_budget_ask(b, &s[1], LIMIT, BASE),
	    BASE + 10 * MIB);
	ASSERT_U32_EQ(window_budget_ask(b, &s[0], LIMIT, 20 * MIB),
	    BASE + (pool - 2 * MIB) / 2);
	ASSERT_U32_EQ(window_budget_ask(b, &s[2], 4 * MIB, BASE), 4 * MIB);
	ASSERT_U32_EQ(window_budget_ask(b, &s[1], LIMIT, BASE),
	    BASE + (pool - 2 * MIB) / 2);
	/* What one leaves, the others find. */
	window_budget_leave(b, &s[0]);
	ASSERT_U32_EQ(window_budget_ask(b, &s[1], LIMIT, BASE), 96 * MIB);
	window_budget_leave(b, &s[1]);
	window_budget_leave(b, &s[2]);
	window_budget_free(b);
	TEST_DONE();
}

static void
random_asks(void)
{
	struct window_budget *b;
	struct window_budget_share s[NSHARES];
	uint32_t out[NSHARES], got, want;
	uint64_t state = 42, sum;
	u_int i, j, k;

	TEST_START("window_budget sum of windows stays under the limit");
	ASSERT_PTR_NE((b = window_budget_new(LIMIT)), NULL);
	for (i = 0; i < NSHARES; i++) {
		window_budget_join(b, &s[i], BASE);
		out[i] = BASE;
	}
	for (k = 0; k < 200000; k++) {
		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		i = (state >> 33) % NSHARES;
		want = (state >> 36) % (150 * MIB);
		/* some of what is out has been used since */
		out[i] -= (state >> 40) % (out[i] + 1);
		got = window_budget_ask(b, &s[i], want, out[i]);
		ASSERT_U32_GE(got, BASE);
		ASSERT_U32_LE(got, MAXIMUM(want, BASE));
		out[i] = MAXIMUM(out[i], got);	/* credit to fill it up */
		for (sum = 0, j = 0; j < NSHARES; j++)
			sum += MAXIMUM(out[j], BASE);
		ASSERT_U64_LE(sum, LIMIT);
	}
	for (i = 0; i < NSHARES; i++)
		window_budget_leave(b, &s[i]);
	window_budget_free(b);
	TEST_DONE();
}

/* Returns the bytes in use if each gets what it wants, up to f; me: `want`. */
static uint64_t
taken(const struct window_budget_share *s, u_int n, u_int me, uint32_t want,
    uint32_t f)
{
	uint64_t sum = 0;
	u_int i;

	for (i = 0; i < n; i++)
		sum += MINIMUM(f, i == me ? want : s[i].want);
	return sum;
}

/* Returns what window_budget_ask() should: the largest part for all. */
static uint32_t
expected(const struct window_budget_share *s, u_int n, u_int me, uint32_t want)
{
	uint64_t pool = LIMIT, others = 0, left;
	uint32_t fair = 0, bit;
	u_int i;

	for (i = 0; i < n; i++) {
		pool -= MINIMUM(pool, s[i].base);
		others += i == me ? 0 : s[i].held;
	}
	want = want > s[me].base ? want - s[me].base : 0;
	for (bit = 1U << 31; bit != 0; bit >>= 1) {
		if (taken(s, n, me, want, fair | bit) <= pool)
			fair |= bit;
	}
	left = pool > others ? pool - others : 0;
	want = MINIMUM(want, fair);
	return s[me].base + MINIMUM(want, left);
}

/* Shares of any base come, ask and leave, in any order. */
static void
random_shares(void)
{
	struct window_budget *b;
	struct window_budget_share s[NSHARES];
	uint32_t want, gets;
	uint64_t state = 43;
	u_int k, i, n = 0;

	TEST_START("window_budget what a share gets, of all that come and go");
	ASSERT_PTR_NE((b = window_budget_new(LIMIT)), NULL);
	for (k = 0; k < 100000; k++) {
		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		want = (state >> 36) % (1 << (15 + (state >> 33) % 14));
		if (n < NSHARES && (n == 0 || state >> 60 == 0)) {
			window_budget_join(b, &s[n++], want / 8);
			continue;
		}
		if (state >> 60 == 1) {
			while (n > (state >> 33) % NSHARES)
				window_budget_leave(b, &s[--n]);
			continue;
		}
		i = (state >> 50) % n;
		gets = expected(s, n, i, want);
		ASSERT_U32_EQ(window_budget_ask(b, &s[i], want,
		    (state >> 34) % (LIMIT / 4)), gets);
	}
	while (n > 0)
		window_budget_leave(b, &s[--n]);
	window_budget_free(b);
	TEST_DONE();
}

#ifdef MAP_ANON
/*
 * Asks while n other channels, each of which has asked for theirs, must not be
 * looked at: with many, the time that this takes would add up.
 */
static void
others_alone(uint32_t want, u_int n, uint32_t theirs, uint32_t gets)
{
	struct window_budget *b;
	struct window_budget_share *s, mine[3];
	size_t len = n * sizeof(*s);
	u_int i;

	s = mmap(NULL, len, PROT_READ|PROT_WRITE, MAP_ANON|MAP_PRIVATE, -1, 0);
	ASSERT_PTR_NE(s, MAP_FAILED);
	ASSERT_PTR_NE((b = window_budget_new(LIMIT)), NULL);
	window_budget_join(b, &mine[2], 1);	/* idle, next to others */
	for (i = 0; i < n; i++) {
		window_budget_join(b, &s[i], BASE);
		window_budget_ask(b, &s[i], theirs, 0);
	}
	for (i = 0; i < 2; i++) {
		window_budget_join(b, &mine[i], 1);
		window_budget_ask(b, &mine[i], want, 0);
	}
	ASSERT_INT_EQ(mprotect(s, len, PROT_NONE), 0);
	ASSERT_U32_EQ(window_budget_ask(b, &mine[0], want, 0), gets);
	ASSERT_INT_EQ(mprotect(s, len, PROT_READ|PROT_WRITE), 0);
	for (i = 0; i < n; i++)
		window_budget_leave(b, &s[i]);
	for (i = 0; i < 3; i++)
		window_budget_leave(b, &mine[i]);
	window_budget_free(b);
	munmap(s, len);
}

static void
many(void)
{
	TEST_START("window_budget time of many channels");
	test_subtest_info("no budget over the bases");
	others_alone(LIMIT, 1000, LIMIT, 1);
	test_subtest_info("enough for all");
	others_alone(10, 49, BASE + 10, 10);
	test_subtest_info("too little for two, others idle");
	others_alone(LIMIT, 49, BASE, MIB - 1);
	TEST_DONE();
}
#endif

void
test_window_budget(void)
{
	alone();
	shared();
	random_asks();
	random_shares();
#ifdef MAP_ANON
	many();
#endif
}
