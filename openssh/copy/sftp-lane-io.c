/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "misc.h"
#include "sshbuf.h"
#include "ssherr.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-lanes.h"

/* Bytes that are read at once */
#define READ_MAX	(256 * 1024)

#ifndef MSG_NOSIGNAL
# define MSG_NOSIGNAL	0
#endif

/* Returns n, or 0 for an error that passes, or -1. */
static ssize_t
result(ssize_t n)
{
	if (n == -1 && (errno == EAGAIN || errno == EWOULDBLOCK ||
	    errno == EINTR))
		return 0;
	return n;
}

ssize_t
sftp_lane_read(struct sftp_lane *lane)
{
	static u_char buf[READ_MAX];
	ssize_t n;
	int r;

	if ((n = read(lane->fd_in, buf, sizeof(buf))) == 0)
		return -1;
	if ((n = result(n)) > 0 && (r = sshbuf_put(lane->in, buf, n)) != 0)
		fatal_fr(r, "sshbuf_put");
	return n;
}

int
sftp_lane_message(struct sftp_lane *lane, struct sshbuf *msg)
{
	const u_char *p = sshbuf_ptr(lane->in);
	size_t len;
	int r;

	if (sshbuf_len(lane->in) < 4)
		return 0;
	if ((len = PEEK_U32(p)) > SFTP_MAX_MSG_LENGTH)
		return -1;
	if (sshbuf_len(lane->in) < 4 + len)
		return 0;
	sshbuf_consume(msg, sshbuf_len(msg));
	if ((r = sshbuf_put(msg, p + 4, len)) != 0 ||
	    (r = sshbuf_consume(lane->in, 4 + len)) != 0)
		fatal_fr(r, "message");
	return 1;
}

void
sftp_lane_queue(struct sftp_lane *lane, const struct sshbuf *msg)
{
	int r;

	if ((r = sshbuf_put_stringb(lane->out, msg)) != 0)
		fatal_fr(r, "sshbuf_put_stringb");
}

ssize_t
sftp_lane_write(struct sftp_lane *lane)
{
	const u_char *p = sshbuf_ptr(lane->out);
	size_t len = sshbuf_len(lane->out);
	ssize_t n;
	int r;

	if (len == 0)
		return 0;
	/* SIGPIPE ends a program, and one of many lanes is no reason to. */
	n = send(lane->fd_out, p, len, MSG_NOSIGNAL);
	if (n == -1 && errno == ENOTSOCK)
		n = write(lane->fd_out, p, len);
	n = result(n);
	if (n > 0 && (r = sshbuf_consume(lane->out, n)) != 0)
		fatal_fr(r, "sshbuf_consume");
	return n;
}
