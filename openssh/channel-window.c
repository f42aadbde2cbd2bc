/*
 * Copyright (c) 2026 The openssh-bdp authors
 *
 * Permission to use, copy, modify, and distribute this software for any
 * purpose with or without fee is hereby granted, provided that the above
 * copyright notice and this permission notice appear in all copies.
 *
 * THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES
 * WITH REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF
 * MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR
 * ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES
 * WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN
 * ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF
 * OR IN CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.
 */

/*
 * Computes the credit of a bulk channel, once in each turn of the main loop:
 *
 *	gather	the bytes received and consumed, and the path's RTT
 *	decide	how much credit to grant (window-decide.c)
 *	act	account for the credit, free memory, enlarge pipes, log
 *
 * window_decide() asks neither the clock nor the socket nor the peer: gather()
 * has asked them. channels.c sends the credit to the peer.
 */

#include "includes.h"

#include <sys/types.h>

#include <poll.h>
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
#include "channel-path.h"
#include "channel-pipe.h"
#include "channel-report.h"
#include "channel-sender.h"
#include "ext-info.h"
#include "poly1305.h"
#include "poly1305-evp.h"
#include "tcp-path.h"
#include "window-budget.h"
#include "window-control.h"
#include "window-decide.h"
#include "window-max.h"
#include "window-state.h"
#include "channel-window.h"

/*
 * An output buffer that grew beyond this (bytes) while the consumer lagged is
 * freed once it is empty. The limit is twice the initial window: ordinary
 * backlog must not free and allocate the buffer again and again.
 */
#define OUTPUT_KEEP_MAX	(4 * 1024 * 1024)

/*
 * Data (bytes) that counts in any case while it waits behind a lost segment.
 * With the headroom, 6 MiB at most, it is no more than the 8 MiB of credit that
 * a sender may leave unspent.
 */
#define LATE_LEAST		(2 * 1024 * 1024)

/*
 * The most data (bytes) behind a lost segment that counts in an upload by sftp.
 * Stock's scp and sftp send 64 requests, 16.7 MB, and then nothing until an
 * answer comes. While these requests wait, more credit would stay unspent.
 */
#define LATE_SFTP_MAX		(4 * 1024 * 1024)

uint64_t
window_now_us(void)
{
	return monotime_double() * 1000000;
}

uint64_t
window_consumed(const struct channel_window *w)
{
	return w->control.consumed - w->late.ahead;
}

/*
 * Returns 1 for streams that may carry bulk data. A window beyond the initial
 * one is of no use to terminals, agents, X11 and tunnels, which talk in small
 * pieces.
 */
static int
is_bulk(const Channel *c)
{
	static const char *kinds[] = {
		"session",
		"direct-tcpip", "forwarded-tcpip", "dynamic-tcpip",
		"direct-streamlocal@openssh.com",
		"forwarded-streamlocal@openssh.com",
		"stdio-forward", NULL
	};
	u_int i;

	if (c->isatty || c->client_tty || c->datagram)
		return 0;
	for (i = 0; kinds[i] != NULL; i++) {
		if (strcmp(c->ctype, kinds[i]) == 0)
			return 1;
	}
	return 0;
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

/* Returns the descriptor of the reader that has more to take. */
static int
lagging_fd(const Channel *c)
{
	return c->extended_usage == CHAN_EXTENDED_WRITE &&
	    sshbuf_len(c->extended) > sshbuf_len(c->output) ? c->efd : c->wfd;
}

struct channel_windows *
channel_windows_new(uint32_t limit)
{
	struct channel_windows *ws = xcalloc(1, sizeof(*ws));

	ws->limit = limit;
	if ((ws->budget = window_budget_new(limit)) == NULL)
		fatal_f("window_budget_new failed");
	return ws;
}

struct channel_windows *
channel_windows_get(struct channel_windows **wsp)
{
	if (*wsp == NULL)
		*wsp = channel_windows_new(window_max_default());
	return *wsp;
}

void
channel_windows_free(struct ssh *ssh, struct channel_windows *ws)
{
	if (ws == NULL)
		return;
	channel_report_path(ssh, ws);
	ssh->inband = NULL;
	window_budget_free(ws->budget);
	freezero(ws, sizeof(*ws));
}

/* Notes what is known of the peer once its first bulk channel is open. */
static void
windows_start(struct ssh *ssh, struct channel_windows *ws)
{
	ws->started = 1;
	poly1305_evp_start();
	ws->server = ssh->kex->server;
	ws->bounded = (ssh->kex->flags & KEX_HAS_BOUNDED_INPUT) != 0;
	channel_path_start(ssh, ws);
	/*
	 * Adjusts are small packets, and several are in flight. Nagle's
	 * algorithm would hold them back for a round trip, and sshd turns it
	 * off for sessions only.
	 */
	if (ssh_packet_connection_is_on_socket(ssh))
		set_nodelay(ssh_packet_get_connection_in(ssh));
}

/*
 * Makes a channel's window. The window follows the path if the channel may
 * carry bulk data and the peer's input buffer takes it.
 */
static void
window_new(struct ssh *ssh, Channel *c, struct channel_windows *ws)
{
	struct channel_window *w = xcalloc(1, sizeof(*w));

	c->window = w;
	w->id = c->self;
	window_budget_join(ws->budget, &w->share, c->local_window_max);
	w->bulk = ws->limit != 0 && is_bulk(c) && ssh->kex != NULL &&
	    (ssh->compat & SSH_BUG_SMALL_INPUT) == 0;
	if (!w->bulk)
		return;
	if (!ws->started)
		windows_start(ssh, ws);
	ws->bulks++;
	w->granted = w->peak = c->local_window_max;
	window_init(&w->control, c->local_window_max, ws->bounded,
	    window_now_us());
	debug2_f("channel %d: window %u, peer %s", c->self,
	    c->local_window_max, ws->bounded ? "bounded" : "unknown");
	channel_path_probe(ssh, c, ws, w->control.consumed +
	    c->local_consumed + backlog(c), window_now_us());
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
 * Returns 1 if data that waits in the kernel behind a lost segment counts as
 * consumed: if the peer buffers all of its credit, and the socket has the data
 * of this channel alone. An initial window needs no such care. After a single
 * loss nothing counts: a sender that then sends less would have that part of
 * the window as unspent credit.
 */
static int
counts_late(struct ssh *ssh, const struct channel_windows *ws,
    const struct window_control *cw)
{
	const struct channel_path *p = &ws->path;

	return !ws->bounded && ws->bulks == 1 && !p->no_tcp &&
	    p->source == &p->tcp && p->rtt_us != 0 && cw->target > cw->base &&
	    channel_path_is_lossy(p) && !ssh_packet_is_rekeying(ssh);
}

/*
 * Returns 1 if we are sshd and the client asked for the subsystem sftp, else 0.
 * At ssh's end stock's sftp, which waits for answers, can't be told from ours,
 * which has requests for more than the window.
 */
static int
serves_sftp(const Channel *c, const struct channel_windows *ws)
{
	return ws->server && c->xctype != NULL &&
	    strcmp(c->xctype, "session:subsystem:sftp") == 0;
}

/*
 * Finds out how much data waits in the kernel behind a lost segment, and
 * decides how much of it counts.
 */
static void
gather_late(struct ssh *ssh, Channel *c, struct channel_windows *ws,
    const struct window_facts *facts)
{
	struct channel_window *w = c->window;
	const struct channel_path *p = &ws->path;
	struct late_look look;
	uint64_t arrived = facts->consumed + facts->backlog;
	uint64_t unspent;

	if (!counts_late(ssh, ws, &w->control)) {
		late_bytes_stop(&w->late);
		return;
	}
	if (arrived > w->control.backlog)
		arrived -= w->control.backlog;
	else
		arrived = 0;
	if (facts->consumed != 0 || arrived != 0)
		late_bytes_arrived(&w->late, arrived, p->rtt_us,
		    facts->now_us);
	if (!late_bytes_due(&w->late, facts->now_us))
		return;
	tcp_path_look(ssh_packet_get_connection_in(ssh), &look);
	late_bytes_look(&w->late, &look, facts->window, p->rtt_us,
	    facts->now_us);
	unspent = window_unspent(&w->control, facts->window - w->late.held,
	    facts->now_us);
	late_bytes_allow(&w->late, LATE_LEAST,
	    serves_sftp(c, ws) ? LATE_SFTP_MAX : UINT64_MAX, w->control.bdp,
	    unspent, p->rtt_us, facts->now_us);
}

/*
 * Collects the facts for the decision. Returns 1 if data came, was consumed, or
 * began to wait behind a lost segment since the last decision, or if withheld
 * credit is due. Otherwise there is nothing to decide, and it returns 0.
 */
static int
gather(struct ssh *ssh, Channel *c, struct channel_windows *ws,
    struct window_facts *facts)
{
	struct channel_window *w = c->window;
	const struct window_control *cw = &w->control;
	uint64_t waited = w->late.waiting;

	facts->now_us = window_now_us();
	facts->consumed = c->local_consumed - w->seen;
	facts->backlog = backlog(c);
	if (facts->consumed != 0)
		w->took_us = facts->now_us;
	if (reader_turn_look(&ws->reader, facts->backlog, cw->backlog,
	    w->took_us, facts->now_us))
		ws->reader_fd = lagging_fd(c);
	facts->window = c->local_window;
	facts->maxpacket = c->local_maxpacket;
	gather_late(ssh, c, ws, facts);
	facts->waiting = w->late.waiting;
	facts->counted = late_bytes_count(&w->late, facts->consumed);
	facts->early = w->late.ahead - w->late.waiting;
	if (facts->consumed == 0 && facts->backlog == cw->backlog &&
	    facts->waiting == waited &&
	    (cw->due_us == 0 || facts->now_us < cw->due_us))
		return 0;
	w->seen = c->local_consumed;
	ws->path.consumed += facts->counted;
	channel_path_probe(ssh, c, ws,
	    cw->consumed + facts->counted + facts->backlog, facts->now_us);
	facts->rtt_us = ws->path.rtt_us;
	facts->late = facts->now_us < ws->path.late_us;
	facts->forwarded = ws->path.source == &ws->path.ssh;
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
act(Channel *c, const struct window_facts *facts, uint32_t credit)
{
	struct channel_window *w = c->window;

	channel_report_count(w, facts);
	release_output(c, w);
	channel_pipe_output(c, w);
	if (credit == 0)
		return;
	w->seen = 0;		/* channels.c starts c->local_consumed anew */
	w->granted += credit;
	w->peak = MAXIMUM(w->peak, w->control.target);
	/* Stock derives from this how far a peer may exceed its credit. */
	c->local_window_max = MAXIMUM(w->control.target,
	    c->local_window + credit);
	channel_report_credit(c, w, facts, credit);
}

u_int
channel_window_turn(struct ssh *ssh, Channel *c, struct channel_windows **wsp)
{
	struct channel_windows *ws = channel_windows_get(wsp);
	struct window_facts facts;
	uint32_t credit;

	if (c->window == NULL)
		window_new(ssh, c, ws);
	if (!c->window->bulk)
		return fixed_credit(c);
	channel_sender_turn(ssh, c, ws);
	if (!gather(ssh, c, ws, &facts))
		return 0;
	credit = window_decide(&c->window->control, ws->budget,
	    &c->window->share, &facts);
	act(c, &facts, credit);
	return credit;
}

int
channel_window_readers_first(struct channel_windows *ws)
{
	struct pollfd pfd;

	if (ws == NULL || !reader_turn_first(&ws->reader, window_now_us()))
		return 0;
	memset(&pfd, 0, sizeof(pfd));
	pfd.fd = ws->reader_fd;
	pfd.events = POLLOUT;
	(void)poll(&pfd, 1, 1);
	return 1;
}

/* Returns the earlier of two times (us), of which 0 is none. */
static uint64_t
earlier(uint64_t a_us, uint64_t b_us)
{
	return a_us == 0 || (b_us != 0 && b_us < a_us) ? b_us : a_us;
}

void
channel_window_timeout(struct ssh *ssh, const Channel *c,
    struct channel_windows *ws, struct timespec *timeout)
{
	const struct channel_window *w = c->window;
	uint64_t now_us, due_us;

	if (timeout == NULL || w == NULL)
		return;
	due_us = earlier(earlier(w->control.due_us, w->late.look_us),
	    w->early_wake_us);
	if (due_us == 0 || c->type != SSH_CHANNEL_OPEN ||
	    (c->flags & (CHAN_CLOSE_SENT|CHAN_CLOSE_RCVD)) != 0 ||
	    ssh_packet_is_rekeying(ssh))
		return;
	/* At least 1 ms: this must never make the main loop spin. */
	now_us = window_now_us();
	ptimeout_deadline_ms(timeout, due_us <= now_us ? 1 :
	    MINIMUM((due_us - now_us) / 1000 + 1, 1000));
	ws->wakes = 1;
}

int
channel_window_quiet(struct channel_windows *ws, int event, int quiet_s)
{
	uint64_t now_us = window_now_us();
	int wakes;

	if (ws == NULL)
		return !event;
	wakes = ws->wakes;
	ws->wakes = 0;
	if (event) {
		ws->event_us = now_us;
		return 0;
	}
	return !wakes || quiet_s <= 0 ||
	    now_us - ws->event_us >= (uint64_t)quiet_s * 1000000;
}

void
channel_window_free(struct ssh *ssh, Channel *c, struct channel_windows *ws)
{
	struct channel_window *w = c->window;

	if (w == NULL)
		return;
	/* Once the peer has closed, channel_window_turn() is not called. */
	channel_report_end(w, ws,
	    window_consumed(w) + (c->local_consumed - w->seen));
	channel_sender_forget(ssh, w, ws);
	if (w->bulk)
		ws->bulks--;
	window_budget_leave(ws->budget, &w->share);
	freezero(w, sizeof(*w));
	c->window = NULL;
}
