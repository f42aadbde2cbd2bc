/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef TCP_CONGESTION_H
#define TCP_CONGESTION_H

#include <stddef.h>

/*
 * The option TCPCongestion: a comma-separated list of congestion controls in
 * order of preference. By default, connections keep the system's.
 */

/* Maximum bytes of a name in the kernel, with its NUL (TCP_CA_NAME_MAX) */
#define TCP_CONGESTION_NAME_MAX	16

#define TCP_CONGESTION_DEFAULT	"default"

/* Returns NULL, or a message if the list is wrong. */
const char *tcp_congestion_check(const char *list);

/*
 * Copies the first name of a list into `name`, a buffer of `size` bytes.
 * Returns the rest of the list, or NULL after the last name.
 */
const char *tcp_congestion_next(const char *list, char *name, size_t size);

/*
 * Sets the congestion control of the connected socket `fd` to the first of the
 * list that the kernel allows (tcp(7), TCP_CONGESTION), and logs its name. If
 * the kernel allows none, logs this and leaves the connection unchanged.
 * Ignores sockets other than TCP silently.
 */
void	 tcp_congestion_set(int fd, const char *list);

#endif /* TCP_CONGESTION_H */
