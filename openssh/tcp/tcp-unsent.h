/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef TCP_UNSENT_H
#define TCP_UNSENT_H

/* Data of a TCP socket that the kernel has not sent yet. */

/*
 * Maximum of unsent data (bytes). Keystrokes cannot overtake data in the
 * kernel. This much keeps a fast link busy between two loop iterations.
 */
#define TCP_UNSENT_MAX	(128 * 1024)

/*
 * Makes the kernel accept no data while more than TCP_UNSENT_MAX is unsent
 * (tcp(7), TCP_NOTSENT_LOWAT), if it supports this. Logs errors at debug.
 */
void	 tcp_unsent_bound(int fd);

/* Returns the number of bytes not yet sent for the first time, -1: unknown. */
int	 tcp_unsent(int fd);

#endif /* TCP_UNSENT_H */
