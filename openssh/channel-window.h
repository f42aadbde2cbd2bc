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

#ifndef CHANNEL_WINDOW_H
#define CHANNEL_WINDOW_H

/*
 * Ties a Channel to its window controller, the path probe and the budget of
 * the connection. Included by channels.c only.
 */

#include "chanbudget.h"

struct channel_window;

/*
 * Bytes read ahead of the network for one channel. A few turns of the main
 * loop's worth, and small enough to stay in the cache between read and send.
 */
#define CHANNEL_READ_AHEAD	(256 * 1024)

/*
 * Credit (bytes) to send to the peer of an open channel now, 0 for none.
 * The budget is made on first use.
 */
u_int	 channel_window_credit(struct ssh *, Channel *, struct chanbudget **);

/* Says at verbosity 1 how the channel fared, and frees what hangs off it. */
void	 channel_window_free(struct ssh *, Channel *, struct chanbudget *);

#endif /* CHANNEL_WINDOW_H */
