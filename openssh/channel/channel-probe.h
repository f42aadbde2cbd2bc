/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef CHANNEL_PROBE_H
#define CHANNEL_PROBE_H

/*
 * Asks the peer for the round trip where the socket does not tell of the whole
 * path. The answers lie in ssh->inband (ssh-rtt.h). The first probe goes out
 * when the first bulk channel opens. Later, its answer would wait behind the
 * data that the peer's socket holds, and a short path look like a long one.
 */

struct Channel;
struct ssh;

/*
 * For sshd: call this before the opening of a channel is confirmed. Asks the
 * peer if this is the first channel that may carry bulk data. Behind the
 * confirmation, the answer would wait for what the client does then: it runs
 * xauth, or sends data.
 */
void	 channel_probe_opened(struct ssh *ssh, struct Channel *c);

/*
 * Call this in each iteration of the main loop for each channel, after
 * channel_window_turn(). Sends a probe on the channel if one is due.
 */
void	 channel_probe_turn(struct ssh *ssh, struct Channel *c);

/*
 * For sshd, whose replies to probes and to other global requests can't be told
 * apart: notes that a reply of a type has come. Those to channel requests are
 * ignored. Other requests are counted in ssh->inband.asked.
 */
void	 channel_probe_replied(struct ssh *ssh, int type);

#endif /* CHANNEL_PROBE_H */
