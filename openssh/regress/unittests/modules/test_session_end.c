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
