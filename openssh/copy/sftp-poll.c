/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "log.h"
#include "progressmeter.h"
#include "sftp-poll.h"

static int
ready(int fd, short events)
{
	struct pollfd pfd = { .fd = fd, .events = events };

	return poll(&pfd, 1, 0) == 1;
}

int
sftp_poll_reply(int fd)
{
	return ready(fd, POLLIN);
}

int
sftp_poll_send(int fd)
{
	return ready(fd, POLLOUT);
}

int
sftp_poll_either(int in, int out)
{
	struct pollfd pfd[2] = {
		{ .fd = in, .events = POLLIN },
		{ .fd = out, .events = POLLOUT }
	};

	while (poll(pfd, 2, -1) == -1) {
		if (errno != EINTR)
			fatal_f("poll: %s", strerror(errno));
		refresh_progress_meter(0);
	}
	return pfd[0].revents != 0;
}
