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

/* The round trip time that SSH itself sees. */

#include "includes.h"

#include <sys/types.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "misc.h"
#include "pathinband.h"

#define MS	1000ULL

void test_pathinband(void);

static void
samples(void)
{
	struct pathinband ib;
	uint64_t now = 5000 * MS, i;

	TEST_START("path inband, the least of all samples, and a smoothed one");
	memset(&ib, 0, sizeof(ib));
	ASSERT_INT_EQ(pathinband_due(&ib, now), 1);
	pathinband_sent(&ib, now);
	ASSERT_INT_EQ(pathinband_due(&ib, now + 1), 0);
	pathinband_answer(&ib, now += 200 * MS);
	ASSERT_U64_EQ(ib.rtt_us, 200 * MS);
	ASSERT_U64_EQ(ib.least_us, 200 * MS);
	/* Behind bulk data answers take longer */
	for (i = 0; i < 100; i++) {
		/* At most one in a round trip */
		ASSERT_INT_EQ(pathinband_due(&ib, now + ib.rtt_us - 1), 0);
		now += ib.rtt_us;
		ASSERT_INT_EQ(pathinband_due(&ib, now), 1);
		pathinband_sent(&ib, now);
		pathinband_answer(&ib, now += 300 * MS);
	}
	ASSERT_U64_EQ(ib.least_us, 200 * MS);
	ASSERT_U64_GE(ib.rtt_us, 299 * MS);
	ASSERT_U64_LE(ib.rtt_us, 300 * MS);
	TEST_DONE();
}

static void
pongs(void)
{
	struct pathinband ib;
	u_char first[PATHINBAND_PING_LEN], ping[PATHINBAND_PING_LEN];
	uint64_t now = 5000 * MS;

	TEST_START("path inband, only the pong to the ping under way counts");
	memset(&ib, 0, sizeof(ib));
	pathinband_pong(&ib, (const u_char *)"", 0, now);
	pathinband_compose(pathinband_sent(&ib, now), first);
	pathinband_pong(&ib, (const u_char *)"PING!", 5, now + 1);
	pathinband_pong(&ib, first, sizeof(first) - 1, now + 1);
	ASSERT_U64_EQ(ib.rtt_us, 0);
	/* One that got lost, and is answered after all */
	ASSERT_INT_EQ(pathinband_due(&ib, now + PATHINBAND_LOST_US - 1), 0);
	now += PATHINBAND_LOST_US;
	ASSERT_INT_EQ(pathinband_due(&ib, now), 1);
	pathinband_compose(pathinband_sent(&ib, now), ping);
	pathinband_pong(&ib, first, sizeof(first), now + 1 * MS);
	ASSERT_U64_EQ(ib.rtt_us, 0);
	pathinband_pong(&ib, ping, sizeof(ping), now + 100 * MS);
	ASSERT_U64_EQ(ib.rtt_us, 100 * MS);
	/* and twice */
	pathinband_pong(&ib, ping, sizeof(ping), now + 900 * MS);
	ASSERT_U64_EQ(ib.rtt_us, 100 * MS);
	/* No ping of ours was ever sent to this peer */
	memset(&ib, 0, sizeof(ib));
	ib.refused = 1;
	pathinband_compose(pathinband_sent(&ib, now), ping);
	pathinband_pong(&ib, ping, sizeof(ping), now + 1);
	ASSERT_U64_EQ(ib.rtt_us, 0);
	TEST_DONE();
}

static void
rekeying(void)
{
	struct pathinband ib;
	uint64_t now = 5000 * MS;

	TEST_START("path inband, rekeying voids the probe under way");
	memset(&ib, 0, sizeof(ib));
	pathinband_sent(&ib, now);
	pathinband_void(&ib);
	pathinband_answer(&ib, now + 900 * MS);
	ASSERT_U64_EQ(ib.rtt_us, 0);
	ASSERT_INT_EQ(pathinband_due(&ib, now + 900 * MS), 1);
	/* A request will be answered all the same: the next has to wait */
	ib.refused = 1;
	pathinband_sent(&ib, now);
	pathinband_void(&ib);
	ASSERT_INT_EQ(pathinband_due(&ib, now + 900 * MS), 0);
	pathinband_answer(&ib, now + 900 * MS);
	ASSERT_U64_EQ(ib.rtt_us, 0);
	ASSERT_INT_EQ(pathinband_due(&ib, now + 900 * MS), 1);
	/* and its sample counts */
	pathinband_sent(&ib, now + 900 * MS);
	pathinband_answer(&ib, now + 950 * MS);
	ASSERT_U64_EQ(ib.rtt_us, 50 * MS);
	TEST_DONE();
}

static void
hostile(void)
{
	struct pathinband ib;
	uint64_t now = 5000 * MS, i;

	TEST_START("path inband, peers that never answer, or unasked");
	memset(&ib, 0, sizeof(ib));
	ib.refused = 1;
	pathinband_sent(&ib, now);
	ASSERT_INT_EQ(pathinband_due(&ib,
	    now + 1000ULL * PATHINBAND_LOST_US), 0);
	pathinband_abandon(&ib);
	ASSERT_INT_EQ(pathinband_due(&ib, now + 1), 1);
	for (i = 0; i < 1000; i++)
		pathinband_answer(&ib, now + i);
	ASSERT_U64_EQ(ib.rtt_us, 0);
	/* At once: not 0, which is unknown; with a clock that stepped back */
	pathinband_sent(&ib, now);
	pathinband_answer(&ib, now - 700 * MS);
	ASSERT_U64_EQ(ib.rtt_us, 1);
	for (i = 0; i < 10; i++) {
		pathinband_sent(&ib, now);
		pathinband_answer(&ib, now);
	}
	ASSERT_U64_EQ(ib.rtt_us, 1);
	TEST_DONE();
}

/* What SSH asks anyway bounds the least, and is no smoothed RTT. */
static void
exchanges(void)
{
	struct pathinband ib;

	TEST_START("path inband, the least of other exchanges");
	memset(&ib, 0, sizeof(ib));
	ASSERT_U64_EQ(pathinband_least_us(&ib), 0);
	pathinband_exchange(&ib, 300 * MS);
	pathinband_exchange(&ib, 200 * MS);
	pathinband_exchange(&ib, 5000 * MS);
	ASSERT_U64_EQ(pathinband_least_us(&ib), 200 * MS);
	ASSERT_U64_EQ(ib.rtt_us, 0);
	pathinband_sent(&ib, 1000 * MS);
	pathinband_answer(&ib, 1210 * MS);
	ASSERT_U64_EQ(pathinband_least_us(&ib), 200 * MS);
	ASSERT_U64_EQ(ib.rtt_us, 210 * MS);
	pathinband_sent(&ib, 2000 * MS);
	pathinband_answer(&ib, 2190 * MS);
	ASSERT_U64_EQ(pathinband_least_us(&ib), 190 * MS);
	pathinband_exchange(&ib, 0);
	ASSERT_U64_EQ(pathinband_least_us(&ib), 1);
	TEST_DONE();
}

void
test_pathinband(void)
{
	exchanges();
	samples();
	pongs();
	rekeying();
	hostile();
}
