/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef TCP_LIMIT_H
#define TCP_LIMIT_H

#include <stddef.h>
#include <stdint.h>

/* Which TCP buffer limited what a connection sent, and what to do about it. */

/* A buffer that limited this part (%) of the time is worth raising. */
#define TCP_LIMIT_PERCENT	10

/* What Linux counts of a connection, in us (tcp(7), TCP_INFO) */
struct tcp_limit {
	uint64_t busy_us;	/* there was something to send */
	uint64_t rwnd_us;	/* of that: the receiver had no room */
	uint64_t sndbuf_us;	/* of that: our send buffer had none */
};

/*
 * Asks the kernel about the TCP connection behind fd. Returns 0, or -1 if it
 * does not tell.
 */
int	 tcp_limit_get(int fd, struct tcp_limit *limit);

/*
 * Writes into buf, of len bytes, which part of the time each of the two buffers
 * limited the connection to `host`, and which sysctl to raise on which host.
 * Returns 1, or 0 if nothing was sent. Pure.
 */
int	 tcp_limit_text(const struct tcp_limit *limit, const char *host,
	    char *buf, size_t len);

#endif /* TCP_LIMIT_H */
