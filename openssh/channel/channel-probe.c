/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include "ssh2.h"
#include "packet.h"
#include "channels.h"
#include "compat.h"
#include "kex.h"
#include "log.h"
#include "window-state.h"

/*
 * After a channel has received this much (bytes), send even a request that the
 * peer may not expect.
 */
#define PROBE_AFTER	(256 * 1024)

/* The request of OpenSSH's own keepalives: no peer supports it. */
#define REQUEST		"keepalive@openssh.com"

/* We cannot send pings if our own OpenSSH, before 9.5, has none. */
#ifndef SSH2_MSG_PING
# define SSH2_MSG_PING	192
# define KEX_HAS_PING	0
#endif

static void
answered(struct ssh *ssh, int type, Channel *c, void *number)
{
	ssh_rtt_answer(&ssh->inband, (uintptr_t)number, WINDOW_NOW_US());
}

static void
abandoned(struct ssh *ssh, Channel *c, void *number)
{
	ssh_rtt_void(&ssh->inband, (uintptr_t)number);
}

/*
 * Sends a ping, or a request that the peer has to refuse. sshd's is a global
 * request, which is answered even if the channel closes. Its reply is found by
 * its place among those to sshd's other global requests.
 */
static void
send_probe(struct ssh *ssh, Channel *c, uint64_t now_us)
{
	struct ssh_rtt *ib = &ssh->inband;
	u_int number = ssh_rtt_sent(ib, now_us);
	int r = 0;

	if (!ib->by_request) {
		if ((r = sshpkt_start(ssh, SSH2_MSG_PING)) == 0)
			r = sshpkt_put_string(ssh, ib->ping, sizeof(ib->ping));
	} else if (ssh->kex->server) {
		if ((r = sshpkt_start(ssh, SSH2_MSG_GLOBAL_REQUEST)) == 0 &&
		    (r = sshpkt_put_cstring(ssh, REQUEST)) == 0)
			r = sshpkt_put_u8(ssh, 1);	/* want reply */
	} else {
		channel_request_start(ssh, c->self, REQUEST, 1);
		channel_register_status_confirm(ssh, c->self, answered,
		    abandoned, (void *)(uintptr_t)number);
	}
	if (r != 0 || (r = sshpkt_send(ssh)) != 0)
		fatal_fr(r, "channel %d", c->self);
}

/*
 * Returns 1 if the peer may be sent a probe. OpenSSH always answers. Other
 * peers get probes only if they announce pings, or if no socket gives an RTT.
 * Later probes are sent only while data flows: a probe may start a rekeying.
 */
static int
may_probe(const struct ssh *ssh, const struct channel_window *w)
{
	const struct ssh_rtt *ib = &ssh->inband;

	if (ib->sent_us != 0 && (w == NULL || w->facts.now_us <= ib->sent_us))
		return 0;
	return !ib->by_request || (ssh->compat & SSH_NEW_OPENSSH) != 0 ||
	    (ssh->windows->path.no_tcp && w != NULL &&
	    w->control.now.received >= PROBE_AFTER);
}

/*
 * Measures the in-band RTT: once if it shows that the socket's RTT covers the
 * whole path, otherwise an RTT after each reply. w is the channel's window, or
 * NULL if it has none yet.
 */
static void
probe(struct ssh *ssh, Channel *c, const struct channel_window *w)
{
	struct channel_path *p = &ssh->windows->path;
	struct ssh_rtt *ib = &ssh->inband;
	uint64_t now_us = WINDOW_NOW_US();

	ib->by_request = (ssh->kex->flags & KEX_HAS_PING) == 0;
	p->ssh = &ib->path;
	/* During rekeying, pings are dropped and other answers are late. */
	if (ssh_packet_is_rekeying(ssh))
		ssh_rtt_void(ib, ib->number);
	else if (now_us >= ib->due_us && may_probe(ssh, w) &&
	    (ib->path.rtt_us == 0 || p->source == p->ssh))
		send_probe(ssh, c, now_us);
}

void
channel_probe_at_open(struct ssh *ssh, Channel *c)
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
channel_probe_replied(struct ssh *ssh, int type)
{
	if (type == SSH2_MSG_REQUEST_SUCCESS ||
	    type == SSH2_MSG_REQUEST_FAILURE)
		ssh_rtt_replied(&ssh->inband, WINDOW_NOW_US());
}
