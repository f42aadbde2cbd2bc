/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <stdint.h>
#include <stdlib.h>

#include "ssh2.h"
#include "packet.h"
#include "channels.h"
#include "compat.h"
#include "kex.h"
#include "log.h"
#include "misc.h"
#include "xmalloc.h"
#include "channel-probe.h"
#include "ssh-rtt.h"
#include "window-state.h"

/*
 * A channel that has received this much (bytes) is worth a request that the
 * peer may not expect.
 */
#define PROBE_AFTER	(256 * 1024)

/* OpenSSH before 9.5 has no pings, so that no peer has them for us. */
#ifndef SSH2_MSG_PING
# define SSH2_MSG_PING	192
# define KEX_HAS_PING	0
#endif

static struct ssh_rtt *
state(struct ssh *ssh)
{
	if (ssh->inband == NULL) {
		ssh->inband = xcalloc(1, sizeof(*ssh->inband));
		ssh->inband->refused = ssh->kex == NULL ||
		    (ssh->kex->flags & KEX_HAS_PING) == 0;
	}
	return ssh->inband;
}

static void
refused(struct ssh *ssh, int type, Channel *c, void *ctx)
{
	ssh_rtt_answer(ctx, WINDOW_NOW_US());
}

/*
 * Sends a request that the peer has to refuse. sshd's is a global one: that is
 * answered whatever becomes of the channel. Its reply is known by its place
 * among those to sshd's other global requests.
 */
static int
send_request(struct ssh *ssh, Channel *c, struct ssh_rtt *ib)
{
	int r;

	if (ssh->kex->server) {
		if ((r = sshpkt_start(ssh, SSH2_MSG_GLOBAL_REQUEST)) != 0 ||
		    (r = sshpkt_put_cstring(ssh,
		    "keepalive@openssh.com")) != 0 ||
		    (r = sshpkt_put_u8(ssh, 1)) != 0)	/* want reply */
			return r;
		return sshpkt_send(ssh);
	}
	channel_request_start(ssh, c->self, "keepalive@openssh.com", 1);
	if ((r = sshpkt_send(ssh)) != 0)
		return r;
	channel_register_status_confirm(ssh, c->self, refused, NULL, ib);
	ib->channel = c->self;
	return 0;
}

static void
send_probe(struct ssh *ssh, Channel *c, struct ssh_rtt *ib, uint64_t now_us)
{
	u_char ping[SSH_RTT_PING_LEN];
	uint64_t cookie = ssh_rtt_sent(ib, now_us);
	int r;

	ib->channel = -1;
	if (ib->refused)
		r = send_request(ssh, c, ib);
	else {
		ssh_rtt_compose(cookie, ping);
		if ((r = sshpkt_start(ssh, SSH2_MSG_PING)) == 0 &&
		    (r = sshpkt_put_string(ssh, ping, sizeof(ping))) == 0)
			r = sshpkt_send(ssh);
	}
	if (r != 0)
		fatal_fr(r, "channel %d", c->self);
}

/*
 * Returns 1 if the peer may be sent a probe. The first one goes out when the
 * first bulk channel opens: later, its answer waits behind the data that the
 * peer's socket holds, and a short path looks like a long one. OpenSSH is known
 * to answer. Others are asked only if they announce pings, or if there is no
 * socket to ask. After the first, there is one while data flows only: it may be
 * what makes keys be renewed.
 */
static int
may_probe(struct ssh *ssh, const struct channel_window *w)
{
	const struct ssh_rtt *ib = ssh->inband;

	if (ib->sent_us != 0 && (w == NULL || w->facts.now_us <= ib->sent_us))
		return 0;
	return !ib->refused || (ssh->compat & SSH_NEW_OPENSSH) != 0 ||
	    (ssh->windows->path.no_tcp && w != NULL &&
	    w->control.now.received >= PROBE_AFTER);
}

/*
 * Measures SSH's own round trip: once if that shows that the socket tells of
 * the whole path, else once a round trip. w is the channel's window, if it has
 * one already.
 */
static void
probe(struct ssh *ssh, Channel *c, const struct channel_window *w)
{
	struct channel_path *p = &ssh->windows->path;
	struct ssh_rtt *ib = state(ssh);
	uint64_t now_us = WINDOW_NOW_US();

	p->ssh = &ib->path;
	if (ssh_packet_is_rekeying(ssh))
		ssh_rtt_void(ib);
	else if (ssh_rtt_due(ib, now_us) && may_probe(ssh, w) &&
	    (ib->path.rtt_us == 0 || p->source == p->ssh))
		send_probe(ssh, c, ib, now_us);
}

void
channel_probe_opened(struct ssh *ssh, Channel *c)
{
	if (channel_window_may_follow(ssh, c))
		probe(ssh, c, NULL);
}

void
channel_probe_turn(struct ssh *ssh, Channel *c)
{
	const struct channel_window *w = c->window;

	if (w != NULL && w->bulk && c->type == SSH_CHANNEL_OPEN &&
	    !(c->flags & (CHAN_CLOSE_SENT|CHAN_CLOSE_RCVD)))
		probe(ssh, c, w);
}

void
channel_probe_forget(struct ssh *ssh, const Channel *c)
{
	struct ssh_rtt *ib = ssh->inband;

	if (ib != NULL && ib->refused && ib->channel == c->self)
		ssh_rtt_abandon(ib);
}

void
channel_probe_free(struct ssh *ssh)
{
	free(ssh->inband);
	ssh->inband = NULL;
}

void
channel_probe_other_sent(struct ssh *ssh)
{
	ssh_rtt_other_sent(state(ssh));
}

void
channel_probe_replied(struct ssh *ssh, int type)
{
	if (type == SSH2_MSG_REQUEST_SUCCESS ||
	    type == SSH2_MSG_REQUEST_FAILURE)
		ssh_rtt_replied(state(ssh), WINDOW_NOW_US());
}
