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

/* How long a connection waits for what one more would bring. */

#include "includes.h"

#include <sys/types.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "copy-lane.h"
#include "tcp-held.h"

void test_tcp_held(void);

#define MIB		((uint64_t)1024 * 1024)
#define RTT_US		200000
#define LOOKS		20

/* What happens in each round trip of 200 ms, and how much of 20 is held */
static const struct {
	const char *what;
	uint64_t rtt_us, acked, received, buffers_us, window_us, rcv_wnd;
	uint64_t resent;
	int blocked, filled;
	u_int held_min, held_max;	/* round trips */
	uint64_t quiet_us;
} cases[] = {
	{ "a path that the sender fills", 280000, 20 * MIB, 0, 0, 0, 0, 0, 0, 1,
	    0, 0 },
	{ "the same, with buffers that are full, too", 280000, 20 * MIB, 0,
	    RTT_US, 0, 0, 0, 1, 1, 0, 0 },
	{ "slow start", RTT_US, 20 * MIB, 0, 0, 0, 0, 0, 0, 1, 0, 0 },
	{ "our send buffer, as glances tell", RTT_US, 2 * MIB, 0, 0, 0, 0, 0,
	    1, 0, LOOKS, LOOKS },
	{ "TCP's buffers, as it counts", RTT_US, 2 * MIB, 0, RTT_US * 3 / 4, 0,
	    0, 0, 0, 0, LOOKS * 3 / 4, LOOKS * 3 / 4 },
	{ "the peer's window", RTT_US, 2 * MIB, 0, 0, RTT_US * 3 / 4, 0, 0, 0,
	    0, LOOKS * 3 / 4, LOOKS * 3 / 4 },
	{ "both of these: the longer one counts", RTT_US, 2 * MIB, 0,
	    RTT_US / 2, RTT_US * 3 / 4, 0, 0, 0, 0, LOOKS * 3 / 4,
	    LOOKS * 3 / 4 },
	{ "losses", RTT_US, MIB, 0, 0, 0, 0, 1, 0, 1, LOOKS - TCP_HELD_EVENT,
	    LOOKS - TCP_HELD_EVENT },
	{ "losses, and nothing to send", RTT_US, MIB, 0, 0, 0, 0, 1, 0, 0,
	    0, 0 },
	{ "our receive buffer", RTT_US, 0, 3 * MIB, 0, 0, 3 * MIB, 0, 0, 0,
	    LOOKS, LOOKS },
	{ "the other end's, at a rate that stays", RTT_US, 0, 3 * MIB, 0, 0,
	    32 * MIB, 0, 0, 0, LOOKS - TCP_HELD_RATES, LOOKS - TCP_HELD_RATES,
	    RTT_US / 4 },
	{ "the same with short pauses: the path is nearly full", RTT_US, 0,
	    3 * MIB, 0, 0, 32 * MIB, 0, 0, 0, 0, 0, RTT_US / 4 - 1 },
	{ "without any, as of BBR", RTT_US, 0, 20 * MIB, 0, 0, 64 * MIB, 0, 0,
	    0, 0, 0, 0 },
	{ "a download that fills the path", 280000, 0, 20 * MIB, 0, 0, 32 * MIB,
	    0, 0, 0, 0, 0, RTT_US / 2 },
	{ "keystrokes", RTT_US, 100, 50, RTT_US, RTT_US, 0, 1, 1, 1, 0, 0 },
};

static void
one_case(u_int i)
{
	struct tcp_held_look look = { .at_us = 1000000,
	    .rtt_us = cases[i].rtt_us, .min_rtt_us = RTT_US,
	    .rcv_wnd = cases[i].rcv_wnd, .blocked = cases[i].blocked,
	    .filled = cases[i].filled };
	struct tcp_held h = { 0 };
	u_int n;

	ASSERT_INT_EQ(tcp_held_is_due(&h, 1), 1);
	tcp_held_add(&h, &look);
	for (n = 0; n < LOOKS; n++) {
		ASSERT_INT_EQ(tcp_held_is_due(&h, look.at_us +
		    look.rtt_us / 8 * 7 - 1), 0);
		ASSERT_INT_EQ(tcp_held_is_due(&h, look.at_us +
		    look.rtt_us / 8 * 7), 1);
		look.at_us += RTT_US;
		look.acked += cases[i].acked;
		look.received += cases[i].received;
		look.buffers_us += cases[i].buffers_us;
		look.window_us += cases[i].window_us;
		look.resent += cases[i].resent;
		look.quiet_us += cases[i].quiet_us;
		tcp_held_add(&h, &look);
	}
	ASSERT_U64_GE(h.held_us, (uint64_t)cases[i].held_min * RTT_US);
	ASSERT_U64_LE(h.held_us, (uint64_t)cases[i].held_max * RTT_US);
}

/* A download whose rate doubles is not held up: what limits comes later. */
static void
grows(void)
{
	struct tcp_held_look look = { .at_us = 1000000, .rtt_us = RTT_US,
	    .min_rtt_us = RTT_US, .rcv_wnd = 512 * MIB };
	struct tcp_held h = { 0 };
	u_int n;

	for (n = 0; n < 12; n++) {
		tcp_held_add(&h, &look);
		look.at_us += RTT_US;
		look.received += (uint64_t)16384 << n;
		look.quiet_us += RTT_US / 2;
	}
	ASSERT_U64_EQ(h.held_us, 0);
	look.blocked = 1;
	look.acked = 64 * MIB;
	tcp_held_add(&h, &look);
	ASSERT_U64_EQ(h.held_us, RTT_US);
	/* A clock that steps back, and an RTT that is unknown */
	look.at_us -= 10 * RTT_US;
	tcp_held_add(&h, &look);
	look.at_us += RTT_US;
	look.min_rtt_us = 0;
	look.acked += 16 * MIB;
	tcp_held_add(&h, &look);
	ASSERT_U64_EQ(h.held_us, RTT_US);
	/* Two looks at one time */
	look.min_rtt_us = RTT_US;
	tcp_held_add(&h, &look);
	ASSERT_U64_EQ(h.held_us, RTT_US);
}

/* Nor is one that grows by an eighth of it from look to look. */
static void
grows_slowly(void)
{
	struct tcp_held_look look = { .at_us = 1000000, .rtt_us = RTT_US,
	    .min_rtt_us = RTT_US, .rcv_wnd = 512 * MIB };
	struct tcp_held h = { 0 };
	uint64_t rate = MIB;
	u_int n;

	for (n = 0; n < 12; n++) {
		tcp_held_add(&h, &look);
		look.at_us += RTT_US;
		look.received += rate;
		look.quiet_us += RTT_US / 2;
		rate += rate / 8;
	}
	ASSERT_U64_EQ(h.held_us, 0);
}

/*
 * Returns the round trips that count as held up, of 40 with a loss in the
 * first one, in `second` and in the next, and a queue in `queued`.
 */
static u_int
lossy(u_int second, u_int queued)
{
	struct tcp_held_look look = { .at_us = 1000000, .rtt_us = RTT_US,
	    .min_rtt_us = RTT_US, .filled = 1 };
	struct tcp_held h = { 0 };
	u_int n;

	tcp_held_add(&h, &look);
	for (n = 1; n <= 40; n++) {
		look.at_us += RTT_US;
		look.acked += MIB;
		look.resent += n == 1 || n == second || n == second + 1;
		look.rtt_us = n == queued ? 2 * RTT_US : RTT_US;
		tcp_held_add(&h, &look);
	}
	return h.held_us / RTT_US;
}

/*
 * A loss counts for a few round trips, but for the first time, and where a
 * queue explains it.
 */
static void
losses(void)
{
	ASSERT_U_INT_EQ(lossy(50, 50), 0);
	ASSERT_U_INT_EQ(lossy(TCP_HELD_EVENT - 1, 50), 0);
	ASSERT_U_INT_EQ(lossy(TCP_HELD_EVENT, 50), TCP_HELD_LOSSY);
	ASSERT_U_INT_EQ(lossy(20, 50), TCP_HELD_LOSSY + 1);
	ASSERT_U_INT_EQ(lossy(20, 20), 0);
	ASSERT_U_INT_EQ(lossy(20, 20 - TCP_HELD_EVENT + 2), 0);
	ASSERT_U_INT_EQ(lossy(20, 20 - TCP_HELD_EVENT + 1), TCP_HELD_LOSSY);
	ASSERT_U_INT_EQ(lossy(20, 20 - TCP_HELD_EVENT), TCP_HELD_LOSSY + 1);
	/* What a queue explains is no first time. */
	ASSERT_U_INT_EQ(lossy(20, 1), 0);
}

/*
 * A queue of a quarter of the least RTT, and more_us, is none. With 1 us more
 * it is one.
 */
static void
queue(uint64_t rtt_us, uint64_t more_us)
{
	struct tcp_held_look look = { .at_us = 1000000,
	    .rtt_us = rtt_us / 4 * 5 + more_us, .min_rtt_us = rtt_us,
	    .blocked = 1 };
	struct tcp_held h = { 0 };

	tcp_held_add(&h, &look);
	look.at_us += RTT_US;
	look.acked += MIB;
	tcp_held_add(&h, &look);
	ASSERT_U64_EQ(h.held_us, RTT_US);
	look.rtt_us++;
	look.at_us += RTT_US;
	look.acked += MIB;
	tcp_held_add(&h, &look);
	ASSERT_U64_EQ(h.held_us, RTT_US);
}

/* The login of a further connection */
static void
lane(void)
{
	char *list = strdup("ssh-ed25519,sk-ssh-ed25519@openssh.com,"
	    "sk-ecdsa-sha2-nistp256@openssh.com,ssh-rsa"), *none = NULL;
	int batch_mode = 0;

	/* One of somebody else's */
	(void)alarm(1000);
	unsetenv(COPY_LANE_ENV);
	copy_lane_login(&list, &batch_mode);
	copy_lane_logged_in();
	ASSERT_PTR_NE(strstr(list, "sk-"), NULL);
	ASSERT_INT_EQ(batch_mode, 0);
	ASSERT_U_INT_NE(alarm(0), 0);
	setenv(COPY_LANE_ENV, "1", 1);
	copy_lane_login(&list, &batch_mode);
	ASSERT_U_INT_NE(alarm(0), 0);
	copy_lane_login(&none, &batch_mode);
	copy_lane_logged_in();
	ASSERT_U_INT_EQ(alarm(0), 0);
	unsetenv(COPY_LANE_ENV);
	ASSERT_STRING_EQ(list, "ssh-ed25519,ssh-rsa");
	ASSERT_PTR_EQ(none, NULL);
	ASSERT_INT_EQ(batch_mode, 1);
	free(list);
}

/*
 * Returns 1 if TCP is wide where it has that much room for a MiB in flight, and
 * in a round trip the peer's windows and TCP's buffers hold it up for so long.
 */
static int
is_wide(uint64_t room, uint64_t window_us, uint64_t buffers_us, u_int lossy)
{
	struct tcp_held_look look = { .at_us = 1000000, .rtt_us = RTT_US,
	    .min_rtt_us = RTT_US, .filled = 1,
	    .in_flight = room == 0 ? 0 : MIB, .room = room };
	struct tcp_held h = { .lossy = lossy };

	tcp_held_add(&h, &look);
	look.at_us += RTT_US;
	look.acked += MIB;
	look.window_us += window_us;
	look.buffers_us += buffers_us;
	tcp_held_add(&h, &look);
	return h.wide;
}

static void
wide(void)
{
	const uint64_t room = TCP_HELD_WIDE * MIB;
	struct tcp_held_look look = { .at_us = 1000000 + RTT_US,
	    .rtt_us = RTT_US, .min_rtt_us = RTT_US };
	struct tcp_held h = { .last = { .at_us = 1000000 }, .wide = 1 };

	ASSERT_INT_EQ(is_wide(room, RTT_US, 0, 0), 1);
	ASSERT_INT_EQ(is_wide(room - TCP_HELD_WIDE, RTT_US, 0, 0), 0);
	ASSERT_INT_EQ(is_wide(0, RTT_US, 0, 0), 0);
	ASSERT_INT_EQ(is_wide(room, RTT_US, RTT_US - 1, 0), 1);
	ASSERT_INT_EQ(is_wide(room, RTT_US, RTT_US, 0), 0);
	ASSERT_INT_EQ(is_wide(room, 0, 0, 0), 0);
	ASSERT_INT_EQ(is_wide(room, RTT_US, 0, 1), 0);
	/* Nothing is sent. */
	tcp_held_add(&h, &look);
	ASSERT_INT_EQ(h.wide, 0);
}

void
test_tcp_held(void)
{
	u_int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		TEST_START("tcp held: a case");
		test_subtest_info("%s", cases[i].what);
		one_case(i);
		TEST_DONE();
	}
	TEST_START("tcp held: a rate that grows");
	grows();
	grows_slowly();
	TEST_DONE();
	TEST_START("tcp held: what a queue is");
	queue(RTT_US, 2000);
	queue(4000, 1000);
	losses();
	TEST_DONE();
	TEST_START("tcp held: when TCP is wide");
	wide();
	TEST_DONE();
	TEST_START("copy lane: the login");
	lane();
	TEST_DONE();
}
