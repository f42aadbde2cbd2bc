/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/*
 * Whom channel-window.c and channel-probe.c ask for the round trip time, how
 * often, and what they make of the answers. The socket, the peer and the clock
 * are the test's.
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
#include "ssh2.h"
#include "packet.h"
#include "bdp-names.h"
#include "channels.h"
#include "compat.h"
#include "kex.h"
#include "log.h"
#include "misc.h"
#include "ssh-rtt.h"
#include "tcp-path.h"
#include "window-state.h"
#include "conn.h"
#include "fake.h"
#include "fixture.h"
#include "../../plain_packet.h"

#ifndef SSH2_MSG_PING		/* older than 9.5: no peer takes pings */
# define SSH2_MSG_PING	192
# define KEX_HAS_PING	0
#endif

#define BOUNDED		KEX_HAS_BOUNDED_INPUT
#define RATE		20000		/* bytes/ms */

void test_channel_path(void);

/* By what the peer is asked */
enum how { PING, REQUEST, KEEPALIVE };	/* the last two: of ssh, of sshd */

static struct conn conn;
static struct path_info path;
static struct sshbuf *probe;		/* body of the last one */
static enum how how;

static Channel *
start(u_int flags, uint64_t rtt_us)
{
	fixture_open(&conn, &path, how == KEEPALIVE,
	    flags | (how == PING ? KEX_HAS_PING : 0), LIMIT);
	conn.ssh->compat = SSH_NEW_OPENSSH;
	path.rtt_us = path.min_rtt_us = rtt_us;
	if (rtt_us == 0)
		fake.path_fails = 1;
	return conn_channel(&conn, "session");
}

/* `rate` bytes come each ms, or what the window allows, and are consumed. */
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

/* Returns the number of probes since the last call. */
static u_int
probes(void)
{
	static const u_char types[] = {
		SSH2_MSG_PING, SSH2_MSG_CHANNEL_REQUEST, SSH2_MSG_GLOBAL_REQUEST
	};

	return conn_sent(&conn, types[how], probe);
}

/* The peer answers the last probe. */
static void
answer(Channel *c)
{
	struct channel_confirm *cc = TAILQ_FIRST(&c->status_confirms);
	u_char wire[100 + PLAIN_PACKET_MORE], type;
	size_t len;

	switch (how) {
	case PING:
		len = plain_packet(wire, SSH_RTT_PONG, sshbuf_ptr(probe),
		    sshbuf_len(probe));
		ASSERT_INT_EQ(ssh_packet_process_incoming(conn.ssh,
		    (const char *)wire, len), 0);
		ASSERT_INT_EQ(ssh_packet_read_poll_seqnr(conn.ssh, &type,
		    NULL), 0);
		break;
	case REQUEST:
		ASSERT_PTR_NE(cc, NULL);
		cc->cb(conn.ssh, SSH2_MSG_CHANNEL_FAILURE, c, cc->ctx);
		TAILQ_REMOVE(&c->status_confirms, cc, entry);
		freezero(cc, sizeof(*cc));
		break;
	case KEEPALIVE:
		ASSERT_PTR_EQ(cc, NULL);
		channel_probe_replied(conn.ssh, SSH2_MSG_REQUEST_FAILURE);
		break;
	}
}

static const struct rtt_in_use *
rtt(void)
{
	return &conn.ssh->windows->path.rtt.use;
}

/* The next probe is answered after that many ms, while data comes. */
static void
probed(Channel *c, u_int ms)
{
	u_int waits = 0;

	while (probes() == 0) {
		deliver(c, RATE, 1);
		ASSERT_U_INT_LT(waits++, 2000);
	}
	deliver(c, RATE, ms);
	answer(c);
	deliver(c, RATE, 1);
}

/* When the first bulk channel opens: no data is ahead of the answer then. */
static void
first(void)
{
	Channel *c;
	u_char reply;
	char *name;
	u_int id;

	c = start(BOUNDED, 20 * MS);
	c->remote_id = 77;
	conn_turn(&conn, c);
	ASSERT_U_INT_EQ(probes(), 1);
	if (how == REQUEST) {
		ASSERT_INT_EQ(sshbuf_get_u32(probe, &id), 0);
		ASSERT_U_INT_EQ(id, 77);
	}
	if (how != PING) {
		ASSERT_INT_EQ(sshbuf_get_cstring(probe, &name, NULL), 0);
		ASSERT_STRING_EQ(name, "keepalive@openssh.com");
		free(name);
		ASSERT_INT_EQ(sshbuf_get_u8(probe, &reply), 0);
		ASSERT_U8_EQ(reply, 1);
		ASSERT_SIZE_T_EQ(sshbuf_len(probe), 0);
	}
	/* None while it is under way, and the socket's RTT until then */
	deliver(c, RATE, 20);
	ASSERT_U_INT_EQ(probes(), 0);
	ASSERT_U64_EQ(rtt()->rtt_us, 20 * MS);
	ASSERT_INT_EQ(rtt()->inband, 0);
	/* The socket speaks for the path: no second one */
	answer(c);
	deliver(c, RATE, 3000);
	conn_turn(&conn, conn_channel(&conn, "session"));
	ASSERT_U_INT_EQ(probes(), 0);
	ASSERT_U64_EQ(rtt()->rtt_us, 20 * MS);
	conn_close(&conn);
}

/* Not of OpenSSH: pings, and requests only where there is no socket */
static void
cautious(void)
{
	Channel *c = start(0, 20 * MS);

	conn.ssh->compat = 0;
	channel_probe_at_open(conn.ssh, c);
	deliver(c, RATE, 3000);
	ASSERT_U_INT_EQ(probes(), how == PING);
	conn_close(&conn);
	/* and then after 256 KiB, those that wait for the reader included */
	c = start(0, 0);
	conn.ssh->compat = 0;
	deliver(c, 1024, 200);
	conn_comes(c, c->output, 56 * 1024 - 1);
	conn_turn(&conn, c);
	ASSERT_U_INT_EQ(probes(), how == PING);
	conn_comes(c, c->output, 1);
	conn_turn(&conn, c);
	ASSERT_U_INT_EQ(probes(), how != PING);
	conn_close(&conn);
}

/* sshd asks when it has opened a session, which may become a terminal's. */
static void
opened(void)
{
	static const char *kinds[] = { "session", "session", "auth-agent" };
	Channel *c, *next;
	u_int i;

	for (i = 0; i < 3; i++) {
		c = start(0, 20 * MS);
		c->type = SSH_CHANNEL_LARVAL;
		c->ctype = (char *)kinds[i];
		if (i == 1)
			channel_windows_limit(conn.ssh, 0);
		channel_probe_at_open(conn.ssh, c);
		ASSERT_PTR_EQ(c->window, NULL);
		ASSERT_U_INT_EQ(probes(), i == 0);
		if (i != 0) {
			conn_close(&conn);
			continue;
		}
		/* Once; and again if that session is gone with its request */
		next = conn_channel(&conn, "session");
		channel_probe_at_open(conn.ssh, next);
		conn_turn(&conn, next);
		ASSERT_U_INT_EQ(probes(), 0);
		conn_channel_free(&conn, c);
		deliver(next, RATE, 1);
		ASSERT_U_INT_EQ(probes(), how == REQUEST);
		conn_close(&conn);
	}
}

/* A proxy: SSH's RTT takes over, and the socket's RTT is not used. */
static void
relay(int bounded)
{
	Channel *c;
	u_int i;

	c = start(bounded ? BOUNDED : 0, 1 * MS);
	for (i = 0; i < 20; i++) {
		probed(c, 200);
		ASSERT_U64_EQ(rtt()->rtt_us, 200 * MS);
		ASSERT_U64_EQ(rtt()->least_us, 200 * MS);
		ASSERT_INT_EQ(rtt()->inband, 1);
		ASSERT_U_INT_EQ(probes(), 0);
	}
	/* One a round trip */
	deliver(c, RATE, 198);
	ASSERT_U_INT_EQ(probes(), 0);
	deliver(c, RATE, 1);
	ASSERT_U_INT_EQ(probes(), 1);
	fake.now_us += 200 * MS;
	answer(c);
	/* A queue */
	for (i = 0; i < 20; i++)
		probed(c, 800);
	ASSERT_U64_EQ(rtt()->least_us, 200 * MS);
	ASSERT_U64_EQ(rtt()->rtt_us, 200 * MS);
	conn_close(&conn);
}

static void
relays(void)
{
	relay(0);
	relay(1);
}

/* No socket of TCP, or a system that has no TCP_INFO */
static void
no_tcp_info(void)
{
	int which, here, there;
	Channel *c;
	u_int i;

	for (which = 0; which < 2; which++) {
		c = start(BOUNDED, which == 0 ? 0 : 100 * MS);
		if (which == 1) {
			fake.path = NULL;
			fake.without = 1;
			fixture_tcp(&here, &there);
			ASSERT_INT_NE(dup2(here, conn.net[0]), -1);
			close(here);
			close(there);
		}
		deliver(c, RATE, 10);
		ASSERT_U64_EQ(rtt()->rtt_us, 0);
		ASSERT_U32_EQ(fake.cw->target, BASE);
		for (i = 0; i < 10; i++) {
			probed(c, 100);
			ASSERT_U_INT_EQ(fake.probes, 1);
		}
		ASSERT_U64_GE(rtt()->rtt_us, 100 * MS);
		ASSERT_U64_LE(rtt()->rtt_us, 102 * MS);
		ASSERT_INT_EQ(rtt()->inband, 1);
		ASSERT_U32_GE(fake.cw->target, 2 * 99 * RATE);
		conn_close(&conn);
	}
}

/* While keys are renewed nothing is asked, and no answer counts. */
static void
rekeying(void)
{
	Channel *c = start(BOUNDED, 0);

	conn.ssh->kex->done = 0;
	deliver(c, RATE, 200);
	ASSERT_U_INT_EQ(probes(), 0);
	conn.ssh->kex->done = 1;
	deliver(c, RATE, 1);
	ASSERT_U_INT_EQ(probes(), 1);
	conn.ssh->kex->done = 0;
	deliver(c, RATE, 100);
	answer(c);
	conn.ssh->kex->done = 1;
	deliver(c, RATE, 1);
	ASSERT_U_INT_EQ(probes(), 1);
	/* No other without data: with a small RekeyLimit it would never end. */
	conn.ssh->kex->done = 0;
	conn_turn(&conn, c);
	conn.ssh->kex->done = 1;
	fake.now_us += 1 * MS;
	conn_turn(&conn, c);
	ASSERT_U_INT_EQ(probes(), 0);
	answer(c);
	probed(c, 30);
	ASSERT_U64_EQ(rtt()->rtt_us, 30 * MS);
	conn_close(&conn);
}

/* A channel that closes takes a request with it that was sent on it. */
static void
abandoned(void)
{
	Channel *c = start(BOUNDED, 0), *other = conn_channel(&conn, "session");
	uint64_t rtt_us;

	deliver(c, RATE, 100);
	ASSERT_U_INT_EQ(probes(), 1);
	deliver(other, RATE, 100);
	ASSERT_U_INT_EQ(probes(), 0);
	conn_channel_free(&conn, c);
	if (how == REQUEST) {
		deliver(other, RATE, 1);
		ASSERT_U_INT_EQ(probes(), 1);
	}
	fake.now_us += 120 * MS;
	rtt_us = fake.now_us - conn.ssh->inband.sent_us;
	answer(other);
	deliver(other, RATE, 1);
	ASSERT_U64_EQ(rtt()->rtt_us, rtt_us);
	/* One that is answered already, or was on another, is no matter. */
	deliver(other, RATE, 320);
	ASSERT_U_INT_EQ(probes(), 1);
	c = conn_channel(&conn, "session");
	deliver(c, RATE, 1);
	conn_channel_free(&conn, c);
	deliver(other, RATE, 50);
	ASSERT_U_INT_EQ(probes(), 0);
	conn_close(&conn);
}

/* sshd's own keepalives, before a probe and after it */
static void
keepalives(void)
{
	Channel *c = start(BOUNDED, 0);

	conn.ssh->inband.asked++;	/* there is no window yet */
	conn_turn(&conn, c);
	ASSERT_U_INT_EQ(probes(), 1);
	conn.ssh->inband.asked++;
	fake.now_us += 30 * MS;
	/* Replies to requests of channels are others'. */
	channel_probe_replied(conn.ssh, SSH2_MSG_CHANNEL_FAILURE);
	channel_probe_replied(conn.ssh, SSH2_MSG_CHANNEL_SUCCESS);
	/* the first one's */
	channel_probe_replied(conn.ssh, SSH2_MSG_REQUEST_SUCCESS);
	deliver(c, RATE, 1);
	ASSERT_U64_EQ(rtt()->rtt_us, 0);
	fake.now_us += 50 * MS;
	answer(c);
	deliver(c, RATE, 1);
	ASSERT_U64_EQ(rtt()->rtt_us, 81 * MS);
	deliver(c, RATE, 81);
	ASSERT_U_INT_EQ(probes(), 1);
	/* the second one's */
	channel_probe_replied(conn.ssh, SSH2_MSG_REQUEST_FAILURE);
	deliver(c, RATE, 50);
	ASSERT_U_INT_EQ(probes(), 0);
	conn_close(&conn);
}

/* The socket is looked at once a round trip, however many ask. */
static void
looks(void)
{
	static const struct {
		uint64_t rtt_us;
		int fails;
		u_int looks;	/* in a second */
	} tests[] = {
		{ 100 * MS, 0, 10 }, { 20 * MS, 0, 50 }, { 10 * MS, 0, 100 },
		{ 200, 0, 100 }, { 0, 0, 100 }, { 0, 1, 1 },
	};
	Channel *c, *other;
	u_int ms;
	size_t i;

	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		test_subtest_info("%zu", i);
		c = start(BOUNDED, 0);
		other = conn_channel(&conn, "session");
		path.rtt_us = path.min_rtt_us = tests[i].rtt_us;
		fake.path_fails = tests[i].fails;
		for (ms = 0; ms < 500; ms++) {
			deliver(c, 100, 1);
			deliver(other, 100, 1);
		}
		ASSERT_U_INT_EQ(fake.probes, tests[i].looks);
		conn_close(&conn);
	}
}

void
test_channel_path(void)
{
	static const struct {
		const char *what;
		void (*test)(void);
	} tests[] = {
		{ "channel path: one probe, before there is data", first },
		{ "channel path: probes of other peers", cautious },
		{ "channel path: a probe when a session opens", opened },
		{ "channel path: a relay is measured by SSH", relays },
		{ "channel path: so is what has no TCP_INFO", no_tcp_info },
		{ "channel path: not while keys are renewed", rekeying },
		{ "channel path: a probe whose channel is gone", abandoned },
	};
	size_t i;

	ASSERT_PTR_NE(probe = sshbuf_new(), NULL);
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		TEST_START(tests[i].what);
		for (how = KEX_HAS_PING != 0 ? PING : REQUEST;
		    how <= KEEPALIVE; how++)
			tests[i].test();
		TEST_DONE();
	}
	how = KEEPALIVE;
	fixture_run("channel path: sshd's own keepalives", keepalives);
	fixture_run("channel path: the socket is sampled once a round trip",
	    looks);
	sshbuf_free(probe);
	fake_reset();
}
