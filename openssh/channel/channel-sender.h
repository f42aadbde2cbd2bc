/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef CHANNEL_SENDER_H
#define CHANNEL_SENDER_H

#include <sys/types.h>

/* Writes channels' data early, but limits how much the kernel holds. */

struct Channel;
struct ssh;

/* A bit of c->sender: the channel has had a loop iteration. */
#define CHANNEL_SENDER_BEGUN	4

/*
 * Call this in each iteration of the main loop for each channel, after
 * channel_report_turn(). Prepares the connection when its first bulk channel
 * has opened, and enlarges pipes.
 */
void	 channel_sender_turn(struct ssh *ssh, struct Channel *c);

/*
 * Returns 1 if the connection should be written to although poll(2) does not
 * report it as writable, so that the last third of the TCP send buffer is used.
 * Returns 0 if less than 4 KiB wait to be written, or if the kernel has 4 KiB
 * or more unsent, or does not report it.
 */
int	 channel_sender_early(struct ssh *ssh);

#endif /* CHANNEL_SENDER_H */
