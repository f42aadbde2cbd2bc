/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/* What waits unsent in a socket, and how that is bounded */

#include "includes.h"

#include <sys/types.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#ifdef __linux__
# include <linux/sockios.h>
#endif

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "packet.h"
#include "channels.h"
#include "log.h"
#include "misc.h"
#include "tcp-unsent.h"
#include "conn.h"
#include "fake.h"
#include "fixture.h"

void test_tcp_unsent(void);

#ifdef __linux__
/* What was not sent even once is less than what was not acknowledged. */
static void
unsent(void)
{
	fake_reset();
	fake.real_unsent = 1;
	fake.request = SIOCOUTQNSD;
	fake.bytes = 54321;
	ASSERT_INT_EQ(tcp_unsent(-1), 54321);
	fake.bytes = -1;
	ASSERT_INT_EQ(tcp_unsent(-1), -1);
}

/* On a TCP connection to ourselves, of which the other end reads nothing */
static void
sockets(void)
{
	char bytes[1000] = { 0 };
	socklen_t len = sizeof(int);
	int here, there, unsent, pair[2];

	fake_reset();
	fake.real_unsent = 1;
	fixture_tcp(&here, &there);
	tcp_unsent_bound(here);
	ASSERT_INT_EQ(getsockopt(here, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent,
	    &len), 0);
	ASSERT_INT_EQ(unsent, TCP_UNSENT_MAX);
	ASSERT_INT_EQ(set_nonblock(here), 0);
	if (!fixture_is_emulated(here)) {
		ASSERT_INT_EQ(tcp_unsent(here), 0);
		while (write(here, bytes, sizeof(bytes)) > 0)
			;
		ASSERT_INT_GT(tcp_unsent(here), 0);
	}
	close(here);
	close(there);
	/* No TCP: nothing is known, and nothing breaks */
	ASSERT_INT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	ASSERT_INT_EQ(tcp_unsent(pair[0]), -1);
	tcp_unsent_bound(pair[0]);
	close(pair[0]);
	close(pair[1]);
}
#endif

void
test_tcp_unsent(void)
{
#ifdef __linux__
	fixture_run("tcp unsent: what was not sent even once", unsent);
	fixture_run("tcp unsent: sockets, of TCP and others", sockets);
	fake_reset();
#endif
}
