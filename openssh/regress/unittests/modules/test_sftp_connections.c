/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/* -X connections=, and what earlier versions took */

#include "includes.h"

#include <sys/types.h>
#include <sys/wait.h>

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "packet.h"
#include "channels.h"
#include "log.h"
#include "sshbuf.h"
#include "sftp-connections.h"
#include "sftp-lanes.h"
#include "tcp-path.h"
#include "conn.h"
#include "fixture.h"

void test_sftp_connections(void);

/* Returns how many connections a copy is to have, with the first. */
static u_int
connections(void)
{
	char *const argv[] = { "ssh", NULL };
	static char conn;
	struct sshbuf *hello = sshbuf_new();
	u_int i, n = 1;

	ASSERT_PTR_NE(hello, NULL);
	/* Further ones are a program that ends at once. */
	signal(SIGPIPE, SIG_IGN);
	sftp_connections_first("/bin/true", argv);
	sftp_lanes_first((struct sftp_conn *)&conn, 0, 1, hello);
	(void)sftp_lanes_tick();
	for (i = 1; i < SFTP_LANES; i++)
		n += sftp_lane(i)->state != SFTP_LANE_CLOSED;
	for (i = 1; i < SFTP_LANES; i++) {
		if (sftp_lane(i)->state == SFTP_LANE_OPENING)
			sftp_lane_lose(sftp_lane(i), "for a test");
	}
	sftp_lanes_close();
	signal(SIGPIPE, SIG_DFL);
	sshbuf_free(hello);
	return n;
}

static void
numbers(void)
{
	TEST_START("connections: one, or the number of -X");
	ASSERT_U_INT_EQ(connections(), 1);
	ASSERT_INT_EQ(sftp_connections_option("connections=8"), 1);
	ASSERT_U_INT_EQ(connections(), 8);
	ASSERT_INT_EQ(sftp_connections_option("connections=3"), 1);
	ASSERT_U_INT_EQ(connections(), 3);
	TEST_DONE();
}

static void
ignored(void)
{
	static const char *const options[] = { "connections=auto",
	    "connections=AUTO", "sessions=auto", "sessions=3", "sessions=",
	    "pace=5", "pace=x" };
	struct heard heard;
	char line[64];
	size_t i;

	TEST_START("connections: options of earlier versions are ignored");
	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		test_subtest_info("%s", options[i]);
		fixture_listen(&heard, "ignored");
		ASSERT_INT_EQ(sftp_connections_option(options[i]), 1);
		/* It is said once the log is there. */
		ASSERT_U_INT_EQ(connections(), 3);
		fixture_listen_ends();
		snprintf(line, sizeof(line), "-X %s is ignored\n", options[i]);
		ASSERT_STRING_EQ(heard.lines, line);
		ASSERT_INT_EQ(heard.level, SYSLOG_LEVEL_DEBUG1);
	}
	TEST_DONE();

	TEST_START("connections: other options are left to the caller");
	ASSERT_INT_EQ(sftp_connections_option("files=3"), 0);
	ASSERT_INT_EQ(sftp_connections_option("connections"), 0);
	ASSERT_INT_EQ(sftp_connections_option("sessions"), 0);
	ASSERT_INT_EQ(sftp_connections_option("pace"), 0);
	ASSERT_INT_EQ(sftp_connections_option("nconnections=3"), 0);
	ASSERT_INT_EQ(sftp_connections_option(""), 0);
	TEST_DONE();
}

/* What a process that is given an option ends with */
static int
status(const char *option)
{
	int ret;
	pid_t pid;

	if ((pid = fork()) == 0) {
		log_init("test", SYSLOG_LEVEL_QUIET, SYSLOG_FACILITY_AUTH, 1);
		_exit(sftp_connections_option(option));
	}
	ASSERT_INT_EQ(waitpid(pid, &ret, 0), pid);
	return WIFEXITED(ret) ? WEXITSTATUS(ret) : -1;
}

static void
wrong(void)
{
	static const char *const values[] = { "", "0", "9", "-1", "x", "2x",
	    "autox" };
	char option[32];
	size_t i;

	TEST_START("connections: a wrong number is fatal");
	ASSERT_INT_EQ(status("connections=2"), 1);
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		test_subtest_info("%s", values[i]);
		snprintf(option, sizeof(option), "connections=%s", values[i]);
		ASSERT_INT_EQ(status(option), 255);
	}
	TEST_DONE();
}

void
test_sftp_connections(void)
{
	numbers();
	ignored();
	wrong();
	sftp_lanes_max(1);
}
