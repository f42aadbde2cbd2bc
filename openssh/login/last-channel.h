/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef LAST_CHANNEL_H
#define LAST_CHANNEL_H

#include <sys/types.h>

#include "bdp-names.h"

struct Channel;
struct ssh;

/*
 * Requests for "the channel that I have just opened", which a client sends
 * right behind the opening of a session, before the server has told the
 * channel's number (PROTOCOL.channels). The server announces that it takes
 * them.
 */

/*
 * Announced in EXT_INFO, version "0", by a server: channel requests may be for
 * the channel that the client has just opened.
 */
#define BDP_LAST_CHANNEL	"last-channel@" BDP_DOMAIN

/* In kex->flags: the server has announced that. */
#define KEX_HAS_LAST_CHANNEL	0x20000

/* The recipient of such a request; no channel has this number. */
#define LAST_CHANNEL_ID		0xffffffffU

/* In the server */

/*
 * Notes how the client's latest opening of a channel of type ctype ended: in
 * channel c, or in none (NULL).
 */
void	 last_channel_opened(const struct Channel *c, const char *ctype);

/*
 * Returns the number of the session that the client's latest opening has made,
 * or LAST_CHANNEL_ID if it has made none, or if the session has gone.
 */
u_int	 last_channel_id(struct ssh *ssh);

/* In the client */

/* Returns 1 if the server takes such requests, else 0. */
int	 last_channel_may(const struct ssh *ssh);

/*
 * Lets requests for a channel whose opening was sent go to the last one. Asks
 * the server for the round trip before them.
 */
void	 last_channel_begin(struct ssh *ssh, struct Channel *c);

/* Ends that: the channel waits for its number again. */
void	 last_channel_end(struct Channel *c);

#endif /* LAST_CHANNEL_H */
