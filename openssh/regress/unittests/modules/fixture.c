/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "sshbuf.h"
#include "packet.h"
#include "channels.h"
#include "log.h"
#include "misc.h"
#include "tcp-path.h"
#include "conn.h"
#include "fake.h"
#include "fixture.h"

void
fixture_open(struct conn *conn, struct path_info *path, int server,
    u_int flags, uint32_t limit)
{
	fake_reset();
	memset(path, 0, sizeof(*path));
	path->rtt_us = path->min_rtt_us = 100 * MS;
	fake.path = path;
	fake.now_us = 1000000 * MS;
	conn_open(conn, server, flags, limit);
}

void
fixture_run(const char *name, void (*test)(void))
{
	TEST_START(name);
	test();
	TEST_DONE();
}

void
fixture_run_both(const char *name, void (*test)(int))
{
	TEST_START(name);
	test(0);
	test(1);
	TEST_DONE();
}

void
fixture_tcp(int *here, int *there)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ASSERT_INT_EQ(bind(listener, (struct sockaddr *)&sin, len), 0);
	ASSERT_INT_EQ(listen(listener, 1), 0);
	ASSERT_INT_EQ(getsockname(listener, (struct sockaddr *)&sin, &len), 0);
	*here = socket(AF_INET, SOCK_STREAM, 0);
	ASSERT_INT_EQ(connect(*here, (struct sockaddr *)&sin, len), 0);
	*there = accept(listener, NULL, NULL);
	ASSERT_INT_NE(*there, -1);
	close(listener);
}

int
fixture_is_emulated(int fd)
{
#ifdef TCP_INFO
	u_char info[256];
	socklen_t len = sizeof(info);

	ASSERT_INT_EQ(getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &len), 0);
	return len == sizeof(int);
#else
	return 0;
#endif
}

static const char *listened_for;

static void
note(LogLevel level, int forced, const char *message, void *ctx)
{
	struct heard *heard = ctx;

	if (strstr(message, listened_for) == NULL)
		return;
	heard->level = level;
	strlcat(heard->lines, message, sizeof(heard->lines));
	strlcat(heard->lines, "\n", sizeof(heard->lines));
}

void
fixture_listen(struct heard *heard, const char *what)
{
	memset(heard, 0, sizeof(*heard));
	listened_for = what;
	log_init("test_modules", SYSLOG_LEVEL_DEBUG2, SYSLOG_FACILITY_AUTH, 1);
	set_log_handler(note, heard);
}

void
fixture_listen_ends(void)
{
	set_log_handler(NULL, NULL);
	log_init("test_modules", SYSLOG_LEVEL_INFO, SYSLOG_FACILITY_AUTH, 1);
}
