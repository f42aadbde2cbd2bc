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

/* Which TCP buffer limits a connection, and what is said about it. */

#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>
#include <netinet/in.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "packet.h"
#include "channels.h"
#include "log.h"
#include "tcp-limit.h"
#include "tcp-path.h"
#include "conn.h"
#include "fixture.h"

void test_tcp_limit(void);

#define S		1000000
#define MIB		((uint64_t)1024 * 1024)
#define WMEM_MAX	(4 * MIB)
#define RMEM_MAX	(6 * MIB)
#define PACKAGE		", or install openssh-bdp-tuning there"

/* What happened in each second, at 200 ms */
static const struct {
	const char *what, *want;
	uint64_t acked, received, rwnd_us, sndbuf_us, snd_wnd, rcv_wnd;
	uint64_t sndbuf, rcvbuf;
	u_int blocked, peer_full;
} cases[] = {
	{ "the peer's", "the receiver's TCP buffer was full 90 % of the time: "
	    "raise net.ipv4.tcp_rmem on far" PACKAGE,
	    10 * MIB, 0, 9 * S / 10, 0, 3 * MIB, 0, 0, 0 },
	{ "the peer's has what the package gives",
	    "the receiver's TCP buffer was full 90 % of the time: "
	    "raise net.ipv4.tcp_rmem on far",
	    160 * MIB, 0, 9 * S / 10, 0, 32 * MIB, 0, 0, 0 },
	{ "the peer's program leaves it full", NULL,
	    MIB, 0, 9 * S / 10, 0, 3 * MIB, 0, 0, 0 },
	{ "the peer's, for less than half of the time", NULL,
	    10 * MIB, 0, 4 * S / 10, 0, 3 * MIB, 0, 0, 0 },
	{ "the peer's, as the glances tell",
	    "the receiver's TCP buffer was full 90 % of the time: "
	    "raise net.ipv4.tcp_rmem on far" PACKAGE,
	    10 * MIB, 0, 4 * S / 10, 0, 3 * MIB, 0, 0, 0, 0, 90 },
	{ "the glances see it full, but the peer's program leaves it so", NULL,
	    MIB, 0, 4 * S / 10, 0, 3 * MIB, 0, 0, 0, 0, 90 },
	{ "ours to send", "the sender's TCP buffer was full 80 % of the time: "
	    "raise net.ipv4.tcp_wmem on this machine" PACKAGE,
	    10 * MIB, 0, 0, 8 * S / 10, 3 * MIB, 0, 4 * MIB, 6 * MIB },
	{ "ours to send, raised by sshd",
	    "the sender's TCP buffer was full 80 % of the time: "
	    "raise net.ipv4.tcp_wmem on this machine" PACKAGE,
	    10 * MIB, 0, 0, 8 * S / 10, 3 * MIB, 0, 64 * MIB, 6 * MIB },
	{ "ours to send, set by a program", NULL,
	    10 * MIB, 0, 0, 8 * S / 10, 3 * MIB, 0, 4 * MIB - 1, 6 * MIB },
	{ "ours to send, as the glances tell",
	    "the sender's TCP buffer was full 90 % of the time: "
	    "raise net.ipv4.tcp_wmem on this machine" PACKAGE,
	    10 * MIB, 0, 0, S / 10, 3 * MIB, 0, 4 * MIB, 6 * MIB, 90 },
	{ "the larger one of two",
	    "the sender's TCP buffer was full 60 % of the time: "
	    "raise net.ipv4.tcp_wmem on this machine" PACKAGE,
	    10 * MIB, 0, 4 * S / 10, 6 * S / 10, 3 * MIB, 0, 0, 0 },
	{ "two that are as large: the one that this end can raise",
	    "the sender's TCP buffer was full 90 % of the time: "
	    "raise net.ipv4.tcp_wmem on this machine" PACKAGE,
	    10 * MIB, 0, 9 * S / 10, 9 * S / 10, 3 * MIB, 0, 0, 0 },
	{ "ours to receive",
	    "the receiver's TCP buffer was full 100 % of the time: "
	    "raise net.ipv4.tcp_rmem on this machine" PACKAGE,
	    0, 14 * MIB, 0, 0, 0, 3 * MIB, 4 * MIB, 6 * MIB },
	{ "ours to receive, set by a program", NULL,
	    0, 14 * MIB, 0, 0, 0, 3 * MIB, 4 * MIB, 5 * MIB },
	{ "ours to receive has room", NULL,
	    0, 11 * MIB, 0, 0, 0, 3 * MIB, 4 * MIB, 6 * MIB },
	{ "ours to receive is unknown", NULL,
	    0, 14 * MIB, 0, 0, 0, 0, 0, 0 },
	{ "waits of who sends nothing", NULL,
	    100, 0, S, S, 0, 0, 0, 0 },
	{ "the path", NULL,
	    100 * MIB, 0, 0, 0, 64 * MIB, 64 * MIB, 4 * MIB, 6 * MIB },
};

/* Adds n seconds of a case. */
static void
add(struct tcp_limit *l, size_t i, int n)
{
	struct tcp_limit_look look;

	for (; n > 0; n--) {
		look = l->last;
		look.at_us += S;
		look.rtt_us = look.min_rtt_us = S / 5;
		look.acked += cases[i].acked;
		look.received += cases[i].received;
		look.rwnd_us += cases[i].rwnd_us;
		look.sndbuf_us += cases[i].sndbuf_us;
		look.blocked = cases[i].blocked;
		look.peer_full = cases[i].peer_full;
		look.snd_wnd = cases[i].snd_wnd;
		look.rcv_wnd = cases[i].rcv_wnd;
		look.sndbuf = cases[i].sndbuf;
		look.rcvbuf = cases[i].rcvbuf;
		tcp_limit_add(l, &look);
	}
}

/* Returns a state that has had its first look. */
static struct tcp_limit
begun(void)
{
	struct tcp_limit_look look = { .at_us = S, .acked = MIB,
	    .rwnd_us = 50 * S, .sndbuf_us = 50 * S };
	struct tcp_limit l;

	memset(&l, 0, sizeof(l));
	snprintf(l.peer, sizeof(l.peer), "far");
	tcp_limit_add(&l, &look);
	return l;
}

static void
each(void)
{
	struct tcp_limit l;
	char said[256];
	size_t i;
	int did;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		TEST_START(cases[i].what);
		l = begun();
		add(&l, i, 10);
		did = tcp_limit_text(&l, WMEM_MAX, RMEM_MAX, said,
		    sizeof(said));
		ASSERT_INT_EQ(did, cases[i].want != NULL);
		if (did)
			ASSERT_STRING_EQ(said, cases[i].want);
		TEST_DONE();
	}
}

static void
over_time(void)
{
	struct tcp_limit l = begun();
	char said[256];

	TEST_START("nothing is said before anything was seen");
	ASSERT_INT_EQ(tcp_limit_text(&l, 0, 0, said, sizeof(said)), 0);
	TEST_DONE();

	TEST_START("most of the time counts");
	add(&l, 0, 5);
	add(&l, sizeof(cases) / sizeof(cases[0]) - 1, 5);
	ASSERT_INT_EQ(tcp_limit_text(&l, 0, 0, said, sizeof(said)), 0);
	add(&l, 0, 5);
	ASSERT_INT_EQ(tcp_limit_text(&l, 0, 0, said, sizeof(said)), 1);
	TEST_DONE();

	TEST_START("a report starts anew");
	ASSERT_INT_EQ(tcp_limit_report(&l, said, sizeof(said)), 1);
	ASSERT_INT_EQ(tcp_limit_report(&l, said, sizeof(said)), 0);
	TEST_DONE();

	TEST_START("a clock that stands still counts nothing");
	l = begun();
	tcp_limit_add(&l, &l.last);
	ASSERT_INT_EQ(l.all_us, 0);
	TEST_DONE();

	TEST_START("a long name is truncated");
	l = begun();
	memset(l.peer, 'x', sizeof(l.peer) - 1);
	add(&l, 0, 5);
	ASSERT_INT_EQ(tcp_limit_text(&l, 0, 0, said, 100), 1);
	ASSERT_SIZE_T_EQ(strlen(said), 99);
	TEST_DONE();
}

static void
blocked(void)
{
	TEST_START("a send buffer that keeps TCP from sending");
	ASSERT_INT_EQ(tcp_limit_blocked(100, 50, 0, 1448, 900, 450), 1);
	ASSERT_INT_EQ(tcp_limit_blocked(100, 50, 0, 1448, 900, 449), 0);
	ASSERT_INT_EQ(tcp_limit_blocked(100, 90, 0, 1448, 900, 900), 0);
	ASSERT_INT_EQ(tcp_limit_blocked(100, 89, 1447, 1448, 900, 900), 1);
	ASSERT_INT_EQ(tcp_limit_blocked(100, 50, 1448, 1448, 900, 900), 0);
	TEST_DONE();
}

static void
peer_is_full(void)
{
	TEST_START("a peer's buffer that keeps TCP from sending");
	ASSERT_INT_EQ(tcp_limit_peer_is_full(100, 50, 72400, 72400), 1);
	ASSERT_INT_EQ(tcp_limit_peer_is_full(100, 50, 65160, 72400), 1);
	ASSERT_INT_EQ(tcp_limit_peer_is_full(100, 50, 65159, 72400), 0);
	/* the path is as full */
	ASSERT_INT_EQ(tcp_limit_peer_is_full(100, 89, 130320, 130320), 1);
	ASSERT_INT_EQ(tcp_limit_peer_is_full(100, 90, 130320, 130320), 0);
	/* before Linux 5.4 */
	ASSERT_INT_EQ(tcp_limit_peer_is_full(100, 50, 72400, 0), 0);
	ASSERT_INT_EQ(tcp_limit_peer_is_full(UINT32_MAX, 0, UINT32_MAX,
	    UINT32_MAX), 1);
	TEST_DONE();
}

static void
looks(void)
{
	static char data[20000];
	struct tcp_limit l = { 0 };
	struct ssh *ssh;
	int i, here, there;

	TEST_START("what a socket says");
	fixture_tcp(&here, &there);
	ssh = ssh_packet_set_connection(NULL, here, here);
	ASSERT_PTR_NE(ssh, NULL);
	ASSERT_INT_EQ(write(here, data, sizeof(data)), sizeof(data));
	ASSERT_INT_EQ(write(there, data, 10000), 10000);
	ASSERT_INT_EQ(recv(there, data, sizeof(data), MSG_WAITALL),
	    sizeof(data));
	ASSERT_INT_EQ(recv(here, data, 10000, MSG_WAITALL), 10000);
	tcp_limit_name_peer("far");
	for (i = 1; i <= 100 && l.last.acked < sizeof(data); i++) {
		usleep(50000);
		tcp_limit_watch(&l, ssh, i * (uint64_t)S);
	}
	ASSERT_U64_GE(l.last.acked, sizeof(data));
	ASSERT_U64_LE(l.last.acked, sizeof(data) + 1);
	ASSERT_U64_EQ(l.last.received, 10000);
	ASSERT_U64_EQ(l.last.at_us, (i - 1) * (uint64_t)S);
	ASSERT_U64_NE(l.last.rtt_us, 0);
	ASSERT_U64_LE(l.last.min_rtt_us, l.last.rtt_us);
	ASSERT_U64_NE(l.last.rcv_wnd, 0);
	ASSERT_U64_NE(l.last.sndbuf, 0);
	ASSERT_U64_NE(l.last.rcvbuf, 0);
	ASSERT_STRING_EQ(l.peer, "far");
	TEST_DONE();

	TEST_START("a socket is not looked at all the time");
	tcp_limit_watch(&l, ssh, i * (uint64_t)S - 1);
	ASSERT_U64_EQ(l.last.at_us, (i - 1) * (uint64_t)S);
	TEST_DONE();
	tcp_limit_name_peer(NULL);
	ssh_packet_close(ssh);
	free(ssh);
	close(there);
}

/* A quarter of the RTT without data is a pause, and 5 ms of a short one. */
static void
arrivals(void)
{
	struct tcp_limit l = { 0 };

	TEST_START("pauses between data");
	tcp_limit_arrived(&l, 100000, 7 * S);
	ASSERT_U64_EQ(l.quiet_us, 0);
	tcp_limit_arrived(&l, 100000, 7 * S + 25000);
	ASSERT_U64_EQ(l.quiet_us, 0);
	tcp_limit_arrived(&l, 100000, 7 * S + 50001);
	ASSERT_U64_EQ(l.quiet_us, 25001);
	tcp_limit_arrived(&l, 100000, 6 * S);	/* the clock steps back */
	tcp_limit_arrived(&l, 100000, 6 * S + 25000);
	tcp_limit_arrived(&l, 0, 7 * S);	/* no RTT is known */
	ASSERT_U64_EQ(l.quiet_us, 25001);
	tcp_limit_arrived(&l, 2000, 7 * S + 5000);
	ASSERT_U64_EQ(l.quiet_us, 25001);
	tcp_limit_arrived(&l, 2000, 7 * S + 10001);
	ASSERT_U64_EQ(l.quiet_us, 25001 + 5001);
	TEST_DONE();
}

void
test_tcp_limit(void)
{
	arrivals();
	looks();
	blocked();
	peer_is_full();
	each();
	over_time();
}
