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

#ifndef CHANNEL_SENDER_H
#define CHANNEL_SENDER_H

#include <sys/types.h>

/*
 * How much a channel reads from its source and sends in a turn of the main
 * loop, so that a keystroke can overtake bulk data; and what the sender waits
 * for.
 */

struct Channel;
struct channel_window;
struct channel_windows;
struct ssh;

/*
 * Bytes read ahead of the network for one channel. A few turns of the main
 * loop's worth, and small enough to stay in the cache between read and send.
 */
#define CHANNEL_READ_AHEAD	(256 * 1024)

/*
 * Adapts to what the socket sends: how much data may wait in the kernel, and
 * whether segments are filled. To be called for a bulk channel once a turn.
 */
void	 channel_sender_turn(struct ssh *ssh, const struct Channel *c,
	    struct channel_windows *ws);

/*
 * Returns how much of `len` bytes a channel may make a packet of now, of bulk
 * data at most CHANNEL_READ_AHEAD. 0 while what it sent last still waits, on a
 * path so slow that other channels would have to wait for it. Counts them as
 * sent.
 */
size_t	 channel_sender_limit(struct ssh *ssh, struct Channel *c,
	    struct channel_windows *ws, size_t len);

/* Returns the bytes that a channel reads from its source in a turn. */
size_t	 channel_sender_read_max(const struct Channel *c);

/*
 * Notes that there was no memory to read that many. Returns 1 if the channel
 * reads less from now on, as stock OpenSSH does, 0 if it already did.
 */
int	 channel_sender_read_less(struct Channel *c);

/*
 * Returns 1 if a channel that has just been asked to send is to be asked again
 * in this turn, else 0. `had` is the length (bytes) of its input before it was
 * asked: if that is not less now, nothing was sent, and the turn is over. The
 * next packet is a full one, and no other channel has to wait for it.
 */
int	 channel_sender_more(struct ssh *ssh, const struct Channel *c,
	    const struct channel_windows *ws, size_t had);

/*
 * Returns 1 if the connection is to be written to in this turn, although
 * poll(2) does not call it writable: the last third of a full TCP send buffer
 * would never be used. Returns 0 if 4 KiB or more wait in the kernel unsent; if
 * data was unsent at the last look at the socket, or that look is a round trip
 * old; or if less than 4 KiB wait to be written. To be called once in such a
 * turn, as it counts the calls between which nothing was written. ws may be
 * NULL.
 *
 * Also notes whether the peer has acknowledged more since the last such call:
 * see channel_window_quiet().
 */
int	 channel_sender_early(struct ssh *ssh, struct channel_windows *ws);

/*
 * Notes what an open channel's sender waits for. To be called before each wait
 * of the main loop, when all that could be sent has been, and before the stock
 * code says what it wants polled: if the peer's window is used up and the
 * source has nothing, this adds the source to c->io_want.
 */
void	 channel_sender_look(struct ssh *ssh, struct Channel *c,
	    struct channel_windows *ws);

/* Forgets a channel that is about to be freed. */
void	 channel_sender_forget(struct ssh *ssh, const struct channel_window *w,
	    struct channel_windows *ws);

/*
 * Returns the total time (us), until now_us, that the peer's window held up
 * what channel c sends. 0 if the channel's window doesn't follow the path.
 */
uint64_t channel_sender_held_us(const struct Channel *c, uint64_t now_us);

#endif /* CHANNEL_SENDER_H */
