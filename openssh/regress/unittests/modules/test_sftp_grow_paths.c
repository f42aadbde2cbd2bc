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


/*
 * The controller of lanes on simulated paths. Time goes in steps of 1/16 of
 * the RTT. The lanes of a sender share a bottleneck with a queue of one path
 * BDP. Each may have `window` bytes that are not acknowledged. TCP's congestion
 * window doubles each round trip while half of it is used, up to `cwnd_max`.
 */

#include "includes.h"

#include <sys/types.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "misc.h"
#include "sftp-grow.h"

#define MIB		(1024ULL * 1024)
#define WINDOW		(2 * MIB)	/* stock */
#define OURS		(16384 * MIB)	/* a window that never limits */
#define PACKET		32768
#define STEPS		16		/* per RTT */
#define HALF		(STEPS / 2)
#define ROUNDS		200		/* at least, and 10 s */
#define LAST_ROUNDS	50		/* in which the goodput is steady */
#define OPEN_ROUNDS	3		/* until a lane's first data */

void test_sftp_grow_paths(void);

struct path {
	/* configuration */
	uint64_t rate;		/* bytes/s of the bottleneck */
	uint64_t rtt_us;
	uint64_t window;	/* bytes of each lane, at the peer */
	uint64_t cwnd_max;	/* bytes; 0: no limit */
	uint64_t source;	/* bytes/s of what is sent; 0: no limit */
	uint64_t disk;		/* bytes/s that the peer takes; 0: no limit */
	uint64_t size;		/* bytes to copy; 0: no end */
	u_int	 sessions;	/* lanes that the peer allows; 0: no limit */
	int	 hang;		/* 1: a lane that opens never does */
	int	 per_lane;	/* 1: rate limits each lane, not all */
	u_int	 pause;		/* rounds between pauses of as many; 0: none */

	/* state */
	struct sftp_grow g;
	struct sftp_grow_facts f;
	uint64_t credit, unread;	/* bytes: of source's; of disk's */
	uint64_t cwnd, unacked, queue, backlog;
	uint64_t data[HALF], acks[HALF];	/* on the way */
	uint64_t open_at[SFTP_GROW_LANES + 1];	/* step at which it opens */
	u_int	 step, opens;

	/* what was seen */
	u_int	 asked, most_at_once;	/* lanes; lanes in one answer */
	u_int	 last_added;		/* round */
	uint64_t full_bytes;		/* in the last rounds */
};

static void
path_init(struct path *p, const struct sftp_grow_params *params)
{
	sftp_grow_init(&p->g, params, 0);
	p->cwnd = 10 * 1448;
	p->f.now_us = 1000000;
	p->f.rtt_us = p->rtt_us;
	p->f.lanes = 1;
}

static uint64_t
per_step(const struct path *p, uint64_t rate)
{
	return rate == 0 ? UINT64_MAX / 4 :
	    rate * p->rtt_us / STEPS / 1000000;
}

/* Sends what window, source and congestion window allow. */
static void
sender_step(struct path *p, u_int slot)
{
	uint64_t all = p->window * p->f.lanes, window, want, room, cwnd, acked,
	    sent;

	acked = p->acks[slot];
	p->unacked -= acked;
	p->f.bytes += acked;
	/* As Linux in slow start: while at least half of it is in flight */
	if (p->cwnd < 2 * (p->unacked + acked) &&
	    p->queue < p->rate * p->rtt_us / 1000000 / 2)
		p->cwnd += acked;
	cwnd = p->cwnd_max ? MINIMUM(p->cwnd, p->cwnd_max * p->f.lanes) :
	    p->cwnd;
	window = all > p->unacked ? all - p->unacked : 0;
	room = cwnd > p->unacked ? cwnd - p->unacked : 0;
	p->credit = MINIMUM(p->credit + per_step(p, p->source), 64 * MIB);
	want = p->credit;
	if (p->size != 0)
		want = MINIMUM(want, p->size - MINIMUM(p->size,
		    p->f.bytes + p->unacked));
	if (p->pause != 0 && p->step / STEPS / p->pause % 2 == 1)
		want = 0;
	sent = MINIMUM(want, MINIMUM(window, room));
	/* The window is used up, with more to send and a socket that takes. */
	if (want > sent && window - sent < PACKET * p->f.lanes && room > sent)
		p->f.held_us += p->rtt_us / STEPS * p->f.lanes;
	p->credit -= sent;
	p->unacked += sent;
	p->queue += sent;
}

static void
receiver_step(struct path *p, u_int slot)
{
	uint64_t out, rate = per_step(p, p->rate);

	p->backlog += p->data[slot];
	out = MINIMUM(p->queue, p->per_lane ? rate * p->f.lanes : rate);
	p->queue -= out;
	p->data[slot] = out;
	out = MINIMUM(p->backlog, per_step(p, p->disk));
	p->backlog -= out;
	p->acks[slot] = out;
}

static void
lanes_step(struct path *p)
{
	u_int n, i;

	p->f.left = p->size == 0 ? UINT64_MAX : p->size - p->f.bytes;
	for (i = 0; i < p->opens; i++) {
		if (p->open_at[i] != p->step || p->hang)
			continue;
		p->f.opening--;
		if (p->sessions != 0 && p->f.lanes >= p->sessions)
			sftp_grow_refused(&p->g);
		else
			p->f.lanes++;
	}
	if ((n = sftp_grow_step(&p->g, &p->f)) == 0)
		return;
	p->asked += n;
	p->most_at_once = MAXIMUM(p->most_at_once, n);
	p->last_added = p->step / STEPS;
	ASSERT_U32_EQ(p->f.opening, 0);
	ASSERT_U32_LE(p->f.lanes + n, SFTP_GROW_LANES);
	p->f.opening += n;
	while (n-- > 0)
		p->open_at[p->opens++] = p->step + OPEN_ROUNDS * STEPS;
}

static void
path_run(struct path *p, const struct sftp_grow_params *params)
{
	uint64_t before = 0;
	u_int rounds = MAXIMUM(ROUNDS, 10000000 / p->rtt_us);

	test_subtest_info("rate %llu B/s rtt %llu us window %llu",
	    (unsigned long long)p->rate, (unsigned long long)p->rtt_us,
	    (unsigned long long)p->window);
	path_init(p, params);
	for (p->step = 1; p->step <= rounds * STEPS; p->step++) {
		p->f.now_us += p->rtt_us / STEPS;
		p->f.waited_us += p->rtt_us / STEPS;
		sender_step(p, p->step % HALF);
		receiver_step(p, p->step % HALF);
		lanes_step(p);
		if (p->step == (rounds - LAST_ROUNDS) * STEPS)
			before = p->f.bytes;
	}
	p->full_bytes = p->f.bytes - before;
}

static const uint64_t rates[] = { 125000, 1250000, 12500000, 60000000,
    125000000, 300000000, 1250000000 };
static const uint64_t rtts[] = { 320, 1008, 3200, 10000, 32000, 100000,
    200000, 600000 };

#define FOREACH_PATH(i, k)						\
	for (i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)		\
		for (k = 0; k < sizeof(rtts) / sizeof(rtts[0]); k++)

/* A stock peer: as many lanes as fill the path, and few that don't. */
static void
stock_window(uint64_t window)
{
	uint64_t bdp, want;
	u_int i, k;

	FOREACH_PATH(i, k) {
		struct path p = { .rate = rates[i], .rtt_us = rtts[k],
		    .window = window };

		path_run(&p, &sftp_grow_sessions);
		bdp = p.rate * p.rtt_us / 1000000;
		if (bdp < window / 2 || p.rtt_us < 2000) {
			ASSERT_U32_EQ(p.f.lanes, 1);
			continue;
		}
		/* At most half as many again as fill the path */
		ASSERT_U64_LE(p.f.lanes, (bdp / window + 1) * 3 / 2 + 1);
		want = MINIMUM(bdp, 10 * window) * LAST_ROUNDS;
		if (bdp > 3 * window / 2)
			ASSERT_U64_GE(p.full_bytes, want / 100 * 85);
		if (bdp > 12 * window) {
			ASSERT_U32_EQ(p.f.lanes, 10);
			/* Ten rounds for a step, when they are long */
			if (p.rtt_us >= 50000)
				ASSERT_U32_LE(p.last_added, 55);
		}
	}
}

/* Where something else is the limit there is one lane. */
static void
one_lane(void)
{
	u_int i, k;

	FOREACH_PATH(i, k) {
		struct path ours = { .rate = rates[i], .rtt_us = rtts[k],
		    .window = OURS };
		struct path disk = { .rate = rates[i], .rtt_us = rtts[k],
		    .window = WINDOW + rates[i] * rtts[k] / 1000000,
		    .disk = rates[i] / 4 };
		struct path source = { .rate = rates[i], .rtt_us = rtts[k],
		    .window = WINDOW,
		    .source = MINIMUM(rates[i] / 2,
		    WINDOW * 1000000 / rtts[k] / 3) };

		path_run(&ours, &sftp_grow_sessions);
		ASSERT_U32_EQ(ours.asked, 0);
		path_run(&disk, &sftp_grow_sessions);
		/* A peer's window that its disk keeps shut: one try */
		ASSERT_U32_LE(disk.asked, 1);
		path_run(&source, &sftp_grow_sessions);
		ASSERT_U32_EQ(source.asked, 0);
	}
}

/* A window that the peer's disk keeps shut looks like a small one: one try. */
static void
slow_peer(void)
{
	struct path p = { .rate = 125000000, .rtt_us = 200000,
	    .window = WINDOW, .disk = 5000000 };

	path_run(&p, &sftp_grow_sessions);
	ASSERT_U32_EQ(p.asked, 1);
	ASSERT_INT_EQ(sftp_grow_done(&p.g), 1);
}

/* MaxSessions: what was refused is not asked for again. */
static void
refused(void)
{
	u_int n;

	for (n = 1; n <= 10; n++) {
		struct path p = { .rate = 1250000000, .rtt_us = 200000,
		    .window = WINDOW, .sessions = n };

		path_run(&p, &sftp_grow_sessions);
		ASSERT_U32_EQ(p.f.lanes, n);
		ASSERT_U32_EQ(p.f.opening, 0);
		/* At most a step too many, once */
		ASSERT_U32_LE(p.asked, n - 1 + (n + 1) / 2);
		ASSERT_INT_EQ(sftp_grow_done(&p.g), 1);
	}
}

/* A lane that never opens is waited for, and no other is asked for. */
static void
hangs(void)
{
	struct path p = { .rate = 1250000000, .rtt_us = 200000,
	    .window = WINDOW, .hang = 1 };

	path_run(&p, &sftp_grow_sessions);
	ASSERT_U32_EQ(p.asked, 1);
	ASSERT_U32_EQ(p.f.lanes, 1);
}

/* A copy that is nearly over gets no lane, and none before it is steady. */
static void
short_copies(void)
{
	struct path p = { .rate = 125000000, .rtt_us = 200000,
	    .window = WINDOW, .size = 20 * MIB };

	path_run(&p, &sftp_grow_sessions);
	ASSERT_U32_EQ(p.asked, 0);
	ASSERT_U64_EQ(p.f.bytes, 20 * MIB);
	memset(&p, 0, sizeof(p));
	p.rate = 125000000;
	p.rtt_us = 200000;
	p.window = WINDOW;
	p.size = 64 * MIB;
	path_run(&p, &sftp_grow_sessions);
	ASSERT_U32_GE(p.asked, 1);
	ASSERT_U64_EQ(p.f.bytes, 64 * MIB);
}

/*
 * Connections: each has its own TCP buffers or losses. They are spaced, and
 * one more must raise the total by 15 %.
 */
static void
connections(void)
{
	struct path p = { .rate = 125000000, .rtt_us = 200000,
	    .window = OURS, .cwnd_max = 2 * MIB };
	struct path path = { .rate = 12500000, .rtt_us = 200000,
	    .window = OURS };
	uint64_t start;
	u_int i, n = 0, last = 0;

	path_init(&p, &sftp_grow_connections);
	start = p.f.now_us;
	for (p.step = 1; p.step <= 600 * STEPS; p.step++) {
		p.f.now_us += p.rtt_us / STEPS;
		p.f.waited_us += p.rtt_us / STEPS;
		sender_step(&p, p.step % HALF);
		receiver_step(&p, p.step % HALF);
		/* TCP's buffer is what limits: the caller's account says so. */
		if (p.unacked + PACKET >= p.cwnd_max * p.f.lanes)
			p.f.held_us += p.rtt_us / STEPS * p.f.lanes;
		lanes_step(&p);
		if (p.asked != last && p.f.now_us - start < 31000000)
			n = p.asked;
		last = p.asked;
	}
	ASSERT_U32_EQ(n, 4);
	ASSERT_U32_LE(p.most_at_once, 4);
	ASSERT_U32_GE(p.f.lanes, 7);
	ASSERT_U32_LE(p.f.lanes, 8);
	for (i = 4; i < p.g.nadds; i++)
		ASSERT_U64_GE(p.g.adds_us[i] - p.g.adds_us[i - 4], 31000000);
	path_run(&path, &sftp_grow_connections);
	ASSERT_U32_EQ(path.asked, 0);
}

void
test_sftp_grow_paths(void)
{
	TEST_START("sftp grow: a stock window");
	stock_window(WINDOW);
	TEST_DONE();
	TEST_START("sftp grow: a smaller window");
	stock_window(WINDOW / 8);
	TEST_DONE();
	TEST_START("sftp grow: one lane where the window is not the limit");
	one_lane();
	TEST_DONE();
	TEST_START("sftp grow: a slow peer");
	slow_peer();
	TEST_DONE();
	TEST_START("sftp grow: lanes that are refused");
	refused();
	TEST_DONE();
	TEST_START("sftp grow: lanes that hang");
	hangs();
	TEST_DONE();
	TEST_START("sftp grow: short copies");
	short_copies();
	TEST_DONE();
	TEST_START("sftp grow: connections");
	connections();
	TEST_DONE();
}
