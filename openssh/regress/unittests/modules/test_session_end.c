/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/* Which errors of standard input and output end a session as a failure. */

#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <paths.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "openbsd-compat/sys-queue.h"

#include "../test_helper/test_helper.h"

#include "packet.h"
#include "channels.h"
#include "session-end.h"

void test_session_end(void);

void
test_session_end(void)
{
	int sock[2], device, net;

	ASSERT_INT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	ASSERT_INT_NE(net = socket(AF_INET, SOCK_STREAM, 0), -1);
	ASSERT_INT_NE(device = open(_PATH_DEVNULL, O_RDWR), -1);

	TEST_START("session: errors of reading");
	ASSERT_INT_EQ(session_read_errno(sock[0], EPIPE), 0);
	ASSERT_INT_EQ(session_read_errno(sock[0], EBADF), 0);
	ASSERT_INT_EQ(session_read_errno(sock[0], EISDIR), 0);
	ASSERT_INT_EQ(session_read_errno(sock[0], EINVAL), 0);
	ASSERT_INT_EQ(session_read_errno(sock[0], ENOTCONN), 0);
	ASSERT_INT_EQ(session_read_errno(sock[0], ECONNRESET), 0);
	ASSERT_INT_EQ(session_read_errno(net, ECONNRESET), ECONNRESET);
	ASSERT_INT_EQ(session_read_errno(sock[0], EIO), EIO);
	ASSERT_INT_EQ(session_read_errno(device, EIO), 0);
	ASSERT_INT_EQ(session_read_errno(device, ENOMEM), ENOMEM);
	TEST_DONE();

	TEST_START("session: errors of writing");
	ASSERT_INT_EQ(session_write_errno(sock[0], EPIPE), 0);
	ASSERT_INT_EQ(session_write_errno(sock[0], ECONNRESET), 0);
	ASSERT_INT_EQ(session_write_errno(sock[0], EBADF), 0);
	ASSERT_INT_EQ(session_write_errno(sock[0], EIO), EIO);
	ASSERT_INT_EQ(session_write_errno(device, EIO), 0);
	ASSERT_INT_EQ(session_write_errno(device, ENOSPC), ENOSPC);
	TEST_DONE();

	close(sock[0]);
	close(sock[1]);
	close(device);
	close(net);
}
