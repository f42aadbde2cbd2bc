/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef CHANNEL_PROBE_H
#define CHANNEL_PROBE_H

/*
 * Probes the peer for the RTT where the socket's RTT does not cover the whole
 * path. The replies go to ssh->inband (ssh-rtt.h). The first probe is sent when
 * the first bulk channel opens. Later, its reply would wait for data in the
 * peer's socket, and a short path would look long.
 */

struct Channel;
struct ssh;

/*
 * For sshd: call this before the opening of a channel is confirmed. Sends a
 * probe if this is the first channel that may carry bulk data. After the
 * confirmation, the client is busy: it runs xauth or sends data, so its reply
 * would be late.
 */
void	 channel_probe_at_open(struct ssh *ssh, struct Channel *c);

/*
 * Call this in each iteration of the main loop for each channel, after
 * channel_window_turn(). Sends a probe on the channel if one is due.
 */
void	 channel_probe_turn(struct ssh *ssh, struct Channel *c);

/*
 * For sshd, where replies to probes and to other global requests look alike:
 * records a reply of this type. Other types are replies to channel requests,
 * and are ignored. serverloop.c counts requests in ssh->inband.asked.
 */
void	 channel_probe_replied(struct ssh *ssh, int type);

#endif /* CHANNEL_PROBE_H */
