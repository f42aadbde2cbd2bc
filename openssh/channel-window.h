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
 * Makes and frees the windows of a connection's channels, and computes their
 * credit. channels.h includes this header, which declares or includes every
 * function of ours that channels.c calls.
 */

#include "channel-path.h"
#include "channel-report.h"
#include "channel-sender.h"

struct Channel;
struct ssh;
struct timespec;
struct channel_window;		/* of a channel */
struct channel_windows;		/* of a connection */

/*
 * Allocates a connection's windows and returns them, never NULL. Together they
 * have at most `limit` bytes. With a limit of 0, each keeps its initial size.
 */
struct channel_windows *channel_windows_new(uint32_t limit);

/*
 * Returns *wsp. If that is NULL, it first becomes new windows with the default
 * limit.
 */
struct channel_windows *channel_windows_get(struct channel_windows **wsp);

/* Frees a connection's windows, after its channels. ws may be NULL. */
void	 channel_windows_free(struct ssh *ssh, struct channel_windows *ws);

/*
 * Call this once in each turn of the main loop for each open channel on which
 * no CLOSE was sent or received. Makes the channel's window, and *wsp, the
 * connection's windows, where they don't exist yet. Returns the credit (bytes)
 * to send to the peer now, 0 for none.
 */
u_int	 channel_window_turn(struct ssh *ssh, struct Channel *c,
	    struct channel_windows **wsp);

/*
 * Lowers the main loop's timeout so that it wakes when a channel's withheld
 * credit is due, the next look at data that waits behind a lost segment, or an
 * early write, in 1 ms at the earliest. Does nothing if timeout is NULL, or if
 * none of these is due.
 */
void	 channel_window_timeout(struct ssh *ssh, const struct Channel *c,
	    struct channel_windows *ws, struct timespec *timeout);

/*
 * To be called each time the main loop has waited. event is 1 if a descriptor
 * was ready, and 0 if the wait timed out. channel_sender_early() notes one
 * more kind of event: the peer has acknowledged more since its last call.
 *
 * Returns 1 if sshd may take this for a client that was quiet for quiet_s
 * seconds: if the wait timed out, unless channel_window_timeout() had lowered
 * the timeout and the last event is less than quiet_s ago. Returns 0 otherwise.
 * ws may be NULL.
 */
int	 channel_window_quiet(struct channel_windows *ws, int event,
	    int quiet_s);

/*
 * Returns 1 if the main loop is to leave the connection unread in this turn, as
 * a channel's reader has much to take (reader-turn.h). Then it has waited, for
 * 1 ms at most, until that reader's descriptor could be written to. Of several
 * such readers it waits for the one that channel_window_turn() saw last.
 * Returns 0 if the connection is to be read. To be called when it can be. ws
 * may be NULL.
 */
int	 channel_window_readers_first(struct channel_windows *ws);

/* Logs a summary of the transfer and frees the channel's window, if any. */
void	 channel_window_free(struct ssh *ssh, struct Channel *c,
	    struct channel_windows *ws);

#endif /* CHANNEL_WINDOW_H */
