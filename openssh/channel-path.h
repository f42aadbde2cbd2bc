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

#ifndef CHANNEL_PATH_H
#define CHANNEL_PATH_H

#include <sys/types.h>

#include <stdint.h>

/*
 * What a connection knows of its path: asks the socket and, where that does not
 * tell of the whole path, the peer.
 */

struct Channel;
struct channel_path;
struct channel_windows;
struct ssh;

/* Prepares a connection whose first bulk channel has just opened. */
void	 channel_path_start(struct ssh *ssh, struct channel_windows *ws);

/*
 * Brings what is known of the path up to date, at time now_us, and sends the
 * peer a probe on channel c if one is due. received is the number of bytes that
 * have come on the channel.
 */
void	 channel_path_probe(struct ssh *ssh, struct Channel *c,
	    struct channel_windows *ws, uint64_t received, uint64_t now_us);

/*
 * Returns 1 if segments came out of order in most of the last round trips; else
 * 0, also if the socket does not tell.
 */
int	 channel_path_is_lossy(const struct channel_path *p);

/* Notes that a message of SSH's own was sent: the peer answers it at once. */
void	 channel_path_asked(struct Channel *c);

/*
 * Notes that the answer to it has come, or whatever the peer says first: the
 * time since bounds the round trip. Does nothing if nothing was asked. *wsp are
 * the connection's windows, which are made if they are NULL.
 */
void	 channel_path_answered(struct Channel *c,
	    struct channel_windows **wsp);

/*
 * For channel_register_status_confirm(): keeps the place of a request among the
 * replies that a channel waits for, and does nothing with the reply.
 */
void	 channel_path_reply(struct ssh *ssh, int type, struct Channel *c,
	    void *ctx);

#endif /* CHANNEL_PATH_H */
