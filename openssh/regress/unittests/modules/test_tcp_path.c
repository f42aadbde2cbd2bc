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

/* Which of the kernel's numbers are taken, on kernels old and new. */

#include "includes.h"

#include <sys/types.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#ifdef __linux__
# include <linux/sock_diag.h>
# include <linux/sockios.h>
/* As tcp-path.c has it */
# include <linux/tcp.h>
#endif

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "packet.h"
#include "channels.h"
#include "log.h"
#include "tcp-path.h"
#include "conn.h"
#include "fake.h"
#include "fixture.h"

void test_tcp_path(void);

#ifdef __linux__
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
	ASSERT_INT_EQ(tcp_path_probe(-1, &path), 0);
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
	ASSERT_U64_EQ(path.late, ti.tcpi_rcv_ooopack);
	ASSERT_U64_EQ(path.send_rate, ti.tcpi_pacing_rate);
	ti.tcpi_notsent_bytes = ti.tcpi_snd_mss - 1;
	ASSERT_INT_EQ(probe(sizeof(ti)).full, 0);
	ASSERT_INT_EQ(probe(sizeof(ti)).drained, 1);
	ti.tcpi_notsent_bytes = ti.tcpi_snd_mss;
	ASSERT_INT_EQ(probe(sizeof(ti)).full, 1);
	ASSERT_INT_EQ(probe(sizeof(ti)).drained, 0);

	ASSERT_INT_EQ(probe(LEN(tcpi_notsent_bytes)).full, 1);
	ASSERT_INT_EQ(probe(LEN(tcpi_notsent_bytes) - 1).full, 0);
	ASSERT_INT_EQ(probe(LEN(tcpi_notsent_bytes) - 1).drained, 0);
	ASSERT_U64_NE(probe(LEN(tcpi_min_rtt)).min_rtt_us, 0);
	ASSERT_U64_EQ(probe(LEN(tcpi_min_rtt) - 1).min_rtt_us, 0);
	ASSERT_U64_NE(probe(LEN(tcpi_pacing_rate)).send_rate, 0);
	ASSERT_U64_EQ(probe(LEN(tcpi_pacing_rate) - 1).send_rate, 0);
	ASSERT_U64_NE(probe(LEN(tcpi_rcv_ooopack)).late, 0);
	ASSERT_U64_EQ(probe(LEN(tcpi_rcv_ooopack) - 1).late, 0);
	ASSERT_U64_NE(probe(LEN(tcpi_rtt)).rtt_us, 0);
	fake.option_len = LEN(tcpi_rtt) - 1;
	ASSERT_INT_NE(tcp_path_probe(-1, &path), 0);
	ASSERT_INT_EQ(errno, EAGAIN);

	/* What is not known yet */
	ti.tcpi_min_rtt = UINT32_MAX;
	ti.tcpi_pacing_rate = UINT64_MAX;
	path = probe(sizeof(ti));
	ASSERT_U64_EQ(path.min_rtt_us, 0);
	ASSERT_U64_EQ(path.send_rate, 0);
}

/* The same of data that was not read */
static void
looked_at(void)
{
	char data[3000] = { 0 };
	uint32_t mem[SK_MEMINFO_VARS];
	struct late_look look;
	int here, there;

	start();
	fixture_tcp(&here, &there);
	ASSERT_INT_EQ(write(there, data, sizeof(data)), sizeof(data));
	while (recv(here, data, 1, MSG_PEEK) != 1)
		;
	tcp_path_look(here, &look);
	ASSERT_U64_EQ(look.unread, sizeof(data));
	ASSERT_U64_EQ(look.received, ti.tcpi_bytes_received);
	ASSERT_U64_EQ(look.late, ti.tcpi_rcv_ooopack);
	ASSERT_U64_EQ(look.segment, ti.tcpi_rcv_mss);
	fake.option_len = LEN(tcpi_rcv_ooopack);
	tcp_path_look(here, &look);
	ASSERT_U64_NE(look.memory, 0);
	fake.option_len--;
	tcp_path_look(here, &look);
	ASSERT_U64_EQ(look.memory, 0);

	memset(mem, 0, sizeof(mem));
	mem[SK_MEMINFO_RMEM_ALLOC] = 12345;
	fake.option = mem;
	fake.option_name = SO_MEMINFO;
	fake.option_len = (SK_MEMINFO_RMEM_ALLOC + 1) * sizeof(mem[0]);
	tcp_path_look(here, &look);
	ASSERT_U64_EQ(look.memory, 12345);
	fake.request = SIOCINQ;		/* of no use, if it ever came */
	fake.bytes = -1;
	tcp_path_look(here, &look);
	ASSERT_U64_EQ(look.memory, 0);
	fake.request = 0;
	fake.option_len--;
	tcp_path_look(here, &look);
	ASSERT_U64_EQ(look.memory, 0);
	close(here);
	close(there);
}

/* What was not sent even once is less than what was not acknowledged. */
static void
unsent(void)
{
	fake_reset();
	fake.request = SIOCOUTQNSD;
	fake.bytes = 54321;
	ASSERT_U_INT_EQ(tcp_path_waiting(-1), 54321);
}
#endif

void
test_tcp_path(void)
{
#ifdef __linux__
	fixture_run("tcp path, the kernel's numbers of a path", probed);
	fixture_run("tcp path, those of data that was not read", looked_at);
	fixture_run("tcp path, that of data that was not sent", unsent);
	fake_reset();
#endif
}
