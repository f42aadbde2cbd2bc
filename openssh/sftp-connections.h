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

#ifndef SFTP_CONNECTIONS_H
#define SFTP_CONNECTIONS_H

#include <sys/types.h>

/*
 * Lanes that are connections of their own: each is another ssh, or another
 * server of `-D`, run as the first one was. Their logins never ask anything,
 * end after a few seconds if they don't succeed, and are spaced
 * (sftp-spacing.h).
 */

/*
 * Says how the first connection is made, now: by running `program` with argv,
 * which ends with NULL. Both are copied. More connections are made from then
 * on, if `-X connections=` or CopyConnections asks for them.
 */
void	 sftp_connections_first(const char *program, char *const argv[]);

/*
 * Says how many times more sftp_connections_first() will be called at most:
 * lanes leave a place for each.
 */
void	 sftp_connections_follow(u_int n);

/* Says that the program is an sftp server, not ssh, which takes options. */
void	 sftp_connections_direct(void);

/*
 * Returns 1 unless -X connections= asks for several. How many there are is not
 * known before ssh has read its configuration and connected.
 */
int	 sftp_connections_is_one(void);

/*
 * The server has introduced itself, and ssh has said what it knows: decides how
 * many connections there may be, or that there may be more sessions of one.
 */
void	 sftp_connections_ready(void);

/*
 * Takes an option of -X. Returns 1 if it is about connections, or sessions of
 * one connection, else 0. A value that is wrong is fatal.
 */
int	 sftp_connections_option(const char *option);

#endif /* SFTP_CONNECTIONS_H */
