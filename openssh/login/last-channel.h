/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef LAST_CHANNEL_H
#define LAST_CHANNEL_H

#include <sys/types.h>

#include "bdp-names.h"

struct Channel;
struct ssh;

/*
 * Requests for "the channel that I have just opened". A client sends them right
 * after it opens a session, before it knows the server's channel number
 * (PROTOCOL.channels).
 */

/*
 * Announced in EXT_INFO, version "0", by a server that accepts requests for the
 * channel that the client has just opened.
 */
#define BDP_LAST_CHANNEL	"last-channel@" BDP_DOMAIN

/* A bit of kex->flags: the server has announced BDP_LAST_CHANNEL. */
#define KEX_HAS_LAST_CHANNEL	0x20000

/* The recipient of such a request; no channel has this number. */
#define LAST_CHANNEL_ID		0xffffffffU

/* In the server */

/*
 * Records the result of the client's latest opening: the channel `c` of type
 * `ctype`, or NULL if it was refused.
 */
void	 last_channel_opened(const struct Channel *c, const char *ctype);

/*
 * Returns the number of the session that the client's latest opening created,
 * or LAST_CHANNEL_ID if there is none, or if it has ended.
 */
u_int	 last_channel_id(struct ssh *ssh);

/* In the client */

/* Returns 1 if the server accepts requests for the last channel, else 0. */
int	 last_channel_may(const struct ssh *ssh);

/*
 * Sends an RTT probe, if the server supports pings. Requests for the channel,
 * whose opening was just sent, go to LAST_CHANNEL_ID until last_channel_end().
 */
void	 last_channel_begin(struct ssh *ssh, struct Channel *c);

/* Later requests wait until the channel's number is known. */
void	 last_channel_end(struct Channel *c);

#endif /* LAST_CHANNEL_H */
