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

/* The budget of a connection: shares, guarantees, return of what was lent. */

#include "includes.h"

#include <sys/types.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "chanbudget.h"
#include "misc.h"

#define MIB	(1024U * 1024)
#define BASE	(2 * MIB)
#define LIMIT	(100 * MIB)
#define NSHARES	8

void test_chanbudget(void);

static void
alone(void)
{
	struct chanbudget *b;
	struct chanbudget_share s;

	TEST_START("chanbudget one channel may have all of it");
	ASSERT_PTR_NE((b = chanbudget_new(LIMIT)), NULL);
	chanbudget_join(b, &s, BASE);
	ASSERT_U32_EQ(chanbudget_ask(b, &s, BASE, BASE), BASE);
	ASSERT_U32_EQ(chanbudget_ask(b, &s, 50 * MIB, BASE), 50 * MIB);
	ASSERT_U32_EQ(chanbudget_ask(b, &s, UINT32_MAX, BASE), LIMIT);
	ASSERT_U32_EQ(chanbudget_ask(b, &s, 0, 0), BASE);
	chanbudget_leave(b, &s);
	chanbudget_free(b);
	TEST_DONE();
}

static void
shared(void)
{
	struct chanbudget *b;
	struct chanbudget_share s[3];
	uint32_t pool = LIMIT - 3 * BASE;

	TEST_START("chanbudget shares by demand, lent credit returns first");
	ASSERT_PTR_NE((b = chanbudget_new(LIMIT)), NULL);
	chanbudget_join(b, &s[0], BASE);
	chanbudget_join(b, &s[1], BASE);
	chanbudget_join(b, &s[2], BASE);
	/* The first holds everything when the others come. */
	ASSERT_U32_EQ(chanbudget_ask(b, &s[0], LIMIT, BASE), BASE + pool);
	ASSERT_U32_EQ(chanbudget_ask(b, &s[1], LIMIT, BASE), BASE);
	ASSERT_U32_EQ(chanbudget_ask(b, &s[2], 4 * MIB, BASE), BASE);
	/* It is asked back, and with it goes what the second may have. */
	ASSERT_U32_EQ(chanbudget_ask(b, &s[0], LIMIT, BASE + pool),
	    BASE + (pool - 2 * MIB) / 2);
	ASSERT_U32_EQ(chanbudget_ask(b, &s[1], LIMIT, BASE), BASE);
	ASSERT_U32_EQ(chanbudget_ask(b, &s[0], LIMIT, BASE + pool - 10 * MIB),
	    BASE + (pool - 2 * MIB) / 2);
	ASSERT_U32_EQ(chanbudget_ask(b, &s[1], LIMIT, BASE), BASE + 10 * MIB);
	ASSERT_U32_EQ(chanbudget_ask(b, &s[0], LIMIT, 20 * MIB),
	    BASE + (pool - 2 * MIB) / 2);
	ASSERT_U32_EQ(chanbudget_ask(b, &s[2], 4 * MIB, BASE), 4 * MIB);
	ASSERT_U32_EQ(chanbudget_ask(b, &s[1], LIMIT, BASE),
	    BASE + (pool - 2 * MIB) / 2);
	/* What one leaves, the others find. */
	chanbudget_leave(b, &s[0]);
	ASSERT_U32_EQ(chanbudget_ask(b, &s[1], LIMIT, BASE), 96 * MIB);
	chanbudget_leave(b, &s[1]);
	chanbudget_leave(b, &s[2]);
	chanbudget_free(b);
	TEST_DONE();
}

static void
random_asks(void)
{
	struct chanbudget *b;
	struct chanbudget_share s[NSHARES];
	uint32_t out[NSHARES], got, want;
	uint64_t state = 42, sum;
	u_int i, j, k;

	TEST_START("chanbudget sum of windows stays under the limit");
	ASSERT_PTR_NE((b = chanbudget_new(LIMIT)), NULL);
	for (i = 0; i < NSHARES; i++) {
		chanbudget_join(b, &s[i], BASE);
		out[i] = BASE;
	}
	for (k = 0; k < 200000; k++) {
		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		i = (state >> 33) % NSHARES;
		want = (state >> 36) % (150 * MIB);
		/* some of what is out has been used since */
		out[i] -= (state >> 40) % (out[i] + 1);
		got = chanbudget_ask(b, &s[i], want, out[i]);
		ASSERT_U32_GE(got, BASE);
		ASSERT_U32_LE(got, MAXIMUM(want, BASE));
		out[i] = MAXIMUM(out[i], got);	/* credit to fill it up */
		for (sum = 0, j = 0; j < NSHARES; j++)
			sum += MAXIMUM(out[j], BASE);
		ASSERT_U64_LE(sum, LIMIT);
	}
	for (i = 0; i < NSHARES; i++)
		chanbudget_leave(b, &s[i]);
	chanbudget_free(b);
	TEST_DONE();
}

void
test_chanbudget(void)
{
	alone();
	shared();
	random_asks();
}
