/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef TCP_LIMIT_H
#define TCP_LIMIT_H

#include <stddef.h>
#include <stdint.h>

/* Finds the TCP buffer that limited a sender, and the sysctl to raise. */

/* A buffer is worth raising if it limited TCP for this part (%) of the time. */
#define TCP_LIMIT_PERCENT	10

/* Linux's times of a connection, in us (tcp(7), TCP_INFO) */
struct tcp_limit {
	uint64_t busy_us;	/* TCP had data to send */
	uint64_t rwnd_us;	/* of busy_us: limited by receive window */
	uint64_t sndbuf_us;	/* of busy_us: limited by send buffer */
};

/*
 * Reads the times of the TCP connection of `fd`. Returns 0, or -1 if the kernel
 * does not report them.
 */
int	 tcp_limit_get(int fd, struct tcp_limit *limit);

/*
 * Writes a message into `buf`, which has `len` bytes: how long each of the two
 * buffers limited the connection to `host`, and which sysctl to raise on which
 * host. Returns 1, or 0 if nothing was sent. Pure.
 */
int	 tcp_limit_text(const struct tcp_limit *limit, const char *host,
	    char *buf, size_t len);

#endif /* TCP_LIMIT_H */
