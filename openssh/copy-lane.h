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

#ifndef COPY_LANE_H
#define COPY_LANE_H

/*
 * A further connection of scp or sftp (sftp-connections.c) is an ssh with this
 * variable in its environment, as is the ssh that connects it to a ProxyJump.
 * Their logins bother nobody, whatever ssh's configuration says.
 */
#define COPY_LANE_ENV		"SSH_COPY_LANE"

/* In ssh: returns 1 if it is such a connection, else 0. */
int	 copy_lane_is_one(void);

/*
 * In ssh, before the login: if it is such a connection, removes the algorithms
 * whose keys want to be touched from the list, sets *batch_mode to 1, and has
 * SIGALRM end the process after COPY_LANE_LOGIN_S. A copy that ends meanwhile
 * does not wait for it (sftp-lanes.c).
 */
void	 copy_lane_login(char **pubkey_algorithms, int *batch_mode);

/* The time (s) that a login of such a connection may take */
#define COPY_LANE_LOGIN_S	20

/* Cancels that limit: the user has logged in. */
void	 copy_lane_logged_in(void);

#endif /* COPY_LANE_H */
