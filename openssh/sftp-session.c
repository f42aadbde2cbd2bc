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


#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "openbsd-compat/sys-queue.h"

#include "extra-limit.h"
#include "extra-session.h"
#include "log.h"
#include "misc.h"
#include "sftp-session.h"
#include "sshbuf.h"
#include "xmalloc.h"

#ifndef MSG_NOSIGNAL
# define MSG_NOSIGNAL 0
#endif

/* Bytes of a report, with its length and its type */
#define REPORT_LEN	(8 + EXTRA_SESSION_NUMBERS * 8)

struct sftp_sessions {
	int	 sock;
	int	 fdin;			/* of the first session */
	int	 asked;			/* 1: a report is to come */
	u_char	 answer[REPORT_LEN];
	size_t	 len;			/* bytes of it that have come */
	LIST_ENTRY(sftp_sessions) entry;
};

static LIST_HEAD(, sftp_sessions) all = LIST_HEAD_INITIALIZER(all);
static u_int max_sessions = 1;
static const char *decided_by = EXTRA_SESSION_ASKED;

/* The pair for the ssh that is started next: ours, and its own */
static int pair[2] = { -1, -1 };

void
sftp_session_limit(u_int max, const char *by)
{
	max_sessions = MINIMUM(max, EXTRA_LIMIT_MAX);
	decided_by = by;
}

u_int
sftp_session_max(void)
{
	return max_sessions;
}

static void
close_pair(void)
{
	if (pair[0] != -1)
		close(pair[0]);
	if (pair[1] != -1)
		close(pair[1]);
	pair[0] = pair[1] = -1;
}

void
sftp_session_prepare(void)
{
	close_pair();
	if (max_sessions < 2)
		return;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == -1) {
		debug_f("socketpair: %s", strerror(errno));
		pair[0] = pair[1] = -1;
		return;
	}
	/* Other programs that are started meanwhile don't get it. */
	if (fcntl(pair[0], F_SETFD, FD_CLOEXEC) == -1 ||
	    fcntl(pair[1], F_SETFD, FD_CLOEXEC) == -1 ||
	    fcntl(pair[0], F_SETFL, O_NONBLOCK) == -1) {
		debug_f("fcntl: %s", strerror(errno));
		close_pair();
	}
}

void
sftp_session_child(void)
{
	struct stat st;
	char value[64];

	/* One that this process inherited is not for the child. */
	unsetenv(EXTRA_SESSION_ENV);
	if (pair[1] == -1 || fstat(pair[1], &st) == -1 ||
	    fcntl(pair[1], F_SETFD, 0) == -1)
		return;
	snprintf(value, sizeof(value), "%d:%llu%s", pair[1],
	    (unsigned long long)st.st_ino, decided_by);
	setenv(EXTRA_SESSION_ENV, value, 1);
}

void
sftp_session_started(int fdin)
{
	struct sftp_sessions *s;

	/* One of an ssh that has ended: the descriptor is another one now. */
	if ((s = sftp_session_of(fdin)) != NULL)
		sftp_session_end(s);
	if (pair[0] != -1) {
		s = xcalloc(1, sizeof(*s));
		s->sock = pair[0];
		s->fdin = fdin;
		LIST_INSERT_HEAD(&all, s, entry);
		pair[0] = -1;
	}
	close_pair();
}

struct sftp_sessions *
sftp_session_of(int fdin)
{
	struct sftp_sessions *s;

	LIST_FOREACH(s, &all, entry) {
		if (s->fdin == fdin)
			return s;
	}
	return NULL;
}

int
sftp_session_is_closed(const struct sftp_sessions *s)
{
	char byte;
	ssize_t len = recv(s->sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return len == 0 || (len == -1 && errno == ECONNRESET);
}

/* Sends a message of the type `type`. Returns 0 or -1. */
static int
send_message(struct sftp_sessions *s, u_int type)
{
	u_char m[8];

	POKE_U32(m, 4);
	POKE_U32(m + 4, type);
	return send(s->sock, m, sizeof(m), MSG_NOSIGNAL) == sizeof(m) ? 0 : -1;
}

/*
 * Sends a byte with the descriptor `fd`, twice. Returns 0 or -1. If ssh has
 * ended, mm_send_fd() would end scp by SIGPIPE.
 */
static int
send_fds(struct sftp_sessions *s, int fd)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(2 * sizeof(int))];
	} control;
	struct cmsghdr *cmsg;
	struct msghdr msg;
	struct iovec iov;
	char byte = 0;
	int fds[2] = { fd, fd };

	memset(&msg, 0, sizeof(msg));
	memset(&control, 0, sizeof(control));
	iov.iov_base = &byte;
	iov.iov_len = 1;
	msg.msg_iov = &iov;
	msg.msg_iovlen = 1;
	msg.msg_control = &control.buf;
	msg.msg_controllen = sizeof(control.buf);
	cmsg = CMSG_FIRSTHDR(&msg);
	cmsg->cmsg_len = CMSG_LEN(sizeof(fds));
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	memcpy(CMSG_DATA(cmsg), fds, sizeof(fds));
	return sendmsg(s->sock, &msg, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

int
sftp_session_open(struct sftp_sessions *s, int *fdin, int *fdout)
{
	int sv[2], r;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == -1) {
		debug_f("socketpair: %s", strerror(errno));
		return -1;
	}
	(void)fcntl(sv[0], F_SETFD, FD_CLOEXEC);
	(void)fcntl(sv[1], F_SETFD, FD_CLOEXEC);
	if ((r = send_message(s, EXTRA_SESSION_OPEN)) == 0)
		r = send_fds(s, sv[1]);
	close(sv[1]);
	if (r == 0 && (*fdout = fcntl(sv[0], F_DUPFD_CLOEXEC, 0)) != -1) {
		*fdin = sv[0];
		return 0;
	}
	debug_f("%s", strerror(errno));
	close(sv[0]);
	return -1;
}

int
sftp_session_report(struct sftp_sessions *s,
    struct sftp_session_report *report)
{
	const u_char *p = s->answer;
	ssize_t len;
	int came = 0;

	if (s->asked) {
		len = recv(s->sock, s->answer + s->len, REPORT_LEN - s->len,
		    MSG_DONTWAIT);
		if (len == 0 || (len == -1 && errno == ECONNRESET))
			return -1;
		if (len > 0)
			s->len += len;
		if (s->len < REPORT_LEN)
			return 0;
		s->asked = 0;
		came = PEEK_U32(p) == REPORT_LEN - 4 &&
		    PEEK_U32(p + 4) == EXTRA_SESSION_REPORT;
	}
	if (came) {
		report->held_us = PEEK_U64(p + 8);
		report->rtt_us = PEEK_U64(p + 16);
		report->sessions = PEEK_U64(p + 24);
	}
	s->len = 0;
	s->asked = send_message(s, EXTRA_SESSION_REPORT) == 0;
	return came;
}

void
sftp_session_end(struct sftp_sessions *s)
{
	if (s == NULL)
		return;
	(void)send_message(s, EXTRA_SESSION_END);
	LIST_REMOVE(s, entry);
	close(s->sock);
	free(s);
}
