/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SFTP_CONNECTIONS_H
#define SFTP_CONNECTIONS_H

#include <sys/types.h>

/*
 * Lanes that are connections of their own: each is another ssh, or another
 * server of `-D`, run as the first one was. Their logins ask nothing. One that
 * fails, or takes 20 s, leaves its connection out.
 */

/* The most connections of a copy, with the first */
#define SFTP_CONNECTIONS_MAX	8

/*
 * Says how the first connection is made, now: by running `program` with argv,
 * which ends with NULL. Both are copied. More connections are made from then
 * on, if `-X connections=` asks for them.
 */
void	 sftp_connections_first(const char *program, char *const argv[]);

/* Says that the program is an sftp server, not ssh, which takes options. */
void	 sftp_connections_direct(void);

/*
 * Takes an option of -X. Returns 1 if it is about connections, or one of an
 * earlier version that is ignored, else 0. A value that is wrong is fatal.
 */
int	 sftp_connections_option(const char *option);

#endif /* SFTP_CONNECTIONS_H */
