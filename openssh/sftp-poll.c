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
