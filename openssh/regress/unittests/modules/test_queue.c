/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/*
 * The queue that a window makes where nothing else bounds one: in a tunnel that
 * takes all credit at once, or in a router's endless buffer.
 *
 * The simulation has steps of 1 ms. What is sent waits in the queue, leaves it
 * at the path's rate and arrives half an RTT later, as credit does. A probe's
 * answer waits behind what was sent before it.
 */

#include "includes.h"

#include <sys/types.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "sshbuf.h"
#include "ssh2.h"
#include "packet.h"
#include "bdp-names.h"
#include "channels.h"
#include "kex.h"
#include "log.h"
#include "misc.h"
#include "tcp-path.h"
#include "window-state.h"
#include "conn.h"
#include "fake.h"
#include "fixture.h"
#include "../../plain_packet.h"

void test_queue(void);

#ifdef SSH2_MSG_PING		/* 9.5 and later */

#define LINE		1024		/* ms, more than half of any RTT */
#define RTT_MS		100
#define RATE		20000		/* bytes/ms */
#define BDP		(RATE * RTT_MS)

struct queue {
	/* configuration */
	uint64_t rate;		/* bytes/ms */
	uint64_t half;		/* ms, half of the RTT */
	u_int on, off;		/* ms that the source sends, and that not */

	/* state */
	struct conn conn;
	struct path_info path;	/* as the kernel sees it */
	Channel *c;
	uint64_t ms, credit, waits, flies;	/* of the sender; bytes */
	uint64_t sent, left;			/* cumulative, bytes */
	uint64_t data[LINE], credits[LINE];	/* on the way, bytes */
	struct sshbuf *ping;
	uint64_t ping_ms, pong_ms, mark;	/* 0: not on the way */
	uint64_t consumed;

	/* result */
	uint64_t held;		/* bytes, most in the queue and on the way */
};

/* Opens a channel; its source begins a round trip later. */
static void
start(struct queue *q, int bounded, int tcp)
{
	memset(q, 0, sizeof(*q));
	ASSERT_PTR_NE(q->ping = sshbuf_new(), NULL);
	fixture_open(&q->conn, &q->path, 0, KEX_HAS_PING |
	    (bounded ? KEX_HAS_BOUNDED_INPUT : 0), LIMIT);
	fake.path_fails = !tcp;
	q->c = conn_channel(&q->conn, "session");
	q->rate = RATE;
	q->half = RTT_MS / 2;
	q->on = 1;
	q->ms = 1000;
	q->credits[(q->ms + 2 * q->half) % LINE] = BASE;
}

static void
end(struct queue *q)
{
	conn_close(&q->conn);
	sshbuf_free(q->ping);
}

static void
sender(struct queue *q)
{
	uint64_t goes;

	q->credit += q->credits[q->ms % LINE];
	q->credits[q->ms % LINE] = 0;
	if (q->ms % (q->on + q->off) < q->on) {
		q->sent += q->credit;
		q->waits += q->credit;
		q->credit = 0;
	}
	goes = MINIMUM(q->waits, q->rate);
	q->waits -= goes;
	q->left += goes;
	q->flies += goes;
	q->data[(q->ms + q->half) % LINE] += goes;
	q->held = MAXIMUM(q->held, q->waits + q->flies);
	if (q->ping_ms == q->ms)
		q->mark = q->sent;
	if (q->ping_ms != 0 && q->ms >= q->ping_ms && q->left >= q->mark) {
		q->pong_ms = q->ms + q->half;
		q->ping_ms = 0;
	}
}

/* What the kernel knows from acknowledgements */
static void
measure(struct queue *q)
{
	uint64_t sample_us = (2 * q->half + q->waits / q->rate) * MS;

	if (q->sent == 0)
		q->path.rtt_us = q->path.min_rtt_us = sample_us;
	if (q->flies != 0 && q->ms % (q->half / 4 + 1) == 0)
		q->path.rtt_us = (7 * q->path.rtt_us + sample_us) / 8;
	q->path.min_rtt_us = MINIMUM(q->path.min_rtt_us, sample_us);
}

/* A probe's answer comes. */
static void
pong(struct queue *q)
{
	u_char wire[100 + PLAIN_PACKET_MORE], type;
	size_t len;

	len = plain_packet(wire, SSH2_MSG_PONG, sshbuf_ptr(q->ping),
	    sshbuf_len(q->ping));
	ASSERT_INT_EQ(ssh_packet_process_incoming(q->conn.ssh,
	    (const char *)wire, len), 0);
	ASSERT_INT_EQ(ssh_packet_read_poll_seqnr(q->conn.ssh, &type, NULL), 0);
}

static void
receiver(struct queue *q)
{
	uint64_t came = q->data[q->ms % LINE];

	fake.now_us = q->ms * MS;
	q->data[q->ms % LINE] = 0;
	measure(q);
	if (q->pong_ms == q->ms)
		pong(q);
	ASSERT_U64_LE(came, q->c->local_window);
	q->flies -= came;
	q->consumed += came;
	conn_comes(q->c, q->c->output, came);
	conn_goes(q->c, q->c->output, came);
	q->credits[(q->ms + q->half) % LINE] += conn_turn(&q->conn, q->c);
	if (conn_sent(&q->conn, SSH2_MSG_PING, q->ping) != 0)
		q->ping_ms = q->ms + q->half;
}

/* Runs for some seconds. Returns the percentage of the rate that came. */
static uint64_t
run(struct queue *q, u_int seconds)
{
	uint64_t before = q->consumed, end = q->ms + seconds * 1000;

	for (; q->ms < end; q->ms++) {
		sender(q);
		receiver(q);
	}
	return (q->consumed - before) / 10 / seconds / q->rate;
}

/* No more than that was held, and the minimum RTT is the path's. */
static void
fine(const struct queue *q, uint64_t most)
{
	uint64_t least_us = q->conn.ssh->windows->path.rtt.use.least_us;

	test_subtest_info("held %llu, least %llu us",
	    (unsigned long long)q->held, (unsigned long long)least_us);
	ASSERT_U64_LE(q->held, most);
	ASSERT_U64_LE(least_us, (RTT_MS + 10) * MS);
}

static void
constant(int bounded)
{
	struct queue q;

	start(&q, bounded, 0);
	run(&q, 2);
	ASSERT_U64_GE(run(&q, 30), 97);
	fine(&q, 4 * BDP);
	q.held = 0;
	run(&q, 10);
	fine(&q, 5 * BDP / 2);
	end(&q);
}

static void
swings(int bounded)
{
	struct queue q;
	u_int i;

	start(&q, bounded, 0);
	for (i = 0; i < 40; i++) {
		q.rate = i % 2 ? RATE * 3 / 4 : RATE;
		ASSERT_U64_GE(run(&q, 1) + (i == 0 ? 100 : 0), 90);
	}
	fine(&q, 4 * BDP);
	end(&q);
}

static void
pauses(int bounded)
{
	struct queue q;

	start(&q, bounded, 0);
	q.on = 3000;
	q.off = 11000;
	run(&q, 140);
	fine(&q, 4 * BDP);
	end(&q);
}

/* Where the base is many BDP, a tunnel holds no more than in stock. */
static void
slow(int bounded)
{
	struct queue q;

	start(&q, bounded, 0);
	q.rate = RATE / 20;
	run(&q, 60);
	fine(&q, BASE + BASE / 4);
	end(&q);
}

/* A sender that stops for less than a pause, in front of an endless buffer */
static void
router(int bounded)
{
	struct queue q;

	start(&q, bounded, 1);
	run(&q, 2);
	ASSERT_U64_GE(run(&q, 10), 97);
	fine(&q, 4 * BDP);
	q.on = 1000;
	q.off = 600;
	run(&q, 60);
	fine(&q, 4 * BDP);
	end(&q);
}

/* A longer RTT from the sender's or a router's buffers is no proxy. */
static void
direct(int bounded)
{
	struct queue q;

	start(&q, bounded, 1);
	q.half = 10;
	run(&q, 5);
	ASSERT_INT_EQ(q.conn.ssh->windows->path.rtt.use.inband, 0);
	end(&q);
}

/* From 20 to 200 ms */
static void
longer(int bounded)
{
	struct queue q;

	start(&q, bounded, 1);
	q.half = 10;
	run(&q, 5);
	q.half = 100;
	run(&q, 4);
	ASSERT_U64_GE(run(&q, 10), 95);
	ASSERT_U64_LE(q.held, 4 * 2 * q.half * q.rate);
	end(&q);
}

#endif /* SSH2_MSG_PING */

void
test_queue(void)
{
#ifdef SSH2_MSG_PING
	static const struct {
		const char *what;
		void (*test)(int bounded);
	} tests[] = {
		{ "queue: a full tunnel holds 4 BDP at most", constant },
		{ "queue: a tunnel whose rate swings by a quarter", swings },
		{ "queue: a path of TCP that gets longer", longer },
		{ "queue: pauses don't make a tunnel longer", pauses },
		{ "queue: a slow tunnel holds what it does in stock", slow },
		{ "queue: a direct path is not taken for a relay", direct },
		{ "queue: stops don't make a path of TCP longer", router },
	};
	size_t i;
	int bounded;

	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		for (bounded = 0; bounded < 2; bounded++) {
			TEST_START(tests[i].what);
			tests[i].test(bounded);
			TEST_DONE();
		}
	}
	fake_reset();
#endif
}
