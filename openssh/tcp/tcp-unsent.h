/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef TCP_UNSENT_H
#define TCP_UNSENT_H

/* What a TCP socket holds that the kernel has not sent even once. */

/*
 * Data that waits unsent in the kernel can't be overtaken. This much (bytes)
 * leaves fast links no idle moment between two turns of the main loop.
 */
#define TCP_UNSENT_MAX	(128 * 1024)

/*
 * Keeps the kernel from taking data while more than that waits (tcp(7),
 * TCP_NOTSENT_LOWAT), if it can. Logs an error at debug.
 */
void	 tcp_unsent_bound(int fd);

/* Returns the bytes that the kernel has not sent even once, -1 if unknown. */
int	 tcp_unsent(int fd);

#endif /* TCP_UNSENT_H */
