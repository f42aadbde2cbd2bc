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

#ifndef SOCKDIAG_H
#define SOCKDIAG_H

/* TCP connections of this network namespace, by NETLINK_SOCK_DIAG. */

struct sockdiag {
	uint64_t cookie;	/* who it is, for as long as the kernel runs */
	uint32_t inode;		/* what /proc/PID/fd calls it, 0 closed */
	sa_family_t family;
	struct inet_diag_sockid id;
	uint32_t sndbuf, queued;	/* bytes, of the send buffer */
	uint32_t rcvbuf;	/* bytes */
	struct tcp_info info;	/* 0 where the kernel is older than a field */
};

/* A socket to ask with, or -1 with errno. */
int	 sockdiag_open(void);

/*
 * Calls a function with each connection that has the port at one of its ends,
 * 0 for any. Returns 0, or -1 with errno.
 */
int	 sockdiag_each(int, int, void (*)(const struct sockdiag *, void *),
	    void *);

#endif /* SOCKDIAG_H */
