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

#ifndef CHANNEL_PIPE_H
#define CHANNEL_PIPE_H

/*
 * Enlarges the pipes that bulk channels read from and write to, once they have
 * carried 1 MiB: fewer turns of the main loop, and fewer times that one process
 * wakes the other or waits for its lock.
 */

struct Channel;
struct channel_window;

/* Enlarges the pipe to the channel's consumer, if that lags. */
void	 channel_pipe_output(const struct Channel *c,
	    struct channel_window *w);

/*
 * Enlarges the pipe from the channel's source, if all data goes that way. A
 * source that answers, as sftp-server does, writes more than it finds in the
 * cache again: scp got 10 % slower.
 */
void	 channel_pipe_input(const struct Channel *c, struct channel_window *w);

#endif /* CHANNEL_PIPE_H */
