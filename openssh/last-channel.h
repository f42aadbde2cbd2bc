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

#ifndef LAST_CHANNEL_H
#define LAST_CHANNEL_H

#include <sys/types.h>

struct Channel;
struct ssh;

/*
 * Requests for "the channel that I have just opened", which a client sends
 * right behind the opening of a session, before the server has told the
 * channel's number (PROTOCOL.channels). The server announces that it takes
 * them.
 */

/* The recipient of such a request; no channel has this number. */
#define LAST_CHANNEL_ID		0xffffffffU

/* In the server */

/*
 * Notes how the client's latest opening of a channel of type ctype ended: in
 * channel c, or in none (NULL).
 */
void	 last_channel_opened(const struct Channel *c, const char *ctype);

/*
 * Returns the number of the session that the client's latest opening has made,
 * or LAST_CHANNEL_ID if it has made none, or if the session has gone.
 */
u_int	 last_channel_id(struct ssh *ssh);

/* In the client */

/* Returns 1 if the server takes such requests (ext-info.h), else 0. */
int	 last_channel_may(const struct ssh *ssh);

/* Lets requests for a channel whose opening was sent go to the last one. */
void	 last_channel_begin(struct Channel *c);

/* Ends that: the channel waits for its number again. */
void	 last_channel_end(struct Channel *c);

#endif /* LAST_CHANNEL_H */
