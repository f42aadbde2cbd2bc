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

/* What waits behind a lost segment, and that no byte of it counts twice. */

#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "packet.h"
#include "channels.h"
#include "log.h"
#include "late-bytes.h"
#include "misc.h"
#include "tcp-path.h"
#include "conn.h"
#include "fixture.h"

#define RTT_US		100000
#define SPACING_US	(RTT_US / LATE_PER_RTT)
#define SEGMENT		1448
#define MEMORY		2304		/* bytes that a segment takes */
#define NO_LIMIT	UINT32_MAX

void test_late_bytes(void);

static uint64_t now_us;
static struct late_look look;

/* A look at the socket after us, at a channel with that window (bytes). */
static void
look_after(struct late_bytes *lb, uint64_t us, uint64_t window)
{
	now_us += us;
	late_bytes_look(lb, &look, window, RTT_US, now_us);
	late_bytes_allow(lb, NO_LIMIT, NO_LIMIT, 0, 0, RTT_US, now_us);
}

/* n segments come out of order, each of which takes so much memory (bytes). */
static void
segments(struct late_bytes *lb, u_int n, u_int memory)
{
	look.late += n;
	look.memory += n * memory;
	look_after(lb, SPACING_US, NO_LIMIT);
}

static void
start(struct late_bytes *lb)
{
	memset(lb, 0, sizeof(*lb));
	memset(&look, 0, sizeof(look));
	look.segment = SEGMENT;
	now_us = 1000000;
}

static void
waiting(void)
{
	struct late_bytes lb;

	start(&lb);
	look_after(&lb, 0, NO_LIMIT);
	ASSERT_U64_EQ(lb.waiting, 0);
	/* Half of the memory is data as long as nothing is known */
	look.memory = 1000000;
	look_after(&lb, SPACING_US, NO_LIMIT);
	ASSERT_U64_EQ(lb.waiting, 500000);
	/* What can be read does not wait. */
	look.memory = 1400000;
	look.unread = 200000;
	lb.held = 0;
	look_after(&lb, SPACING_US, NO_LIMIT);
	ASSERT_U64_EQ(lb.waiting, 500000);
	look.unread = 700001;
	lb.held = 0;
	look_after(&lb, SPACING_US, NO_LIMIT);
	ASSERT_U64_EQ(lb.waiting, 0);
	/* No more waits than the peer was allowed to send. */
	look.unread = 0;
	look_after(&lb, SPACING_US, 300000);
	ASSERT_U64_EQ(lb.waiting, 300000);
	/* A number that is no socket's does not overflow. */
	look.memory = (uint64_t)1 << 55;
	look_after(&lb, SPACING_US, NO_LIMIT);
	ASSERT_U64_EQ(lb.waiting, NO_LIMIT);
	late_bytes_stop(&lb);
	ASSERT_U64_EQ(lb.held, 0);
	ASSERT_U64_EQ(lb.waiting, 0);
	ASSERT_U64_EQ(lb.look_us, 0);
}

/* The segment has come: what waited counts until it was read, and once. */
static void
repaired(void)
{
	struct late_bytes lb;

	start(&lb);
	look.memory = 2000000;
	look_after(&lb, SPACING_US, NO_LIMIT);
	ASSERT_U64_EQ(late_bytes_count(&lb, 0), 1000000);
	ASSERT_U64_EQ(late_bytes_count(&lb, 0), 0);
	/* A part has been read, of the rest 300000 wait for another segment */
	late_bytes_arrived(&lb, 400000, RTT_US, now_us);
	ASSERT_U64_EQ(lb.waiting, 600000);
	ASSERT_U64_EQ(late_bytes_count(&lb, 400000), 0);
	look.memory = 1200000;
	look.unread = 300000;
	look_after(&lb, SPACING_US, NO_LIMIT);
	ASSERT_U64_EQ(lb.waiting, 600000);
	ASSERT_U64_EQ(late_bytes_count(&lb, 0), 0);
	/* More than that has come. */
	look.memory = 2000000;
	look_after(&lb, SPACING_US, NO_LIMIT);
	ASSERT_U64_EQ(lb.waiting, 700000);
	ASSERT_U64_EQ(late_bytes_count(&lb, 0), 100000);
	late_bytes_arrived(&lb, 900000, RTT_US, now_us);
	ASSERT_U64_EQ(lb.waiting, 0);
	ASSERT_U64_EQ(late_bytes_count(&lb, 900000), 200000);
	ASSERT_U64_EQ(lb.ahead, 0);
}

/* A part of what waits may count. */
static void
allowed(void)
{
	struct late_bytes lb;

	start(&lb);
	look.memory = 2000000;
	late_bytes_look(&lb, &look, NO_LIMIT, RTT_US, now_us);
	late_bytes_allow(&lb, 300000, NO_LIMIT, 0, LATE_UNSPENT, RTT_US,
	    now_us);
	ASSERT_U64_EQ(lb.held, 1000000);
	ASSERT_U64_EQ(lb.waiting, 300000);
	ASSERT_U64_EQ(late_bytes_count(&lb, 0), 300000);
	/* As long as more waits than counts, all that comes counts anew. */
	late_bytes_arrived(&lb, 500000, RTT_US, now_us);
	ASSERT_U64_EQ(lb.held, 500000);
	ASSERT_U64_EQ(lb.waiting, 300000);
	ASSERT_U64_EQ(late_bytes_count(&lb, 500000), 500000);
	late_bytes_arrived(&lb, 400000, RTT_US, now_us);
	ASSERT_U64_EQ(lb.waiting, 100000);
	ASSERT_U64_EQ(late_bytes_count(&lb, 400000), 200000);
	now_us += RTT_US;
	late_bytes_allow(&lb, 0, NO_LIMIT, 0, NO_LIMIT, RTT_US, now_us);
	ASSERT_U64_EQ(lb.waiting, 0);
	ASSERT_U64_EQ(late_bytes_count(&lb, 100000), 0);
	ASSERT_U64_EQ(lb.ahead, 0);
	/* The looks go on while bytes wait that do not count. */
	look.memory += 4000000;
	look_after(&lb, SPACING_US, NO_LIMIT);
	lb.waiting = lb.most = 0;
	now_us += LATE_PATIENCE * SPACING_US;
	late_bytes_look(&lb, &look, NO_LIMIT, RTT_US, now_us);
	ASSERT_U64_NE(lb.look_us, 0);
}

static uint64_t bdp, limit;

/* How many of 100 MB count `us` after the last time */
static uint64_t
counts_after(struct late_bytes *lb, uint64_t us, uint64_t unspent)
{
	now_us += us;
	late_bytes_allow(lb, 4000000, limit, bdp, unspent, RTT_US, now_us);
	return lb->waiting;
}

static void
more_and_fewer(void)
{
	struct late_bytes lb;
	u_int i;

	start(&lb);
	limit = NO_LIMIT;
	look.memory = 200000000;
	late_bytes_look(&lb, &look, NO_LIMIT, RTT_US, now_us);
	ASSERT_U64_EQ(counts_after(&lb, RTT_US, 0), 4000000);
	/* While the sender spends its credit, gradually more */
	for (i = 1; i <= 20; i++)
		ASSERT_U64_EQ(counts_after(&lb, RTT_US / 2, LATE_UNSPENT - 1),
		    4000000 + i * (LATE_MORE / 2));
	/* Two looks far apart are one round trip. */
	ASSERT_U64_EQ(counts_after(&lb, 9 * RTT_US, 0),
	    4000000 + 11 * LATE_MORE);
	/* A clock that steps back */
	ASSERT_U64_EQ(counts_after(&lb, -RTT_US, 0), 4000000 + 11 * LATE_MORE);
	/* When it has some unspent, so many fewer in a round trip, */
	ASSERT_U64_EQ(counts_after(&lb, RTT_US, LATE_UNSPENT),
	    4000000 + 11 * LATE_MORE);
	ASSERT_U64_EQ(counts_after(&lb, RTT_US / 2, LATE_UNSPENT + 1000000),
	    3500000 + 11 * LATE_MORE);
	ASSERT_U64_EQ(counts_after(&lb, 9 * RTT_US, LATE_UNSPENT + 1500000),
	    2000000 + 11 * LATE_MORE);
	/* but no fewer than those that count in any case. */
	ASSERT_U64_EQ(counts_after(&lb, RTT_US, (uint64_t)1 << 60), 4000000);
	/* And no more than may count */
	limit = 5500000;
	ASSERT_U64_EQ(counts_after(&lb, RTT_US / 2, 0),
	    4000000 + LATE_MORE / 2);
	ASSERT_U64_EQ(counts_after(&lb, RTT_US, 0), limit);
	ASSERT_U64_EQ(counts_after(&lb, RTT_US, 0), limit);
	ASSERT_U64_EQ(counts_after(&lb, RTT_US, LATE_UNSPENT + 100000),
	    limit - 100000);
	limit = 4500000;
	ASSERT_U64_EQ(counts_after(&lb, RTT_US, LATE_UNSPENT), limit);
	limit = NO_LIMIT;
	ASSERT_U64_EQ(counts_after(&lb, RTT_US, NO_LIMIT), 4000000);
	/* On a long path more at a time */
	bdp = 8 * LATE_MORE;
	ASSERT_U64_EQ(counts_after(&lb, RTT_US, 0), 4000000 + 2 * LATE_MORE);
	bdp = 0;
	ASSERT_U64_EQ(counts_after(&lb, RTT_US, NO_LIMIT), 4000000);
	/* What may count stays while less is there, and is at least `least`. */
	ASSERT_U64_EQ(counts_after(&lb, RTT_US, 0), 4000000 + LATE_MORE);
	late_bytes_arrived(&lb, lb.held - 5000000, RTT_US, now_us);
	ASSERT_U64_EQ(lb.waiting, 5000000);
	ASSERT_U64_EQ(lb.most, 4000000 + LATE_MORE);
	late_bytes_allow(&lb, 9000000, NO_LIMIT, 0, LATE_UNSPENT, RTT_US,
	    now_us);
	ASSERT_U64_EQ(lb.most, 9000000);
	ASSERT_U64_EQ(counts_after(&lb, RTT_US, NO_LIMIT), 4000000);
	/* No more are allowed than are there to count. */
	lb.held = 4000000;
	ASSERT_U64_EQ(counts_after(&lb, RTT_US, 0), 4000000);
	ASSERT_U64_EQ(lb.most, 4000000);
	lb.held = 4000001;
	ASSERT_U64_EQ(counts_after(&lb, RTT_US, 0), 4000001);
	ASSERT_U64_EQ(lb.most, 4000000 + LATE_MORE);
	/* It begins anew. */
	late_bytes_stop(&lb);
	ASSERT_U64_EQ(lb.most, 0);
	lb.held = 100000000;
	ASSERT_U64_EQ(counts_after(&lb, RTT_US, 0), 4000000);
}

/* It was less than it seemed: what counted too early counts no more. */
static void
too_many(void)
{
	struct late_bytes lb;

	start(&lb);
	look.memory = 2000000;
	look_after(&lb, SPACING_US, NO_LIMIT);
	ASSERT_U64_EQ(late_bytes_count(&lb, 0), 1000000);
	look.memory = 0;
	late_bytes_arrived(&lb, 600000, RTT_US, now_us);
	look_after(&lb, SPACING_US, NO_LIMIT);
	ASSERT_U64_EQ(lb.waiting, 0);
	ASSERT_U64_EQ(late_bytes_count(&lb, 600000), 0);
	ASSERT_U64_EQ(lb.ahead, 400000);
	ASSERT_U64_EQ(late_bytes_count(&lb, 399999), 0);
	ASSERT_U64_EQ(late_bytes_count(&lb, 3), 2);
	ASSERT_U64_EQ(late_bytes_count(&lb, 5), 5);
}

static void
share(void)
{
	struct late_bytes lb;
	uint64_t waits;
	u_int i;

	start(&lb);
	for (i = 0; i < 100; i++)
		segments(&lb, 100, MEMORY);
	waits = 10000 * SEGMENT;
	ASSERT_U64_GE(lb.waiting, waits - waits / 50);
	ASSERT_U64_LE(lb.waiting, waits);
	/* Another network card */
	start(&lb);
	for (i = 0; i < 100; i++)
		segments(&lb, 100, 4 * SEGMENT);
	waits = 10000 * SEGMENT;
	ASSERT_U64_GE(lb.waiting, waits - waits / 50);
	ASSERT_U64_LE(lb.waiting, waits + waits / 50);
	/* Longer segments */
	start(&lb);
	look.segment = 6 * SEGMENT;
	for (i = 0; i < 100; i++)
		segments(&lb, 100, 8 * SEGMENT);
	waits = 10000 * 6 * SEGMENT;
	ASSERT_U64_GE(lb.waiting, waits - waits / 50);
	ASSERT_U64_LE(lb.waiting, waits + waits / 50);
	/* All of the memory may be data. More counts little by little, */
	start(&lb);
	segments(&lb, 100, SEGMENT);
	segments(&lb, 100, SEGMENT);
	ASSERT_U_INT_EQ(lb.share, (15 * 512 + 1024) / 16);
	/* and less at once: some of those before had come twice. */
	segments(&lb, 100, 4 * SEGMENT);
	ASSERT_U_INT_EQ(lb.share, 1024 / 4);
	segments(&lb, 100, SEGMENT);
	ASSERT_U_INT_EQ(lb.share, (15 * 256 + 1024) / 16);
	/* More than all of the memory can't be data: some came twice. */
	start(&lb);
	for (i = 0; i < 40; i++)
		segments(&lb, 100, 700);
	ASSERT_U64_EQ(lb.waiting, 4000 * 700 / 2);
	/* No less than 1/64 is. */
	start(&lb);
	for (i = 0; i < 40; i++)
		segments(&lb, 100, 100 * SEGMENT);
	ASSERT_U64_GE(lb.waiting, look.memory / 64);
	ASSERT_U64_LE(lb.waiting, look.memory / 64 + look.memory / 200);
}

/* Where something else may have come, or little, the share is not measured. */
static void
no_measure(void)
{
	struct late_bytes lb;
	u_int what;

	for (what = 0; what < 11; what++) {
		test_subtest_info("%u", what);
		start(&lb);
		segments(&lb, 100, MEMORY);
		ASSERT_U_INT_EQ(lb.share, 0);
		look.received += what == 0;
		look.unread = what == 1;
		lb.last.unread = what == 2;
		look.late -= what == 3 ? 201 : 0;	/* it went back */
		look.late -= what == 4 ? 93 : 0;	/* seven */
		look.memory -= what == 5 ? 200 * MEMORY : 0;
		if (what == 6 || what == 10)
			look.segment = what == 6 ? 65536 : 0;
		look.memory += what == 7 ? UINT64_MAX / 2 : 0;
		look.late += what == 8 ? (uint64_t)1 << 54 : 0;
		if (what == 9)
			memset(&lb.last, 0, sizeof(lb.last));
		segments(&lb, 100, MEMORY);
		ASSERT_U_INT_EQ(lb.share, 0);
		segments(&lb, 100, MEMORY);
		if (what == 0 || what == 3 || what == 4 || what == 9)
			ASSERT_U_INT_NE(lb.share, 0);
	}
	/* Eight tell it. */
	start(&lb);
	segments(&lb, 100, MEMORY);
	segments(&lb, 8, MEMORY);
	ASSERT_U_INT_NE(lb.share, 0);
	/* A look that was taken before the end of looks is none to start at. */
	start(&lb);
	segments(&lb, 100, MEMORY);
	late_bytes_stop(&lb);
	segments(&lb, 100, MEMORY);
	ASSERT_U_INT_EQ(lb.share, 0);
}

/* How often the socket is looked at */
static void
looks(void)
{
	struct late_bytes lb;
	u_int i, what;

	start(&lb);
	ASSERT_INT_EQ(late_bytes_due(&lb, now_us), 0);
	late_bytes_arrived(&lb, 1, RTT_US, now_us);
	now_us += SPACING_US - 1;
	ASSERT_INT_EQ(late_bytes_due(&lb, now_us), 0);
	ASSERT_INT_EQ(late_bytes_due(&lb, now_us + 1), 1);
	/* If none waits and none comes, a few times */
	for (i = 0; lb.look_us != 0 && i < 1000; i++)
		look_after(&lb, lb.look_us - now_us, NO_LIMIT);
	ASSERT_U_INT_LE(i, LATE_PATIENCE);
	ASSERT_U_INT_GE(i, LATE_PATIENCE / 2);
	ASSERT_U64_EQ(lb.look_us, 0);
	/* While data comes, all the time */
	for (i = 0; i < 100; i++) {
		late_bytes_arrived(&lb, 1, RTT_US, now_us);
		now_us += SPACING_US / 2;
		if (late_bytes_due(&lb, now_us))
			look_after(&lb, 0, NO_LIMIT);
		ASSERT_U64_LE(lb.look_us, now_us + SPACING_US);
	}
	ASSERT_INT_EQ(late_bytes_due(&lb, now_us + SPACING_US), 1);
	/* While bytes wait, for two round trips after the last one */
	for (i = 0; i < 1000; i++)
		segments(&lb, 1, MEMORY);
	ASSERT_U64_NE(lb.look_us, 0);
	for (i = 0; lb.look_us != 0 && i < 1000; i++)
		look_after(&lb, lb.look_us - now_us, NO_LIMIT);
	/* Less and less often: a peer buys few of them with a segment. */
	ASSERT_U_INT_LE(i, 20);
	ASSERT_U_INT_GE(i, 14);
	ASSERT_U64_NE(lb.waiting, 0);
	/* The time counts, however few looks there were. */
	for (i = 0; i < 2; i++) {
		start(&lb);
		late_bytes_arrived(&lb, 1, RTT_US, now_us);
		look_after(&lb, LATE_PATIENCE * SPACING_US - i, NO_LIMIT);
		ASSERT_INT_EQ(lb.look_us != 0, i);
	}
	/* What comes may take no memory, or be no segment out of order. */
	for (what = 0; what < 2; what++) {
		start(&lb);
		late_bytes_arrived(&lb, 1, RTT_US, now_us);
		for (i = 0; i < 100; i++) {
			look.late += what == 0;
			look.memory += what == 1;
			look_after(&lb, SPACING_US, NO_LIMIT);
			ASSERT_U64_EQ(lb.look_us, now_us + SPACING_US);
		}
	}
	/* A short path: once a ms. A clock that steps back ends no look. */
	late_bytes_arrived(&lb, 1, 100, now_us);
	ASSERT_U64_EQ(lb.look_us, now_us + LATE_SPACING_MIN_US);
	late_bytes_arrived(&lb, 1, 100, 5);
	ASSERT_U64_EQ(lb.look_us, 5 + LATE_SPACING_MIN_US);
	late_bytes_look(&lb, &look, NO_LIMIT, 100, 3);
	ASSERT_U64_EQ(lb.look_us, 3 + LATE_SPACING_MIN_US);
}

/* A small deterministic generator: a failure repeats. */
static uint64_t
rnd(uint64_t *state, u_int bits)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 11 & (((uint64_t)1 << (*state >> 58) % bits) - 1);
}

/* Whatever the socket says: no byte counts twice, and none is forgotten. */
static void
hostile(void)
{
	struct late_bytes lb;
	uint64_t state, consumed, counted, most, n, window, least;
	u_int i;

	for (state = 1; state < 50; state++) {
		start(&lb);
		consumed = counted = most = 0;
		for (i = 0; i < 5000; i++) {
			look.memory = rnd(&state, 53);
			look.unread = rnd(&state, 33);
			look.received += rnd(&state, 3);
			look.late += rnd(&state, 34);
			look.segment = rnd(&state, 20);
			now_us += rnd(&state, 20);
			window = rnd(&state, 32);
			n = rnd(&state, 25);
			if (n & 1)
				late_bytes_arrived(&lb, n, RTT_US, now_us);
			else if (n & 4)
				late_bytes_look(&lb, &look, window, RTT_US,
				    now_us);
			if (!(n & 1) && (n & 4)) {
				ASSERT_U64_LE(lb.held, window);
				least = rnd(&state, 32);
				late_bytes_allow(&lb, least,
				    least + rnd(&state, 32),
				    rnd(&state, 32), rnd(&state, 40),
				    1 + rnd(&state, 20), now_us);
			}
			ASSERT_U64_LE(lb.waiting, lb.held);
			if ((n & 56) == 0)
				late_bytes_stop(&lb);
			ASSERT_U_INT_LE(lb.share, 1024);
			counted += late_bytes_count(&lb, n);
			consumed += n;
			most = MAXIMUM(most, consumed + lb.waiting);
			ASSERT_U64_EQ(counted, most);
			ASSERT_U64_EQ(lb.ahead, counted - consumed);
		}
	}
}

#ifdef __linux__
/* What the kernel says of a socket */
static void
socket_says(void)
{
	char data[3000] = { 0 };
	int here, there, fds[2];

	fixture_tcp(&here, &there);
	tcp_path_look(here, &look);
	ASSERT_U64_EQ(look.memory, 0);
	ASSERT_U64_EQ(look.segment, 0);
	ASSERT_INT_EQ(write(there, data, sizeof(data)), sizeof(data));
	while (recv(here, data, 1, MSG_PEEK) != 1)
		;
	tcp_path_look(here, &look);
	ASSERT_U64_GE(look.memory, sizeof(data));
	ASSERT_U64_EQ(look.unread, sizeof(data));
	ASSERT_U64_GE(look.received, sizeof(data));
	ASSERT_U64_EQ(look.late, 0);
	ASSERT_U64_GT(look.segment, 0);
	close(here);
	close(there);
	/* Those that can't tell */
	tcp_path_look(here, &look);
	ASSERT_U64_EQ(look.memory, 0);
	ASSERT_INT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	ASSERT_INT_EQ(write(fds[1], data, sizeof(data)), sizeof(data));
	tcp_path_look(fds[0], &look);
	ASSERT_U64_EQ(look.memory, 0);
	ASSERT_U64_EQ(look.unread, 0);
	close(fds[0]);
	close(fds[1]);
}
#endif

void
test_late_bytes(void)
{
	fixture_run("late bytes, those that wait", waiting);
	fixture_run("late bytes, the lost segment comes", repaired);
	fixture_run("late bytes, a part may count", allowed);
	fixture_run("late bytes, more and fewer", more_and_fewer);
	fixture_run("late bytes, fewer than it seemed", too_many);
	fixture_run("late bytes, what of the memory is data", share);
	fixture_run("late bytes, nothing to measure that by", no_measure);
	fixture_run("late bytes, how often the socket is looked at", looks);
	fixture_run("late bytes, whatever the socket says", hostile);
#ifdef __linux__
	fixture_run("late bytes, what a socket says", socket_says);
#endif
}
