/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef CHANNEL_PROBE_H
#define CHANNEL_PROBE_H

/*
 * Sends the peer probes for the RTT, as the socket's RTT may not cover the
 * whole path. ssh->inband (ssh-rtt.h) has the results. The first probe is sent
 * when the first bulk channel opens. Later, its reply would wait behind data in
 * the peer's socket, and a short path would look long.
 */

struct Channel;
struct ssh;

/*
 * For sshd: call this before a channel's opening is confirmed. Sends a probe if
 * this is the first channel that may carry bulk data. Later, the client's reply
 * would be delayed: after the confirmation it runs xauth or sends data.
 */
void	 channel_probe_at_open(struct ssh *ssh, struct Channel *c);

/*
 * Call this in each iteration of the main loop for each channel, after
 * channel_window_turn(). Sends a probe on the channel if one is due.
 */
void	 channel_probe_turn(struct ssh *ssh, struct Channel *c);

/*
 * For sshd, where replies to probes and to other global requests look alike:
 * records a reply of `type`. Ignores types of replies to channel requests.
 * serverloop.c counts requests in ssh->inband.asked.
 */
void	 channel_probe_replied(struct ssh *ssh, int type);

#endif /* CHANNEL_PROBE_H */
