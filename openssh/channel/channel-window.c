/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/*
 * Computes the credit of a bulk channel, in each iteration of the main loop:
 *
 *	gather	the bytes received and consumed, and the path's RTT
 *	decide	how much credit to grant (window-control.c)
 *	act	account for the credit, free memory
 */

#include "includes.h"

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
 * An output buffer that grew beyond this (bytes) while the consumer lagged
 * shrinks once most of it is empty. The limit is twice the initial window:
 * ordinary backlog must not free and allocate the buffer again and again.
 */
#define OUTPUT_KEEP_MAX	(4 * 1024 * 1024)

/* Minimum time (us) between two samples of the socket */
#define SAMPLE_LEAST_US	10000

/* Returns the number of received bytes that the consumer has not taken. */
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
	if (ssh->windows->budget.limit == 0 || ssh->kex == NULL ||
	    (ssh->compat & SSH_BUG_SMALL_INPUT) != 0)
		return 0;
	/* Terminals, agents, X11 and tunnels send little data at a time. */
	return !c->isatty && !c->client_tty && !c->datagram &&
	    strstr(c->ctype, "agent") == NULL &&
	    strstr(c->ctype, "x11") == NULL;
}

/*
 * Samples the socket once a round trip. Chooses the source that describes the
 * whole path, and starts anew if it changes. Updates the round trip times to
 * use at time now_us, when channels have consumed `consumed` more bytes.
 */
static void
follow_path(struct ssh *ssh, uint64_t consumed, uint64_t now_us)
{
	struct channel_path *p = &ssh->windows->path;
	const struct path_info *source;

	if (!p->no_tcp && now_us >= p->sample_us) {
		p->no_tcp = tcp_path_read(ssh_packet_get_connection_in(ssh),
		    &p->tcp) != 0;
		p->sample_us = now_us + MAXIMUM(p->tcp.rtt_us, SAMPLE_LEAST_US);
	}
	source = path_rtt_choose(&p->tcp, p->ssh);
	if (source != p->source) {
		debug2_f("RTT source: %s", source == p->ssh ? "SSH" : "TCP");
		p->source = source;
		memset(&p->rtt, 0, sizeof(p->rtt));
		p->rtt.bounded =
		    (ssh->kex->flags & KEX_HAS_BOUNDED_INPUT) != 0;
		p->rtt.use.inband = source == p->ssh;
	}
	path_rtt_update(&p->rtt, source, consumed, now_us);
}

/* Creates a channel's window. */
static void
window_new(struct ssh *ssh, Channel *c)
{
	struct channel_window *w = xcalloc(1, sizeof(*w));

	c->window = w;
	w->bulk = channel_window_may_follow(ssh, c);
	if (!w->bulk)
		return;
	w->share.base = c->local_window_max;
	window_init(&w->control, c->local_window_max,
	    (ssh->kex->flags & KEX_HAS_BOUNDED_INPUT) != 0, WINDOW_NOW_US());
	follow_path(ssh, 0, WINDOW_NOW_US());
	debug2_f("channel %d: peer's buffers are %s", c->self,
	    w->control.bounded ? "bounded" : "not known to be bounded");
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

	if (consumed == 0 && backlog(c) == w->control.now.backlog)
		return 0;
	w->seen = c->local_consumed;
	facts->consumed = consumed;
	facts->backlog = backlog(c);
	facts->now_us = WINDOW_NOW_US();
	facts->window = c->local_window;
	facts->maxpacket = c->local_maxpacket;
	follow_path(ssh, consumed, facts->now_us);
	facts->rtt = ssh->windows->path.rtt.use;
	return 1;
}

/* Frees memory that a buffer does not need: a lower limit does this. */
static void
shrink(struct sshbuf *buf)
{
	size_t max = sshbuf_max_size(buf);

	if (sshbuf_set_max_size(buf, MAXIMUM(2 * sshbuf_len(buf),
	    OUTPUT_KEEP_MAX)) == 0)
		(void)sshbuf_set_max_size(buf, max);
}

/* Carries out the decision. The caller sends the credit. */
static void
act(Channel *c, struct channel_window *w, uint32_t credit)
{
	uint64_t len = backlog(c);

	w->peak_backlog = MAXIMUM(w->peak_backlog, len);
	if (w->peak_backlog > OUTPUT_KEEP_MAX && len < w->peak_backlog / 4) {
		shrink(c->output);
		if (c->extended_usage == CHAN_EXTENDED_WRITE)
			shrink(c->extended);
		w->peak_backlog = len;
	}
	/* Stock derives from this how far a peer may exceed its credit. */
	c->local_window_max = MAXIMUM(w->control.target,
	    c->local_window + credit);
	if (credit != 0)
		w->seen = 0;	/* channels.c starts c->local_consumed anew */
}

u_int
channel_window_turn(struct ssh *ssh, Channel *c)
{
	struct channel_window *w;
	uint32_t credit, used;

	if (c->window == NULL)
		window_new(ssh, c);
	w = c->window;
	if (!w->bulk) {
		/* Stock's rule: more than 3 packets, or half, are used */
		used = c->local_window_max - c->local_window;
		return used > c->local_maxpacket * 3 ||
		    c->local_window < c->local_window_max / 2 ?
		    c->local_consumed : 0;
	}
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
