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

#ifndef QUICK_PING_H
#define QUICK_PING_H

#include <sys/types.h>

struct ssh;

/*
 * sshd before 10.1 leaves TCP_NODELAY off until a command runs. So the login's
 * answer waits until the answer to the request for the service has been
 * acknowledged: a round trip, and the client's delay of ACKs. A whole segment
 * waits for nothing. So ssh sends a ping (upstream's PROTOCOL) behind the
 * signature, and the pong fills the segment that begins with the login's
 * answer. sshd answers pings after the login only.
 */

/* Bytes of a segment: without a socket that tells; the most that is sent */
#define QUICK_PING_SEGMENT	1448
#define QUICK_PING_MAX		8960

/*
 * Returns the bytes of data that a ping to a server should have, or 0 if none
 * should be sent. The server has this banner, kex->flags and ssh->compat.
 * segment is the bytes that TCP sends in one.
 */
size_t	 quick_ping_bytes(const char *banner, u_int kex_flags, u_int compat,
	    int segment);

/*
 * Sends a ping behind a signature if the server takes it and would keep its
 * answer back.
 */
void	 quick_ping_send(struct ssh *ssh);

/* Returns the round trips that this has saved. */
int	 quick_ping_saved(void);

#endif /* QUICK_PING_H */
