/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef TCP_UNSENT_H
#define TCP_UNSENT_H

/* Data of a TCP socket that the kernel has never sent. */

/*
 * Unsent data in the kernel cannot be overtaken. This much (bytes) keeps a fast
 * link busy between two loop iterations.
 */
#define TCP_UNSENT_MAX	(128 * 1024)

/*
 * Makes the kernel accept no data while more than that is unsent (tcp(7),
 * TCP_NOTSENT_LOWAT), where it can. Logs an error at debug.
 */
void	 tcp_unsent_bound(int fd);

/* Returns the number of bytes that the kernel has never sent, -1 if unknown. */
int	 tcp_unsent(int fd);

#endif /* TCP_UNSENT_H */
