/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/* What channels.c reads ahead of the network, and sends in a turn */

#include "includes.h"

#include <sys/types.h>
#include <errno.h>
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
#include "channels.h"
#include "kex.h"
#include "log.h"
#include "misc.h"
#include "tcp-path.h"
#include "conn.h"
#include "fake.h"
#include "fixture.h"

void test_read_ahead(void);

static struct conn conn;
static struct path_info path;

/* A channel whose peer has given all the credit there can be. */
static Channel *
start(void)
{
	Channel *c = conn_channel(&conn, "session");

	c->remote_window = LIMIT;
	return c;
}

static void
put(Channel *c, size_t len)
{
	static u_char data[4 * PACKET];

	for (; len > 0; len -= MINIMUM(len, sizeof(data)))
		ASSERT_INT_EQ(sshbuf_put(c->input, data,
		    MINIMUM(len, sizeof(data))), 0);
}

/* Returns the number of packets of data that a turn sends. */
static u_int
turn(void)
{
	channel_output_poll(conn.ssh);
	return conn_sent(&conn, SSH2_MSG_CHANNEL_DATA, NULL);
}

/* As many packets as the connection takes, from one channel after the other */
static void
several(void)
{
	Channel *c, *other;

	fixture_open(&conn, &path, 0, 0, LIMIT);
	c = start();
	put(c, 3 * PACKET + 1);
	ASSERT_U_INT_EQ(turn(), 4);
	ASSERT_SIZE_T_EQ(sshbuf_len(c->input), 0);
	ASSERT_U_INT_EQ(turn(), 0);
	put(c, 10 * PACKET);
	ASSERT_U_INT_EQ(turn(), 4);		/* 128 KiB */
	other = start();
	put(other, 10 * PACKET);
	ASSERT_U_INT_EQ(turn(), 4);
	ASSERT_SIZE_T_EQ(sshbuf_len(c->input), 4 * PACKET);
	ASSERT_SIZE_T_EQ(sshbuf_len(other->input), 8 * PACKET);
	/* No more than the credit */
	c->remote_window = PACKET + 10;
	other->remote_window = 0;
	ASSERT_U_INT_EQ(turn(), 2);
	ASSERT_SIZE_T_EQ(sshbuf_len(c->input), 3 * PACKET - 10);
	/* One each while keys are renewed: they wait */
	c->remote_window = other->remote_window = LIMIT;
	conn.ssh->kex->done = 0;
	turn();
	ASSERT_SIZE_T_EQ(sshbuf_len(c->input), 2 * PACKET - 10);
	ASSERT_SIZE_T_EQ(sshbuf_len(other->input), 7 * PACKET);
	conn.ssh->kex->done = 1;
	/* A peer that takes packets of any size gets no more than is ahead. */
	c->remote_maxpacket = UINT32_MAX;
	put(c, 2 * CHANNEL_READ_AHEAD);
	channel_output_poll(conn.ssh);
	ASSERT_SIZE_T_EQ(sshbuf_len(c->input),
	    CHANNEL_READ_AHEAD + 2 * PACKET - 10);
	conn_close(&conn);
}

/* A turn of the main loop that only reads. */
static void
read_turn(void)
{
	struct pollfd *pfd = NULL;
	struct timespec timeout = { 0, 0 };
	u_int alloc = 0, n = 0;

	channel_prepare_poll(conn.ssh, &pfd, &alloc, &n, 0, &timeout);
	ASSERT_INT_NE(poll(pfd, n, 0), -1);
	channel_after_poll(conn.ssh, pfd, n);
	free(pfd);
}

/* How much is read at once, and how much at all */
static void
reads(void)
{
	static u_char data[2 * CHANNEL_READ_AHEAD];
	size_t had = 0, most = 0;
	Channel *c;
	FILE *f = tmpfile();
	u_int i;

	ASSERT_PTR_NE(f, NULL);
	ASSERT_SIZE_T_EQ(fwrite(data, 1, sizeof(data), f), sizeof(data));
	rewind(f);
	fixture_open(&conn, &path, 0, 0, LIMIT);
	c = start();
	c->rfd = dup(fileno(f));
	for (i = 0; i < 10; i++) {
		read_turn();
		most = MAXIMUM(most, sshbuf_len(c->input) - had);
		had = sshbuf_len(c->input);
		if (i == 0)
			ASSERT_SIZE_T_EQ(had, CHANNEL_MAX_READ);
	}
	/* 32, 64, 128 and 256 KiB: then what is ahead suffices */
	ASSERT_SIZE_T_EQ(most, CHANNEL_READ_AHEAD);
	ASSERT_SIZE_T_EQ(had, 15 * CHANNEL_MAX_READ);
	conn_close(&conn);
	fclose(f);
}

void
test_read_ahead(void)
{
	fixture_run("read-ahead: several packets in an iteration", several);
	fixture_run("read-ahead: what is read at once", reads);
	fake_reset();
}
