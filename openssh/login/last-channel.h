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
 * after the opening of a session, before it knows the server's channel number
 * (PROTOCOL.channels). The server announces that it accepts them.
 */

/*
 * Announced in EXT_INFO, version "0", by a server: channel requests may be for
 * the channel that the client has just opened.
 */
#define BDP_LAST_CHANNEL	"last-channel@" BDP_DOMAIN

/* In kex->flags: the server has announced this. */
#define KEX_HAS_LAST_CHANNEL	0x20000

/* The recipient of such a request; no channel has this number. */
#define LAST_CHANNEL_ID		0xffffffffU

/* In the server */

/*
 * Records the result of the client's latest opening of a channel of type ctype:
 * channel c, or NULL for none.
 */
void	 last_channel_opened(const struct Channel *c, const char *ctype);

/*
 * Returns the number of the session that the client's latest opening created,
 * or LAST_CHANNEL_ID if it created none or the session has ended.
 */
u_int	 last_channel_id(struct ssh *ssh);

/* In the client */

/* Returns 1 if the server accepts such requests, else 0. */
int	 last_channel_may(const struct ssh *ssh);

/*
 * Makes requests for a channel whose opening was sent go to the last channel.
 * Sends an RTT probe before them.
 */
void	 last_channel_begin(struct ssh *ssh, struct Channel *c);

/* Ends what last_channel_begin() began: the channel waits for its number. */
void	 last_channel_end(struct Channel *c);

#endif /* LAST_CHANNEL_H */
