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
#include <netinet/in.h>
#ifdef __linux__
# include <linux/sock_diag.h>
# include <linux/tcp.h>
#endif

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "canohost.h"
#include "log.h"
#include "misc.h"
#include "tcp-path.h"
#include "tcp-buffers.h"

/* Linux 5.14 and later; the C library may be older. */
#if defined(__linux__) && !defined(SO_BUF_LOCK)
# define SO_BUF_LOCK	72
#endif

/* TCP's window field, which the window scale shifts to the left */
#define WINDOW_FIELD_MAX	65535

int
tcp_buffers_size(int window_max, uint64_t memory)
{
	uint64_t size = (uint64_t)MAXIMUM(window_max, 0) * 2;

	size = MINIMUM(size, memory / TCP_BUFFERS_PER_MEMORY);
	return MINIMUM(size, INT_MAX);
}

int
tcp_buffers_raise(int size, int kernel_max)
{
	return kernel_max > 0 && size > kernel_max ? size : 0;
}

int
tcp_buffers_usable(int size, u_int wscale)
{
	uint64_t most = ((uint64_t)WINDOW_FIELD_MAX << MINIMUM(wscale, 14)) * 2;

	return MINIMUM((uint64_t)size, most);
}

int
tcp_buffers_for_scale(int size, int kernel_max)
{
	uint64_t window = MAXIMUM(size, 0) / 2, space = 1;

	/*
	 * The scale for space is good for windows of up to the next power of
	 * two. Space is the kernel's maximum, or what Linux takes for data of
	 * the listener's buffer: half of it, since 6.6 a quarter.
	 */
	while (space * 2 < window)
		space *= 2;
	if (kernel_max <= 0 || (uint64_t)kernel_max >= space)
		return 0;
	return MINIMUM(space * 4, INT_MAX);
}

int
tcp_buffers_few(int raised, u_int connections)
{
	return connections < (raised ? TCP_BUFFERS_MANY :
	    TCP_BUFFERS_MANY / 2 + 1);
}

int
tcp_buffers_too_full(uint32_t held, int size)
{
	return held > (uint64_t)MAXIMUM(size, 0) + TCP_BUFFERS_SEGMENT;
}

#if defined(SO_RCVBUFFORCE) && defined(SO_SNDBUFFORCE) && defined(TCP_INFO)
/* Bits of SO_BUF_LOCK: a size was set, and the kernel leaves it */
#define LOCKED_SEND	1
#define LOCKED_RECEIVE	2

/*
 * A receive buffer whose size (bytes) ends in these bits has it from
 * tcp_buffers_accepted(). The process that raises it is another one, and the
 * kernel's own sizes may have changed since. (The kernel makes sizes even.)
 */
#define ACCEPTED_MASK	0xfff
#define ACCEPTED_BITS	0xbd2

/*
 * Receive buffers (bytes) of a listener: as it was, and when it is raised. 0:
 * no listener was raised.
 */
static int listener_initial, listener_raised;

/* 1 while listeners are raised */
static int are_raised;

/* Returns the maximum (bytes) of net.ipv4.`name`, 0 if unknown. */
static int
sysctl_max(const char *name)
{
	int initial, max;

	tcp_path_kernel_sizes(name, &initial, &max);
	return max;
}

/*
 * Sets a buffer to size bytes. The kernel doubles what it is passed. Returns 0,
 * or -1 after a debug message.
 */
static int
set_size(int fd, int option, int size)
{
	size /= 2;
	if (setsockopt(fd, SOL_SOCKET, option, &size, sizeof(size)) == 0)
		return 0;
	debug_f("%s: %s", option == SO_SNDBUFFORCE ? "SO_SNDBUFFORCE" :
	    option == SO_RCVBUF ? "SO_RCVBUF" : "SO_RCVBUFFORCE",
	    strerror(errno));
	return -1;
}

/*
 * Sets the receive buffer to size bytes, no more than the kernel's usual one.
 * Needs no privilege. Returns 0, or -1 after a debug message.
 */
static int
lower_receive(int fd, int size)
{
	if (set_size(fd, SO_RCVBUFFORCE, size) == 0)
		return 0;
	return set_size(fd, SO_RCVBUF, size);
}

/* Returns the size (bytes) of the receive buffer, 0 if unknown. */
static int
receive_size(int fd)
{
	int size;
	socklen_t len = sizeof(size);

	return getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, &len) == 0 ?
	    size : 0;
}

/* Returns a bit for each buffer whose size the kernel leaves alone. */
static int
locked(int fd)
{
	int bits;
	socklen_t len = sizeof(bits);

	return getsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, &bits, &len) == 0 ?
	    bits : 0;
}

/* Returns 0, or -1 with errno set: kernels before 5.14 can't do it. */
static int
set_locked(int fd, int bits)
{
	return setsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, &bits, sizeof(bits));
}

void
tcp_buffers_listen(int fd, int window_max)
{
	int size = tcp_buffers_size(window_max, window_max_machine());
	int initial = receive_size(fd);

	size = tcp_buffers_for_scale(size, sysctl_max("tcp_rmem"));
	if (initial == 0 || size == 0)
		return;
	/* The login unlocks buffers that it does not raise: can this kernel? */
	if (set_locked(fd, 0) == -1) {
		debug_f("SO_BUF_LOCK: %s", strerror(errno));
		return;
	}
	if (set_size(fd, SO_RCVBUFFORCE, size) == -1)
		return;
	/* A locked buffer would also bound the window. */
	set_locked(fd, 0);
	listener_initial = initial;
	listener_raised = size;
	are_raised = 1;
}

/* Returns the receive buffer (bytes) for new connections, with the mark. */
static int
accepted_size(void)
{
	int more = MAXIMUM(listener_initial - ACCEPTED_BITS, 0);

	return ACCEPTED_BITS | (more & ~ACCEPTED_MASK);
}

/* Returns the connections that wait for accept(), 0 if unknown. */
static u_int
waiting(int listener)
{
	struct tcp_info ti;
	socklen_t len = sizeof(ti);

	memset(&ti, 0, sizeof(ti));
	/* Of a socket that listens, the kernel puts them here. */
	return getsockopt(listener, IPPROTO_TCP, TCP_INFO, &ti, &len) == 0 ?
	    ti.tcpi_unacked : 0;
}

void
tcp_buffers_startups(const int *listeners, int n, u_int startups)
{
	int i, raise;

	if (listener_raised == 0)
		return;
	for (i = 0; i < n; i++)
		startups += waiting(listeners[i]);
	if ((raise = tcp_buffers_few(are_raised, startups)) == are_raised)
		return;
	debug_f("%s for %u connections", raise ? "raised" : "lowered",
	    startups);
	for (i = 0; i < n; i++) {
		if (raise)
			set_size(listeners[i], SO_RCVBUFFORCE, listener_raised);
		else
			lower_receive(listeners[i], listener_initial);
		set_locked(listeners[i], 0);
	}
	are_raised = raise;
}

/* Returns the memory (bytes) that received data takes, 0 if unknown. */
static uint32_t
receive_held(int fd)
{
#ifdef SO_MEMINFO
	uint32_t mem[SK_MEMINFO_VARS];
	socklen_t len = sizeof(mem);

	memset(mem, 0, sizeof(mem));
	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, mem, &len) == 0)
		return mem[SK_MEMINFO_RMEM_ALLOC];
#endif
	return 0;
}

/* Logs why a connection is refused. Returns -1. */
static int
refuse(int fd, const char *why)
{
	char *ip = get_peer_ipaddr(fd);

	verbose("drop connection from [%s]:%d: %s", ip, get_peer_port(fd), why);
	free(ip);
	return -1;
}

int
tcp_buffers_accepted(int fd)
{
	if (listener_raised == 0)
		return 0;
	/*
	 * The buffer stays locked. Unlocked, the kernel could grow it in one
	 * step, as it takes the window to be as large as the listener's.
	 */
	if (lower_receive(fd, accepted_size()) == -1)
		return refuse(fd, "its TCP buffer can't be lowered");
	/* From now on it takes no more, but it keeps what it has. */
	if (tcp_buffers_too_full(receive_held(fd), listener_initial))
		return refuse(fd, "it sent too much before the banner");
	return 0;
}

/* Returns the new size (bytes) of the send buffer, 0 if it is not raised. */
static int
raise_send(int fd, int size)
{
	if ((locked(fd) & LOCKED_SEND) != 0 || (size = tcp_buffers_raise(size,
	    sysctl_max("tcp_wmem"))) == 0)
		return 0;
	tcp_path_bound_unsent(fd, TCP_PATH_UNSENT_MAX);
	return set_size(fd, SO_SNDBUFFORCE, size) == 0 ? size : 0;
}

/*
 * Returns the new size (bytes) of the receive buffer, 0 if it is not raised. In
 * that case, undoes the lock by tcp_buffers_accepted().
 */
static int
raise_receive(int fd, int size, u_int wscale)
{
	int bits = locked(fd), window;

	/* The administrator may have locked it, by inetd or systemd. */
	if ((bits & LOCKED_RECEIVE) != 0 &&
	    (receive_size(fd) & ACCEPTED_MASK) != ACCEPTED_BITS)
		return 0;
	if ((size = tcp_buffers_raise(tcp_buffers_usable(size, wscale),
	    sysctl_max("tcp_rmem"))) == 0 ||
	    set_size(fd, SO_RCVBUFFORCE, size) == -1) {
		if ((bits & LOCKED_RECEIVE) != 0)
			set_locked(fd, bits & ~LOCKED_RECEIVE);
		return 0;
	}
	/* The window has a limit of its own. Set it to half of the buffer. */
	window = size / 2;
	if (setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &window,
	    sizeof(window)) == -1)
		debug_f("TCP_WINDOW_CLAMP: %s", strerror(errno));
	return size;
}

void
tcp_buffers_login(int fd, int window_max)
{
	int size = tcp_buffers_size(window_max, window_max_machine());
	int send, receive;
	struct tcp_info ti;
	socklen_t len = sizeof(ti);

	memset(&ti, 0, sizeof(ti));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &ti, &len) == -1)
		return;
	receive = raise_receive(fd, size, ti.tcpi_rcv_wscale);
	send = raise_send(fd, size);
	debug("TCP buffers: send %d, receive %d bytes (0: the kernel's)", send,
	    receive);
}
#else
void
tcp_buffers_listen(int fd, int window_max)
{
}

void
tcp_buffers_startups(const int *listeners, int n, u_int startups)
{
}

int
tcp_buffers_accepted(int fd)
{
	return 0;
}

void
tcp_buffers_login(int fd, int window_max)
{
}
#endif
