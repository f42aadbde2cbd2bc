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

#include <sys/types.h>

#include <stdint.h>

/*
 * Ties the Channels of a connection to their window controllers, the path and
 * the connection's budget. channels.h includes this, for channels.c.
 */

struct Channel;
struct ssh;
struct sshbuf;
struct timespec;
struct channel_window;		/* of a channel */
struct channel_windows;		/* of a connection */

/*
 * Bytes read ahead of the network for one channel. A few turns of the main
 * loop's worth, and small enough to stay in the cache between read and send.
 */
#define CHANNEL_READ_AHEAD	(256 * 1024)

/*
 * The windows of a connection, all together at most so many bytes; 0: they
 * stay as large as they start. Never NULL.
 */
struct channel_windows *channel_windows_new(uint32_t);

/* Frees them. The channels must have gone; NULL is fine. */
void	 channel_windows_free(struct ssh *, struct channel_windows *);

/*
 * Credit (bytes) to send to the peer of an open channel now, 0 for none. The
 * connection's windows are made on first use.
 */
u_int	 channel_window_credit(struct ssh *, struct Channel *,
	    struct channel_windows **);

/*
 * Lowers the timeout of the main loop's next wait to when a channel has credit
 * to send that it withheld, at least 1 ms. Does nothing with no timeout, or if
 * no credit is withheld.
 */
void	 channel_window_wait(struct ssh *ssh, const struct Channel *c,
	    struct timespec *timeout);

/*
 * How much of len (bytes) a channel may make a packet of now: 0 while what it
 * sent last still waits, on a path so slow that others would have to wait.
 */
size_t	 channel_window_send(struct ssh *, struct Channel *,
	    struct channel_windows *, size_t);

/* Notes that a message of SSH's own was sent: the peer answers it at once. */
void	 channel_window_asked(struct Channel *c);

/*
 * Its answer has come, or whatever the peer says first: the time since bounds
 * the round trip. Nothing if nothing was asked. *wsp are the connection's
 * windows, which are made on first use.
 */
void	 channel_window_answered(struct Channel *c,
	    struct channel_windows **wsp);

/*
 * For channel_register_status_confirm(): keeps the place of a request among the
 * replies that a channel waits for, and does nothing with the reply.
 */
void	 channel_window_reply(struct ssh *ssh, int type, struct Channel *c,
	     void *ctx);

/* How much (bytes) a channel reads from its source in a turn. */
size_t	 channel_window_read_max(const struct Channel *);

/*
 * There was no memory to read that much. Returns 1 if the channel reads less
 * from now on, as stock OpenSSH does, 0 if it already did.
 */
int	 channel_window_read_less(struct Channel *c);

/*
 * Returns 1 if a channel that has just been asked to send is to be asked again
 * in this turn, else 0. `had` is the length (bytes) of its input before it was
 * asked: if that is not less now, nothing was sent, and the turn is over. The
 * next packet is a full one, and no other channel has to wait for it.
 */
int	 channel_window_more(struct ssh *ssh, const struct Channel *c,
	    const struct channel_windows *ws, size_t had);

/*
 * Looks at what an open channel's sender waits for. To be called before each
 * wait, with what came until now sent as far as it could be, and before the
 * stock code says what it wants polled: while the window is used up and the
 * source has nothing, the source is added to that.
 */
void	 channel_window_look(struct ssh *, struct Channel *,
	    struct channel_windows *);

/* Appends a line on how a channel fares, unless its window is fixed. */
void	 channel_window_status(const struct Channel *,
	    const struct channel_windows *, struct sshbuf *);

/* Says how the channel fared, and frees what hangs off it. */
void	 channel_window_free(struct ssh *, struct Channel *,
	    struct channel_windows *);

/* The same for all channels that are left, when the process is to end. */
void	 channel_windows_report(struct ssh *, struct channel_windows *);

#endif /* CHANNEL_WINDOW_H */
