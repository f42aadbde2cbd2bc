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
 * What channel-sender.c makes of a Channel: how much it sends at once, whose
 * turn it is, whether segments are filled, and what it waited for.
 */

#include "includes.h"

#include <sys/types.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "sshbuf.h"
#include "packet.h"
#include "ext-info.h"
#include "channels.h"
#include "channel-window.h"
#include "kex.h"
#include "log.h"
#include "misc.h"
#include "tcp-path.h"
#include "conn.h"
#include "fake.h"
#include "fixture.h"
#include "window-state.h"

#define SLOW		10000000	/* bytes/s: 32 KiB may wait unsent */
#define SOME		(24 * KIB)	/* what may at 8 MB/s */
#define FAST		1000000000

void test_channel_sender(void);

static struct conn conn;
static struct path_info path;

/* Returns a new channel whose peer has given all the credit there can be. */
static Channel *
sender(void)
{
	Channel *c = conn_channel(&conn, "session");

	c->remote_window = LIMIT;
	channel_window_turn(conn.ssh, c, &conn.ws);
	return c;
}

/* Makes len bytes wait in the output buffer for the kernel. */
static void
unsent(size_t len)
{
	fake_len(ssh_packet_get_output(conn.ssh), len);
}

/* Opens a connection over a path that sends `rate` bytes/s. */
static Channel *
start(uint64_t rate)
{
	fixture_open(&conn, &path, 0, KEX_HAS_BOUNDED_INPUT, LIMIT);
	path.send_rate = rate;
	unsent(0);
	return sender();
}

/* Lets time pass until the path is looked at again. */
static void
look_again(Channel *c)
{
	fake.now_us += 1000 * MS;
	channel_window_turn(conn.ssh, c, &conn.ws);
}

static size_t
may_send(Channel *c, size_t len)
{
	return channel_sender_limit(conn.ssh, c, conn.ws, len);
}

static void
bounds(void)
{
	Channel *c = start(SLOW), *other;

	/* What may wait in the kernel, at once and when it changes */
	ASSERT_U_INT_EQ(fake.bounds, 1);
	ASSERT_U_INT_EQ(fake.unsent, 32 * KIB);
	look_again(c);
	ASSERT_U_INT_EQ(fake.bounds, 1);
	path.send_rate = 8000000;
	fake.now_us += 99 * MS;		/* less than an RTT since the last */
	channel_window_turn(conn.ssh, c, &conn.ws);
	ASSERT_U_INT_EQ(fake.bounds, 1);
	fake.now_us += 1 * MS;
	channel_window_turn(conn.ssh, c, &conn.ws);
	ASSERT_U_INT_EQ(fake.bounds, 2);
	ASSERT_U_INT_EQ(fake.unsent, SOME);
	/* And a packet is no larger, and its rest ends it. */
	ASSERT_SIZE_T_EQ(may_send(c, 100000), SOME);
	ASSERT_SIZE_T_EQ(may_send(c, 100000), PACKET - SOME);
	ASSERT_SIZE_T_EQ(may_send(c, 1000), 1000);
	path.send_rate = FAST;
	look_again(c);
	ASSERT_U_INT_EQ(fake.unsent, TCP_PATH_UNSENT_MAX);
	ASSERT_SIZE_T_EQ(may_send(c, 1000000), PACKET);
	/* Nor is it ever larger than what is read ahead. */
	c->remote_maxpacket = UINT32_MAX;
	ASSERT_SIZE_T_EQ(may_send(c, 1000000), CHANNEL_READ_AHEAD);
	c->remote_maxpacket = PACKET;
	/* A socket that can't tell is left as it is. */
	fake.bounds = 0;
	fake.path_errno = ENOTSOCK;
	look_again(c);
	ASSERT_U_INT_EQ(fake.bounds, 0);
	/* Neither do fixed windows depend on it, nor what has none yet. */
	other = conn_channel(&conn, "session");
	ASSERT_SIZE_T_EQ(may_send(other, 1000000), 1000000);
	other->isatty = 1;
	channel_window_turn(conn.ssh, other, &conn.ws);
	ASSERT_SIZE_T_EQ(may_send(other, 1000000), 1000000);
	conn_close(&conn);
}

/* Each has its packet before any has a second one. */
static void
turns(void)
{
	Channel *a = start(SLOW), *b = sender();
	int i;

	for (i = 0; i < 3; i++) {
		unsent(0);
		ASSERT_SIZE_T_GT(may_send(a, MIB), 0);
		unsent(PACKET);
		ASSERT_SIZE_T_EQ(may_send(a, MIB), 0);
		ASSERT_SIZE_T_GT(may_send(b, MIB), 0);
		ASSERT_SIZE_T_EQ(may_send(b, MIB), 0);
		ASSERT_SIZE_T_EQ(may_send(a, MIB), 0);
		/* The other one first */
		unsent(0);
		ASSERT_SIZE_T_GT(may_send(b, MIB), 0);
		unsent(1);
		ASSERT_SIZE_T_EQ(may_send(b, MIB), 0);
		ASSERT_SIZE_T_GT(may_send(a, MIB), 0);
	}
	/* A fast path has room for all. */
	path.send_rate = FAST;
	look_again(a);
	for (i = 0; i < 3; i++)
		ASSERT_SIZE_T_EQ(may_send(a, MIB), PACKET);
	conn_close(&conn);
}

static void
assert_nagle(int on, u_int calls)
{
	ASSERT_U_INT_EQ(fake.fills, calls);
	if (calls != 0)
		ASSERT_INT_EQ(fake.fill, on);
}

/* On while the path takes less than there is; off with what ends that. */
static void
fills(void)
{
	Channel *a = start(SLOW), *b = sender();

	may_send(a, MIB);		/* the path takes all */
	assert_nagle(0, 0);
	path.full = 1;
	look_again(a);
	may_send(a, PACKET);		/* and this is all */
	assert_nagle(0, 0);
	may_send(a, MIB);
	assert_nagle(1, 1);
	may_send(a, MIB);
	may_send(b, 100);		/* not whose it is */
	assert_nagle(1, 1);
	may_send(a, PACKET);		/* the last one */
	assert_nagle(0, 2);
	may_send(a, MIB);
	assert_nagle(1, 3);
	fake_len(a->input, 1);		/* more to come of it, */
	unsent(0);
	channel_window_turn(conn.ssh, a, &conn.ws);
	fake_len(a->input, 0);		/* or in the kernel's way; */
	unsent(1);
	channel_window_turn(conn.ssh, a, &conn.ws);
	unsent(0);			/* and of another nobody asks */
	channel_window_turn(conn.ssh, b, &conn.ws);
	assert_nagle(1, 3);
	channel_window_turn(conn.ssh, a, &conn.ws);
	assert_nagle(0, 4);
	may_send(a, MIB);
	unsent(1);
	path.full = 0;			/* it takes all again */
	look_again(b);
	assert_nagle(0, 6);
	path.full = 1;
	look_again(b);
	unsent(0);
	may_send(b, MIB);
	assert_nagle(1, 7);
	conn_channel_free(&conn, a);	/* not whose it is */
	assert_nagle(1, 7);
	conn_channel_free(&conn, b);
	assert_nagle(0, 8);
	conn_close(&conn);
}

static int
more(Channel *c, size_t had)
{
	return channel_sender_more(conn.ssh, c, conn.ws, had);
}

/* Several packets in a turn, where nobody waits for it */
static void
several(void)
{
	Channel *c = start(FAST), *other;

	fake_len(c->input, PACKET);
	ASSERT_INT_EQ(more(c, 2 * PACKET), 1);
	ASSERT_INT_EQ(more(c, PACKET + 1), 1);
	ASSERT_INT_EQ(more(c, PACKET), 0);	/* nothing was sent */
	ASSERT_INT_EQ(more(c, 0), 0);
	fake_len(c->input, PACKET - 1);		/* no full one is left */
	ASSERT_INT_EQ(more(c, 2 * PACKET), 0);
	fake_len(c->input, PACKET);
	c->remote_window = PACKET;
	ASSERT_INT_EQ(more(c, 2 * PACKET), 1);
	c->remote_window = PACKET - 1;
	ASSERT_INT_EQ(more(c, 2 * PACKET), 0);
	c->remote_window = LIMIT;
	conn.ssh->kex->done = 0;		/* keys are renewed */
	ASSERT_INT_EQ(more(c, 2 * PACKET), 0);
	conn.ssh->kex->done = 1;
	unsent(128 * KIB);			/* much waits already */
	ASSERT_INT_EQ(more(c, 2 * PACKET), 0);
	/* 10.1 and later take a connection for interactive until told not */
	unsent(16 * KIB - 1);
	ASSERT_INT_EQ(more(c, 2 * PACKET), 1);
	other = conn_channel(&conn, "session");	/* no window yet, or fixed */
	fake_len(other->input, PACKET);
	other->remote_window = LIMIT;
	ASSERT_INT_EQ(more(other, 2 * PACKET), 0);
	other->isatty = 1;
	channel_window_turn(conn.ssh, other, &conn.ws);
	ASSERT_INT_EQ(more(other, 2 * PACKET), 0);
	ASSERT_INT_EQ(more(c, 2 * PACKET), 1);
	conn_channel_free(&conn, other);
	ASSERT_INT_EQ(more(c, 2 * PACKET), 1);
	other = sender();			/* another one that is bulk */
	ASSERT_INT_EQ(more(c, 2 * PACKET), 0);
	conn_channel_free(&conn, other);
	ASSERT_INT_EQ(more(c, 2 * PACKET), 1);
	path.send_rate = SLOW;
	look_again(c);
	ASSERT_INT_EQ(more(c, 2 * PACKET), 0);
	conn_close(&conn);
}

/* How much is read at once, and from how large a pipe */
static void
reads(void)
{
	Channel *c = start(FAST), *other;
	int fds[2];

	ASSERT_INT_EQ(pipe(fds), 0);
	c->rfd = fds[0];
	other = conn_channel(&conn, "session");
	ASSERT_SIZE_T_EQ(channel_sender_read_max(other), CHANNEL_MAX_READ);
	ASSERT_SIZE_T_EQ(channel_sender_read_max(c), CHANNEL_MAX_READ);
	while (c->remote_window > LIMIT - MIB + 1)
		c->remote_window -= may_send(c,
		    c->remote_window - (LIMIT - MIB + 1));
	ASSERT_SIZE_T_EQ(channel_sender_read_max(c), CHANNEL_MAX_READ);
#ifdef F_GETPIPE_SZ
	ASSERT_INT_EQ(fcntl(fds[0], F_GETPIPE_SZ), 65536);
#endif
	may_send(c, 1);
	ASSERT_SIZE_T_EQ(channel_sender_read_max(c), CHANNEL_READ_AHEAD);
#ifdef F_GETPIPE_SZ
	ASSERT_INT_EQ(fcntl(fds[0], F_GETPIPE_SZ), CHANNEL_READ_AHEAD);
	/* What answers keeps its pipe. */
	ASSERT_INT_NE(fcntl(fds[0], F_SETPIPE_SZ, 65536), -1);
	c->rfd = -1;
	c = sender();
	c->rfd = fds[0];
	conn_comes(c, c->output, 1);
	conn_goes(c, c->output, 1);
	conn_turn(&conn, c);
	may_send(c, PACKET);
	while (channel_sender_read_max(c) == CHANNEL_MAX_READ)
		may_send(c, PACKET);
	ASSERT_INT_EQ(fcntl(fds[0], F_GETPIPE_SZ), 65536);
#endif
	c->rfd = -1;
	conn_close(&conn);
	close(fds[0]);
	close(fds[1]);
}

/* ms pass, as the last look left it, and another look. */
static void
wait_ms(Channel *c, u_int ms)
{
	fake.now_us += ms * MS;
	c->io_want = 0;
	channel_sender_look(conn.ssh, c, conn.ws);
}

static void
looks(void)
{
	Channel *c = start(1000000), none = { .window = NULL };
	struct heard heard;
	int fds[2];

	ASSERT_INT_EQ(pipe(fds), 0);
	c->rfd = fds[0];
	fixture_listen(&heard, "held up by");
	unsent(0);
	may_send(c, 1000);
	wait_ms(c, 0);
	wait_ms(c, 100);		/* without data: 100 ms */
	ASSERT_U_INT_EQ(c->io_want, 0);
	fake_len(c->input, 1);
	unsent(1);
	wait_ms(c, 0);
	wait_ms(c, 150);		/* by the connection */
	c->remote_window = 0;
	wait_ms(c, 0);
	wait_ms(c, 50);			/* the same: packets are left here */
	unsent(0);
	fake.waiting = 100000;		/* and 0.1 s in the kernel */
	wait_ms(c, 0);
	ASSERT_U_INT_EQ(c->io_want, 0);
	fake_len(c->input, 0);
	wait_ms(c, 400);		/* by the window, 0.3 s of it */
	/* Not while its source has nothing: that is polled then. */
	fake.waiting = 0;
	ASSERT_U_INT_EQ(c->io_want, SSH_CHAN_IO_RFD);
	wait_ms(c, 100);
	ASSERT_U_INT_EQ(c->io_want, SSH_CHAN_IO_RFD);
	ASSERT_INT_EQ(write(fds[1], "x", 1), 1);
	wait_ms(c, 0);
	ASSERT_U_INT_EQ(c->io_want, 0);
	wait_ms(c, 200);		/* by the window */
	/* One that is to be read no more, or what comes of a filter */
	c->istate = CHAN_INPUT_WAIT_DRAIN;
	wait_ms(c, 0);
	wait_ms(c, 0);
	ASSERT_U_INT_EQ(c->io_want, 0);
	c->remote_window = 1;
	may_send(c, 1);
	ASSERT_U64_EQ(channel_sender_held_us(c, fake.now_us), 500000);
	ASSERT_U64_EQ(channel_sender_held_us(&none, fake.now_us), 0);
	c->rfd = -1;
	conn_channel_free(&conn, c);
	fixture_listen_ends();
	ASSERT_STRING_EQ(heard.lines, "channel 0: sent 1001 bytes, held up by "
	    "the peer's window 50 % of the time, by the connection 30 %, "
	    "without data 20 %\n");
	conn_close(&conn);
	close(fds[0]);
	close(fds[1]);
}

/* Makes len bytes wait. Is the connection written to early? */
static int
early(size_t len)
{
	unsent(len);
	return channel_sender_early(conn.ssh, conn.ws);
}

/*
 * A socket that poll(2) does not call writable is written to if TCP has sent
 * all that it was given.
 */
static void
writes_early(void)
{
	Channel *c = start(FAST);

	ASSERT_INT_EQ(channel_sender_early(conn.ssh, NULL), 0);
	ASSERT_INT_EQ(early(4096), 0);		/* nobody knows */
	path.drained = 1;
	look_again(c);
	ASSERT_INT_EQ(early(4095), 0);
	ASSERT_INT_EQ(early(4096), 1);
	fake.now_us += path.rtt_us;		/* nobody has looked since */
	ASSERT_INT_EQ(early(4096), 0);
	path.drained = 0;			/* the path limits */
	look_again(c);
	ASSERT_INT_EQ(early(4096), 0);
	path.drained = 1;
	look_again(c);
	ASSERT_INT_EQ(early(4096), 1);
	fake.waiting = 4096;			/* since the last look */
	ASSERT_INT_EQ(early(4096), 0);
	fake.waiting = 4095;
	ASSERT_INT_EQ(early(4096), 1);
	fake.waiting = 0;
	fake.path_errno = ENOTSOCK;		/* a pipe */
	look_again(c);
	ASSERT_INT_EQ(early(4096), 0);
	conn_close(&conn);
	/* With ChannelWindowMax none all is as in stock OpenSSH. */
	fixture_open(&conn, &path, 0, KEX_HAS_BOUNDED_INPUT, 0);
	path.drained = 1;
	c = sender();
	look_again(c);
	ASSERT_INT_EQ(early(4096), 0);
	conn_close(&conn);
}

/*
 * It is an event when the peer has acknowledged something, not when the kernel
 * has taken something.
 */
static void
early_events(void)
{
#ifdef __linux__
	static const struct {
		size_t more, taken, acked;	/* bytes since the last try */
		int event;
	} tries[] = {
		{ 0, 0, 0, 0 }, { 9000, 0, 0, 0 }, { 0, 9000, 0, 0 },
		{ 9000, 9000, 0, 0 }, { 0, 0, 1, 1 }, { 0, 0, 0, 0 },
		{ 9000, 9000, 1, 1 }, { 9000, 9000, 0, 0 },
		{ 0, 9000, 9000, 1 }, { 9000, 0, 9000, 1 }
	};
	Channel *c = start(FAST);
	size_t i, waits = 20000;

	path.drained = 1;
	look_again(c);
	fake.request = TIOCOUTQ;
	fake.bytes = 50000;
	ASSERT_INT_EQ(early(waits), 1);
	for (i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		test_subtest_info("try %zu", i);
		fake.now_us++;
		fake.sent += tries[i].more;
		waits += tries[i].more - tries[i].taken;
		fake.bytes += tries[i].taken - tries[i].acked;
		ASSERT_INT_EQ(early(waits), 1);
		ASSERT_INT_EQ(conn.ws->event_us == fake.now_us,
		    tries[i].event);
		ASSERT_INT_EQ(conn.ws->sender.early_failed == 0,
		    tries[i].taken != 0);
	}
	fake.request = 0;
	conn_close(&conn);
#endif
}

/* The main loop wakes for it. */
static void
wakes_early(void)
{
	Channel *c = start(FAST);
	u_int i;

	path.drained = 1;
	path.rtt_us = 160 * MS;
	unsent(4095);
	look_again(c);
	wait_ms(c, 0);
	ASSERT_INT_EQ(conn_wakes_ms(&conn, c), -1);
	unsent(4096);
	wait_ms(c, 0);
	ASSERT_INT_EQ(conn_wakes_ms(&conn, c), 10 + 1);
	wait_ms(c, 0);
	fake.now_us += 9 * MS;
	ASSERT_INT_EQ(conn_wakes_ms(&conn, c), 1 + 1);
	wait_ms(c, 0);
	/* Not before other things that are due */
	fake.now_us += 1;
	c->window->late.look_us = fake.now_us + 2 * MS;
	ASSERT_INT_EQ(conn_wakes_ms(&conn, c), 2 + 1);
	c->window->late.look_us = fake.now_us + 20 * MS;
	ASSERT_INT_EQ(conn_wakes_ms(&conn, c), 9 + 1);
	c->window->late.look_us = 0;
	/* Not if nothing was written 32 times in a row... */
	for (i = 0; i < 32; i++) {
		wait_ms(c, 0);
		ASSERT_INT_EQ(conn_wakes_ms(&conn, c), 10 + 1);
		ASSERT_INT_EQ(early(4096), 1);
	}
	wait_ms(c, 0);
	ASSERT_INT_EQ(conn_wakes_ms(&conn, c), -1);
	ASSERT_INT_EQ(early(4096), 1);
	/* Another packet that waits is not written... */
	fake.sent += 904;
	ASSERT_INT_EQ(early(5000), 1);
	wait_ms(c, 0);
	ASSERT_INT_EQ(conn_wakes_ms(&conn, c), -1);
	/* ... until something is, while others come. */
	fake.sent += 1;
	ASSERT_INT_EQ(early(5000), 1);
	ASSERT_INT_EQ(early(5000), 1);
	wait_ms(c, 0);
	ASSERT_INT_EQ(conn_wakes_ms(&conn, c), 10 + 1);
	/* Nor is it if the kernel has data that it has not sent. */
	fake.waiting = 4096;
	for (i = 0; i < 30; i++)
		ASSERT_INT_EQ(early(5000), 0);
	wait_ms(c, 0);
	ASSERT_INT_EQ(conn_wakes_ms(&conn, c), 10 + 1);
	ASSERT_INT_EQ(early(5000), 0);
	wait_ms(c, 0);
	ASSERT_INT_EQ(conn_wakes_ms(&conn, c), -1);
	fake.waiting = 0;
	ASSERT_INT_EQ(early(4999), 1);
	wait_ms(c, 0);
	ASSERT_INT_EQ(conn_wakes_ms(&conn, c), 10 + 1);
	/* Nor does it matter how many channels there are. */
	sender();
	wait_ms(c, 0);
	ASSERT_INT_EQ(conn_wakes_ms(&conn, c), 10 + 1);
	/* Not more often than each ms, nor if the RTT is unknown */
	for (i = 0; i < 3; i++) {
		path.rtt_us = i == 0 ? 16 * MS : i == 1 ? 16 * MS - 1 : 0;
		look_again(c);
		wait_ms(c, 0);
		ASSERT_INT_EQ(conn_wakes_ms(&conn, c), i == 0 ? 1 + 1 : -1);
	}
	fake.sent = 0;
	conn_close(&conn);
}

/* If the kernel does not report its rate, nothing counts as draining. */
static void
looks_without_rate(void)
{
	Channel *c = start(0);

	unsent(0);
	may_send(c, 1000);
	fake_len(c->input, 1);
	c->remote_window = 0;
	fake.waiting = 100000;
	wait_ms(c, 0);
	wait_ms(c, 1);
	ASSERT_U64_EQ(channel_sender_held_us(c, fake.now_us), 1000);
	fake.waiting = 0;
	conn_channel_free(&conn, c);
	conn_close(&conn);
}

/* tcp-path.c on a TCP connection to ourselves */
static void
sockets(void)
{
	struct sockaddr_in sin;
	socklen_t len = sizeof(sin);
	struct path_info info;
	char byte[1000];
	int on, s, a, b;

	fake_reset();
	memset(&sin, 0, sizeof(sin));
	sin.sin_family = AF_INET;
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ASSERT_INT_NE((s = socket(AF_INET, SOCK_STREAM, 0)), -1);
	ASSERT_INT_EQ(bind(s, (struct sockaddr *)&sin, sizeof(sin)), 0);
	ASSERT_INT_EQ(listen(s, 1), 0);
	ASSERT_INT_EQ(getsockname(s, (struct sockaddr *)&sin, &len), 0);
	ASSERT_INT_NE((a = socket(AF_INET, SOCK_STREAM, 0)), -1);
	ASSERT_INT_EQ(connect(a, (struct sockaddr *)&sin, sizeof(sin)), 0);
	ASSERT_INT_NE((b = accept(s, NULL, NULL)), -1);
	len = sizeof(on);
	tcp_path_fill_segments(a, 0);
	ASSERT_INT_EQ(getsockopt(a, IPPROTO_TCP, TCP_NODELAY, &on, &len), 0);
	ASSERT_INT_NE(on, 0);
	tcp_path_fill_segments(a, 1);
	ASSERT_INT_EQ(getsockopt(a, IPPROTO_TCP, TCP_NODELAY, &on, &len), 0);
	ASSERT_INT_EQ(on, 0);
#if defined(__linux__) && defined(TCP_NOTSENT_LOWAT)
	tcp_path_bound_unsent(a, 54321);
	ASSERT_INT_EQ(getsockopt(a, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &on, &len),
	    0);
	ASSERT_INT_EQ(on, 54321);
	ASSERT_INT_EQ(tcp_path_probe(a, &info), 0);
	ASSERT_U64_GT(info.rtt_us, 0);
	ASSERT_U64_GT(info.min_rtt_us, 0);
	ASSERT_U64_LE(info.min_rtt_us, 1000 * 1000);
	ASSERT_U64_GT(info.send_rate, 0);
	ASSERT_U64_EQ(info.late, 0);
	ASSERT_INT_EQ(info.full, 0);
	ASSERT_INT_EQ(info.drained, 1);
	ASSERT_U_INT_EQ(tcp_path_waiting(a), 0);
	ASSERT_U_INT_EQ(tcp_path_unacked(a), 0);
	/* Nobody reads: what is written cannot all be sent. */
	ASSERT_INT_EQ(set_nonblock(a), 0);
	memset(byte, 0, sizeof(byte));
	while (write(a, byte, sizeof(byte)) > 0)
		;
	ASSERT_INT_EQ(tcp_path_probe(a, &info), 0);
	ASSERT_INT_EQ(info.full, 1);
	ASSERT_INT_EQ(info.drained, 0);
	ASSERT_U_INT_GT(tcp_path_waiting(a), 0);
	ASSERT_U_INT_GE(tcp_path_unacked(a), tcp_path_waiting(a));
#endif
	close(a);
	close(b);
	close(s);
	/* No TCP: nothing is known, and nothing breaks */
	memset(&info, 1, sizeof(info));
	ASSERT_INT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, conn.net), 0);
	ASSERT_INT_NE(tcp_path_probe(conn.net[0], &info), 0);
	ASSERT_INT_NE(errno, EAGAIN);
	ASSERT_MEM_ZERO_EQ(&info, sizeof(info));
	ASSERT_U_INT_EQ(tcp_path_waiting(conn.net[0]), 0);
	ASSERT_U_INT_EQ(tcp_path_unacked(conn.net[0]), 0);
	tcp_path_bound_unsent(conn.net[0], 1);
	tcp_path_fill_segments(conn.net[0], 1);
	close(conn.net[0]);
	close(conn.net[1]);
#ifdef __linux__
	/* Not connected: a socket of which there is nothing to tell yet */
	ASSERT_INT_NE((s = socket(AF_INET, SOCK_STREAM, 0)), -1);
	ASSERT_INT_NE(tcp_path_probe(s, &info), 0);
	ASSERT_INT_EQ(errno, EAGAIN);
	close(s);
#endif
}

void
test_channel_sender(void)
{
	fixture_run("channel sender, what may wait unsent", bounds);
	fixture_run("channel sender, turns on a slow path", turns);
	fixture_run("channel sender, full segments", fills);
	fixture_run("channel sender, several packets in a turn", several);
	fixture_run("channel sender, early writes", writes_early);
	fixture_run("channel sender, early writes, when", wakes_early);
	fixture_run("channel sender, early writes, events", early_events);
	fixture_run("channel sender, what is read at once", reads);
	fixture_run("channel sender, what held it up", looks);
	fixture_run("channel sender, what held it up, without a rate",
	    looks_without_rate);
	fixture_run("channel sender, what the socket says and is told",
	    sockets);
	fake_reset();
}
