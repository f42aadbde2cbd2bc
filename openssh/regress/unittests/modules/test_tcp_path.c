/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/* Which of the kernel's numbers are taken, on kernels old and new. */

#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>
#include <netinet/in.h>
#ifdef __linux__
/* As tcp-path.c has it */
# include <linux/tcp.h>
#endif

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "packet.h"
#include "channels.h"
#include "log.h"
#include "misc.h"
#include "tcp-path.h"
#include "conn.h"
#include "fake.h"
#include "fixture.h"

void test_tcp_path(void);

#if defined(__linux__) && !defined(WITHOUT_TCP_INFO)
/* As many bytes as a kernel has whose last field is that one */
#define LEN(field)	(offsetof(struct tcp_info, field) + \
	sizeof(((struct tcp_info *)NULL)->field))

static struct tcp_info ti;

/* Each field has another value, but those in the first 8 bytes. */
static void
start(void)
{
	uint32_t words[sizeof(ti) / 4];
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		words[i] = 1000 + i;
	memcpy(&ti, words, sizeof(words));
	fake_reset();
	fake.option = &ti;
	fake.option_name = TCP_INFO;
	fake.option_len = sizeof(ti);
}

static struct path_info
probe(u_int len)
{
	struct path_info path;

	fake.option_len = len;
	ASSERT_INT_EQ(tcp_path_read(-1, &path), 0);
	return path;
}

/* Which number of the kernel's is which, and which ones an older one has */
static void
probed(void)
{
	struct path_info path;

	start();
	path = probe(sizeof(ti));
	ASSERT_U64_EQ(path.rtt_us, ti.tcpi_rtt);
	ASSERT_U64_EQ(path.min_rtt_us, ti.tcpi_min_rtt);
	ASSERT_U64_NE(probe(LEN(tcpi_min_rtt)).min_rtt_us, 0);
	ASSERT_U64_EQ(probe(offsetof(struct tcp_info, tcpi_min_rtt)).min_rtt_us,
	    0);
	ASSERT_U64_NE(probe(LEN(tcpi_rtt)).rtt_us, 0);
	path = probe(offsetof(struct tcp_info, tcpi_rtt));
	ASSERT_MEM_ZERO_EQ(&path, sizeof(path));

	/* What is not known yet */
	ti.tcpi_min_rtt = UINT32_MAX;
	ASSERT_U64_EQ(probe(sizeof(ti)).min_rtt_us, 0);
	ti.tcpi_rtt = 0;
	path = probe(sizeof(ti));
	ASSERT_MEM_ZERO_EQ(&path, sizeof(path));
	memset(&path, 1, sizeof(path));
	fake.without = 1;
	ASSERT_INT_NE(tcp_path_read(-1, &path), 0);
	ASSERT_MEM_ZERO_EQ(&path, sizeof(path));
}

/* On a TCP connection to ourselves, and on what is none */
static void
sockets(void)
{
	struct path_info path;
	int here, there, pair[2];

	fake_reset();
	fixture_tcp(&here, &there);
	ASSERT_INT_EQ(tcp_path_read(here, &path), 0);
	if (!fixture_is_emulated(here)) {
		ASSERT_U64_GT(path.rtt_us, 0);
		ASSERT_U64_GT(path.min_rtt_us, 0);
	}
	close(here);
	close(there);
	/* No TCP: nothing is known, and nothing breaks */
	ASSERT_INT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	memset(&path, 1, sizeof(path));
	ASSERT_INT_NE(tcp_path_read(pair[0], &path), 0);
	ASSERT_MEM_ZERO_EQ(&path, sizeof(path));
	close(pair[0]);
	close(pair[1]);
}
#endif

void
test_tcp_path(void)
{
#if defined(__linux__) && !defined(WITHOUT_TCP_INFO)
	fixture_run("tcp path: the kernel's numbers, old ones' too", probed);
	fixture_run("tcp path: sockets, of TCP and others", sockets);
	fake_reset();
#endif
}
