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

#include "includes.h"

#include <sys/types.h>

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sshbuf.h"
#include "ssherr.h"
#include "packet.h"
#include "channels.h"
#include "kex.h"
#include "log.h"
#include "misc.h"
#include "xmalloc.h"
#include "chanwin.h"
#include "pathprobe.h"
#include "channel-window.h"

/*
 * An output buffer that grew beyond this (bytes) while the consumer lagged
 * gives its memory back when it is empty again. Twice the initial window, so
 * that ordinary backlog never makes it come and go.
 */
#define OUTPUT_KEEP_MAX	(4 * 1024 * 1024)

struct channel_window {
	struct chanwin cw;
	struct chanbudget_share share;
	uint32_t seen;		/* c->local_consumed at the last look */
	struct path_rtt path_rtt;
	uint64_t rtt_us;	/* last one probed; 0 = unknown */
	uint64_t least_rtt_us;	/* of the path as it is, without queues */
	uint64_t probe_us;	/* time of the next probe */
	int no_probe;		/* the kernel can't tell: don't ask again */
	uint64_t granted;	/* bytes of credit ever, initial window too */
	uint32_t peak;		/* bytes, largest window */
	uint64_t swollen;	/* bytes, largest backlog since last empty */
	uint64_t first;		/* bytes consumed at the first look, */
	uint64_t first_us;	/* its time, and that of the last one */
	uint64_t last_us;
};

static uint64_t
now_us(void)
{
	struct timespec ts;

	monotime_ts(&ts);
	return (uint64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/*
 * Streams that may carry bulk data: sessions without a terminal. A window
 * beyond the initial one is of no use to the others.
 */
static int
is_bulk(const Channel *c)
{
	return strcmp(c->ctype, "session") == 0 && !c->isatty &&
	    !c->client_tty && !c->datagram;
}

/* The rule of every OpenSSH: give back what was consumed, in 3 packets. */
static u_int
stock_credit(const Channel *c)
{
	if (c->local_window_max - c->local_window > c->local_maxpacket * 3 ||
	    c->local_window < c->local_window_max / 2)
		return c->local_consumed;
	return 0;
}

/* Bytes that the peer has sent and that wait for a local consumer. */
static uint64_t
backlog(const Channel *c)
{
	uint64_t len = sshbuf_len(c->output);

	if (c->extended_usage == CHAN_EXTENDED_WRITE)
		len += sshbuf_len(c->extended);
	return len;
}

static struct channel_window *
window_new(struct ssh *ssh, Channel *c, struct chanbudget **budgetp)
{
	struct channel_window *w;
	uint64_t now = now_us();
	int bounded = ssh->kex != NULL &&
	    (ssh->kex->flags & KEX_HAS_BOUNDED_INPUT) != 0;

	if (*budgetp == NULL &&
	    (*budgetp = chanbudget_new(CHANBUDGET_DEFAULT)) == NULL)
		fatal_f("chanbudget_new failed");
	w = xcalloc(1, sizeof(*w));
	chanwin_init(&w->cw, c->local_window_max, bounded, now);
	w->path_rtt.cautious = !bounded;
	chanbudget_join(*budgetp, &w->share, c->local_window_max);
	w->granted = w->peak = c->local_window_max;
	w->first = c->local_consumed;
	w->first_us = now;
	debug2_f("channel %d: window %u, peer %s", c->self,
	    c->local_window_max, bounded ? "bounded" : "unknown");
	return w;
}

/*
 * Once in a round trip is enough: the kernel's figures move no faster. There
 * is no TCP under a ProxyCommand, which can't change while we run.
 */
static void
probe(struct ssh *ssh, struct channel_window *w, uint64_t now)
{
	struct path_info path;

	if (w->no_probe || now < w->probe_us)
		return;
	if (path_probe(ssh_packet_get_connection_in(ssh), &path) != 0) {
		w->no_probe = errno != EAGAIN;
		w->rtt_us = 0;
		return;
	}
	w->rtt_us = path_rtt_us(&w->path_rtt, &path, w->cw.consumed, now);
	if (w->least_rtt_us == 0 || w->rtt_us < w->least_rtt_us)
		w->least_rtt_us = w->rtt_us;
	if (path.min_rtt_us != 0 && path.min_rtt_us < w->least_rtt_us)
		w->least_rtt_us = path.min_rtt_us;
	w->probe_us = now + w->rtt_us;
}

/* What a stalled consumer made the output buffer grow to is given back. */
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

static u_int
adaptive_credit(struct ssh *ssh, Channel *c, struct channel_window *w,
    struct chanbudget *budget)
{
	uint64_t now, waiting = backlog(c), limit;
	uint32_t credit;

	/* Credit follows consumption: without any, there is nothing to do. */
	if (c->local_consumed == w->seen)
		return 0;
	now = w->last_us = now_us();
	probe(ssh, w, now);
	chanwin_update(&w->cw, c->local_consumed - w->seen, waiting,
	    w->rtt_us, now, UINT32_MAX);
	w->seen = c->local_consumed;
	release_output(c, w);
	limit = chanbudget_ask(budget, &w->share, w->cw.target,
	    MINIMUM(c->local_window + waiting, UINT32_MAX));
	chanwin_limit(&w->cw, limit);
	credit = chanwin_credit(&w->cw, c->local_window, c->local_maxpacket);
	if (credit == 0)
		return 0;

	w->seen = 0;
	w->granted += credit;
	w->peak = MAXIMUM(w->peak, w->cw.target);
	/* Stock code takes its tolerance for a peer's excess from this. */
	c->local_window_max = MAXIMUM(w->cw.target, c->local_window + credit);
	debug2("channel %d: chanwin t_us=%llu target=%u window=%u "
	    "backlog=%llu granted=%llu consumed=%llu bdp=%llu rtt_us=%llu "
	    "adjust=%u limited=%s", c->self, (unsigned long long)now,
	    w->cw.target, c->local_window, (unsigned long long)waiting,
	    (unsigned long long)w->granted,
	    (unsigned long long)w->cw.consumed,
	    (unsigned long long)w->cw.bdp, (unsigned long long)w->rtt_us,
	    credit, chanwin_limited_name(w->cw.limited));
	return credit;
}

u_int
channel_window_credit(struct ssh *ssh, Channel *c, struct chanbudget **budgetp)
{
	if (c->local_consumed == 0)
		return 0;
	if (!is_bulk(c) && c->window == NULL)
		return stock_credit(c);
	if (c->window == NULL)
		c->window = window_new(ssh, c, budgetp);
	return adaptive_credit(ssh, c, c->window, *budgetp);
}

void
channel_window_free(struct ssh *ssh, Channel *c, struct chanbudget *budget)
{
	struct channel_window *w = c->window;
	uint64_t bytes, took_us, rate = 0;

	if (w == NULL)
		return;
	/* Once the peer has closed, nobody asks for credit any more. */
	bytes = w->cw.consumed + (c->local_consumed - w->seen);
	/* Tenths of MB/s; what came before the clock started doesn't count */
	if ((took_us = w->last_us - w->first_us) > 0)
		rate = (bytes - w->first) * 10 / took_us;
	debug("channel %d: peak window %u, least rtt %llu.%llu ms, "
	    "received %llu bytes, %llu.%llu MB/s", c->self, w->peak,
	    (unsigned long long)w->least_rtt_us / 1000,
	    (unsigned long long)w->least_rtt_us / 100 % 10,
	    (unsigned long long)bytes,
	    (unsigned long long)rate / 10, (unsigned long long)rate % 10);
	chanbudget_leave(budget, &w->share);
	freezero(w, sizeof(*w));
	c->window = NULL;
}
