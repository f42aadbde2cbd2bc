/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <string.h>

#include "openbsd-compat/sys-queue.h"

#include "channels.h"
#include "kex.h"
#include "last-channel.h"
#include "log.h"
#include "packet.h"
#include "ssh2.h"

static int last = -1;		/* the server's number, or -1 */
static u_int last_remote;	/* the client's number */

void
last_channel_opened(const Channel *c, const char *ctype)
{
	last = -1;
	if (c == NULL || strcmp(ctype, "session") != 0)
		return;
	last = c->self;
	last_remote = c->remote_id;
}

u_int
last_channel_id(struct ssh *ssh)
{
	Channel *c;

	if (last == -1 || (c = channel_lookup(ssh, last)) == NULL)
		return LAST_CHANNEL_ID;
	/* Not another channel that has since received its number. */
	if (strcmp(c->ctype, "session") != 0 || !c->have_remote_id ||
	    c->remote_id != last_remote)
		return LAST_CHANNEL_ID;
	return c->self;
}

int
last_channel_may(const struct ssh *ssh)
{
	return ssh->kex != NULL &&
	    (ssh->kex->flags & KEX_HAS_LAST_CHANNEL) != 0;
}

void
last_channel_begin(struct ssh *ssh, Channel *c)
{
	/* Probe now: after the session's data, the reply would be late. */
#ifdef KEX_HAS_PING
	if ((ssh->kex->flags & KEX_HAS_PING) != 0)
		channel_probe_at_open(ssh, c);
#endif
	c->remote_id = LAST_CHANNEL_ID;
	c->have_remote_id = 1;
}

void
last_channel_end(Channel *c)
{
	c->have_remote_id = 0;
	debug("session requests pipelined behind the opening of channel %d",
	    c->self);
}
