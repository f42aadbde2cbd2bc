/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/*
 * Computes the credit of a bulk channel, once in each turn of the main loop:
 *
 *	gather	the bytes received and consumed, and the path's RTT
 *	decide	how much credit to grant (window-decide.c)
 *	act	account for the credit, free memory
 *
 * window_decide() asks neither the clock nor the socket: gather() has asked
 * them. channels.c sends the credit to the peer.
 */

#include "includes.h"

#include <sys/types.h>

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sshbuf.h"
#include "packet.h"
#include "channels.h"
#include "compat.h"
#include "kex.h"
#include "log.h"
#include "misc.h"
#include "xmalloc.h"
#include "bdp-names.h"
#include "window-state.h"

/*
 * An output buffer that grew beyond this (bytes) while the consumer lagged is
 * freed once it is empty. The limit is twice the initial window: ordinary
 * backlog must not free and allocate the buffer again and again.
 */
#define OUTPUT_KEEP_MAX	(4 * 1024 * 1024)

/* Least time (us) between two looks at the socket */
#define LOOK_LEAST_US	10000

/*
 * Returns 1 for streams that may carry bulk data. A window beyond the initial
 * one is of no use to terminals, agents, X11 and tunnels, which talk in small
 * pieces.
 */
static int
is_bulk(const Channel *c)
{
	return !c->isatty && !c->client_tty && !c->datagram &&
	    strstr(c->ctype, "agent") == NULL &&
	    strstr(c->ctype, "x11") == NULL;
}

/* Returns the bytes received that the consumer has not taken yet. */
static uint64_t
backlog(const Channel *c)
{
	uint64_t len = sshbuf_len(c->output);

	if (c->extended_usage == CHAN_EXTENDED_WRITE)
		len += sshbuf_len(c->extended);
	return len;
}

void
channel_windows_limit(struct ssh *ssh, u_int max)
{
	channel_windows_free(ssh);
	ssh->windows = xcalloc(1, sizeof(*ssh->windows));
	window_budget_init(&ssh->windows->budget, max,
	    CHAN_SES_WINDOW_DEFAULT);
}

void
channel_windows_free(struct ssh *ssh)
{
	free(ssh->windows);
	ssh->windows = NULL;
}

int
channel_window_may_follow(struct ssh *ssh, const Channel *c)
{
	if (ssh->windows == NULL)
		channel_windows_limit(ssh, WINDOW_BUDGET_DEFAULT);
	return ssh->windows->budget.limit != 0 && is_bulk(c) &&
	    ssh->kex != NULL && (ssh->compat & SSH_BUG_SMALL_INPUT) == 0;
}

/* Asks the socket, once a round trip. */
static void
look(struct ssh *ssh, struct channel_path *p, uint64_t now_us)
{
	if (p->no_tcp || now_us < p->look_us)
		return;
	if (tcp_path_probe(ssh_packet_get_connection_in(ssh), &p->tcp) != 0)
		p->no_tcp = errno != EAGAIN;
	p->look_us = now_us + MAXIMUM(p->tcp.rtt_us, LOOK_LEAST_US);
}

/* Takes the source that describes the whole path, and starts anew with it. */
static void
choose_source(struct channel_path *p, int bounded)
{
	const struct path_info *source = path_rtt_choose(&p->tcp, p->ssh);

	if (source == p->source)
		return;
	debug2_f("rtt of %s", source == &p->tcp ? "tcp" : "ssh");
	p->source = source;
	memset(&p->path_rtt, 0, sizeof(p->path_rtt));
	p->path_rtt.bounded = bounded;
	p->path_rtt.inband = source == p->ssh;
}

/*
 * Returns the round trip times to use at time now_us, when channels have
 * consumed `consumed` more bytes.
 */
static const struct rtt_in_use *
path_rtt(struct ssh *ssh, uint64_t consumed, uint64_t now_us)
{
	struct channel_path *p = &ssh->windows->path;

	p->consumed += consumed;
	look(ssh, p, now_us);
	choose_source(p, ssh->windows->bounded);
	memset(&p->rtt, 0, sizeof(p->rtt));
	if (p->source->rtt_us != 0)
		path_rtt_update(&p->path_rtt, p->source, p->consumed, now_us,
		    &p->rtt);
	return &p->rtt;
}

/* Makes a channel's window. */
static void
window_new(struct ssh *ssh, Channel *c)
{
	struct channel_window *w = xcalloc(1, sizeof(*w));
	struct channel_windows *ws;

	c->window = w;
	w->bulk = channel_window_may_follow(ssh, c);
	if (!w->bulk)
		return;
	ws = ssh->windows;
	ws->bounded = (ssh->kex->flags & KEX_HAS_BOUNDED_INPUT) != 0;
	w->share.base = c->local_window_max;
	window_init(&w->control, c->local_window_max, ws->bounded,
	    WINDOW_NOW_US());
	path_rtt(ssh, 0, WINDOW_NOW_US());
	debug2_f("channel %d: window %u, peer %s", c->self,
	    c->local_window_max, ws->bounded ? "bounded" : "unknown");
}

/*
 * Stock's rule, for fixed windows. Returns the bytes consumed if more than 3
 * packets, or more than half, of the window are used; else 0.
 */
static u_int
fixed_credit(const Channel *c)
{
	if (c->local_window_max - c->local_window > c->local_maxpacket * 3 ||
	    c->local_window < c->local_window_max / 2)
		return c->local_consumed;
	return 0;
}

/*
 * Collects the facts for the decision. Returns 1 if data came or was consumed
 * since the last decision. Otherwise there is nothing to decide, and it returns
 * 0.
 */
static int
gather(struct ssh *ssh, Channel *c, struct channel_window *w)
{
	struct window_facts *facts = &w->facts;
	uint32_t consumed = c->local_consumed - w->seen;

	if (consumed == 0 && backlog(c) == w->control.backlog)
		return 0;
	w->seen = c->local_consumed;
	facts->consumed = consumed;
	facts->backlog = backlog(c);
	facts->now_us = WINDOW_NOW_US();
	facts->window = c->local_window;
	facts->maxpacket = c->local_maxpacket;
	facts->rtt = *path_rtt(ssh, consumed, facts->now_us);
	return 1;
}

/* Frees the memory of an output buffer that grew while the consumer lagged. */
static void
release_output(Channel *c, struct channel_window *w)
{
	uint64_t len = sshbuf_len(c->output);

	w->swollen = MAXIMUM(w->swollen, len);
	if (len != 0)
		return;
	if (w->swollen > OUTPUT_KEEP_MAX)
		sshbuf_reset(c->output);
	w->swollen = 0;
}

/* Carries out the decision. The caller sends the credit. */
static void
act(Channel *c, struct channel_window *w, uint32_t credit)
{
	release_output(c, w);
	if (credit == 0)
		return;
	w->seen = 0;		/* channels.c starts c->local_consumed anew */
	/* Stock derives from this how far a peer may exceed its credit. */
	c->local_window_max = MAXIMUM(w->control.target,
	    c->local_window + credit);
}

u_int
channel_window_turn(struct ssh *ssh, Channel *c)
{
	struct channel_window *w;
	uint32_t credit;

	if (c->window == NULL)
		window_new(ssh, c);
	w = c->window;
	if (!w->bulk)
		return fixed_credit(c);
	if (!gather(ssh, c, w))
		return 0;
	credit = window_decide(&w->control, &ssh->windows->budget, &w->share,
	    &w->facts);
	act(c, w, credit);
	return credit;
}

void
channel_window_free(struct ssh *ssh, Channel *c)
{
	if (c->window == NULL)
		return;
	if (ssh->windows != NULL)
		window_budget_leave(&ssh->windows->budget, &c->window->share);
	free(c->window);
	c->window = NULL;
}
