/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/* Which errors of standard input and output end a session as a failure. */

#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <paths.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "openbsd-compat/sys-queue.h"

#include "../test_helper/test_helper.h"

#include "packet.h"
#include "channels.h"
#include "conn.h"
#include "session-end.h"
#include "sshbuf.h"

void test_session_end(void);

/* What is left when a session ends is written, or lost if a signal came. */
static void
what_is_left(void)
{
	static const char *const left[] = { "stdout", "stderr" };
	volatile sig_atomic_t stop;
	struct conn conn;
	Channel *c;
	char got[7] = "";
	int fds[2];
	u_int i;

	TEST_START("session: what is left is written at its end");
	conn_open(&conn, 0, 0, 0);
	c = conn_channel(&conn, "session");
	c->flags |= CHAN_EOF_RCVD;
	c->extended_usage = CHAN_EXTENDED_WRITE;
	ASSERT_INT_EQ(pipe(fds), 0);
	c->wfd = c->efd = fds[1];
	for (i = 0; i < 2; i++) {
		ASSERT_INT_EQ(sshbuf_put(i == 0 ? c->output : c->extended,
		    left[i], 6), 0);
		stop = 1;
		ASSERT_INT_EQ(session_output_lost(conn.ssh, c, &stop), 1);
		stop = 0;
		ASSERT_INT_EQ(session_output_lost(conn.ssh, c, &stop), 0);
		ASSERT_INT_EQ(read(fds[0], got, sizeof(got)), 6);
		ASSERT_STRING_EQ(got, left[i]);
	}
	TEST_DONE();
	c->wfd = c->efd = -1;
	conn_close(&conn);
	close(fds[0]);
	close(fds[1]);
}

void
test_session_end(void)
{
	int sock[2], device, net, master, tty;

	what_is_left();
	ASSERT_INT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	ASSERT_INT_NE(net = socket(AF_INET, SOCK_STREAM, 0), -1);
	ASSERT_INT_NE(device = open(_PATH_DEVNULL, O_RDWR), -1);
	ASSERT_INT_NE(master = posix_openpt(O_RDWR | O_NOCTTY), -1);
	ASSERT_INT_EQ(grantpt(master) | unlockpt(master), 0);
	ASSERT_INT_NE(tty = open(ptsname(master), O_RDWR | O_NOCTTY), -1);

	TEST_START("session: EIO fails it, EPIPE and a terminal do not");
	ASSERT_INT_EQ(session_read_errno(sock[0], EPIPE), 0);
	ASSERT_INT_EQ(session_read_errno(sock[0], EBADF), 0);
	ASSERT_INT_EQ(session_read_errno(sock[0], EISDIR), 0);
	ASSERT_INT_EQ(session_read_errno(sock[0], EINVAL), 0);
	ASSERT_INT_EQ(session_read_errno(sock[0], ENOTCONN), 0);
	ASSERT_INT_EQ(session_read_errno(sock[0], ECONNRESET), 0);
	ASSERT_INT_EQ(session_read_errno(net, ECONNRESET), ECONNRESET);
	ASSERT_INT_EQ(session_read_errno(sock[0], EIO), EIO);
	ASSERT_INT_EQ(session_read_errno(device, EIO), EIO);
	ASSERT_INT_EQ(session_read_errno(tty, EIO), 0);
	ASSERT_INT_EQ(session_read_errno(tty, ENOMEM), ENOMEM);
	TEST_DONE();

	TEST_START("session: ENOSPC fails it, EPIPE does not");
	ASSERT_INT_EQ(session_write_errno(sock[0], EPIPE), 0);
	ASSERT_INT_EQ(session_write_errno(sock[0], ECONNRESET), 0);
	ASSERT_INT_EQ(session_write_errno(sock[0], EBADF), 0);
	ASSERT_INT_EQ(session_write_errno(sock[0], EIO), EIO);
	ASSERT_INT_EQ(session_write_errno(device, EIO), EIO);
	ASSERT_INT_EQ(session_write_errno(tty, EIO), 0);
	ASSERT_INT_EQ(session_write_errno(tty, ENOSPC), ENOSPC);
	TEST_DONE();

	TEST_START("session: a terminal that has gone does not fail it");
	close(master);
	ASSERT_INT_EQ(session_read_errno(tty, EIO), 0);
	ASSERT_INT_EQ(session_write_errno(tty, EIO), 0);
	TEST_DONE();

	close(sock[0]);
	close(sock[1]);
	close(device);
	close(net);
	close(tty);
}
