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

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "openbsd-compat/openbsd-compat.h"
#include "quick-pair.h"
#include "sshbuf.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL	0
#endif

static int here = -1;		/* this process's end */
static int there = -1;		/* that of the ssh to start */
static int learned = -1;	/* what scp has told this ssh */
static int watched;		/* 1: scp has asked for QUICK_PAIR_HELD */
static int said_wide;		/* 1: this ssh has said QUICK_PAIR_WIDE */

/* The longest message */
#define MESSAGE_MAX	17

/* What ssh has told this scp */
static struct {
	struct quick_pair_told told;
	int	 may_send;
	int	 wide;
	uint64_t held_us, rtt_us;
	u_char	 part[MESSAGE_MAX];	/* a message that is not yet whole */
	size_t	 len;
} heard;

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
	memset(&heard, 0, sizeof(heard));
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == -1)
		return;
	here = sv[0];
	there = sv[1];
	(void)fcntl(here, F_SETFD, FD_CLOEXEC);
}

void
quick_pair_child(void)
{
	char text[64];
	struct stat st;

	if (there == -1 || fstat(there, &st) == -1)
		return;
	snprintf(text, sizeof(text), "%d.%llu", there,
	    (unsigned long long)st.st_ino);
	setenv(QUICK_PAIR_ENV, text, 1);
}

void
quick_pair_parent(void)
{
	end(&there);
}

/*
 * Says a message. Returns 0, or -1 if the other end has gone, or does not
 * listen. Most callers ignore that.
 */
static int
say_all(const u_char *message, size_t len)
{
	return here != -1 && send(here, message, len,
	    MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len ? 0 : -1;
}

static int
say(u_char byte)
{
	return say_all(&byte, 1);
}

/* Returns the next byte, or -1 if there is none or the other end has gone. */
static int
hear(void)
{
	char byte;

	return here != -1 && recv(here, &byte, 1, MSG_DONTWAIT) == 1 ?
	    byte : -1;
}

/* Returns the length of a message that begins with that byte. */
static size_t
message_len(u_char byte)
{
	return byte == QUICK_PAIR_OWN ? 3 :
	    byte == QUICK_PAIR_HELD ? MESSAGE_MAX : 1;
}

/* Takes a whole message of ssh's. */
static void
take_message(const u_char *m)
{
	switch (m[0]) {
	case QUICK_PAIR_HERE:
		heard.told.here = 1;
		break;
	case QUICK_PAIR_SEND:
		heard.may_send = 1;
		break;
	case QUICK_PAIR_OWN:
		heard.told.own = 1;
		heard.told.connections = m[1];
		heard.told.socket = m[2];
		break;
	case QUICK_PAIR_ASKS:
		heard.told.asks = 1;
		break;
	case QUICK_PAIR_AGAIN:
		heard.told.again = 1;
		break;
	case QUICK_PAIR_WIDE:
	case QUICK_PAIR_NARROW:
		heard.wide = m[0] == QUICK_PAIR_WIDE;
		break;
	case QUICK_PAIR_HELD:
		heard.held_us = PEEK_U64(m + 1);
		heard.rtt_us = PEEK_U64(m + 9);
		break;
	}
}

/* Takes what ssh has said. Returns 0 if it has ended, else 1. */
static int
take_all(void)
{
	u_char buf[1024];
	ssize_t n, i;

	while (here != -1) {
		n = recv(here, buf, sizeof(buf), MSG_DONTWAIT);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return n != 0;
		for (i = 0; i < n; i++) {
			heard.part[heard.len++] = buf[i];
			if (heard.len < message_len(heard.part[0]))
				continue;
			take_message(heard.part);
			heard.len = 0;
		}
	}
	return 0;
}

static void (*on_own)(void);

void
quick_pair_on_own(void (*own)(void))
{
	on_own = own;
}

int
quick_pair_wait(int in)
{
	int owned = 0;
	struct pollfd pfd[2] = {
		{ .fd = here, .events = POLLIN },
		{ .fd = in, .events = POLLIN }
	};

	if (here == -1)
		return 0;
	do {
		while (poll(pfd, 2, -1) == -1) {
			if (errno != EINTR)
				return 0;
		}
		if (pfd[1].revents != 0 || !take_all())
			return 0;
		if (heard.told.own && on_own != NULL && !owned++)
			on_own();
	} while (!heard.may_send);
	return 1;
}

void
quick_pair_sent(void)
{
	(void)say(QUICK_PAIR_SENT);
}

void
quick_pair_tell(int takes)
{
	(void)say(takes ? QUICK_PAIR_TAKES : QUICK_PAIR_NOT);
}

void
quick_pair_told(struct quick_pair_told *told)
{
	(void)take_all();
	*told = heard.told;
}

void
quick_pair_watch(void)
{
	(void)say(QUICK_PAIR_WATCH);
}

void
quick_pair_held(uint64_t *held_us, uint64_t *rtt_us)
{
	(void)take_all();
	*held_us = heard.held_us;
	*rtt_us = heard.rtt_us;
}

int
quick_pair_is_wide(void)
{
	(void)take_all();
	return heard.wide;
}

void
quick_pair_close(void)
{
	end(&here);
}

/*
 * Returns 1 if a descriptor is a socket of the kind that scp makes, with that
 * inode, else 0.
 */
static int
is_pair(int fd, unsigned long long ino)
{
	struct sockaddr_storage name;
	struct stat st;
	socklen_t len = sizeof(name);
	int type;
	socklen_t type_len = sizeof(type);

	memset(&name, 0, sizeof(name));
	return fstat(fd, &st) == 0 && st.st_ino == ino &&
	    getsockname(fd, (struct sockaddr *)&name, &len) == 0 &&
	    name.ss_family == AF_UNIX &&
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) == 0 &&
	    type == SOCK_STREAM;
}

int
quick_pair_take(void)
{
	const char *text = getenv(QUICK_PAIR_ENV);
	const int lowest = STDERR_FILENO + 1;
	unsigned long long ino;
	int fd, len = 0, ok;

	if (text == NULL)
		return lowest;
	ok = sscanf(text, "%5d.%20llu%n", &fd, &ino, &len) == 2 &&
	    text[len] == '\0' && fd >= lowest;
	/* Not for what ssh starts, such as another ssh */
	unsetenv(QUICK_PAIR_ENV);
	if (!ok || !is_pair(fd, ino) ||
	    (fd != lowest && dup2(fd, lowest) == -1))
		return lowest;
	here = lowest;
	(void)fcntl(here, F_SETFD, FD_CLOEXEC);
	(void)say(QUICK_PAIR_HERE);
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
		else if (byte == QUICK_PAIR_WATCH)
			watched = 1;
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
	(void)say(QUICK_PAIR_SEND);
	(void)poll(&pfd, 1, QUICK_PAIR_MS);
	return listen_to();
}

int
quick_pair_learned(void)
{
	(void)listen_to();
	return learned;
}

void
quick_pair_own(int connections, int socket)
{
	u_char m[3] = { QUICK_PAIR_OWN, connections, socket };

	(void)say_all(m, sizeof(m));
}

void
quick_pair_say_asks(void)
{
	(void)say(QUICK_PAIR_ASKS);
}

void
quick_pair_say_again(void)
{
	(void)say(QUICK_PAIR_AGAIN);
}

int
quick_pair_is_watched(void)
{
	if (!watched)
		(void)listen_to();
	return watched;
}

void
quick_pair_say_held(uint64_t held_us, uint64_t rtt_us, int wide)
{
	u_char m[MESSAGE_MAX] = { QUICK_PAIR_HELD };

	if (wide != said_wide &&
	    say(wide ? QUICK_PAIR_WIDE : QUICK_PAIR_NARROW) == 0)
		said_wide = wide;
	POKE_U64(m + 1, held_us);
	POKE_U64(m + 9, rtt_us);
	(void)say_all(m, sizeof(m));
}
