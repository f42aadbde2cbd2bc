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
 * What channel-window.c makes of a Channel that receives: its window, probes,
 * memory, and what it says. The path and the clock are the test's.
 */

#include "includes.h"

#include <sys/types.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "sshbuf.h"
#include "ssh2.h"
#include "packet.h"
#include "bdp-names.h"
#include "ext-info.h"
#include "channels.h"
#include "window-control.h"
#include "channel-pipe.h"
#include "channel-window.h"
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

/* Returns the line of ~# without the blanks around it, or an empty string. */
static const char *
status(const Channel *c)
{
	static char line[256];
	struct sshbuf *b = sshbuf_new();
	size_t len;

	channel_report_status(c, conn.ws, b);
	len = sshbuf_len(b);
	snprintf(line, sizeof(line), "%.*s", (int)len, sshbuf_ptr(b) == NULL ?
	    (const u_char *)"" : sshbuf_ptr(b));
	sshbuf_free(b);
	line[strcspn(line, "\r")] = '\0';
	return line + strspn(line, " ");
}

static int
is_bulk(const Channel *c)
{
	return *status(c) != '\0';
}

/* The round trip time in use, as status() has it (us) */
static u_int
rtt_us(const Channel *c)
{
	const char *p = strstr(status(c), "rtt ");
	u_int ms = 0, tenths = 0;

	ASSERT_PTR_NE(p, NULL);
	ASSERT_INT_EQ(sscanf(p, "rtt %u.%u ms", &ms, &tenths), 2);
	return ms * 1000 + tenths * 100;
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
		{ "stdio-forward", 1 }, { "x11", 0 }, { "tun@openssh.com", 0 },
		{ "auth-agent@openssh.com", 0 }, { "mux-control", 0 },
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
	fake.path_errno = ENOTSOCK;	/* the window stays as it is */
	c = conn_channel(&conn, "session");
	conn_turn(&conn, c);
	conn_comes(c, c->output, 1000);
	conn_comes(c, c->extended, 200);
	ASSERT_U_INT_EQ(conn_turn(&conn, c), 0);
	ASSERT_U64_EQ(fake.cw->backlog, 1000);
	ASSERT_U32_EQ(fake.outstanding, c->local_window + 1000);
	c->extended_usage = CHAN_EXTENDED_WRITE;
	ASSERT_U_INT_EQ(conn_turn(&conn, c), 0);
	ASSERT_U64_EQ(fake.cw->backlog, 1200);
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

	start(0, BOUNDED, LIMIT);
	c = conn_channel(&conn, "session");
	conn_turn(&conn, c);
	ASSERT_U32_EQ(c->local_window_max, BASE);
	deliver(c, RATE, 3000);
	ASSERT_U64_GE(fake.cw->bdp, RATE * 99);
	ASSERT_U32_GE(c->local_window_max, RATE * 99 + WINDOW_HEADROOM_MAX);
	ASSERT_U32_EQ(fake.want, fake.cw->target);
	/* Nothing new, nothing to do */
	probes = fake.probes;
	fake.now_us += 1000 * MS;
	fake.cw = NULL;
	ASSERT_U_INT_EQ(conn_turn(&conn, c), 0);
	ASSERT_PTR_EQ((void *)fake.cw, NULL);
	ASSERT_U_INT_LE(fake.probes, probes + 1);
	/* Unknown RTT: what it was */
	path.rtt_us = path.min_rtt_us = 0;
	fake.path_errno = EAGAIN;
	deliver(c, RATE, 1000);
	ASSERT_U32_EQ(fake.cw->target, BASE);
	ASSERT_U_INT_EQ(rtt_us(c), 0);
	fake.path_errno = 0;
	path.rtt_us = path.min_rtt_us = 100 * MS;
	deliver(c, RATE, 1000);
	ASSERT_U32_GE(fake.cw->target, RATE * 99 + WINDOW_HEADROOM_MAX);
	conn_close(&conn);
}

/* What it takes of a queue, and how the window grows, by what the peer says */
static void
peers(void)
{
	Channel *c;
	int bounded;

	for (bounded = 0; bounded < 2; bounded++) {
		start(0, bounded ? BOUNDED : 0, LIMIT);
		c = conn_channel(&conn, "session");
		conn_turn(&conn, c);
		deliver(c, RATE, 500);
		ASSERT_INT_EQ(fake.cw->bounded_peer, bounded);
		ASSERT_U_INT_EQ(rtt_us(c), 100 * MS);
		path.rtt_us = 400 * MS;
		deliver(c, RATE, 1000);
		ASSERT_U_INT_EQ(rtt_us(c), bounded ? 200 * MS : 125 * MS);
		conn_close(&conn);
	}
}

/*
 * A stock sender gets the credit for what arrived in a burst after a stall bit
 * by bit. It gets all of it, even if nothing more arrives.
 */
static void
withheld(void)
{
	Channel *c;
	u_int burst, credit = 0, wakes = 0;
	int ms;

	start(0, 0, LIMIT);
	c = conn_channel(&conn, "session");
	ASSERT_INT_EQ(conn_wakes_ms(&conn, c), -1);
	deliver(c, RATE, 3000);
	fake.now_us += 60 * MS;
	burst = MINIMUM(60 * RATE, c->local_window);
	conn_comes(c, c->output, burst);
	conn_goes(c, c->output, burst);
	credit = conn_turn(&conn, c);
	ASSERT_U_INT_LE(credit, 2 * MIB);
	ASSERT_INT_GT(conn_wakes_ms(&conn, c), 0);
	channel_window_timeout(conn.ssh, c, conn.ws, NULL);
	c->flags |= CHAN_CLOSE_RCVD;
	ASSERT_INT_EQ(conn_wakes_ms(&conn, c), -1);
	c->flags &= ~CHAN_CLOSE_RCVD;
	while ((ms = conn_wakes_ms(&conn, c)) != -1 && wakes++ < 100) {
		ASSERT_INT_GT(ms, 0);
		ASSERT_INT_LE(ms, 10);
		fake.now_us += ms * MS;
		credit += conn_turn(&conn, c);
	}
	ASSERT_U_INT_LT(wakes, 100);
	ASSERT_U_INT_GE(credit + MIB / 2, burst);
	conn_close(&conn);
}

/* Wake-ups of ours tell nothing of how long the peer has been quiet. */
static void
woken(void)
{
	Channel *c;

	start(0, 0, LIMIT);
	c = conn_channel(&conn, "session");
	conn_turn(&conn, c);
	ASSERT_INT_EQ(channel_window_quiet(NULL, 0, 2), 1);
	ASSERT_INT_EQ(channel_window_quiet(NULL, 1, 2), 0);
	ASSERT_INT_EQ(channel_window_quiet(conn.ws, 1, 2), 0);
	/* None was asked for. */
	ASSERT_INT_EQ(conn_wakes_ms(&conn, c), -1);
	ASSERT_INT_EQ(channel_window_quiet(conn.ws, 0, 2), 1);
	c->window->early_wake_us = fake.now_us + 1;
	ASSERT_INT_NE(conn_wakes_ms(&conn, c), -1);
	fake.now_us += 1999 * MS;
	ASSERT_INT_EQ(channel_window_quiet(conn.ws, 0, 2), 0);
	/* It was asked for once. */
	ASSERT_INT_EQ(channel_window_quiet(conn.ws, 0, 2), 1);
	conn_wakes_ms(&conn, c);
	ASSERT_INT_EQ(channel_window_quiet(conn.ws, 0, 0), 1);
	conn_wakes_ms(&conn, c);
	ASSERT_INT_EQ(channel_window_quiet(conn.ws, 1, 2), 0);
	ASSERT_INT_EQ(channel_window_quiet(conn.ws, 0, 2), 1);
	fake.now_us += 2000 * MS;
	conn_wakes_ms(&conn, c);
	ASSERT_INT_EQ(channel_window_quiet(conn.ws, 0, 2), 1);
	conn_wakes_ms(&conn, c);
	ASSERT_INT_EQ(channel_window_quiet(conn.ws, 0, 4295), 0);
	conn_close(&conn);
}

/* Returns the time (us), and not the test's. */
static uint64_t
real_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* Returns the shortest of ten times (us) for which a reader is waited for. */
static uint64_t
waits_us(Channel *c)
{
	uint64_t then_us, took_us, least_us = UINT64_MAX;
	u_int i;

	for (i = 0; i < 10; i++) {
		conn_goes(c, c->output, 1);
		conn_comes(c, c->output, 2);
		conn_turn(&conn, c);
		then_us = real_us();
		ASSERT_INT_EQ(channel_window_readers_first(conn.ws), 1);
		took_us = real_us() - then_us;
		least_us = MINIMUM(least_us, took_us);
		fake.now_us += 2 * MS;
		ASSERT_INT_EQ(channel_window_readers_first(conn.ws), 0);
	}
	return least_us;
}

/* A reader that takes has its turn before the connection is read on. */
static void
readers_first(void)
{
	static char buf[4096];
	int fds[2];
	Channel *c;

	start(0, 0, LIMIT);
	c = conn_channel(&conn, "session");
	ASSERT_INT_EQ(pipe(fds), 0);
	c->wfd = fds[1];
	conn_turn(&conn, c);
	ASSERT_INT_EQ(channel_window_readers_first(NULL), 0);
	deliver(c, RATE, 2000);
	ASSERT_INT_EQ(channel_window_readers_first(conn.ws), 0);
	/* All that the window has comes at once, and little is taken. */
	conn_comes(c, c->output, 8 * MIB);
	conn_goes(c, c->output, MIB);
	conn_turn(&conn, c);
	ASSERT_INT_EQ(conn.ws->reader_fd, fds[1]);
	ASSERT_INT_EQ(channel_window_readers_first(conn.ws), 1);
	fake.now_us += 2 * MS;
	ASSERT_INT_EQ(channel_window_readers_first(conn.ws), 0);
	/* That ends once the pipe has room, or after a millisecond. */
	ASSERT_U64_LT(waits_us(c), 900);
	set_nonblock(fds[1]);
	while (write(fds[1], buf, sizeof(buf)) > 0)
		;
	ASSERT_U64_GE(waits_us(c), 900);
	while (read(fds[0], buf, sizeof(buf)) == sizeof(buf) &&
	    poll(&(struct pollfd){ .fd = fds[0], .events = POLLIN }, 1, 0))
		;
	ASSERT_U64_LT(waits_us(c), 900);
	/* What comes for other channels comes at once. */
	conn_goes(c, c->output, 1);
	conn_turn(&conn, c);
	ASSERT_INT_EQ(channel_window_readers_first(conn.ws), 0);
	conn_comes(c, c->output, 1);
	conn_turn(&conn, c);
	ASSERT_INT_EQ(channel_window_readers_first(conn.ws), 1);
	/* The reader of stderr, if that has more */
	c->extended_usage = CHAN_EXTENDED_WRITE;
	c->efd = fds[0];
	conn_comes(c, c->extended, 16 * MIB);
	conn_goes(c, c->output, 1);
	conn_turn(&conn, c);
	ASSERT_INT_EQ(conn.ws->reader_fd, fds[0]);
	conn_goes(c, c->extended, 16 * MIB);
	c->efd = -1;
	/* A reader that takes nothing has had its time. */
	fake.now_us += 10 * MS;
	conn_turn(&conn, c);
	ASSERT_INT_EQ(channel_window_readers_first(conn.ws), 0);
	conn_goes(c, c->output, 7 * MIB);
	c->wfd = -1;
	close(fds[0]);
	close(fds[1]);
	conn_close(&conn);
}

/*
 * Behind a lost segment `rate` bytes arrive each ms, as far as the window
 * allows. The main loop runs when it wakes up. Returns the credit (bytes).
 */
static u_int
hole(Channel *c, struct late_look *look, u_int rate, u_int ms)
{
	u_int credit = 0;
	int wakes = conn_wakes_ms(&conn, c);

	for (; ms > 0; ms--) {
		fake.now_us += 1 * MS;
		if (look->memory / 2 + rate <= c->local_window) {
			look->memory += 2 * rate;
			look->late += rate / 1448;
			path.late += rate / 1448;
		}
		if (wakes == -1 || --wakes > 0)
			continue;
		credit += conn_turn(&conn, c);
		wakes = conn_wakes_ms(&conn, c);
	}
	return credit;
}

/* All that waited comes at once, and is consumed. Returns the credit. */
static u_int
filled(Channel *c, struct late_look *look)
{
	size_t waited = look->memory / 2;

	look->memory = 0;
	conn_comes(c, c->output, waited);
	conn_goes(c, c->output, waited);
	return conn_turn(&conn, c);
}

/* In each of n round trips a segment gets lost. */
static void
lose(Channel *c, u_int n)
{
	for (; n > 0; n--) {
		path.late++;
		deliver(c, RATE, 101);
	}
}

/*
 * What waits in the kernel behind a lost segment counts as consumed. While a
 * hole is open nothing else wakes the main loop.
 */
static void
behind_a_hole(void)
{
	static const char *types[] = {
		"session:subsystem:sftp", "session:subsystem:sftp",
		"session:subsystem:other", "session:command"
	};
	struct late_look look = { .segment = 1448 };
	Channel *c;
	uint64_t consumed;
	u_int credit, i;

	start(0, 0, LIMIT);
	fake.look = &look;
	c = conn_channel(&conn, "session");
	conn_turn(&conn, c);
	deliver(c, RATE, 3000);
	/* As long as data comes, no look is taken, */
	ASSERT_U_INT_EQ(fake.looks, 0);
	/* nor after few losses: the sender may send less then. */
	lose(c, 2);
	ASSERT_INT_EQ(conn_wakes_ms(&conn, c), -1);
	hole(c, &look, RATE, 100);
	filled(c, &look);
	deliver(c, RATE, 1000);
	ASSERT_U_INT_EQ(fake.looks, 0);
	for (i = 0; i < 3; i++) {
		lose(c, 9);
		fake.looks = 0;
		ASSERT_INT_GT(conn_wakes_ms(&conn, c), 0);
		ASSERT_INT_LE(conn_wakes_ms(&conn, c), 4);
		credit = hole(c, &look, RATE / 2, 32);
		ASSERT_U_INT_GE(credit, 11 * RATE);
		ASSERT_U_INT_LE(credit, 17 * RATE + MIB);
		ASSERT_U32_LE(c->local_window, LIMIT);
		ASSERT_U_INT_GE(fake.looks, 6);
		ASSERT_U_INT_LE(fake.looks, 12);
		credit = filled(c, &look);
		ASSERT_U_INT_LE(credit, 10 * RATE + MIB);
		deliver(c, RATE, 2000);
		ASSERT_U32_LE(c->local_window, 100 * RATE + 4 * MIB);
		ASSERT_U64_LE(fake.cw->target, 100 * RATE + 4 * MIB);
		ASSERT_U64_EQ(c->window->late.ahead, 0);
		/* The controller knows all credit after the first window. */
		ASSERT_U64_EQ(fake.cw->granted,
		    c->window->granted - CHAN_SES_WINDOW_DEFAULT);
		fake.looks = 0;
		deliver(c, RATE, 100);
		ASSERT_INT_EQ(conn_wakes_ms(&conn, c), -1);
		ASSERT_U_INT_EQ(fake.looks, 0);
	}
	/* No more than 2 MiB count while the sender has credit to spare. */
	lose(c, 9);
	credit = hole(c, &look, RATE / 4, 150);
	ASSERT_U_INT_GE(credit, 2 * MIB - RATE);
	ASSERT_U_INT_LE(credit, 3 * MIB);
	ASSERT_U64_LE(c->window->late.ahead, 2 * MIB);
	filled(c, &look);
	/* Gradually more count while it has none, in sshd as well. */
	conn.ws->server = 1;
	deliver(c, RATE, 2000);
	lose(c, 9);
	credit = hole(c, &look, RATE, 220);
	ASSERT_U_INT_GE(credit, 4 * MIB);
	ASSERT_U_INT_LE(credit, 7 * MIB);
	ASSERT_U64_GE(c->window->late.ahead, 4 * MIB);
	ASSERT_U64_LE(c->window->late.ahead, 7 * MIB);
	filled(c, &look);
	/* No more than 4 MiB if sshd's sftp server is what receives */
	for (i = 0; i < 4; i++) {
		deliver(c, RATE, 2000);
		lose(c, 9);
		conn.ws->server = i != 1;
		channel_set_xtype(conn.ssh, c->self, types[i]);
		hole(c, &look, RATE, 260);
		if (i == 0)
			ASSERT_U64_EQ(c->window->late.waiting, 4 * MIB);
		else
			ASSERT_U64_GT(c->window->late.waiting, 5 * MIB);
		filled(c, &look);
	}
	/* and fewer there as well while the sender has credit to spare */
	deliver(c, RATE, 2000);
	lose(c, 9);
	channel_set_xtype(conn.ssh, c->self, types[0]);
	conn.ws->server = 1;
	hole(c, &look, RATE / 4, 150);
	ASSERT_U64_LE(c->window->late.waiting, 2 * MIB);
	filled(c, &look);
	conn.ws->server = 0;
	deliver(c, RATE, 2000);
	/* In no case does it wake up for ever: nothing comes, */
	lose(c, 9);
	fake.looks = 0;
	hole(c, &look, 0, 1000);
	ASSERT_INT_EQ(conn_wakes_ms(&conn, c), -1);
	ASSERT_U_INT_LE(fake.looks, LATE_PATIENCE);
	/* nor if something waits. */
	lose(c, 9);
	hole(c, &look, RATE, 50);
	fake.looks = 0;
	hole(c, &look, 0, 1000);
	ASSERT_INT_EQ(conn_wakes_ms(&conn, c), -1);
	ASSERT_U_INT_LE(fake.looks, LATE_PATIENCE_RTTS * LATE_PER_RTT + 1);
	/* What it tells is what was consumed. */
	consumed = window_consumed(c->window);
	filled(c, &look);
	deliver(c, RATE, 10);
	ASSERT_U64_EQ(window_consumed(c->window), consumed + 60 * RATE);
	conn_close(&conn);
}

/* A channel on a path that loses segments */
static Channel *
lossy(struct late_look *look)
{
	Channel *c;
	u_int i;

	start(0, 0, LIMIT);
	memset(look, 0, sizeof(*look));
	look->segment = 1448;
	fake.look = look;
	c = conn_channel(&conn, "session");
	conn_turn(&conn, c);
	deliver(c, RATE, 500);
	for (i = 0; i < 9; i++) {
		path.late++;
		deliver(c, RATE, 101);
	}
	return c;
}

/* What counts is the last few round trips, however many lost segments. */
static void
no_longer_lossy(void)
{
	struct late_look look;
	Channel *c = lossy(&look);

	lose(c, 40);
	ASSERT_INT_EQ(channel_path_is_lossy(&conn.ws->path), 1);
	deliver(c, RATE, 210);
	ASSERT_INT_EQ(channel_path_is_lossy(&conn.ws->path), 0);
	conn_close(&conn);
}

/* While the reader lags: what arrives is what came, not what was taken. */
static void
hole_and_backlog(void)
{
	struct late_look look;
	Channel *c = lossy(&look);
	uint64_t waits, received;
	u_int i;

	hole(c, &look, RATE, 16);
	waits = c->window->late.waiting;
	ASSERT_U64_GT(waits, 10 * RATE);
	received = fake.cw->received;
	fake.looks = 0;
	conn_comes(c, c->output, 5 * RATE);
	conn_goes(c, c->output, 2 * RATE);
	conn_turn(&conn, c);
	ASSERT_U64_EQ(c->window->late.waiting, waits - 5 * RATE);
	conn_comes(c, c->output, 1 * RATE);
	conn_goes(c, c->output, 2 * RATE);
	conn_turn(&conn, c);
	ASSERT_U64_EQ(c->window->late.waiting, waits - 6 * RATE);
	conn_goes(c, c->output, 2 * RATE);
	conn_turn(&conn, c);
	ASSERT_U64_EQ(c->window->late.waiting, waits - 6 * RATE);
	ASSERT_U_INT_EQ(fake.looks, 0);
	/* It was received once. */
	ASSERT_U64_EQ(fake.cw->received, received);
	/* What comes is received, unless it has counted. */
	look.memory = 16 * MIB;
	c->local_window = 16 * MIB;	/* of which some is unspent */
	fake.now_us += 4 * MS;
	conn_turn(&conn, c);
	waits = c->window->late.waiting;
	ASSERT_U64_GT(c->window->late.held, waits + 2 * MIB);
	received = fake.cw->received;
	conn_comes(c, c->output, MIB);
	conn_turn(&conn, c);
	ASSERT_U64_EQ(c->window->late.waiting, waits);
	ASSERT_U64_EQ(fake.cw->received, received + MIB);
	fake.looks = 0;
	/* No more waits than the sender was allowed to send. */
	c->local_window = MIB;
	look.memory = 8 * MIB;
	fake.now_us += 4 * MS;
	conn_turn(&conn, c);
	ASSERT_U_INT_EQ(fake.looks, 1);
	ASSERT_U64_EQ(c->window->late.waiting, MIB);
	conn_close(&conn);

	/*
	 * Looks begin anew when something comes, even if nobody takes it, and
	 * when it is taken: then the sender gets credit, and sends more.
	 */
	for (i = 0; i < 2; i++) {
		c = lossy(&look);
		if (i == 1)
			conn_comes(c, c->output, 2 * RATE);
		conn_turn(&conn, c);
		hole(c, &look, 0, 60);
		fake.looks = 0;
		hole(c, &look, 0, 20);
		ASSERT_U_INT_EQ(fake.looks, 0);
		if (i == 0)
			conn_comes(c, c->output, 2 * RATE);
		else
			conn_goes(c, c->output, 1 * RATE);
		conn_turn(&conn, c);
		hole(c, &look, 0, 20);
		ASSERT_U_INT_GT(fake.looks, 0);
		conn_close(&conn);
	}
}

/*
 * What waits behind a lost segment has come over the path: a queue there, at
 * that time, is not taken for a longer path.
 */
static void
hole_and_queue(void)
{
	struct late_look look;
	Channel *c = lossy(&look);
	u_int i;

	path.rtt_us = path.min_rtt_us = 20 * MS;
	deliver(c, RATE, 1000);
	for (i = 0; i < 9; i++) {
		path.late++;
		deliver(c, RATE, 21);
	}
	path.rtt_us = 30 * MS;
	hole(c, &look, RATE, 33);
	filled(c, &look);
	ASSERT_U_INT_EQ(rtt_us(c), 25 * MS);
	conn_close(&conn);
}

/* What only counts as consumed is not told as such. */
static void
told_behind_a_hole(void)
{
	struct late_look look;
	Channel *c = lossy(&look);
	struct channel_window *w = c->window;
	uint64_t consumed = w->control.consumed, rate;
	struct heard heard;
	char line[64];

	ASSERT_U64_EQ(w->late.ahead, 0);
	fixture_listen(&heard, "chanwin t_us");
	hole(c, &look, RATE, 20);
	ASSERT_U64_GT(w->late.ahead, 10 * RATE);
	snprintf(line, sizeof(line), " consumed=%llu ",
	    (unsigned long long)consumed);
	ASSERT_PTR_NE(strstr(heard.lines, line), NULL);
	rate = (consumed - w->first) * 10 / (w->last_us - w->first_us);
	snprintf(line, sizeof(line), "mean %llu.%llu MB/s",
	    (unsigned long long)rate / 10, (unsigned long long)rate % 10);
	ASSERT_PTR_NE(strstr(status(c), line), NULL);
	snprintf(line, sizeof(line), "received %llu bytes",
	    (unsigned long long)consumed);
	fixture_listen(&heard, line);
	channel_report_all(conn.ssh, conn.ws);
	ASSERT_STRING_NE(heard.lines, "");
	heard.lines[0] = '\0';
	conn_channel_free(&conn, c);
	ASSERT_STRING_NE(heard.lines, "");
	fixture_listen_ends();
	conn_close(&conn);
}

/* A queue of segments that get lost: it looks although data comes. */
static void
many_holes(void)
{
	struct late_look look = { 0 };
	Channel *c;

	start(0, 0, LIMIT);
	fake.look = &look;
	c = conn_channel(&conn, "session");
	conn_turn(&conn, c);
	deliver(c, RATE, 3000);
	lose(c, 5);
	fake.looks = 0;
	look.memory = 4 * MIB;
	lose(c, 10);
	ASSERT_U_INT_GE(fake.looks, 200);
	ASSERT_U_INT_LE(fake.looks, 11 * LATE_PER_RTT);
	ASSERT_U64_GT(c->window->late.waiting, 0);
	/* Keys are renewed: what comes is not the channel's. */
	conn.ssh->kex->done = 0;
	conn_turn(&conn, c);
	ASSERT_U64_EQ(c->window->late.waiting, 0);
	fake.looks = 0;
	lose(c, 1);
	conn.ssh->kex->done = 1;
	ASSERT_U_INT_EQ(fake.looks, 0);
	conn_close(&conn);
}

/* Where a look can't help, or would tell of another channel, none is taken. */
static void
no_looks(void)
{
	struct late_look look = { 0 };
	Channel *c;
	u_int what, i;

	for (what = 0; what < 5; what++) {
		test_subtest_info("%u", what);
		start(0, what == 0 ? BOUNDED : 0, LIMIT);
		fake.look = &look;
		c = conn_channel(&conn, "session");
		conn_turn(&conn, c);
		if (what == 1)		/* two channels */
			conn_turn(&conn, conn_channel(&conn, "session"));
		if (what == 2)		/* no socket */
			fake.path_errno = ENOTSOCK;
		if (what == 4) {	/* a forwarder: the path is longer */
			conn.ws->path.inband.rtt_us = 300 * MS;
			conn.ws->path.inband.least_us = 300 * MS;
		}
		for (i = 0; i < 10; i++) {
			path.late++;
			deliver(c, what == 3 ? 1000 : RATE, 101);
		}
		look.memory = 4 * MIB;
		hole(c, &look, 0, 1000);
		ASSERT_INT_EQ(conn_wakes_ms(&conn, c), -1);
		ASSERT_U_INT_EQ(fake.looks, 0);
		conn_close(&conn);
	}
}

/* Segments out of order are expected for 16 round trips after the last one. */
static void
late(void)
{
	Channel *c;

	start(0, BOUNDED, LIMIT);
	path.late = 1000;		/* before there was a channel */
	c = conn_channel(&conn, "session");
	conn_turn(&conn, c);
	deliver(c, RATE, 1700);
	ASSERT_INT_EQ(fake.cw->late, 0);
	path.late++;
	deliver(c, RATE, 101);
	ASSERT_INT_EQ(fake.cw->late, 1);
	deliver(c, RATE, 1490);
	ASSERT_INT_EQ(fake.cw->late, 1);
	deliver(c, RATE, 120);
	ASSERT_INT_EQ(fake.cw->late, 0);
	conn_close(&conn);
}

/* The socket is asked once a round trip, in each direction, if it answers. */
static void
asks(void)
{
	Channel *c;

	start(0, BOUNDED, LIMIT);
	c = conn_channel(&conn, "session");
	conn_turn(&conn, c);
	ASSERT_U_INT_GT(fake.probes, 0);
	fake.probes = 0;
	deliver(c, RATE, 1000);
	ASSERT_U_INT_EQ(fake.probes, 20);
	path.rtt_us = path.min_rtt_us = 2 * MS;
	deliver(c, RATE, 200);
	fake.probes = 0;
	deliver(c, RATE, 100);		/* the sender's, each 10 ms at most */
	ASSERT_U_INT_EQ(fake.probes, 50 + 10);
	fake.path_errno = EAGAIN;	/* nothing yet */
	deliver(c, RATE, 10);
	fake.probes = 0;
	deliver(c, RATE, 100);
	ASSERT_U_INT_EQ(fake.probes, 100 + 10);
	fake.path_errno = ENOTSOCK;
	deliver(c, RATE, 10);
	fake.probes = 0;
	deliver(c, RATE, 1000);
	ASSERT_U_INT_EQ(fake.probes, 0);
	conn_close(&conn);
}

static void
answer(Channel *c, const struct sshbuf *ping)
{
	struct channel_confirm *cc = TAILQ_FIRST(&c->status_confirms);

	if (ping != NULL) {		/* a string of it */
		ssh_rtt_pong(conn.ssh->inband, sshbuf_ptr(ping) + 4,
		    sshbuf_len(ping) - 4, fake.now_us);
		return;
	}
	ASSERT_PTR_NE(cc, NULL);
	cc->cb(conn.ssh, SSH2_MSG_CHANNEL_FAILURE, c, cc->ctx);
	TAILQ_REMOVE(&c->status_confirms, cc, entry);
	freezero(cc, sizeof(*cc));
}

/* By ping or by request: one at a time, and only where the socket lies */
static void
probes(int ping)
{
	struct sshbuf *b = sshbuf_new(), *p = ping ? b : NULL;
	u_char type = ping ? SSH2_MSG_PING : SSH2_MSG_CHANNEL_REQUEST;
	Channel *c;
	char *name;
	u_int32_t id;
	u_char reply;

	ASSERT_PTR_NE(b, NULL);
	if (ping && KEX_HAS_PING == 0) {
		sshbuf_free(b);
		return;
	}
	start(0, BOUNDED | (ping ? KEX_HAS_PING : 0), LIMIT);
	c = conn_channel(&conn, "session");
	c->remote_id = 77;
	deliver(c, RATE, 20);
	ASSERT_U_INT_EQ(conn_sent(&conn, type, b), 1);
	if (!ping) {
		ASSERT_INT_EQ(sshbuf_get_u32(b, &id), 0);
		ASSERT_U32_EQ(id, 77);
		ASSERT_INT_EQ(sshbuf_get_cstring(b, &name, NULL), 0);
		ASSERT_STRING_EQ(name, BDP_PATH_PROBE);
		free(name);
		ASSERT_INT_EQ(sshbuf_get_u8(b, &reply), 0);
		ASSERT_U8_EQ(reply, 1);
		ASSERT_SIZE_T_EQ(sshbuf_len(b), 0);
	}
	deliver(c, RATE, 80);
	ASSERT_U_INT_EQ(conn_sent(&conn, type, NULL), 0);
	ASSERT_U_INT_EQ(rtt_us(c), 100 * MS);
	fake.now_us += 100 * MS;
	answer(c, p);			/* a forwarder: 0.2 s are the path */
	deliver(c, RATE, 400);
	ASSERT_U_INT_EQ(conn_sent(&conn, type, b), 1);
	answer(c, p);
	deliver(c, RATE, 1);
	ASSERT_U_INT_GT(rtt_us(c), 150 * MS);
	conn_close(&conn);

	/* The socket tells of the whole path: no second one */
	start(0, BOUNDED | (ping ? KEX_HAS_PING : 0), LIMIT);
	path.rtt_us = path.min_rtt_us = 20 * MS;
	c = conn_channel(&conn, "session");
	conn_turn(&conn, c);
	while (conn_sent(&conn, type, b) == 0)
		deliver(c, RATE, 1);
	fake.now_us += 20 * MS;
	answer(c, p);
	deliver(c, RATE, 1000);
	ASSERT_U_INT_EQ(conn_sent(&conn, type, NULL), 0);
	ASSERT_U_INT_EQ(rtt_us(c), 20 * MS);
	conn_close(&conn);
	sshbuf_free(b);
}

/* A pong that comes in a packet is timed by the clock that timed the ping. */
static void
pong(void)
{
	struct sshbuf *ping = sshbuf_new();
	u_char wire[100 + PLAIN_PACKET_MORE], type;
	size_t len;

	ASSERT_PTR_NE(ping, NULL);
	start(0, BOUNDED | KEX_HAS_PING, LIMIT);
	fake.now_us += 1000000000ULL * MS;	/* eleven days */
	deliver(conn_channel(&conn, "session"), RATE, 20);
	ASSERT_U_INT_EQ(conn_sent(&conn, SSH2_MSG_PING, ping), 1);
	fake.now_us += 100 * MS;
	ASSERT_SIZE_T_LE(sshbuf_len(ping), 100);
	len = plain_packet(wire, SSH_RTT_PONG, sshbuf_ptr(ping),
	    sshbuf_len(ping));
	ASSERT_INT_EQ(ssh_packet_process_incoming(conn.ssh,
	    (const char *)wire, len), 0);
	ASSERT_INT_EQ(ssh_packet_read_poll_seqnr(conn.ssh, &type, NULL), 0);
	ASSERT_U64_EQ(conn.ssh->inband->rtt_us,
	    fake.now_us - conn.ssh->inband->sent_us);
	conn_close(&conn);
	sshbuf_free(ping);
}

/* Nothing is asked before a MiB, nor ever if opening took as long as TCP. */
static void
needed(void)
{
	Channel *c;
	u_int ms;

	start(0, BOUNDED | KEX_HAS_PING, LIMIT);
	path.rtt_us = path.min_rtt_us = 1 * MS;
	c = conn_channel(&conn, "session");
	channel_path_answered(c, &conn.ws);		/* not asked */
	for (ms = 0; ms < 1048; ms++) {
		deliver(c, 1000, 1);
		ASSERT_U_INT_EQ(conn_sent(&conn, SSH2_MSG_PING, NULL), 0);
	}
	deliver(c, 1000, 1);
	ASSERT_U_INT_EQ(conn_sent(&conn, SSH2_MSG_PING, NULL), 1);
	conn_close(&conn);

	/* What waits for its reader has come, too. */
	start(0, BOUNDED | KEX_HAS_PING, LIMIT);
	c = conn_channel(&conn, "session");
	conn_turn(&conn, c);
	conn_comes(c, c->output, MIB - 1);
	conn_turn(&conn, c);
	ASSERT_U_INT_EQ(conn_sent(&conn, SSH2_MSG_PING, NULL), 0);
	conn_comes(c, c->output, 1);
	conn_turn(&conn, c);
	ASSERT_U_INT_EQ(conn_sent(&conn, SSH2_MSG_PING, NULL), 1);
	conn_close(&conn);

	for (ms = 6; ms < 8; ms++) {			/* 5/4 and 5 ms: 6.25 */
		start(0, BOUNDED | KEX_HAS_PING, LIMIT);
		path.rtt_us = path.min_rtt_us = 1 * MS;
		c = conn_channel(&conn, "session");
		channel_path_asked(c);
		fake.now_us += ms * MS;
		channel_path_answered(c, &conn.ws);
		fake.now_us += 1000 * MS;
		channel_path_answered(c, &conn.ws);	/* answered already */
		deliver(c, 20000, 200);
		ASSERT_U_INT_EQ(conn_sent(&conn, SSH2_MSG_PING, NULL),
		    ms == 7);
		conn_close(&conn);
	}
}

/* Waits for a ping, which is put into b, and answers it after `ms` ms. */
static void
ping(Channel *c, struct sshbuf *b, u_int ms)
{
	while (conn_sent(&conn, SSH2_MSG_PING, b) == 0)
		deliver(c, 1000, 1);
	deliver(c, 1000, ms - 1);
	ASSERT_U_INT_EQ(conn_sent(&conn, SSH2_MSG_PING, NULL), 0);
	fake.now_us += 1 * MS;
	answer(c, b);
	deliver(c, 1000, 1);
}

/* What is asked for is timed where channels.c asks. */
static void
timed(void)
{
	Channel *c;

	start(0, BOUNDED, LIMIT);
	c = conn_channel(&conn, "session");
	channel_send_open(conn.ssh, c->self);
	ASSERT_U64_EQ(c->asked_us, fake.now_us);
	channel_answered(conn.ssh, c);
	ASSERT_U64_EQ(c->asked_us, 0);
	/* A request, but not the next one, whose answer waits for that */
	channel_register_status_confirm(conn.ssh, c->self, NULL, NULL, NULL);
	ASSERT_U64_EQ(c->asked_us, fake.now_us);
	fake.now_us += 1 * MS;
	channel_register_status_confirm(conn.ssh, c->self, NULL, NULL, NULL);
	ASSERT_U64_EQ(c->asked_us, fake.now_us - 1 * MS);
	conn_close(&conn);
}

/* A forwarder: the round trip is SSH's, from the first answer on. */
static void
forwarder(void)
{
	struct sshbuf *b = sshbuf_new();
	Channel *c;
	u_int i;

	start(0, BOUNDED | KEX_HAS_PING, LIMIT);
	path.rtt_us = path.min_rtt_us = 1 * MS;
	c = conn_channel(&conn, "session");
	conn_turn(&conn, c);
	for (i = 0; i < 20; i++) {
		ping(c, b, 200);
		ASSERT_U_INT_EQ(rtt_us(c), 200 * MS);
	}
	/* And no RTT of the socket at all, as of a pipe */
	fake.path_errno = ENOTSOCK;
	path.rtt_us = path.min_rtt_us = 0;
	deliver(c, 1000, 400);
	ASSERT_U_INT_EQ(rtt_us(c), 200 * MS);
	conn_close(&conn);
	sshbuf_free(b);
}

/* Nothing of the forwarder's round trip is left when SSH's takes over. */
static void
takes_over(int bounded)
{
	struct sshbuf *b = sshbuf_new();
	struct heard heard;
	Channel *c;
	u_int i;

	ASSERT_PTR_NE(b, NULL);
	start(0, KEX_HAS_PING | (bounded ? BOUNDED : 0), LIMIT);
	path.rtt_us = path.min_rtt_us = 1 * MS;
	c = conn_channel(&conn, "session");
	conn_turn(&conn, c);
	ASSERT_U_INT_EQ(rtt_us(c), 1 * MS);
	deliver(c, 1000, 1);
	ASSERT_INT_EQ(c->window->control.forwarded, 0);
	for (i = 0; i < 4; i++)
		ping(c, b, 200);
	ASSERT_U_INT_EQ(rtt_us(c), 200 * MS);
	for (i = 0; i < 20; i++)		/* a queue */
		ping(c, b, 800);
	ASSERT_U_INT_EQ(rtt_us(c), bounded ? 400 * MS : 200 * MS);
	ASSERT_INT_EQ(c->window->control.forwarded, 1);
	fixture_listen(&heard, "least rtt 200.0 ms");
	conn_channel_free(&conn, c);
	fixture_listen_ends();
	ASSERT_STRING_NE(heard.lines, "");
	conn_close(&conn);
	sshbuf_free(b);
}

/* While keys are renewed nothing is asked, and no answer counts. */
static void
rekeying(int ping)
{
	struct sshbuf *b = sshbuf_new();
	u_char type = ping ? SSH2_MSG_PING : SSH2_MSG_CHANNEL_REQUEST;
	Channel *c;

	if (ping && KEX_HAS_PING == 0) {
		sshbuf_free(b);
		return;
	}
	start(0, BOUNDED | (ping ? KEX_HAS_PING : 0), LIMIT);
	fake.path_errno = ENOTSOCK;
	conn.ssh->kex->done = 0;
	c = conn_channel(&conn, "session");
	deliver(c, 20000, 200);
	ASSERT_U_INT_EQ(conn_sent(&conn, type, NULL), 0);
	conn.ssh->kex->done = 1;
	deliver(c, 20000, 1);
	ASSERT_U_INT_EQ(conn_sent(&conn, type, b), 1);
	conn.ssh->kex->done = 0;
	deliver(c, 20000, 100);
	answer(c, ping ? b : NULL);
	conn.ssh->kex->done = 1;
	ASSERT_U_INT_EQ(rtt_us(c), 0);
	deliver(c, 20000, 1);
	ASSERT_U_INT_EQ(rtt_us(c), 0);
	ASSERT_U_INT_EQ(conn_sent(&conn, type, b), 1);
	fake.now_us += 30 * MS;
	answer(c, ping ? b : NULL);
	deliver(c, 20000, 1);
	ASSERT_U_INT_EQ(rtt_us(c), 30 * MS);
	conn_close(&conn);
	sshbuf_free(b);
}

/* A channel that closes takes the probe with it that was sent on it. */
static void
abandoned(void)
{
	Channel *c, *other;

	start(0, BOUNDED, LIMIT);
	fake.path_errno = ENOTSOCK;
	c = conn_channel(&conn, "session");
	other = conn_channel(&conn, "session");
	conn_turn(&conn, other);
	conn_sent(&conn, SSH2_MSG_CHANNEL_REQUEST, NULL);
	ssh_rtt_abandon(conn.ssh->inband);
	deliver(c, 20000, 200);
	ASSERT_U_INT_EQ(conn_sent(&conn, SSH2_MSG_CHANNEL_REQUEST, NULL), 1);
	deliver(other, 20000, 100);
	ASSERT_U_INT_EQ(conn_sent(&conn, SSH2_MSG_CHANNEL_REQUEST, NULL), 0);
	conn_channel_free(&conn, c);
	deliver(other, 20000, 100);
	ASSERT_U_INT_EQ(conn_sent(&conn, SSH2_MSG_CHANNEL_REQUEST, NULL), 1);
	conn_close(&conn);
}

/* Once, with the first bulk channel: adjusts shall not wait for each other. */
static void
starts(void)
{
	Channel *c;
	int fds[2], in;

	start(1, 0, LIMIT);
	c = conn_channel(&conn, "session");
	c->isatty = 1;
	conn_turn(&conn, c);
	ASSERT_U_INT_EQ(fake.nodelays, 0);
	ASSERT_INT_EQ(fake.starts, 0);
	ASSERT_PTR_EQ(conn.ssh->inband, NULL);
	conn_turn(&conn, conn_channel(&conn, "session"));
	conn_turn(&conn, conn_channel(&conn, "direct-tcpip"));
	ASSERT_U_INT_EQ(fake.nodelays, 1);
	ASSERT_INT_EQ(fake.starts, 1);
	ASSERT_PTR_NE(conn.ssh->inband, NULL);
	conn_close(&conn);
	/* A pipe */
	start(1, 0, LIMIT);
	ASSERT_INT_EQ(pipe(fds), 0);
	in = conn.net[0];
	ASSERT_PTR_NE(ssh_packet_set_connection(conn.ssh, fds[0], fds[1]),
	    NULL);
	conn_turn(&conn, conn_channel(&conn, "session"));
	ASSERT_U_INT_EQ(fake.nodelays, 0);
	ASSERT_INT_EQ(fake.starts, 1);
	conn_close(&conn);
	close(in);
}

static void
put(Channel *c, size_t len)
{
	static u_char data[PACKET];

	for (; len > 0; len -= MINIMUM(len, sizeof(data)))
		ASSERT_INT_EQ(sshbuf_put(c->output, data,
		    MINIMUM(len, sizeof(data))), 0);
	conn_turn(&conn, c);
}

static void
take(Channel *c, size_t len)
{
	ASSERT_INT_EQ(sshbuf_consume(c->output, len), 0);
	c->local_consumed += len;
	conn_turn(&conn, c);
}

/* What a buffer took for more than 4 MiB is given back when it is empty. */
static void
swollen(void)
{
	Channel *c;

	start(0, BOUNDED, LIMIT);
	c = conn_channel(&conn, "session");
	conn_turn(&conn, c);
	c->local_window = LIMIT;
	fake.shrinks = 0;
	put(c, 4 * MIB);
	take(c, 4 * MIB);
	ASSERT_U_INT_EQ(fake.shrinks, 0);
	put(c, 3 * MIB);
	put(c, 3 * MIB);
	take(c, 5 * MIB);
	ASSERT_U_INT_EQ(fake.shrinks, 0);
	take(c, 1 * MIB);
	ASSERT_U_INT_EQ(fake.shrinks, 1);
	/* Which is forgotten then */
	put(c, 4 * MIB);
	take(c, 4 * MIB);
	ASSERT_U_INT_EQ(fake.shrinks, 1);
	conn_close(&conn);
}

#ifdef F_GETPIPE_SZ
/* A pipe whose reader lags, once a MiB has gone through it */
static void
widened(void)
{
	Channel *c;
	int fds[2];

	start(0, BOUNDED, LIMIT);
	ASSERT_INT_EQ(pipe(fds), 0);
	c = conn_channel(&conn, "session");
	conn_turn(&conn, c);
	c->wfd = fds[1];
	conn_comes(c, c->output, MIB);
	conn_goes(c, c->output, MIB - 1);
	conn_turn(&conn, c);
	ASSERT_INT_EQ(fcntl(fds[1], F_GETPIPE_SZ), 65536);
	conn_goes(c, c->output, 1);
	conn_turn(&conn, c);		/* no backlog: the reader is there */
	ASSERT_INT_EQ(fcntl(fds[1], F_GETPIPE_SZ), 65536);
	conn_comes(c, c->output, 1);
	conn_turn(&conn, c);
	ASSERT_INT_EQ(fcntl(fds[1], F_GETPIPE_SZ), CHANNEL_READ_AHEAD);
	/* Once is enough */
	ASSERT_INT_NE(fcntl(fds[1], F_SETPIPE_SZ, 65536), -1);
	conn_comes(c, c->output, 1);
	conn_turn(&conn, c);
	ASSERT_INT_EQ(fcntl(fds[1], F_GETPIPE_SZ), 65536);
	c->wfd = -1;
	conn_channel_free(&conn, c);
	/* One that is larger stays as it is. */
	ASSERT_INT_NE(fcntl(fds[1], F_SETPIPE_SZ, 2 * CHANNEL_READ_AHEAD), -1);
	c = conn_channel(&conn, "session");
	conn_turn(&conn, c);
	c->wfd = fds[1];
	conn_comes(c, c->output, 2 * MIB);
	conn_goes(c, c->output, 2 * MIB - 1);
	conn_turn(&conn, c);
	ASSERT_INT_EQ(fcntl(fds[1], F_GETPIPE_SZ), 2 * CHANNEL_READ_AHEAD);
	c->wfd = -1;
	conn_close(&conn);
	close(fds[0]);
	close(fds[1]);
}

/* What only counts as consumed has gone through no pipe. */
static void
not_widened(void)
{
	struct channel_window w = { .send = { .bytes = MIB } };
	Channel *c;
	int fds[2];

	start(0, BOUNDED, LIMIT);
	ASSERT_INT_EQ(pipe(fds), 0);
	c = conn_channel(&conn, "session");
	conn_comes(c, c->output, 1);
	c->rfd = c->wfd = fds[1];
	w.control.consumed = MIB + 5;
	w.late.ahead = 6;
	channel_pipe_output(c, &w);
	channel_pipe_input(c, &w);
	ASSERT_INT_EQ(fcntl(fds[1], F_GETPIPE_SZ), 65536);
	w.late.ahead = 5;
	channel_pipe_output(c, &w);
	ASSERT_INT_EQ(fcntl(fds[1], F_GETPIPE_SZ), CHANNEL_READ_AHEAD);
	ASSERT_INT_NE(fcntl(fds[1], F_SETPIPE_SZ, 65536), -1);
	w.late.ahead = w.control.consumed;
	channel_pipe_input(c, &w);
	ASSERT_INT_EQ(fcntl(fds[1], F_GETPIPE_SZ), CHANNEL_READ_AHEAD);
	c->rfd = c->wfd = -1;
	conn_close(&conn);
	close(fds[0]);
	close(fds[1]);
}
#endif

static struct heard heard;

/* A channel that closes gives back what it held. */
static void
shares(void)
{
	Channel *a, *b;

	start(0, BOUNDED, 12 * MIB);
	a = conn_channel(&conn, "session");
	deliver(a, RATE, 2000);
	ASSERT_U32_EQ(fake.cw->target, 12 * MIB);
	b = conn_channel(&conn, "session");
	conn_turn(&conn, b);
	deliver(a, RATE, 200);
	ASSERT_U32_EQ(fake.cw->target, 10 * MIB);
	conn_channel_free(&conn, b);
	deliver(a, RATE, 200);
	ASSERT_U32_EQ(fake.cw->target, 12 * MIB);
	/* Fixed windows count, too. */
	b = conn_channel(&conn, "session");
	b->isatty = 1;
	conn_turn(&conn, b);
	deliver(a, RATE, 200);
	ASSERT_U32_EQ(fake.cw->target, 10 * MIB);
	/* At its end, a channel tells the largest window that it had. */
	fixture_listen(&heard, "peak window 12582912, ");
	conn_channel_free(&conn, a);
	ASSERT_STRING_NE(heard.lines, "");
	fixture_listen_ends();
	conn_close(&conn);
}

static void
at_close(int server)
{
	Channel *c;

	start(server, BOUNDED, LIMIT);
	c = conn_channel(&conn, "session");
	conn_turn(&conn, c);
	fixture_listen(&heard, "peak window");
	conn_channel_free(&conn, c);	/* nothing came: no line */
	ASSERT_STRING_EQ(heard.lines, "");
	c = conn_channel(&conn, "session");
	c->isatty = 1;
	deliver(c, 1000, 1000);		/* nor of one with a fixed window */
	conn_channel_free(&conn, c);
	ASSERT_STRING_EQ(heard.lines, "");
	c = conn_channel(&conn, "session");
	path.rtt_us = path.min_rtt_us = 50 * MS;
	fake.now_us += 200 * MS;
	deliver(c, 1000, 501);
	path.rtt_us = path.min_rtt_us = 50 * MS + 123;
	deliver(c, 1000, 500);
	channel_report_all(conn.ssh, conn.ws);
	ASSERT_STRING_EQ(heard.lines, "channel 0: peak window 2097152, "
	    "least rtt 50.0 ms, received 1001000 bytes, 1.0 MB/s\n");
	ASSERT_INT_EQ(heard.level, server ? SYSLOG_LEVEL_VERBOSE :
	    SYSLOG_LEVEL_DEBUG1);
	heard.lines[0] = '\0';
	conn_comes(c, c->output, 500);	/* taken after the last look */
	conn_goes(c, c->output, 400);
	conn_channel_free(&conn, c);
	ASSERT_STRING_EQ(heard.lines, "channel 0: peak window 2097152, "
	    "least rtt 50.0 ms, received 1001400 bytes, 1.0 MB/s\n");
	/* Of what was sent there is a line if anything was. */
	c = conn_channel(&conn, "session");
	deliver(c, 1000, 10);
	fixture_listen(&heard, "held up by");
	conn_channel_free(&conn, c);
	ASSERT_STRING_EQ(heard.lines, "");
	fixture_listen_ends();
	channel_report_all(conn.ssh, NULL);
	conn_close(&conn);
}

static void
while_open(void)
{
	char line[256];
	Channel *c;

	start(0, BOUNDED, LIMIT);
	path.rtt_us = path.min_rtt_us = 40 * MS;
	c = conn_channel(&conn, "session");
	conn_turn(&conn, c);
	ASSERT_STRING_EQ(status(c), "window 2097152, rtt 40.0 ms, "
	    "mean 0.0 MB/s, limited by base");
	fixture_listen(&heard, "chanwin t_us");
	deliver(c, 61250, 1001);
	fixture_listen_ends();
	snprintf(line, sizeof(line), "window %u, rtt 40.0 ms, mean 61.2 MB/s, "
	    "limited by path", fake.cw->target);
	ASSERT_STRING_EQ(status(c), line);
	/* The first credit: more than 3 packets */
	heard.lines[strcspn(heard.lines, "\n")] = '\0';
	ASSERT_STRING_EQ(heard.lines, "channel 0: chanwin t_us=1000002000 "
	    "target=2097152 window=1974652 backlog=0 granted=2219652 "
	    "consumed=122500 bdp=122500 rtt_us=40000 adjust=122500 "
	    "limited=base");
	conn_close(&conn);
}

/* What is freed, when it is the last */
static void
frees(void)
{
	start(0, BOUNDED, LIMIT);
	conn_turn(&conn, conn_channel(&conn, "session"));
	ASSERT_PTR_NE(conn.ssh->inband, NULL);
	conn_channel_free(&conn, conn.channels[0]);
	channel_windows_free(conn.ssh, conn.ws);
	ASSERT_PTR_EQ(conn.ssh->inband, NULL);
	channel_windows_free(conn.ssh, NULL);
	/* Made by who needs them first, with the default */
	conn.ws = NULL;
	conn_turn(&conn, conn_channel(&conn, "session"));
	ASSERT_PTR_NE(conn.ws, NULL);
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
		{ "OpenSSH_4.4p1", 0 }, { "OpenSSH_5.3", 0 },
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
	fixture_run("channel window, of which channels", kinds);
	fixture_run("channel window, fixed ones are as stock's", fixed);
	fixture_run("channel window, what waits here counts", waiting);
	fixture_run("channel window, it follows the path", follows);
	fixture_run("channel window, by what the peer can take", peers);
	fixture_run("channel window, peers known by their banner", banners);
	fixture_run("channel window, withheld credit wakes the main loop",
	    withheld);
	fixture_run("channel window, woken for no event", woken);
	fixture_run("channel window, readers first", readers_first);
	fixture_run("channel window, what waits behind a lost segment",
	    behind_a_hole);
	fixture_run("channel window, that and a reader that lags",
	    hole_and_backlog);
	fixture_run("channel window, a path that loses no more",
	    no_longer_lossy);
	fixture_run("channel window, that and a queue on the path",
	    hole_and_queue);
	fixture_run("channel window, what is said of that", told_behind_a_hole);
	fixture_run("channel window, many lost segments", many_holes);
	fixture_run("channel window, no look at what waits", no_looks);
	fixture_run("channel window, late segments", late);
	fixture_run("channel window, how often the socket is asked", asks);
	fixture_run_both("channel window, probes by request and ping", probes);
	if (KEX_HAS_PING != 0) {
		fixture_run("channel window, a pong's packet is timed", pong);
		fixture_run("channel window, a probe when it is needed",
		    needed);
		fixture_run("channel window, a forwarder's round trip",
		    forwarder);
		fixture_run_both("channel window, SSH's round trip takes over",
		    takes_over);
	}
	fixture_run("channel window, what is timed", timed);
	fixture_run_both("channel window, no probe while keys are renewed",
	    rekeying);
	fixture_run("channel window, a probe whose channel is gone", abandoned);
	fixture_run("channel window, what begins with bulk data", starts);
	fixture_run("channel window, memory of a backlog that has gone",
	    swollen);
#ifdef F_GETPIPE_SZ
	fixture_run("channel window, the pipe of a reader that lags", widened);
	fixture_run("channel window, the pipe of one that got little",
	    not_widened);
#endif
	fixture_run("channel window, shares of the budget", shares);
	fixture_run_both("channel window, what is said at close", at_close);
	fixture_run("channel window, what is said before", while_open);
	fixture_run("channel window, freed", frees);
	fake_reset();
}
