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

/* How large the TCP buffers of sshd's sockets may be. */

#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#ifdef __linux__
# include <linux/sock_diag.h>
#endif

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "tcp-buffers.h"
#include "tcp-path.h"
#include "fake.h"

void test_tcp_buffers(void);

#define MIB	(1024 * 1024)
#define GIB	((uint64_t)1024 * MIB)

static void
size(void)
{
	TEST_START("a buffer has room for all windows, and is small change");
	/* twice the data, as that is how Linux counts */
	ASSERT_INT_EQ(tcp_buffers_size(128 * MIB, 64 * GIB), 256 * MIB);
	ASSERT_INT_EQ(tcp_buffers_size(2 * MIB, 64 * GIB), 4 * MIB);
	/* ChannelWindowMax none */
	ASSERT_INT_EQ(tcp_buffers_size(0, 64 * GIB), 0);
	ASSERT_INT_EQ(tcp_buffers_size(-1, 64 * GIB), 0);
	/* little memory */
	ASSERT_INT_EQ(tcp_buffers_size(128 * MIB, GIB), 16 * MIB);
	ASSERT_INT_EQ(tcp_buffers_size(128 * MIB, 0), 0);
	/* an int, whatever is unknown */
	ASSERT_INT_EQ(tcp_buffers_size(WINDOW_MAX_MOST, UINT64_MAX), INT_MAX);
	TEST_DONE();
}

static void
raise_it(void)
{
	TEST_START("a buffer is raised where the kernel's maximum is smaller");
	ASSERT_INT_EQ(tcp_buffers_raise(64 * MIB, 6 * MIB), 64 * MIB);
	ASSERT_INT_EQ(tcp_buffers_raise(64 * MIB, 64 * MIB), 0);
	ASSERT_INT_EQ(tcp_buffers_raise(64 * MIB, 512 * MIB), 0);
	ASSERT_INT_EQ(tcp_buffers_raise(0, 6 * MIB), 0);
	/* not known: it may be larger */
	ASSERT_INT_EQ(tcp_buffers_raise(64 * MIB, 0), 0);
	TEST_DONE();
}

static void
usable(void)
{
	TEST_START("no more than the window scale can tell the peer of");
	ASSERT_INT_EQ(tcp_buffers_usable(256 * MIB, 7), 2 * 65535 * 128);
	ASSERT_INT_EQ(tcp_buffers_usable(256 * MIB, 0), 2 * 65535);
	ASSERT_INT_EQ(tcp_buffers_usable(256 * MIB, 12), 256 * MIB);
	ASSERT_INT_EQ(tcp_buffers_usable(INT_MAX, 14), 2 * 65535 * 16384);
	/* RFC 7323 allows 14 at most */
	ASSERT_INT_EQ(tcp_buffers_usable(INT_MAX, 255), 2 * 65535 * 16384);
	TEST_DONE();
}

/* Returns the window scale that Linux gives for space bytes. */
static u_int
linux_scale(int space)
{
	u_int scale = 0;

	while (space >> (16 + scale) != 0)
		scale++;
	return scale;
}

static void
for_scale(void)
{
	int size, listens;

	TEST_START("a listener's buffer is as small as the scale allows");
	ASSERT_INT_EQ(tcp_buffers_for_scale(256 * MIB, 6 * MIB), 256 * MIB);
	ASSERT_INT_EQ(tcp_buffers_for_scale(250 * MIB, 6 * MIB), 256 * MIB);
	/* what is lost is the rounding of the window field */
	for (size = 25 * MIB; size < 1024 * MIB; size += 5 * MIB) {
		listens = tcp_buffers_for_scale(size, 6 * MIB);
		ASSERT_INT_GE(tcp_buffers_usable(size,
		    linux_scale(listens / 4)), size - size / 32768);
		ASSERT_INT_LT(tcp_buffers_usable(size,
		    linux_scale(listens / 8)), size);
	}
	TEST_DONE();

	TEST_START("the largest sizes are an int");
	ASSERT_INT_EQ(tcp_buffers_for_scale(1024 * MIB, 6 * MIB), 1024 * MIB);
	ASSERT_INT_EQ(tcp_buffers_for_scale(1024 * MIB + 4, 6 * MIB), INT_MAX);
	ASSERT_INT_EQ(tcp_buffers_for_scale(INT_MAX, 6 * MIB), INT_MAX);
	ASSERT_INT_EQ(tcp_buffers_for_scale(INT_MAX, 1), INT_MAX);
	ASSERT_INT_EQ(tcp_buffers_for_scale(INT_MAX, INT_MAX), 0);
	ASSERT_INT_EQ(tcp_buffers_for_scale(tcp_buffers_size(WINDOW_MAX_MOST,
	    UINT64_MAX), 6 * MIB), INT_MAX);
	TEST_DONE();

	TEST_START("it stays as it is if the kernel gives the scale anyway");
	ASSERT_INT_EQ(tcp_buffers_for_scale(256 * MIB, 64 * MIB), 0);
	ASSERT_INT_EQ(tcp_buffers_for_scale(128 * MIB, 32 * MIB), 0);
	ASSERT_INT_EQ(tcp_buffers_for_scale(256 * MIB, 0), 0);
	ASSERT_INT_EQ(tcp_buffers_for_scale(0, 6 * MIB), 0);
	for (size = 8 * MIB; size < 1024 * MIB; size += 5 * MIB) {
		if (tcp_buffers_for_scale(size, 32 * MIB) == 0)
			ASSERT_INT_GE(tcp_buffers_usable(size,
			    linux_scale(32 * MIB)), size - size / 32768);
	}
	TEST_DONE();
}

static void
few(void)
{
	TEST_START("listeners are lowered at ten strangers, raised at five");
	ASSERT_INT_EQ(tcp_buffers_few(1, 0), 1);
	ASSERT_INT_EQ(tcp_buffers_few(1, 9), 1);
	ASSERT_INT_EQ(tcp_buffers_few(1, 10), 0);
	ASSERT_INT_EQ(tcp_buffers_few(1, UINT_MAX), 0);
	ASSERT_INT_EQ(tcp_buffers_few(0, 9), 0);
	ASSERT_INT_EQ(tcp_buffers_few(0, 6), 0);
	ASSERT_INT_EQ(tcp_buffers_few(0, 5), 1);
	ASSERT_INT_EQ(tcp_buffers_few(0, 0), 1);
	TEST_DONE();
}

static void
too_full(void)
{
	TEST_START("more than the usual buffer and a segment is too much");
	ASSERT_INT_EQ(tcp_buffers_too_full(0, 131072), 0);
	ASSERT_INT_EQ(tcp_buffers_too_full(131072 + 65536, 131072), 0);
	ASSERT_INT_EQ(tcp_buffers_too_full(131072 + 65537, 131072), 1);
	ASSERT_INT_EQ(tcp_buffers_too_full(UINT32_MAX, 131072), 1);
	ASSERT_INT_EQ(tcp_buffers_too_full(UINT32_MAX, INT_MAX), 1);
	ASSERT_INT_EQ(tcp_buffers_too_full(INT_MAX, INT_MAX), 0);
	ASSERT_INT_EQ(tcp_buffers_too_full(65536, -1), 0);
	TEST_DONE();
}

/*
 * A user logs in on a new socket of a machine with 64 GiB, where the kernel's
 * maximum for buffers is kernel_max (bytes). send (bytes) is a size that the
 * administrator has set, or 0. Returns what TCP_NOTSENT_LOWAT is then (bytes).
 */
static u_int
unsent_after_login(int window_max, int kernel_max, int send)
{
	u_int unsent = 0;
	socklen_t len = sizeof(unsent);
	int fd;

	fake_reset();
	fake.machine = 64 * GIB;
	fake.kernel_max = kernel_max;
	ASSERT_INT_NE((fd = socket(AF_INET, SOCK_STREAM, 0)), -1);
	if (send != 0)
		ASSERT_INT_EQ(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send,
		    sizeof(send)), 0);
	tcp_buffers_login(fd, window_max);
#ifdef TCP_NOTSENT_LOWAT
	ASSERT_INT_EQ(getsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent,
	    &len), 0);
#endif
	close(fd);
	return unsent;
}

static void
bounded(void)
{
#ifdef __linux__
	int pair[2];

	TEST_START("a raised send buffer is not filled by what waits unsent");
	ASSERT_U_INT_EQ(unsent_after_login(128 * MIB, 4 * MIB, 0),
	    TCP_PATH_UNSENT_MAX);
	ASSERT_U_INT_EQ(fake.bounds, 1);
	TEST_DONE();

	TEST_START("nothing is bounded where no send buffer is raised");
	unsent_after_login(128 * MIB, 256 * MIB, 0);
	ASSERT_U_INT_EQ(fake.bounds, 0);
	unsent_after_login(0, 4 * MIB, 0);
	ASSERT_U_INT_EQ(fake.bounds, 0);
	TEST_DONE();

	TEST_START("nor of what is no TCP connection");
	ASSERT_INT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	tcp_buffers_login(pair[0], 128 * MIB);
	ASSERT_U_INT_EQ(fake.bounds, 0);
	close(pair[0]);
	close(pair[1]);
	TEST_DONE();
#endif
#ifdef SO_BUF_LOCK
	TEST_START("nor where the administrator has set its size");
	unsent_after_login(128 * MIB, 4 * MIB, 100000);
	ASSERT_U_INT_EQ(fake.bounds, 0);
	TEST_DONE();
#endif
}

#if defined(SO_RCVBUFFORCE) && defined(SO_BUF_LOCK) && defined(SO_MEMINFO)
/* Returns the size (bytes) of the receive buffer. */
static int
receives(int fd)
{
	int size = 0;
	socklen_t len = sizeof(size);

	ASSERT_INT_EQ(getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, &len), 0);
	return size;
}

static void
accepted(void)
{
	uint32_t mem[SK_MEMINFO_VARS];
	struct tcp_info ti;
	int fd, initial, raised, size = 65536;

	fake_reset();
	fake.machine = 64 * GIB;
	/* so that SO_RCVBUF does what SO_RCVBUFFORCE would */
	fake.kernel_max = 4096;
	fake.force = FAKE_FORCE_WORKS;
	ASSERT_INT_NE((fd = socket(AF_INET, SOCK_STREAM, 0)), -1);
	ASSERT_INT_EQ(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size,
	    sizeof(size)), 0);
	initial = receives(fd);

	TEST_START("without a raised listener a connection stays as it is");
	ASSERT_INT_EQ(tcp_buffers_accepted(fd), 0);
	tcp_buffers_startups(&fd, 1, 10);
	ASSERT_INT_EQ(receives(fd), initial);
	TEST_DONE();

	TEST_START("a listener is lowered while many don't log in");
	tcp_buffers_listen(fd, 100000);
	raised = receives(fd);
	ASSERT_INT_GT(raised, initial);
	tcp_buffers_startups(&fd, 1, 9);
	ASSERT_INT_EQ(receives(fd), raised);
	tcp_buffers_startups(&fd, 1, 10);
	ASSERT_INT_EQ(receives(fd), initial);
	tcp_buffers_startups(&fd, 1, 6);
	ASSERT_INT_EQ(receives(fd), initial);
	tcp_buffers_startups(&fd, 1, 5);
	ASSERT_INT_EQ(receives(fd), raised);
	TEST_DONE();

	TEST_START("those that wait for accept() count, too");
	memset(&ti, 0, sizeof(ti));
	ti.tcpi_unacked = 8;
	fake.option = &ti;
	fake.option_name = TCP_INFO;
	fake.option_len = sizeof(ti);
	tcp_buffers_startups(&fd, 1, 1);
	ASSERT_INT_EQ(receives(fd), raised);
	tcp_buffers_startups(&fd, 1, 2);
	ASSERT_INT_EQ(receives(fd), initial);
	fake.option = NULL;
	tcp_buffers_startups(&fd, 1, 0);
	ASSERT_INT_EQ(receives(fd), raised);
	TEST_DONE();

	TEST_START("a new connection is lowered without a privilege");
	fake.force = FAKE_FORCE_FAILS;
	ASSERT_INT_EQ(tcp_buffers_accepted(fd), 0);
	ASSERT_INT_LE(receives(fd), initial);
	ASSERT_INT_GT(receives(fd), initial - 4096);
	TEST_DONE();

	TEST_START("one that can't be lowered is refused");
	fake.force = FAKE_FORCE_NO_SIZE;
	ASSERT_INT_EQ(tcp_buffers_accepted(fd), -1);
	fake.force = FAKE_FORCE_WORKS;
	ASSERT_INT_EQ(tcp_buffers_accepted(fd), 0);
	TEST_DONE();

	TEST_START("one that holds too much is refused");
	memset(mem, 0, sizeof(mem));
	mem[SK_MEMINFO_RMEM_ALLOC] = initial + TCP_BUFFERS_SEGMENT;
	fake.option = mem;
	fake.option_name = SO_MEMINFO;
	fake.option_len = sizeof(mem);
	ASSERT_INT_EQ(tcp_buffers_accepted(fd), 0);
	mem[SK_MEMINFO_RMEM_ALLOC]++;
	ASSERT_INT_EQ(tcp_buffers_accepted(fd), -1);
	TEST_DONE();
	close(fd);
}
#endif

static void
kernel_sizes(void)
{
	int initial = 1, max = 1;

	fake_reset();
	TEST_START("the sizes of a sysctl that is not there are unknown");
	tcp_path_kernel_sizes("no_such_sysctl", &initial, &max);
	ASSERT_INT_EQ(initial, 0);
	ASSERT_INT_EQ(max, 0);
	initial = max = 1;
	/* nor has this one three numbers */
	tcp_path_kernel_sizes("tcp_sack", &initial, &max);
	ASSERT_INT_EQ(initial, 0);
	ASSERT_INT_EQ(max, 0);
	TEST_DONE();
#ifdef __linux__
	TEST_START("the kernel's sizes of a buffer");
	tcp_path_kernel_sizes("tcp_rmem", &initial, &max);
	ASSERT_INT_GT(initial, 0);
	ASSERT_INT_GE(max, initial);
	TEST_DONE();
#endif
}

void
test_tcp_buffers(void)
{
	kernel_sizes();
	size();
	raise_it();
	usable();
	for_scale();
	few();
	too_full();
	bounded();
#if defined(SO_RCVBUFFORCE) && defined(SO_BUF_LOCK) && defined(SO_MEMINFO)
	accepted();
#endif
	fake_reset();
}
