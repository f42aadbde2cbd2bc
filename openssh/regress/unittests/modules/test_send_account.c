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

#include "../test_helper/test_helper.h"

#include "misc.h"
#include "send-account.h"

#define S	1000000ULL

void test_send_account(void);

static void
percents(const struct send_account *cs, u_int window, u_int path, u_int no_data)
{
	ASSERT_U_INT_EQ(send_account_percent(cs, SEND_WINDOW), window);
	ASSERT_U_INT_EQ(send_account_percent(cs, SEND_PATH), path);
	ASSERT_U_INT_EQ(send_account_percent(cs, SEND_NO_DATA), no_data);
}

/* Each second counts for what the look before it said. */
static void
looks(void)
{
	struct send_account cs;
	uint64_t now = 1000 * S;
	int i;

	memset(&cs, 0, sizeof(cs));
	percents(&cs, 0, 0, 0);
	send_account_look(&cs, SEND_NO_DATA, now, 0);
	now += 100 * S;				/* before: no transfer */
	send_account_look(&cs, SEND_NO_DATA, now, 0);
	send_account_sent(&cs, 5, 5, 32);
	for (i = 0; i < 20; i++) {
		send_account_look(&cs, i < 12 ? SEND_WINDOW :
		    i < 15 ? SEND_PATH : SEND_NO_DATA, now, 0);
		now += S;
	}
	send_account_look(&cs, SEND_NO_DATA, now, 0);
	send_account_sent(&cs, 0, 5, 32);
	percents(&cs, 80, 20, 0);		/* after: neither */
	send_account_sent(&cs, 7, 7, 32);
	percents(&cs, 60, 15, 25);
	ASSERT_U64_EQ(cs.bytes, 12);
}

/* What the kernel still had to send is the path's. */
static void
drains(void)
{
	struct send_account cs;

	memset(&cs, 0, sizeof(cs));
	send_account_look(&cs, SEND_WINDOW, S, S);
	send_account_look(&cs, SEND_WINDOW, 5 * S, 10 * S);
	percents(&cs, 75, 25, 0);
	send_account_look(&cs, SEND_NO_DATA, 11 * S, 0);
	percents(&cs, 30, 70, 0);
}

/* How long the window held it up, with the time since the last look. */
static void
held(void)
{
	struct send_account cs;

	memset(&cs, 0, sizeof(cs));
	ASSERT_U64_EQ(send_account_held_us(&cs, 5 * S), 0);
	send_account_look(&cs, SEND_WINDOW, 5 * S, S);
	ASSERT_U64_EQ(send_account_held_us(&cs, 4 * S), 0);
	ASSERT_U64_EQ(send_account_held_us(&cs, 6 * S), 0);
	ASSERT_U64_EQ(send_account_held_us(&cs, 8 * S), 2 * S);
	send_account_look(&cs, SEND_PATH, 8 * S, 0);
	ASSERT_U64_EQ(send_account_held_us(&cs, 20 * S), 2 * S);
	send_account_look(&cs, SEND_WINDOW, 20 * S, 0);
	ASSERT_U64_EQ(send_account_held_us(&cs, 21 * S), 3 * S);
}

static void
odd(void)
{
	struct send_account cs;

	memset(&cs, 0, sizeof(cs));
	/* A first look that is late, a clock that steps back */
	send_account_look(&cs, SEND_WINDOW, 1ULL << 50, 0);
	percents(&cs, 0, 0, 0);
	send_account_look(&cs, SEND_PATH, 5 * S, 0);
	percents(&cs, 0, 0, 0);
	send_account_look(&cs, SEND_PATH, 6 * S, UINT64_MAX);
	percents(&cs, 0, 100, 0);
}

/* A packet and its rest end where the packet would have ended. */
static void
pieces(void)
{
	static const size_t some[] = { 16, 24, 8, 0, 24, 32, 1, 32 };
	struct send_account cs;
	size_t i, len, whole = 32, sent = 0;

	memset(&cs, 0, sizeof(cs));
	ASSERT_SIZE_T_EQ(send_account_rest(&cs, whole), whole);
	for (i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		len = MINIMUM(some[i], send_account_rest(&cs, whole));
		/* It has to end somewhere, and ends a packet if it can. */
		ASSERT_SIZE_T_LE(sent % whole + len, whole);
		send_account_sent(&cs, len, 1000, whole);
		sent += len;
		ASSERT_SIZE_T_EQ(send_account_rest(&cs, whole),
		    whole - sent % whole);
	}
	ASSERT_SIZE_T_EQ(sent, 4 * whole);

	/* All that there is: no piece, and the rest of one if it is less */
	send_account_sent(&cs, 5, 5, whole);
	ASSERT_SIZE_T_EQ(send_account_rest(&cs, whole), whole);
	send_account_sent(&cs, 8, 9, whole);
	send_account_sent(&cs, 1, 1, whole);
	ASSERT_SIZE_T_EQ(send_account_rest(&cs, whole), whole - 9);

	/* A peer that takes no byte */
	ASSERT_SIZE_T_EQ(send_account_rest(&cs, 0), 0);
	send_account_sent(&cs, 0, 1, 0);
}

void
test_send_account(void)
{
	TEST_START("what held a sender up");
	looks();
	TEST_DONE();
	TEST_START("what the kernel still has to send");
	drains();
	TEST_DONE();
	TEST_START("how long the window held it up");
	held();
	TEST_DONE();
	TEST_START("a sender's odd clocks");
	odd();
	TEST_DONE();
	TEST_START("pieces of a packet");
	pieces();
	TEST_DONE();
}
