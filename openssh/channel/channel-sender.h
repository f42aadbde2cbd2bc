/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef CHANNEL_SENDER_H
#define CHANNEL_SENDER_H

#include <sys/types.h>

/* How fast, and how early, the kernel takes what channels send. */

struct Channel;
struct ssh;

/* In c->sender: the channel has had a turn. */
#define CHANNEL_SENDER_BEGUN	4

/*
 * Call this in each iteration of the main loop for each channel, after
 * channel_report_turn(). Prepares the connection when its first bulk channel
 * has opened, and enlarges pipes.
 */
void	 channel_sender_turn(struct ssh *ssh, struct Channel *c);

/*
 * Returns 1 if the connection is to be written to in this turn, although
 * poll(2) does not call it writable: the last third of a full TCP send buffer
 * would never be used. Returns 0 if less than 4 KiB wait to be written, or if
 * the kernel has data that it has not sent.
 */
int	 channel_sender_early(struct ssh *ssh);

#endif /* CHANNEL_SENDER_H */
