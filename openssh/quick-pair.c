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

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "openbsd-compat/openbsd-compat.h"
#include "quick-pair.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL	0
#endif

static int here = -1;		/* this process's end */
static int there = -1;		/* that of the ssh to start */
static int learned = -1;	/* what scp has told this ssh */

/* Closes a descriptor, once. */
static void
end(int *fd)
{
	if (*fd != -1)
		close(*fd);
	*fd = -1;
}

void
quick_pair_open(void)
{
	int sv[2];

	end(&here);
	end(&there);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == -1)
		return;
	here = sv[0];
	there = sv[1];
	(void)fcntl(here, F_SETFD, FD_CLOEXEC);
}

void
quick_pair_child(void)
{
	char text[16];

	if (there == -1)
		return;
	snprintf(text, sizeof(text), "%d", there);
	setenv(QUICK_PAIR_ENV, text, 1);
}

void
quick_pair_parent(void)
{
	end(&there);
}

/* Says a byte. The other end may have gone. */
static void
say(char byte)
{
	if (here != -1)
		(void)send(here, &byte, 1, MSG_NOSIGNAL);
}

/* Returns the next byte, or -1 if there is none or the other end has gone. */
static int
hear(void)
{
	char byte;

	return here != -1 && recv(here, &byte, 1, MSG_DONTWAIT) == 1 ?
	    byte : -1;
}

int
quick_pair_wait(int in)
{
	struct pollfd pfd[2] = {
		{ .fd = here, .events = POLLIN },
		{ .fd = in, .events = POLLIN }
	};

	if (here == -1)
		return 0;
	while (poll(pfd, 2, -1) == -1) {
		if (errno != EINTR)
			return 0;
	}
	return pfd[1].revents == 0 && hear() == QUICK_PAIR_SEND;
}

void
quick_pair_sent(void)
{
	say(QUICK_PAIR_SENT);
}

void
quick_pair_tell(int takes)
{
	say(takes ? QUICK_PAIR_TAKES : QUICK_PAIR_NOT);
	end(&here);
}

/* Returns 1 if a descriptor is a socket of the kind that scp makes, else 0. */
static int
is_pair(int fd)
{
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);
	int type;
	socklen_t type_len = sizeof(type);

	memset(&name, 0, sizeof(name));
	return getsockname(fd, (struct sockaddr *)&name, &len) == 0 &&
	    name.ss_family == AF_UNIX &&
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) == 0 &&
	    type == SOCK_STREAM;
}

int
quick_pair_take(void)
{
	const char *text = getenv(QUICK_PAIR_ENV), *errstr;
	const int lowest = STDERR_FILENO + 1;
	int fd;

	if (text == NULL)
		return lowest;
	fd = strtonum(text, lowest, 65536, &errstr);
	/* Not for what ssh starts, such as another ssh */
	unsetenv(QUICK_PAIR_ENV);
	if (errstr != NULL || !is_pair(fd) ||
	    (fd != lowest && dup2(fd, lowest) == -1))
		return lowest;
	here = lowest;
	(void)fcntl(here, F_SETFD, FD_CLOEXEC);
	return lowest + 1;
}

/* Takes what scp has said. Returns 1 if requests are in the input, else 0. */
static int
listen_to(void)
{
	int byte, sent = 0;

	while ((byte = hear()) != -1) {
		if (byte == QUICK_PAIR_SENT)
			sent = 1;
		else if (byte == QUICK_PAIR_TAKES || byte == QUICK_PAIR_NOT)
			learned = byte == QUICK_PAIR_TAKES;
	}
	return sent;
}

int
quick_pair_is_there(void)
{
	return here != -1;
}

int
quick_pair_offer(void)
{
	struct pollfd pfd = { .fd = here, .events = POLLIN };

	if (here == -1)
		return 0;
	say(QUICK_PAIR_SEND);
	(void)poll(&pfd, 1, QUICK_PAIR_MS);
	return listen_to();
}

int
quick_pair_learned(void)
{
	(void)listen_to();
	return learned;
}
