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


/* The socket on which scp and sftp ask for sessions; the test is their ssh. */

#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "extra-limit.h"
#include "extra-session.h"
#include "sftp-session.h"
#include "sshbuf.h"

#define FIRST	12345	/* a descriptor that stands for a first session's */

void test_sftp_session(void);

/* Starts an "ssh". Returns its end of the socket. */
static int
start_ssh(void)
{
	struct stat st;
	unsigned long long inode;
	int fd, mine;

	sftp_session_prepare();
	sftp_session_child();
	ASSERT_PTR_NE(getenv(EXTRA_SESSION_ENV), NULL);
	ASSERT_INT_EQ(sscanf(getenv(EXTRA_SESSION_ENV), "%d:%llu", &fd,
	    &inode), 2);
	ASSERT_INT_EQ(fstat(fd, &st), 0);
	ASSERT_INT_EQ(st.st_ino == inode, 1);
	mine = dup(fd);
	sftp_session_started(FIRST);
	ASSERT_INT_EQ(fstat(fd, &st), -1);	/* the child's end is closed */
	return mine;
}

/* Reads a message. Returns its type, or -1 at the end. */
static int
message(int sock)
{
	u_char m[8];
	ssize_t n = recv(sock, m, sizeof(m), MSG_DONTWAIT);

	if (n <= 0)
		return -1;
	ASSERT_INT_EQ(n, sizeof(m));
	ASSERT_U32_EQ(PEEK_U32(m), 4);
	return PEEK_U32(m + 4);
}

/* Receives two descriptors. */
static void
receive_fds(int sock, int fds[2])
{
	char control[CMSG_SPACE(2 * sizeof(int))], byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
	    .msg_control = control, .msg_controllen = sizeof(control) };

	ASSERT_INT_EQ(recvmsg(sock, &msg, MSG_DONTWAIT), 1);
	ASSERT_PTR_NE(CMSG_FIRSTHDR(&msg), NULL);
	ASSERT_INT_EQ(CMSG_FIRSTHDR(&msg)->cmsg_len, CMSG_LEN(2 * sizeof(int)));
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&msg)), 2 * sizeof(int));
}

static void
opens(void)
{
	char c;
	int ssh, fds[2], in, out;

	ssh = start_ssh();
	ASSERT_PTR_EQ(sftp_session_of(FIRST + 1), NULL);
	ASSERT_PTR_NE(sftp_session_of(FIRST), NULL);
	ASSERT_INT_EQ(sftp_session_open(sftp_session_of(FIRST), &in, &out), 0);
	ASSERT_INT_NE(in, out);
	ASSERT_INT_EQ(message(ssh), EXTRA_SESSION_OPEN);
	receive_fds(ssh, fds);
	ASSERT_INT_EQ(write(out, "a", 1), 1);
	ASSERT_INT_EQ(read(fds[0], &c, 1), 1);
	ASSERT_INT_EQ(write(fds[1], "b", 1), 1);
	ASSERT_INT_EQ(read(in, &c, 1), 1);
	ASSERT_INT_EQ(c, 'b');
	/* Refused: ssh closes both, and nobody else has them. */
	close(fds[0]);
	close(fds[1]);
	ASSERT_INT_EQ(read(in, &c, 1), 0);
	close(in);
	close(out);
	sftp_session_end(sftp_session_of(FIRST));
	ASSERT_PTR_EQ(sftp_session_of(FIRST), NULL);
	ASSERT_INT_EQ(message(ssh), EXTRA_SESSION_END);
	ASSERT_INT_EQ(message(ssh), -1);
	close(ssh);
}

static void
answer(int sock, u_int type)
{
	u_char m[8 + EXTRA_SESSION_NUMBERS * 8];
	size_t i;

	POKE_U32(m, sizeof(m) - 4);
	POKE_U32(m + 4, type);
	POKE_U64(m + 8, 1000000000001ULL);
	POKE_U64(m + 16, 200000);
	POKE_U64(m + 24, 3);
	/* It may come in pieces. */
	for (i = 0; i < sizeof(m); i++)
		ASSERT_INT_EQ(write(sock, m + i, 1), 1);
}

static void
reports(void)
{
	struct sftp_session_report r;
	struct sftp_sessions *s;
	int ssh;

	ssh = start_ssh();
	s = sftp_session_of(FIRST);
	memset(&r, 0, sizeof(r));
	ASSERT_INT_EQ(sftp_session_report(s, &r), 0);
	ASSERT_INT_EQ(sftp_session_report(s, &r), 0);
	ASSERT_INT_EQ(message(ssh), EXTRA_SESSION_REPORT);
	ASSERT_INT_EQ(message(ssh), -1);	/* one at a time */
	answer(ssh, EXTRA_SESSION_REPORT);
	ASSERT_INT_EQ(sftp_session_report(s, &r), 1);
	ASSERT_U64_EQ(r.held_us, 1000000000001ULL);
	ASSERT_U64_EQ(r.rtt_us, 200000);
	ASSERT_U64_EQ(r.sessions, 3);
	ASSERT_INT_EQ(message(ssh), EXTRA_SESSION_REPORT);
	/* What is no report is none. */
	answer(ssh, EXTRA_SESSION_OPEN);
	ASSERT_INT_EQ(sftp_session_report(s, &r), 0);
	/* ssh has gone. */
	ASSERT_INT_EQ(sftp_session_is_closed(s), 0);
	close(ssh);
	ASSERT_INT_EQ(sftp_session_is_closed(s), 1);
	ASSERT_INT_EQ(sftp_session_report(s, &r), -1);
	ASSERT_INT_EQ(sftp_session_report(s, &r), -1);
	sftp_session_end(s);
}

/* The next ssh's first session may have the descriptor of the last one's. */
static void
the_next_ssh(void)
{
	int ssh[2];

	ssh[0] = start_ssh();
	ssh[1] = start_ssh();
	ASSERT_INT_EQ(message(ssh[0]), EXTRA_SESSION_END);
	ASSERT_INT_EQ(message(ssh[0]), -1);
	sftp_session_end(sftp_session_of(FIRST));
	ASSERT_INT_EQ(message(ssh[1]), EXTRA_SESSION_END);
	ASSERT_PTR_EQ(sftp_session_of(FIRST), NULL);
	close(ssh[0]);
	close(ssh[1]);
}

/* With one session there is no socket, nor one that was inherited. */
/* Returns the lowest number of a descriptor that is free. */
static int
lowest(void)
{
	int fd = dup(0);

	ASSERT_INT_NE(fd, -1);
	close(fd);
	return fd;
}

/* Sockets of an ssh that was not started, and of one that was, are closed. */
static void
descriptors(void)
{
	struct stat st;
	int before = lowest(), mine, other[2];

	sftp_session_prepare();
	sftp_session_prepare();
	ASSERT_INT_EQ(lowest(), before + 2);
	sftp_session_started(FIRST);
	ASSERT_INT_EQ(lowest(), before + 1);
	/* The next descriptor has the number of what was closed. */
	ASSERT_INT_EQ(pipe(other), 0);
	ASSERT_INT_EQ(other[0], before + 1);
	sftp_session_prepare();
	ASSERT_INT_EQ(fstat(other[0], &st), 0);
	ASSERT_INT_NE(S_ISFIFO(st.st_mode), 0);
	ASSERT_INT_EQ(fstat(other[1], &st), 0);
	ASSERT_INT_NE(S_ISFIFO(st.st_mode), 0);
	mine = lowest();
	sftp_session_end(sftp_session_of(FIRST));
	ASSERT_INT_EQ(lowest(), before);
	ASSERT_INT_GT(mine, before);
	close(other[0]);
	close(other[1]);
	/* What was prepared last is closed once there may be one session. */
	sftp_session_limit(1, EXTRA_SESSION_OPTION);
	sftp_session_prepare();
	ASSERT_INT_EQ(lowest(), before);
	ASSERT_INT_EQ(fstat(mine - 1, &st), -1);
}

static void
no_socket(void)
{
	sftp_session_limit(1, EXTRA_SESSION_OPTION);
	setenv(EXTRA_SESSION_ENV, "5:1", 1);
	sftp_session_prepare();
	sftp_session_child();
	ASSERT_PTR_EQ(getenv(EXTRA_SESSION_ENV), NULL);
	sftp_session_started(FIRST);
	ASSERT_PTR_EQ(sftp_session_of(FIRST), NULL);
	sftp_session_end(NULL);
}

/* ssh learns who decides on sessions. */
static void
who_decides(void)
{
	static const char *const by[] = { EXTRA_SESSION_ASKED,
	    EXTRA_SESSION_AUTO, EXTRA_SESSION_OPTION };
	const char *value;
	size_t i;
	int ssh;

	for (i = 0; i < sizeof(by) / sizeof(by[0]); i++) {
		sftp_session_limit(EXTRA_LIMIT_MAX, by[i]);
		ssh = start_ssh();
		value = strchr(getenv(EXTRA_SESSION_ENV), ':') + 1;
		ASSERT_STRING_EQ(value + strspn(value, "0123456789"), by[i]);
		sftp_session_end(sftp_session_of(FIRST));
		close(ssh);
	}
}

static u_int
limit(enum extra_limit_by by, int option, int is_ours, int is_openssh,
    uint64_t rtt_us)
{
	struct extra_limit_facts f = { by, option, is_ours, is_openssh,
	    rtt_us };

	return extra_limit(&f);
}

static void
limits(void)
{
	const enum extra_limit_by asked = EXTRA_LIMIT_ASKED,
	    automatic = EXTRA_LIMIT_AUTO, option = EXTRA_LIMIT_OPTION;
	const uint64_t far = EXTRA_LIMIT_RTT_US, near = far - 1;
	const u_int most = EXTRA_LIMIT_MAX;

	/* Of itself: far away, and OpenSSH */
	ASSERT_U_INT_EQ(limit(option, 0, 0, 1, far), most);
	ASSERT_U_INT_EQ(limit(option, 0, 0, 1, near), 1);
	ASSERT_U_INT_EQ(limit(option, 0, 0, 1, 0), 1);
	ASSERT_U_INT_EQ(limit(option, 0, 0, 0, far), 1);
	ASSERT_U_INT_EQ(limit(option, 0, 1, 1, far), 1);
	/* As the user's configuration says */
	ASSERT_U_INT_EQ(limit(option, 1, 0, 1, far), 1);
	ASSERT_U_INT_EQ(limit(option, 4, 0, 0, near), 4);
	ASSERT_U_INT_EQ(limit(option, 10, 0, 1, 0), most);
	ASSERT_U_INT_EQ(limit(option, 10, 1, 1, far), 1);
	/* As the user has typed */
	ASSERT_U_INT_EQ(limit(asked, 1, 0, 0, 0), most);
	ASSERT_U_INT_EQ(limit(asked, 0, 0, 1, near), most);
	ASSERT_U_INT_EQ(limit(asked, 0, 1, 1, far), 1);
	ASSERT_U_INT_EQ(limit(automatic, 1, 0, 1, far), most);
	ASSERT_U_INT_EQ(limit(automatic, 8, 0, 1, near), 1);
	ASSERT_U_INT_EQ(limit(automatic, 8, 0, 0, far), 1);
}

void
test_sftp_session(void)
{
	TEST_START("sftp session: opens and is refused");
	sftp_session_limit(EXTRA_LIMIT_MAX, EXTRA_SESSION_ASKED);
	opens();
	TEST_DONE();
	TEST_START("sftp session: who decides");
	who_decides();
	TEST_DONE();
	TEST_START("sftp session: whether there may be more");
	limits();
	TEST_DONE();
	TEST_START("sftp session: reports");
	reports();
	TEST_DONE();
	TEST_START("sftp session: the next ssh");
	the_next_ssh();
	TEST_DONE();
	TEST_START("sftp session: its descriptors");
	descriptors();
	TEST_DONE();
	TEST_START("sftp session: no socket");
	no_socket();
	unsetenv(EXTRA_SESSION_ENV);
	TEST_DONE();
}
