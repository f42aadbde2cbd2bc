/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/* A connection's budget: shares, guarantees, and what is lent and returned */

#include "includes.h"

#include <sys/types.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "window-budget.h"
#include "misc.h"

#define MIB	(1024U * 1024)
#define BASE	(2 * MIB)
#define LIMIT	(100 * MIB)
#define NSHARES	65

void test_window_budget(void);

static struct window_budget budget, *b = &budget;
static struct window_budget_share s[NSHARES];

static void
start(uint32_t limit, u_int n)
{
	u_int i;

	window_budget_init(b, limit, BASE);
	memset(s, 0, sizeof(s));
	for (i = 0; i < n; i++)
		s[i].base = BASE;
}

static void
end(u_int n)
{
	while (n > 0)
		window_budget_leave(b, &s[--n]);
	ASSERT_U64_EQ(b->held + b->wants + b->wanting, 0);
}

/* Asks for a window of `want`, of which nothing is out beyond the base. */
static uint32_t
ask(u_int i, uint32_t want)
{
	return window_budget_ask(b, &s[i], want, BASE);
}

static void
alone(void)
{
	u_int i;

	TEST_START("budget: one channel may have all, and idle ones nothing");
	start(LIMIT, NSHARES);
	ASSERT_U32_EQ(ask(0, BASE), BASE);
	ASSERT_U32_EQ(ask(0, 50 * MIB), 50 * MIB);
	ASSERT_U32_EQ(ask(0, UINT32_MAX), LIMIT);
	ASSERT_U32_EQ(window_budget_ask(b, &s[0], 0, 0), BASE);
	/* whatever they have out of their bases */
	for (i = 1; i < NSHARES; i++)
		ASSERT_U32_EQ(ask(i, i % 2 ? BASE : 0), BASE);
	ASSERT_U32_EQ(ask(0, UINT32_MAX), LIMIT);
	end(NSHARES);
	/* A limit that is no more than a base leaves each its base. */
	start(BASE, 2);
	ASSERT_U32_EQ(ask(0, LIMIT), BASE);
	end(2);
	start(0, 2);
	ASSERT_U32_EQ(ask(1, LIMIT), BASE);
	end(2);
	TEST_DONE();
}

static void
shared(void)
{
	uint32_t pool = LIMIT - BASE, fair = BASE + pool / 3;

	TEST_START("budget: shares by demand, what is lent comes back first");
	start(LIMIT, 3);
	/* The first holds everything when the others come. */
	ASSERT_U32_EQ(ask(0, LIMIT), LIMIT);
	ASSERT_U32_EQ(ask(1, LIMIT), BASE);
	ASSERT_U32_EQ(ask(2, 4 * MIB), BASE);
	/* It is asked back, and with it goes what the second may have. */
	ASSERT_U32_EQ(window_budget_ask(b, &s[0], LIMIT, LIMIT), fair);
	ASSERT_U32_EQ(ask(1, LIMIT), BASE);
	ASSERT_U32_EQ(window_budget_ask(b, &s[0], LIMIT, LIMIT - 10 * MIB),
	    fair);
	ASSERT_U32_EQ(ask(1, LIMIT), BASE + 10 * MIB);
	ASSERT_U32_EQ(window_budget_ask(b, &s[0], LIMIT, 20 * MIB), fair);
	ASSERT_U32_EQ(ask(2, 4 * MIB), 4 * MIB);
	ASSERT_U32_EQ(ask(1, LIMIT), fair);
	/* What one leaves, the others find. */
	window_budget_leave(b, &s[2]);
	ASSERT_U32_EQ(window_budget_ask(b, &s[0], 0, 0), BASE);
	ASSERT_U32_EQ(ask(1, LIMIT), LIMIT);
	end(2);
	TEST_DONE();
}

static void
random_asks(void)
{
	uint32_t out[8], got, want;
	uint64_t state = 42, sum;
	u_int i, j, k;

	TEST_START("budget: what all have beyond their bases is in the pool");
	start(LIMIT, 8);
	memset(out, 0, sizeof(out));
	for (k = 0; k < 200000; k++) {
		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		i = (state >> 33) % 8;
		want = (state >> 36) % (150 * MIB);
		/* some of what is out has been used since */
		out[i] -= (state >> 40) % (out[i] + 1);
		got = window_budget_ask(b, &s[i], want, out[i]);
		ASSERT_U32_GE(got, BASE);
		ASSERT_U32_LE(got, MAXIMUM(want, BASE));
		out[i] = MAXIMUM(out[i], got);	/* credit to fill it up */
		for (sum = 0, j = 0; j < 8; j++)
			sum += MAXIMUM(out[j], BASE) - BASE;
		ASSERT_U64_LE(sum, LIMIT - BASE);
	}
	end(8);
	TEST_DONE();
}

/* Returns what window_budget_ask() should. */
static uint32_t
expected(u_int n, u_int me, uint32_t want)
{
	uint64_t pool = LIMIT - BASE, held = 0, wants = 0, part, wanting;
	u_int i;

	want = want > s[me].base ? want - s[me].base : 0;
	wanting = want != 0;
	for (i = 0; i < n; i++) {
		held += i == me ? 0 : s[i].held;
		wants += i == me ? 0 : s[i].want_over;
		wanting += i != me && s[i].want_over != 0;
	}
	part = pool / MAXIMUM(wanting, 1);
	if (wants < pool)
		part = MAXIMUM(part, pool - wants);
	want = MINIMUM(want, part);
	pool = pool > held ? pool - held : 0;
	return s[me].base + MINIMUM(want, pool);
}

/* Shares of any base come, ask and leave, in any order. */
static void
random_shares(void)
{
	uint32_t want, gets;
	uint64_t state = 43;
	u_int k, i, n = 0;

	TEST_START("budget: what a share gets, of all that come and go");
	start(LIMIT, 0);
	for (k = 0; k < 100000; k++) {
		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		want = (state >> 36) % (1 << (15 + (state >> 33) % 14));
		if (n < 8 && (n == 0 || state >> 60 == 0)) {
			s[n++].base = want / 8;
			continue;
		}
		if (state >> 60 == 1) {
			while (n > (state >> 33) % 8)
				window_budget_leave(b, &s[--n]);
			continue;
		}
		i = (state >> 50) % n;
		gets = expected(n, i, want);
		ASSERT_U32_EQ(window_budget_ask(b, &s[i], want,
		    (state >> 34) % (LIMIT / 4)), gets);
	}
	end(n);
	TEST_DONE();
}

void
test_window_budget(void)
{
	alone();
	shared();
	random_asks();
	random_shares();
}
