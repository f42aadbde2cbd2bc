/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef CHANNEL_WINDOW_H
#define CHANNEL_WINDOW_H

#include <sys/types.h>

/*
 * The windows of a connection's channels. struct ssh holds them. channels.h
 * includes this header.
 */

struct Channel;
struct ssh;
struct channel_window;		/* of a channel */
struct channel_windows;		/* of a connection */

/*
 * Limits the windows of a connection that has no channels. What all windows
 * have beyond stock's is at most `max` bytes less one stock window. If `max` is
 * 0, windows keep their initial size.
 */
void	 channel_windows_limit(struct ssh *ssh, u_int max);

/* Frees a connection's windows, after its channels. */
void	 channel_windows_free(struct ssh *ssh);

/*
 * Returns 1 if the channel's window may follow the path: the channel may carry
 * bulk data, and the peer's input buffer can hold it. Creates the windows of a
 * connection that has none.
 */
int	 channel_window_may_follow(struct ssh *ssh, const struct Channel *c);

/*
 * Call this in each iteration of the main loop for each open channel on which
 * no CLOSE was sent or received. Creates the windows of the channel and of the
 * connection if they do not exist. Returns the credit (bytes) to send to the
 * peer now, 0 for none.
 */
u_int	 channel_window_turn(struct ssh *ssh, struct Channel *c);

/* Frees the channel's window, if any. */
void	 channel_window_free(struct ssh *ssh, struct Channel *c);

#endif /* CHANNEL_WINDOW_H */
