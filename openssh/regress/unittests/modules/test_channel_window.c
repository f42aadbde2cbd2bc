/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/*
 * What channel-window.c makes of a Channel that receives: its window and
 * memory. The path and the clock are the test's.
 */

#include "includes.h"

#include <sys/types.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "sshbuf.h"
#include "packet.h"
#include "bdp-names.h"
#include "channels.h"
#include "compat.h"
#include "kex.h"
#include "log.h"
#include "misc.h"
#include "tcp-path.h"
#include "window-state.h"
#include "conn.h"
#include "fake.h"
#include "fixture.h"

#define RATE		125000		/* bytes/ms, 1 Gbit/s */
#define BOUNDED		KEX_HAS_BOUNDED_INPUT

void test_channel_window(void);

static struct conn conn;
static struct path_info path;

/* Over a path of 100 ms */
static void
start(int server, u_int flags, uint32_t limit)
{
	fixture_open(&conn, &path, server, flags, limit);
}

/*
 * `rate` bytes come each ms, or what the window allows, and are consumed at
 * once.
 */
static void
deliver(Channel *c, u_int rate, u_int ms)
{
	for (; ms > 0; ms--) {
		fake.now_us += 1 * MS;
		conn_comes(c, c->output, MINIMUM(rate, c->local_window));
		conn_goes(c, c->output, rate);
		conn_turn(&conn, c);
	}
}

static int
is_bulk(const Channel *c)
{
	return c->window->bulk;
}

static void
kinds(void)
{
	static const struct {
		char *ctype;
		int bulk;
	} tests[] = {
		{ "session", 1 }, { "direct-tcpip", 1 },
		{ "forwarded-tcpip", 1 }, { "dynamic-tcpip", 1 },
		{ "direct-streamlocal@openssh.com", 1 },
		{ "forwarded-streamlocal@openssh.com", 1 },
		{ "stdio-forward", 1 }, { "x11", 0 },
		{ "auth-agent@openssh.com", 0 },
		{ "authentication agent connection", 0 },
		{ "agent-connection", 0 }, { "x11-connection", 0 },
	};
	size_t i;
	Channel *c;
	struct kex *kex;

	start(0, 0, LIMIT);
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		test_subtest_info("%s", tests[i].ctype);
		c = conn_channel(&conn, tests[i].ctype);
		conn_turn(&conn, c);
		ASSERT_INT_EQ(is_bulk(c), tests[i].bulk);
		conn_channel_free(&conn, c);
	}
	for (i = 0; i < 6; i++) {
		test_subtest_info("session, but %zu", i);
		c = conn_channel(&conn, "session");
		kex = conn.ssh->kex;
		c->isatty = i == 0;
		c->client_tty = i == 1;
		c->datagram = i == 2;
		conn.ssh->kex = i == 3 ? NULL : kex;
		conn.ssh->compat = i == 4 ? SSH_BUG_SMALL_INPUT : 0;
		conn_turn(&conn, c);
		conn.ssh->kex = kex;
		ASSERT_INT_EQ(is_bulk(c), i == 5);
		conn_channel_free(&conn, c);
	}
	conn_close(&conn);
	start(0, 0, 0);			/* ChannelWindowMax none */
	c = conn_channel(&conn, "session");
	conn_turn(&conn, c);
	ASSERT_INT_EQ(is_bulk(c), 0);
	conn_close(&conn);
}

/* Stock's rule, for windows that stay as they are: what was taken, no more */
static void
fixed(void)
{
	Channel *c;

	start(0, 0, 0);
	c = conn_channel(&conn, "session");
	ASSERT_U_INT_EQ(conn_turn(&conn, c), 0);
	conn_comes(c, c->output, 3 * PACKET);
	conn_goes(c, c->output, 3 * PACKET);
	ASSERT_U_INT_EQ(conn_turn(&conn, c), 0);
	conn_comes(c, c->output, 10 * PACKET);	/* and one byte is taken */
	conn_goes(c, c->output, 1);
	ASSERT_U_INT_EQ(conn_turn(&conn, c), 3 * PACKET + 1);
	ASSERT_U_INT_EQ(conn_turn(&conn, c), 0);
	conn_goes(c, c->output, 9 * PACKET);
	ASSERT_U_INT_EQ(conn_turn(&conn, c), 9 * PACKET);
	conn_goes(c, c->output, PACKET);
	/* Packets that are large against the window: half of it */
	c->local_maxpacket = BASE;
	conn_comes(c, c->output, BASE / 2 - sshbuf_len(c->output) -
	    c->local_consumed);
	conn_goes(c, c->output, 5);
	ASSERT_U_INT_EQ(conn_turn(&conn, c), 0);
	conn_comes(c, c->output, 1);
	ASSERT_U_INT_EQ(conn_turn(&conn, c), PACKET + 4);
	conn_close(&conn);
}

/* The peer has sent it, and it waits here, whatever it waits for. */
static void
waiting(void)
{
	Channel *c;

	start(0, BOUNDED, LIMIT);
	fake.path_fails = 1;	/* the window stays as it is */
	c = conn_channel(&conn, "session");
	conn_turn(&conn, c);
	conn_comes(c, c->output, 1000);
	conn_comes(c, c->extended, 200);
	ASSERT_U_INT_EQ(conn_turn(&conn, c), 0);
	ASSERT_U64_EQ(fake.cw->now.backlog, 1000);
	ASSERT_U32_EQ(fake.outstanding, c->local_window + 1000);
	c->extended_usage = CHAN_EXTENDED_WRITE;
	ASSERT_U_INT_EQ(conn_turn(&conn, c), 0);
	ASSERT_U64_EQ(fake.cw->now.backlog, 1200);
	ASSERT_U32_EQ(fake.outstanding, c->local_window + 1200);
	/* All of the window waits: no credit until some is taken */
	conn_comes(c, c->extended, c->local_window);
	ASSERT_U_INT_EQ(conn_turn(&conn, c), 0);
	ASSERT_U32_EQ(fake.outstanding, BASE);
	conn_goes(c, c->extended, BASE);
	ASSERT_U_INT_EQ(conn_turn(&conn, c), BASE - 1000);
	conn_close(&conn);
}

static void
follows(void)
{
	Channel *c;
	u_int probes;
	int bounded;

	for (bounded = 0; bounded < 2; bounded++) {
		start(0, bounded ? BOUNDED : 0, LIMIT);
		c = conn_channel(&conn, "session");
		conn_turn(&conn, c);
		ASSERT_U32_EQ(c->local_window_max, BASE);
		deliver(c, RATE, 3000);
		ASSERT_INT_EQ(fake.cw->bounded, bounded);
		ASSERT_U64_GE(fake.cw->bdp, RATE * 99);
		ASSERT_U32_EQ(c->local_window_max, fake.cw->bdp +
		    (bounded ? 2 * fake.cw->bdp : WINDOW_HEADROOM_MAX));
		ASSERT_U32_EQ(fake.want, fake.cw->target);
		/* A queue, as the peer can take it */
		path.rtt_us = 400 * MS;
		deliver(c, RATE, 1000);
		ASSERT_U64_EQ(conn.ssh->windows->path.rtt.use.rtt_us,
		    (bounded ? 200 : 125) * MS);
		/* Nothing new, nothing to do */
		probes = fake.probes;
		fake.now_us += 1000 * MS;
		fake.cw = NULL;
		ASSERT_U_INT_EQ(conn_turn(&conn, c), 0);
		ASSERT_PTR_EQ((void *)fake.cw, NULL);
		ASSERT_U_INT_EQ(fake.probes, probes);
		/* Less than it was counts at once, without credit, too */
		path.rtt_us = 0;
		fake.now_us += 1000 * MS;
		conn_comes(c, c->output, PACKET);
		conn_goes(c, c->output, 1);
		ASSERT_U_INT_EQ(conn_turn(&conn, c), 0);
		ASSERT_U32_EQ(fake.cw->target, BASE);
		ASSERT_U32_EQ(c->local_window_max, c->local_window);
		conn_goes(c, c->output, PACKET - 1);
		/* Unknown RTT: what it was */
		path.rtt_us = 0;
		deliver(c, RATE, 1000);
		ASSERT_U32_EQ(fake.cw->target, BASE);
		ASSERT_U64_EQ(conn.ssh->windows->path.rtt.use.rtt_us, 0);
		conn_close(&conn);
	}
}

static void
put(Channel *c, struct sshbuf *buf, size_t len)
{
	u_char *data;

	ASSERT_INT_EQ(sshbuf_reserve(buf, len, &data), 0);
	memset(data, 1 + sshbuf_len(buf) / MIB, len);
	conn_turn(&conn, c);
}

/* Returns 1 if the rest stays where it was. */
static int
take(Channel *c, struct sshbuf *buf, size_t len)
{
	const u_char *rest = sshbuf_ptr(buf) + len;

	ASSERT_INT_EQ(sshbuf_consume(buf, len), 0);
	c->local_consumed += len;
	conn_turn(&conn, c);
	return sshbuf_ptr(buf) == rest;
}

/*
 * What a buffer took for more than 4 MiB is given back when three quarters of
 * it are empty.
 */
static void
peak_backlog(void)
{
	Channel *c;
	struct sshbuf *buf;
	int extended;

	for (extended = 0; extended < 2; extended++) {
		start(0, BOUNDED, LIMIT);
		c = conn_channel(&conn, "session");
		c->extended_usage = CHAN_EXTENDED_WRITE;
		conn_turn(&conn, c);
		c->local_window = LIMIT;
		buf = extended ? c->extended : c->output;
		put(c, buf, 4 * MIB);
		ASSERT_INT_EQ(take(c, buf, 4 * MIB - 1000), 1);
		put(c, buf, 3 * MIB - 1000);
		put(c, buf, 3 * MIB);
		ASSERT_INT_EQ(take(c, buf, 4 * MIB), 1);
		ASSERT_INT_EQ(take(c, buf, 2 * MIB - 1000), 0);
		ASSERT_SIZE_T_EQ(sshbuf_len(buf), 1000);
		ASSERT_U8_EQ(sshbuf_ptr(buf)[0], 7);
		ASSERT_U8_EQ(sshbuf_ptr(buf)[999], 7);
		ASSERT_SIZE_T_EQ(sshbuf_max_size(buf), SSHBUF_SIZE_MAX);
		/* The 6 MiB are forgotten then */
		put(c, buf, 4 * MIB - 1000);
		ASSERT_INT_EQ(take(c, buf, 4 * MIB - 1000), 1);
		conn_close(&conn);
	}
}

/*
 * Idle channels of all kinds take nothing of what bulk may have, and one that
 * closes gives back what it held.
 */
static void
shares(void)
{
	Channel *a, *b;
	u_int i;

	start(0, BOUNDED, 12 * MIB);
	a = conn_channel(&conn, "session");
	for (i = 1; i < CONN_CHANNELS - 1; i++) {
		b = conn_channel(&conn, "direct-tcpip");
		b->isatty = i & 1;
		deliver(b, 1000, 1);
	}
	deliver(a, RATE, 2000);
	ASSERT_U32_EQ(fake.cw->target, 12 * MIB);
	b = conn_channel(&conn, "session");
	for (i = 0; i < 200; i++) {
		deliver(a, RATE, 10);
		deliver(b, RATE, 10);
		ASSERT_U32_LE(a->local_window + b->local_window, 14 * MIB);
	}
	ASSERT_U32_EQ(fake.cw->target, 7 * MIB);
	conn_channel_free(&conn, b);
	deliver(a, RATE, 200);
	ASSERT_U32_EQ(fake.cw->target, 12 * MIB);
	conn_close(&conn);
}

/* What is freed, when it is the last, and what the first one makes */
static void
frees(void)
{
	start(0, BOUNDED, LIMIT);
	conn_turn(&conn, conn_channel(&conn, "session"));
	conn_channel_free(&conn, conn.channels[0]);
	channel_windows_free(conn.ssh);
	ASSERT_PTR_EQ(conn.ssh->windows, NULL);
	channel_windows_free(conn.ssh);
	conn_turn(&conn, conn_channel(&conn, "session"));
	ASSERT_PTR_NE(conn.ssh->windows, NULL);
	ASSERT_U32_EQ(conn.ssh->windows->budget.limit, WINDOW_BUDGET_DEFAULT);
	conn_close(&conn);
}

/* Peers whose input must stay small, by the version in their banner */
static void
banners(void)
{
	static const struct {
		const char *version;
		int small;
	} t[] = {
		{ "OpenSSH_2.9p2", 1 }, { "OpenSSH_3.0.2p1", 1 },
		{ "OpenSSH_3.1p1", 1 }, { "OpenSSH_3.9p1", 1 },
		{ "OpenSSH_4.0", 1 }, { "OpenSSH_4.1p1", 1 },
		{ "OpenSSH_4.2p1", 1 }, { "OpenSSH_4.3p2 Debian-9", 1 },
		{ "OpenSSH_4.4p1", 1 }, { "OpenSSH_5.3", 0 },
		{ "OpenSSH_9.2p1", 0 }, { "OpenSSH_10.0", 0 },
		{ "Sun_SSH_1.0.1", 1 }, { "Sun_SSH_1.1.4", 1 },
		{ "Sun_SSH_2.4", 0 }, { "another", 0 }, { "", 0 },
	};
	u_int i;

	start(0, 0, LIMIT);
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		test_subtest_info("%s", t[i].version);
		conn.ssh->compat = 0;
		compat_banner(conn.ssh, t[i].version);
		ASSERT_INT_EQ((conn.ssh->compat & SSH_BUG_SMALL_INPUT) != 0,
		    t[i].small);
	}
	conn_close(&conn);
}

void
test_channel_window(void)
{
	fixture_run("channel window: of which channels", kinds);
	fixture_run("channel window: fixed ones are as stock's", fixed);
	fixture_run("channel window: what waits here counts", waiting);
	fixture_run("channel window: it follows the path", follows);
	fixture_run("channel window: peers known by their banner", banners);
	fixture_run("channel window: memory of a backlog that has gone",
	    peak_backlog);
	fixture_run("channel window: a channel that closes returns its share",
	    shares);
	fixture_run("channel window: freed ones begin anew", frees);
	fake_reset();
}
