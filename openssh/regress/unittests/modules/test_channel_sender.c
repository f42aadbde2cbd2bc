/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/*
 * What channel-sender.c and channel-pipe.c make of a Channel: its pipes, and
 * when the connection is written to early.
 */

#include "includes.h"

#include <sys/types.h>
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
#include "bdp-names.h"
#include "channels.h"
#include "kex.h"
#include "log.h"
#include "misc.h"
#include "tcp-path.h"
#include "conn.h"
#include "fake.h"
#include "fixture.h"
#include "window-state.h"

void test_channel_sender(void);

static struct conn conn;
static struct path_info path;

/* Returns a new channel whose peer has given all the credit there can be. */
static Channel *
sender(int isatty)
{
	Channel *c = conn_channel(&conn, "session");

	c->isatty = isatty;
	c->remote_window = LIMIT;
	conn_turn(&conn, c);
	return c;
}

/* Makes len bytes wait in the output buffer for the kernel. */
static void
unsent(size_t len)
{
	fake_len(ssh_packet_get_output(conn.ssh), len);
}

static Channel *
start(void)
{
	fixture_open(&conn, &path, 0, KEX_HAS_BOUNDED_INPUT, LIMIT);
	unsent(0);
	return sender(0);
}

/* Once for a channel: what is unsent is bounded, and Poly1305 OpenSSL's */
static void
starts(void)
{
	Channel *c;
	int fds[2], in;

	fixture_open(&conn, &path, 1, 0, LIMIT);
	c = sender(1);
	ASSERT_U_INT_EQ(fake.bounds, 0);
	ASSERT_INT_EQ(fake.starts, 0);
	c = sender(0);
	conn_turn(&conn, c);
	ASSERT_U_INT_EQ(fake.bounds, 1);
	ASSERT_INT_EQ(fake.starts, 1);
	conn_close(&conn);
	/* A pipe */
	fixture_open(&conn, &path, 1, 0, LIMIT);
	ASSERT_INT_EQ(pipe(fds), 0);
	in = conn.net[0];
	ASSERT_PTR_NE(ssh_packet_set_connection(conn.ssh, fds[0], fds[1]),
	    NULL);
	sender(0);
	ASSERT_U_INT_EQ(fake.bounds, 0);
	ASSERT_INT_EQ(fake.starts, 1);
	conn_close(&conn);
	close(in);
}

#ifdef F_GETPIPE_SZ
/* From how large a pipe it is read, after a MiB */
static void
reads(void)
{
	Channel *c = start(), *answers = sender(0);
	int fds[2];

	ASSERT_INT_EQ(pipe(fds), 0);
	c->rfd = fds[0];
	channel_report_sent(c, MIB - 1);
	conn_turn(&conn, c);
	ASSERT_INT_EQ(fcntl(fds[0], F_GETPIPE_SZ), 65536);
	channel_report_sent(c, 1);
	conn_turn(&conn, c);
	ASSERT_INT_EQ(fcntl(fds[0], F_GETPIPE_SZ), CHANNEL_READ_AHEAD);
	/* Once is enough, */
	ASSERT_INT_NE(fcntl(fds[0], F_SETPIPE_SZ, 65536), -1);
	channel_report_sent(c, MIB);
	conn_turn(&conn, c);
	ASSERT_INT_EQ(fcntl(fds[0], F_GETPIPE_SZ), 65536);
	c->rfd = -1;
	/* and what answers keeps its pipe. */
	answers->rfd = fds[0];
	conn_comes(answers, answers->output, 1);
	conn_goes(answers, answers->output, 1);
	channel_report_sent(answers, 2 * MIB);
	conn_turn(&conn, answers);
	ASSERT_INT_EQ(fcntl(fds[0], F_GETPIPE_SZ), 65536);
	answers->rfd = -1;
	conn_close(&conn);
	close(fds[0]);
	close(fds[1]);
}

/* A pipe whose reader lags, once a MiB has gone through it */
static void
widened(void)
{
	Channel *c;
	int fds[2];

	start();
	ASSERT_INT_EQ(pipe(fds), 0);
	c = sender(0);
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
	c = sender(0);
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
#endif

/* Makes len bytes wait. Is the connection written to early? */
static int
early(size_t len)
{
	unsent(len);
	return channel_sender_early(conn.ssh);
}

/*
 * A socket that poll(2) does not call writable is written to if TCP has sent
 * all that it was given.
 */
static void
writes_early(void)
{
	start();
	ASSERT_INT_EQ(early(4095), 0);
	ASSERT_INT_EQ(early(4096), 1);
	fake.waiting = 4096;			/* the path limits */
	ASSERT_INT_EQ(early(4096), 0);
	fake.waiting = 4095;
	ASSERT_INT_EQ(early(4096), 1);
	fake.waiting = -1;			/* a pipe */
	ASSERT_INT_EQ(early(4096), 0);
	fake.waiting = 0;
	conn_close(&conn);
	/* With ChannelWindowMax none all is as in stock OpenSSH. */
	fixture_open(&conn, &path, 0, KEX_HAS_BOUNDED_INPUT, 0);
	sender(0);
	ASSERT_INT_EQ(early(4096), 0);
	ASSERT_U_INT_EQ(fake.bounds, 0);
	conn_close(&conn);
}

void
test_channel_sender(void)
{
	fixture_run("channel sender: what begins with bulk data", starts);
	fixture_run("channel sender: early writes", writes_early);
#ifdef F_GETPIPE_SZ
	fixture_run("channel sender: the pipe of a source", reads);
	fixture_run("channel sender: the pipe of a reader that lags", widened);
#endif
	fake_reset();
}
