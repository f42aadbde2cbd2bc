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


/* When sessions are added: what ssh is asked, and what its answers lead to. */

#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "extra-limit.h"
#include "extra-session.h"
#include "sshbuf.h"
#include "sftp-bottleneck.h"
#include "sftp-conn.h"
#include "sftp-connections.h"
#include "sftp-inflight.h"
#include "sftp-lanes.h"
#include "sftp-lane-sessions.h"
#include "sftp-session.h"
#include "fake.h"

#define FIRST	12345	/* a descriptor that stands for the first session's */
#define STEP_S	0.1	/* between two questions of a copy */
#define RTT_US	200000

void test_sftp_lane_sessions(void);

static char conn, other;	/* connections of first sessions */
static struct sftp_inflight inflight;
static int ssh = -1;		/* ssh's end of the socket */
static double now_s;
static uint64_t held_us;	/* what ssh answers */
static u_int nones;		/* calls of on_none() */

struct sftp_inflight *
sftp_conn_inflight(struct sftp_conn *c)
{
	ASSERT_PTR_EQ((void *)c, &conn);
	return &inflight;
}

int
sftp_connections_is_one(void)
{
	return 1;
}

static void
on_none(void)
{
	nones++;
}

/* Starts an ssh that opens as many as are asked for. */
static void
begin(void)
{
	int fd;

	sftp_lane_sessions_prepare();
	sftp_session_child();
	ASSERT_PTR_NE(getenv(EXTRA_SESSION_ENV), NULL);
	ASSERT_INT_EQ(sscanf(getenv(EXTRA_SESSION_ENV), "%d", &fd), 1);
	ssh = dup(fd);
	sftp_session_started(FIRST);
	sftp_lane(0)->fd_in = FIRST;
	sftp_lane(0)->conn = (struct sftp_conn *)&conn;
	sftp_lane_sessions_on_none(&on_none);
	nones = 0;
}

static void
leave(void)
{
	struct sftp_lane_source none = { .open = NULL };

	sftp_lane_sessions_end();
	sftp_lane_sessions_on_none(NULL);
	sftp_lane(0)->conn = NULL;
	sftp_lanes_source(&none);
	sftp_lanes_max(1);
	if (ssh != -1)
		close(ssh);
	ssh = -1;
}

/* Returns the type of the next message to ssh, or -1 if there is none. */
static int
heard(void)
{
	u_char m[8];

	if (recv(ssh, m, sizeof(m), MSG_DONTWAIT) != sizeof(m))
		return -1;
	return PEEK_U32(m + 4);
}

/* ssh answers. */
static void
answer(void)
{
	u_char m[8 + EXTRA_SESSION_NUMBERS * 8];

	POKE_U32(m, sizeof(m) - 4);
	POKE_U32(m + 4, EXTRA_SESSION_REPORT);
	POKE_U64(m + 8, held_us);
	POKE_U64(m + 16, RTT_US);
	POKE_U64(m + 24, 1);
	ASSERT_INT_EQ(write(ssh, m, sizeof(m)), sizeof(m));
}

/* A copy that the window holds up all the time. Returns what it is to add. */
static u_int
copy(u_int steps)
{
	u_int n = 0;

	while (steps-- > 0 && n == 0) {
		now_s += STEP_S;
		held_us += STEP_S * 1000000;
		fake.now_us += STEP_S * 1000000;
		sftp_bottleneck_bytes(1024 * 1024);
		n = sftp_lane_sessions_want(now_s);
		if (n == 0 && heard() == EXTRA_SESSION_REPORT)
			answer();
	}
	return n;
}

static void
test_due(void)
{
	u_int n, i;

	TEST_START("sessions: none are wanted without an ssh that opens them");
	sftp_lane(0)->fd_in = FIRST;
	sftp_lane(0)->conn = (struct sftp_conn *)&other;
	ASSERT_INT_EQ(sftp_lane_sessions_are_there(), 0);
	ASSERT_INT_EQ(sftp_lane_sessions_want(now_s = 100), 0);
	ASSERT_INT_EQ(sftp_lane_sessions_use(), 0);
	sftp_lane(0)->conn = NULL;
	TEST_DONE();

	TEST_START("sessions: what is due stays until it is used");
	begin();
	ASSERT_INT_EQ(sftp_lane_sessions_are_there(), 1);
	ASSERT_INT_EQ(sftp_lane_sessions_use(), 1);
	n = copy(100);
	ASSERT_U_INT_GT(n, 0);
	ASSERT_INT_EQ(heard(), EXTRA_SESSION_REPORT);
	for (i = 0; i < 20; i++)
		ASSERT_U_INT_EQ(sftp_lane_sessions_want(now_s += 0.5), n);
	ASSERT_INT_EQ(heard(), -1);
	TEST_DONE();

	TEST_START("sessions: what was due before a pause doesn't count");
	now_s += 1.1;
	ASSERT_U_INT_EQ(sftp_lane_sessions_want(now_s), 0);
	answer();
	ASSERT_U_INT_EQ(copy(2), 0);
	ASSERT_U_INT_EQ(copy(100), n);
	TEST_DONE();

	leave();
}

static void
test_questions(void)
{
	TEST_START("sessions: ssh is asked 20 times a second at most");
	begin();
	ASSERT_U_INT_EQ(sftp_lane_sessions_want(now_s += 10), 0);
	ASSERT_INT_EQ(heard(), EXTRA_SESSION_REPORT);
	answer();
	ASSERT_U_INT_EQ(sftp_lane_sessions_want(now_s += 0.04), 0);
	ASSERT_INT_EQ(heard(), -1);
	/* The answer is taken, and the next question is asked. */
	ASSERT_U_INT_EQ(sftp_lane_sessions_want(now_s += 0.02), 0);
	ASSERT_U_INT_EQ(sftp_lane_sessions_want(now_s += 0.06), 0);
	ASSERT_INT_EQ(heard(), EXTRA_SESSION_REPORT);
	TEST_DONE();

	TEST_START("sessions: an ssh that has gone ends it, and tells");
	close(ssh);
	ssh = -1;
	ASSERT_U_INT_EQ(nones, 0);
	ASSERT_U_INT_EQ(copy(3), 0);
	ASSERT_INT_EQ(sftp_lane_sessions_are_there(), 0);
	ASSERT_U_INT_EQ(nones, 1);
	ASSERT_U_INT_EQ(copy(3), 0);
	ASSERT_U_INT_EQ(nones, 1);
	TEST_DONE();
	leave();
}

void
test_sftp_lane_sessions(void)
{
	fake_reset();
	sftp_bottleneck_begin();
	(void)sftp_bottleneck_now(SFTP_WAITS);
	test_due();
	test_questions();
	sftp_bottleneck_end();
	fake_reset();
}
