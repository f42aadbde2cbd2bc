/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef CHANNEL_REPORT_H
#define CHANNEL_REPORT_H

#include <sys/types.h>

#include <stdint.h>

#include "openbsd-compat/sys-queue.h"

#include "send-account.h"

/* Reports on a channel, for the log, for ~# and for tracers. */

struct Channel;
struct ssh;
struct sshbuf;

/* A bulk channel's report, from its first iteration on */
struct channel_report {
	TAILQ_ENTRY(channel_report) entry;
	const struct Channel *channel;
	int server;		/* 1: in sshd; 0: in ssh */
	uint64_t granted;	/* bytes: credit, initial window included */
	uint32_t peak;		/* bytes, largest window */
	uint64_t first;		/* bytes that were consumed at first_us */
	uint64_t first_us;	/* time of the first byte; 0: none yet */
	struct send_account send;
};

/*
 * Call this in each iteration of the main loop for each channel, after the
 * `credit` (bytes) that channel_window_turn() returned has been sent. Logs the
 * credit and the reason for it.
 */
void	 channel_report_turn(struct ssh *ssh, struct Channel *c,
	    u_int credit);

/* Records that the channel has sent `len` bytes. */
void	 channel_report_sent(struct Channel *c, size_t len);

/*
 * Records what an open channel's sender waits for. Call this in each iteration
 * of the main loop, when nothing more can be sent and before poll(2).
 */
void	 channel_report_look(struct ssh *ssh, struct Channel *c);

/* Appends a line for ~# to `buf`, unless the channel's window is fixed. */
void	 channel_report_status(const struct ssh *ssh,
	    const struct Channel *c, struct sshbuf *buf);

/*
 * Logs the report of a channel that is about to be freed. Does not use the
 * connection's state, which does not exist after a disconnect.
 */
void	 channel_report_free(struct ssh *ssh, struct Channel *c);

/* Logs which TCP buffers limited what the connection has sent. */
void	 channel_report_path(struct ssh *ssh);

/* Logs all remaining reports when the connection ends. */
void	 channel_report_all(struct ssh *ssh);

#endif /* CHANNEL_REPORT_H */
