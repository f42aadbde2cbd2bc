/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef CHANNEL_SENDER_H
#define CHANNEL_SENDER_H

#include <sys/types.h>

/* Makes the kernel take channels' data early, but not too much of it. */

struct Channel;
struct ssh;

/* In c->sender: the channel has had a loop iteration. */
#define CHANNEL_SENDER_BEGUN	4

/*
 * Call this in each iteration of the main loop for each channel, after
 * channel_report_turn(). Prepares the connection when its first bulk channel
 * has opened, and enlarges pipes.
 */
void	 channel_sender_turn(struct ssh *ssh, struct Channel *c);

/*
 * Returns 1 if the connection should be written to in this iteration, although
 * poll(2) does not report it as writable: otherwise the last third of a full
 * TCP send buffer would stay unused. Returns 0 if less than 4 KiB wait to be
 * written, or if the kernel has 4 KiB or more unsent, or does not say.
 */
int	 channel_sender_early(struct ssh *ssh);

#endif /* CHANNEL_SENDER_H */
