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

/* When a copy with `connections=auto` asks for one more connection. */

#include "includes.h"

#include <sys/types.h>

#include <stdint.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "log.h"
#include "quick-pair.h"
#include "sftp-auto.h"
#include "sftp-bottleneck.h"
#include "sftp-lanes.h"
#include "sftp-parts.h"
#include "fake.h"

#define S		1000000ULL	/* us */
#define GB		1000000000ULL

void test_sftp_auto(void);

/* Begins, with one lane and a path of 100 ms. `left` bytes are to be copied. */
static void
begin(uint64_t left, int paced)
{
	u_int i;

	for (i = 0; i < SFTP_LANES; i++)
		sftp_lane(i)->state = i == 0 ? SFTP_LANE_OPEN :
		    SFTP_LANE_CLOSED;
	fake_reset();
	fake.now_us = 1000 * S;
	fake.pair_rtt_us = S / 10;
	sftp_lanes_set_left(left);
	sftp_auto_file(NULL);
	sftp_auto_begin(paced);
}

/* Lets 1/10 s pass, of which the connection was held up for held_us. */
static int
asks_after(uint64_t held_us)
{
	fake.now_us += S / 10;
	fake.pair_held_us += held_us;
	sftp_bottleneck_bytes(1000 * 1000);
	return sftp_auto_wants(fake.now_us / 1e6);
}

/* The same for 3 s. Returns how many connections are asked for. */
static u_int
asked_in_3_s(uint64_t held_us)
{
	u_int i, n = 0;

	for (i = 0; i < 30; i++)
		n += asks_after(held_us);
	return n;
}

static void
test_facts(void)
{
	struct sftp_parts file = { .size = GB };

	TEST_START("connections=auto: as many as may begin, if it is held");
	begin(GB, 1);
	ASSERT_U_INT_EQ(asked_in_3_s(S / 10), 4);
	begin(GB, 0);
	ASSERT_U_INT_EQ(asked_in_3_s(S / 10), 7);
	TEST_DONE();

	TEST_START("connections=auto: none where it is not held, or not known");
	begin(GB, 1);
	ASSERT_U_INT_EQ(asked_in_3_s(S / 30), 0);
	begin(GB, 1);
	fake.pair_rtt_us = 1;
	ASSERT_U_INT_EQ(asked_in_3_s(S / 10), 0);
	TEST_DONE();

	TEST_START("connections=auto: each one is held as the first one is");
	begin(GB, 1);
	sftp_lane(1)->state = sftp_lane(2)->state = SFTP_LANE_OPEN;
	ASSERT_U_INT_EQ(asked_in_3_s(S / 10), 4);
	TEST_DONE();

	TEST_START("connections=auto: none while one opens");
	begin(GB, 1);
	sftp_lane(1)->state = SFTP_LANE_OPENING;
	ASSERT_U_INT_EQ(asked_in_3_s(S / 10), 0);
	TEST_DONE();

	TEST_START("connections=auto: none for the little that is left");
	begin(1000 * 1000, 1);
	ASSERT_U_INT_EQ(asked_in_3_s(S / 10), 0);
	sftp_auto_file(&file);
	ASSERT_U_INT_EQ(asked_in_3_s(S / 10), 4);
	begin(1000 * 1000, 1);
	file.done = file.size - 1000 * 1000;
	sftp_auto_file(&file);
	ASSERT_U_INT_EQ(asked_in_3_s(S / 10), 0);
	TEST_DONE();
}

static void
test_lost(void)
{
	TEST_START("connections=auto: none once one is lost");
	begin(GB, 1);
	sftp_lane(1)->state = SFTP_LANE_LOST;
	ASSERT_U_INT_EQ(asked_in_3_s(S / 10), 0);
	sftp_lane(1)->state = SFTP_LANE_CLOSED;
	ASSERT_U_INT_EQ(asked_in_3_s(S / 10), 0);
	TEST_DONE();

	TEST_START("connections=auto: one that was lost before does not count");
	begin(GB, 1);
	sftp_lane(1)->state = SFTP_LANE_LOST;
	sftp_auto_begin(1);
	ASSERT_U_INT_EQ(asked_in_3_s(S / 10), 4);
	TEST_DONE();
}

static void
test_pause(void)
{
	TEST_START("connections=auto: a pause says nothing");
	begin(GB, 1);
	ASSERT_INT_EQ(asks_after(S / 10), 0);
	fake.now_us += 10 * S;
	ASSERT_INT_EQ(asks_after(10 * S), 0);
	TEST_DONE();

	TEST_START("connections=auto: none while the copy does something else");
	begin(GB, 1);
	(void)sftp_bottleneck_now(SFTP_FILES);
	ASSERT_U_INT_EQ(asked_in_3_s(S / 10), 0);
	(void)sftp_bottleneck_now(SFTP_WAITS);
	ASSERT_U_INT_EQ(asked_in_3_s(S / 10), 4);
	TEST_DONE();
}

void
test_sftp_auto(void)
{
	sftp_bottleneck_begin();
	(void)sftp_bottleneck_now(SFTP_WAITS);
	test_facts();
	test_lost();
	test_pause();
	sftp_bottleneck_end();
	begin(0, 1);
	sftp_lane(0)->state = SFTP_LANE_CLOSED;
	fake_reset();
}
