/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef CHANNEL_WINDOW_H
#define CHANNEL_WINDOW_H

#include <sys/types.h>

/*
 * The windows of a connection's channels, which lie in struct ssh. channels.h
 * includes this header.
 */

struct Channel;
struct ssh;
struct channel_window;		/* of a channel */
struct channel_windows;		/* of a connection */

/*
 * Limits the windows of a connection that has no channel yet to max bytes in
 * all, beyond what stock gives each channel. With 0, each keeps its initial
 * size.
 */
void	 channel_windows_limit(struct ssh *ssh, u_int max);

/* Frees a connection's windows, after its channels. */
void	 channel_windows_free(struct ssh *ssh);

/*
 * Returns 1 if the channel's window may follow the path: it may carry bulk
 * data, and the peer's input buffer takes it. Makes the windows of the
 * connection if it has none yet.
 */
int	 channel_window_may_follow(struct ssh *ssh, const struct Channel *c);

/*
 * Call this in each iteration of the main loop for each open channel on which
 * no CLOSE was sent or received. Makes the channel's window, and those of the
 * connection, where they don't exist yet. Returns the credit (bytes) to send to
 * the peer now, 0 for none.
 */
u_int	 channel_window_turn(struct ssh *ssh, struct Channel *c);

/* Frees the channel's window, if any. */
void	 channel_window_free(struct ssh *ssh, struct Channel *c);

#endif /* CHANNEL_WINDOW_H */
