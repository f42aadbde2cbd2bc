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
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* USDT, if configured: "bpftrace -l usdt:/usr/sbin/sshd:*" */
#ifdef WITH_USDT
# include <sys/sdt.h>
#else
# define DTRACE_PROBE8(provider, name, a, b, c, d, e, f, g, h)
#endif

#include "sshbuf.h"
#include "ssh2.h"
#include "ssherr.h"
#include "packet.h"
#include "channels.h"
#include "compat.h"
#include "kex.h"
#include "log.h"
#include "misc.h"
#include "xmalloc.h"
#include "bdp-names.h"
#include "bounded-input.h"
#include "window-budget.h"
#include "send-account.h"
#include "window-control.h"
#include "ssh-rtt.h"
#include "tcp-path.h"
#include "poly1305.h"
#include "poly1305-evp.h"
#include "window-max.h"
#include "channel-window.h"

/*
 * An output buffer that grew beyond this (bytes) while the consumer lagged
 * gives its memory back when it is empty again. Twice the initial window, so
 * that ordinary backlog never makes it come and go.
 */
#define OUTPUT_KEEP_MAX	(4 * 1024 * 1024)

/*
 * A channel that has carried so much (bytes) may have more memory to carry the
 * rest with fewer turns. Not before: many never carry much.
 */
#define MUCH		(1024 * 1024)

/*
 * A pipe whose reader lags gets this size (bytes; Linux gives it 64 KiB), once
 * much has gone through it: fewer turns, and fewer times that one process
 * wakes the other or waits for its lock. A user has 64 MiB of pipes, beyond
 * which his next ones get less, so it is not done for everybody, nor for more.
 */
#define PIPE_SIZE	CHANNEL_READ_AHEAD

/* A segment out of order is taken for the first of some for so many RTTs. */
#define LATE_RTTS	16

/* The least time (us) between two looks at what the socket sends. */
#define UNSENT_LEAST_US	10000

/* OpenSSH before 9.5 has no pings, so that no peer has them for us. */
#ifndef SSH2_MSG_PING
# define SSH2_MSG_PING	192
# define KEX_HAS_PING	0
#endif

struct channel_window {
	struct window_budget_share share;
	int id;			/* of the channel */
	int bulk;		/* the window follows the path */
	int widened;		/* the pipe to the consumer, */
	int source_widened;	/* and the one from the source */
	int no_room;		/* for much in a turn: memory is short */
	uint64_t turn;		/* the one in which it last sent a packet */
	struct window_control cw;
	uint32_t seen;		/* c->local_consumed at the last look */
	uint64_t granted;	/* bytes of credit ever, initial window too */
	uint32_t peak;		/* bytes, largest window */
	uint64_t swollen;	/* bytes, largest backlog since last empty */
	uint64_t first;		/* bytes consumed at first, */
	uint64_t first_us;	/* its time, and that of the last one */
	uint64_t last_us;
	struct send_account send;	/* the other direction */
};

struct channel_windows {
	uint32_t limit;		/* bytes; 0: all windows are fixed */
	struct window_budget *budget;
	int started;		/* there was a bulk channel */
	int server;		/* which end we are */
	u_int bulks;		/* so many there are */
	int bounded;		/* the peer's buffers don't follow our credit */
	int no_tcp;		/* the kernel can't tell: don't ask again */
	const struct path_info *source;	/* one of the two that follow */
	struct path_info tcp, ssh;
	struct ssh_rtt inband;
	struct path_rtt path_rtt;
	uint64_t consumed;	/* bytes, by all bulk channels */
	uint64_t rtt_us;	/* last one probed; 0 = unknown */
	uint64_t least_rtt_us;	/* of the path as it is, without queues */
	uint64_t probe_us;	/* time of the next look at the socket */
	uint64_t late;		/* segments out of order, at the last one */
	uint64_t late_us;	/* until when more are to be expected */
	u_int unsent;		/* bytes of bulk data that may wait unsent */
	uint64_t unsent_us;	/* when to look at that again */
	uint64_t send_rate;	/* bytes/s, as of then; 0 = unknown */
	uint64_t turn;		/* counts the times that nothing waited */
	int full;		/* the path took less than was there to send */
	const struct channel_window *filler;	/* whose that was, or NULL */
};

static uint64_t
now_us(void)
{
	return monotime_double() * 1000000;
}

/*
 * Streams that may carry bulk data. A window beyond the initial one is of no
 * use to terminals, agents, X11 and tunnels, which talk in small pieces.
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

struct channel_windows *
channel_windows_new(uint32_t limit)
{
	struct channel_windows *ws = xcalloc(1, sizeof(*ws));

	ws->limit = limit;
	if ((ws->budget = window_budget_new(limit)) == NULL)
		fatal_f("window_budget_new failed");
	return ws;
}

void
channel_windows_free(struct ssh *ssh, struct channel_windows *ws)
{
	if (ws == NULL)
		return;
	ssh->inband = NULL;
	window_budget_free(ws->budget);
	freezero(ws, sizeof(*ws));
}

/* What is known of the peer once its first bulk channel is open. */
static void
windows_start(struct ssh *ssh, struct channel_windows *ws)
{
	ws->started = 1;
	poly1305_evp_start();
	ws->server = ssh->kex->server;
	ws->bounded = (ssh->kex->flags & KEX_HAS_BOUNDED_INPUT) != 0;
	ws->path_rtt.cautious = !ws->bounded;
	ws->inband.refused = (ssh->kex->flags & KEX_HAS_PING) == 0;
	ws->source = &ws->tcp;
	ssh->inband = &ws->inband;
	/*
	 * Adjusts are small packets, and more than one is under way: Nagle's
	 * algorithm would hold them back for a round trip. sshd only turns
	 * it off for sessions.
	 */
	if (ssh_packet_connection_is_on_socket(ssh))
		set_nodelay(ssh_packet_get_connection_in(ssh));
}

static struct channel_window *
window_new(struct ssh *ssh, Channel *c, struct channel_windows *ws)
{
	struct channel_window *w = xcalloc(1, sizeof(*w));

	w->id = c->self;
	window_budget_join(ws->budget, &w->share, c->local_window_max);
	w->bulk = ws->limit != 0 && is_bulk(c) && ssh->kex != NULL &&
	    (ssh->compat & SSH_BUG_SMALL_INPUT) == 0;
	if (!w->bulk)
		return w;
	if (!ws->started)
		windows_start(ssh, ws);
	ws->bulks++;
	w->granted = w->peak = c->local_window_max;
	window_init(&w->cw, c->local_window_max, ws->bounded, now_us());
	debug2_f("channel %d: window %u, peer %s", c->self,
	    c->local_window_max, ws->bounded ? "bounded" : "unknown");
	return w;
}

static void
probe_refused(struct ssh *ssh, int type, Channel *c, void *ctx)
{
	ssh_rtt_answer(ctx, now_us());
}

static void
probe_abandoned(struct ssh *ssh, Channel *c, void *ctx)
{
	ssh_rtt_abandon(ctx);
}

/* Whether the socket is known to tell of the whole path. */
static int
is_direct(const struct channel_windows *ws)
{
	struct path_info seen = { .rtt_us = ssh_rtt_least_us(&ws->inband) };

	seen.min_rtt_us = seen.rtt_us;
	return seen.rtt_us != 0 && ws->tcp.rtt_us != 0 &&
	    path_rtt_choose(&ws->tcp, &seen) == &ws->tcp;
}

/*
 * SSH's own round trip, once a channel has received so much that it is worth a
 * message, and where the exchanges that opened it have not shown already that
 * the socket tells of the whole path. They took place before data flowed,
 * behind which answers to probes have to wait.
 */
static void
probe_inband(struct ssh *ssh, Channel *c, struct channel_windows *ws,
    uint64_t now)
{
	const struct channel_window *w = c->window;
	struct ssh_rtt *ib = &ws->inband;
	u_char ping[SSH_RTT_PING_LEN];
	int r;

	if (ssh_packet_is_rekeying(ssh)) {
		ssh_rtt_void(ib);
		return;
	}
	if (w->cw.consumed + (c->local_consumed - w->seen) + backlog(c) <
	    MUCH || is_direct(ws))
		return;
	if (!ssh_rtt_due(ib, now))
		return;
	if (ib->refused) {
		channel_request_start(ssh, c->self, BDP_PATH_PROBE, 1);
		r = sshpkt_send(ssh);
		channel_register_status_confirm(ssh, c->self, probe_refused,
		    probe_abandoned, ib);
		ssh_rtt_sent(ib, now);
	} else {
		ssh_rtt_compose(ssh_rtt_sent(ib, now), ping);
		if ((r = sshpkt_start(ssh, SSH2_MSG_PING)) == 0 &&
		    (r = sshpkt_put_string(ssh, ping, sizeof(ping))) == 0)
			r = sshpkt_send(ssh);
	}
	if (r != 0)
		fatal_fr(r, "channel %d", c->self);
}

/*
 * Bulk data waits where a keystroke can overtake it: in its channel, not in
 * the kernel, which gets what it sends in a few turns of the main loop.
 */
static void
bound_unsent(struct ssh *ssh, struct channel_windows *ws)
{
	struct path_info path;
	uint64_t now;
	u_int unsent;

	if (ws->no_tcp || (now = now_us()) < ws->unsent_us)
		return;
	if (tcp_path_probe(ssh_packet_get_connection_out(ssh), &path) != 0)
		ws->no_tcp = errno != EAGAIN;
	ws->send_rate = path.send_rate;
	ws->unsent_us = now + MAXIMUM(path.rtt_us, UNSENT_LEAST_US);
	ws->full = path.full;
	unsent = tcp_path_unsent(path.send_rate);
	if (unsent == ws->unsent || ws->no_tcp)
		return;
	ws->unsent = unsent;
	tcp_path_bound_unsent(ssh_packet_get_connection_out(ssh), unsent);
}

/*
 * While a channel has more to send than the path takes, Nagle's algorithm sees
 * to it that segments are full: bound as it is, the kernel's queue often ends
 * in a part of one. Where many are lost, it is segments that count.
 */
static void
fill_segments(struct ssh *ssh, struct channel_windows *ws,
    const struct channel_window *filler)
{
	if ((ws->filler != NULL) != (filler != NULL))
		tcp_path_fill_segments(ssh_packet_get_connection_out(ssh),
		    filler != NULL);
	ws->filler = filler;
}

/* Once it has nothing more to send, small packets go out at once. */
static void
check_filler(struct ssh *ssh, const Channel *c, struct channel_windows *ws)
{
	if (ws->filler != NULL && (!ws->full || (ws->filler == c->window &&
	    sshbuf_len(c->input) == 0 && !ssh_packet_have_data_to_write(ssh))))
		fill_segments(ssh, ws, NULL);
}

/* What the socket knows moves no faster than once a round trip. */
static void
probe_tcp(struct ssh *ssh, struct channel_windows *ws, uint64_t now)
{
	if (ws->no_tcp || now < ws->probe_us)
		return;
	if (tcp_path_probe(ssh_packet_get_connection_in(ssh), &ws->tcp) != 0)
		ws->no_tcp = errno != EAGAIN;
	ws->probe_us = now + ws->tcp.rtt_us;
	if (ws->tcp.late != ws->late)
		ws->late_us = now + LATE_RTTS * ws->tcp.rtt_us;
	ws->late = ws->tcp.late;
}

static void
probe(struct ssh *ssh, Channel *c, struct channel_windows *ws, uint64_t now)
{
	const struct path_info *source;

	probe_tcp(ssh, ws, now);
	probe_inband(ssh, c, ws, now);
	ws->ssh.rtt_us = ws->inband.rtt_us;
	ws->ssh.min_rtt_us = ssh_rtt_least_us(&ws->inband);
	source = path_rtt_choose(&ws->tcp, &ws->ssh);
	if (source != ws->source) {
		debug2_f("rtt of %s", source == &ws->tcp ? "tcp" : "ssh");
		ws->source = source;
		memset(&ws->path_rtt, 0, sizeof(ws->path_rtt));
		ws->path_rtt.cautious = !ws->bounded;
		ws->least_rtt_us = 0;
	}
	if ((ws->rtt_us = source->rtt_us) == 0)
		return;
	ws->rtt_us = path_rtt_us(&ws->path_rtt, source, ws->consumed, now);
	if (ws->least_rtt_us == 0 || ws->rtt_us < ws->least_rtt_us)
		ws->least_rtt_us = ws->rtt_us;
	if (source->min_rtt_us != 0 && source->min_rtt_us < ws->least_rtt_us)
		ws->least_rtt_us = source->min_rtt_us;
}

void
channel_window_asked(Channel *c)
{
	c->asked_us = now_us();
}

void
channel_window_answered(Channel *c, struct channel_windows **wsp)
{
	uint64_t now = now_us();

	if (c->asked_us == 0)
		return;
	if (*wsp == NULL)
		*wsp = channel_windows_new(window_max_default());
	/* A clock that stepped back says nothing. */
	if (now > c->asked_us)
		ssh_rtt_exchange(&(*wsp)->inband, now - c->asked_us);
	c->asked_us = 0;
}

void
channel_window_reply(struct ssh *ssh, int type, Channel *c, void *ctx)
{
}

static void
widen_pipe(int fd)
{
#ifdef F_SETPIPE_SZ
	int size;

	/* Not a pipe, or its owner has too many: stays as it is */
	if ((size = fcntl(fd, F_GETPIPE_SZ)) != -1 && size < PIPE_SIZE)
		fcntl(fd, F_SETPIPE_SZ, PIPE_SIZE);
#endif
}

static void
widen_output(const Channel *c, struct channel_window *w)
{
	if (w->widened || w->cw.consumed < MUCH ||
	    sshbuf_len(c->output) == 0)
		return;
	w->widened = 1;
	widen_pipe(c->wfd);
}

/*
 * Only where all goes one way: what answers, as sftp-server does, writes more
 * than it finds in the cache again (scp got 10 % slower).
 */
static void
widen_input(const Channel *c, struct channel_window *w)
{
	if (w->source_widened || w->send.bytes < MUCH ||
	    w->cw.consumed != 0)
		return;
	w->source_widened = 1;
	widen_pipe(c->rfd);
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

static void
say(const Channel *c, const struct channel_window *w,
    const struct channel_windows *ws, uint64_t waiting, uint32_t credit)
{
	DTRACE_PROBE8(openssh, window, c->self, w->cw.target, c->local_window,
	    waiting, w->cw.bdp, ws->rtt_us, credit, w->cw.limited);
	debug2("channel %d: chanwin t_us=%llu target=%u window=%u "
	    "backlog=%llu granted=%llu consumed=%llu bdp=%llu rtt_us=%llu "
	    "adjust=%u limited=%s", c->self, (unsigned long long)w->last_us,
	    w->cw.target, c->local_window, (unsigned long long)waiting,
	    (unsigned long long)w->granted,
	    (unsigned long long)w->cw.consumed,
	    (unsigned long long)w->cw.bdp, (unsigned long long)ws->rtt_us,
	    credit, window_limited_name(w->cw.limited));
}

static u_int
adaptive_credit(struct ssh *ssh, Channel *c, struct channel_window *w,
    struct channel_windows *ws)
{
	uint64_t waiting = backlog(c), limit;
	uint32_t credit, took = c->local_consumed - w->seen;

	if (took == 0 && waiting == w->cw.backlog &&
	    (w->cw.due_us == 0 || now_us() < w->cw.due_us))
		return 0;
	w->last_us = now_us();
	if (w->first_us == 0 && took != 0) {
		w->first = took;
		w->first_us = w->last_us;
	}
	ws->consumed += took;
	probe(ssh, c, ws, w->last_us);
	w->cw.late = w->last_us < ws->late_us;
	window_update(&w->cw, took, waiting, ws->rtt_us, w->last_us,
	    SSHBUF_SIZE_MAX);
	w->seen = c->local_consumed;
	release_output(c, w);
	widen_output(c, w);
	limit = window_budget_ask(ws->budget, &w->share, w->cw.target,
	    MINIMUM(c->local_window + waiting, UINT32_MAX));
	window_limit(&w->cw, limit);
	credit = window_credit(&w->cw, c->local_window, c->local_maxpacket);
	if (credit == 0)
		return 0;

	w->seen = 0;
	w->granted += credit;
	w->peak = MAXIMUM(w->peak, w->cw.target);
	/* Stock code takes its tolerance for a peer's excess from this. */
	c->local_window_max = MAXIMUM(w->cw.target, c->local_window + credit);
	say(c, w, ws, waiting, credit);
	return credit;
}

u_int
channel_window_credit(struct ssh *ssh, Channel *c,
    struct channel_windows **wsp)
{
	if (*wsp == NULL)
		*wsp = channel_windows_new(window_max_default());
	if (c->window == NULL) {
		c->window = window_new(ssh, c, *wsp);
		if (c->window->bulk)
			probe(ssh, c, *wsp, now_us());
	}
	if (c->window->bulk) {
		bound_unsent(ssh, *wsp);
		check_filler(ssh, c, *wsp);
		return adaptive_credit(ssh, c, c->window, *wsp);
	}
	return c->local_consumed > 0 ? stock_credit(c) : 0;
}

void
channel_window_wait(struct ssh *ssh, const Channel *c,
    struct timespec *timeout)
{
	uint64_t now, due;

	if (timeout == NULL || c->window == NULL ||
	    (due = c->window->cw.due_us) == 0 ||
	    c->type != SSH_CHANNEL_OPEN ||
	    (c->flags & (CHAN_CLOSE_SENT|CHAN_CLOSE_RCVD)) != 0 ||
	    ssh_packet_is_rekeying(ssh))
		return;
	/* At least 1 ms: this must never make the main loop spin. */
	now = now_us();
	ptimeout_deadline_ms(timeout, due <= now ? 1 :
	    MINIMUM((due - now) / 1000 + 1, 1000));
}

/* Whether the path is so slow that what may wait unsent is bounded. */
static int
is_bounded(const struct channel_windows *ws)
{
	return ws->unsent != 0 && ws->unsent < TCP_PATH_UNSENT_MAX;
}

/* What a channel may send of len by what bound_unsent() found out */
static size_t
send_some(struct ssh *ssh, const Channel *c, struct channel_windows *ws,
    size_t len)
{
	struct channel_window *w = c->window;
	size_t some = MINIMUM(len, send_account_rest(&w->send,
	    c->remote_maxpacket));

	if (!is_bounded(ws))
		return some;
	/* Each channel has its packet before any has a second one. */
	if (!ssh_packet_have_data_to_write(ssh))
		ws->turn++;
	if (w->turn == ws->turn)
		return 0;
	w->turn = ws->turn;
	some = MINIMUM(some, ws->unsent);
	if (ws->full && len > some)
		fill_segments(ssh, ws, w);
	else if (ws->filler == w)	/* nothing follows that would fill */
		fill_segments(ssh, ws, NULL);
	return some;
}

size_t
channel_window_send(struct ssh *ssh, Channel *c, struct channel_windows *ws,
    size_t len)
{
	struct channel_window *w = c->window;
	size_t some;

	if (w == NULL || !w->bulk)
		return len;
	some = send_some(ssh, c, ws, len);
	send_account_sent(&w->send, MINIMUM(some, c->remote_window),
	    MINIMUM(len, c->remote_window), c->remote_maxpacket);
	widen_input(c, w);
	return some;
}

size_t
channel_window_read_max(const Channel *c)
{
	return c->window != NULL && c->window->send.bytes >= MUCH &&
	    !c->window->no_room ? CHANNEL_READ_AHEAD : CHANNEL_MAX_READ;
}

int
channel_window_read_less(Channel *c)
{
	if (channel_window_read_max(c) == CHANNEL_MAX_READ)
		return 0;
	c->window->no_room = 1;
	return 1;
}

int
channel_window_more(struct ssh *ssh, const Channel *c,
    const struct channel_windows *ws, size_t had)
{
	/*
	 * If nothing was sent, nothing will be, whatever the reason: the peer
	 * may have said that its packets have no room for data.
	 */
	if (sshbuf_len(c->input) >= had)
		return 0;
	/* Several have a turn of several packets already, one each. */
	return c->window != NULL && c->window->bulk && ws->bulks == 1 &&
	    !is_bounded(ws) &&
	    sshbuf_len(c->input) >= c->remote_maxpacket &&
	    c->remote_window >= c->remote_maxpacket &&
	    !ssh_packet_is_rekeying(ssh) &&
	    ssh_packet_not_very_much_data_to_write(ssh);
}

/* Whether the channel's source has something, or its end, to be read */
static int
source_waits(const Channel *c)
{
	struct pollfd pfd = { .fd = c->rfd, .events = POLLIN };

	return c->rfd != -1 && poll(&pfd, 1, 0) == 1;
}

/* us that the kernel takes to send what it has, as fast as it says it sends */
static uint64_t
drain_us(struct ssh *ssh, const struct channel_windows *ws)
{
	if (ws->send_rate == 0)
		return 0;
	return tcp_path_waiting(ssh_packet_get_connection_out(ssh)) *
	    1000000ULL / ws->send_rate;
}

void
channel_window_look(struct ssh *ssh, Channel *c, struct channel_windows *ws)
{
	struct channel_window *w = c->window;
	enum send_why why = SEND_NO_DATA;
	uint64_t draining_us = 0;
	int waits;

	if (w == NULL || !w->bulk)
		return;
	waits = sshbuf_len(c->input) != 0;
	/*
	 * Nothing is read from the source that has no room in the window: it
	 * is polled for its data only to see when that is there.
	 */
	if (!waits && c->remote_window == 0 &&
	    c->istate == CHAN_INPUT_OPEN && c->input_filter == NULL &&
	    !(waits = source_waits(c)))
		c->io_want |= SSH_CHAN_IO_RFD;
	if (waits && c->remote_window == 0 &&
	    !ssh_packet_have_data_to_write(ssh)) {
		why = SEND_WINDOW;
		draining_us = drain_us(ssh, ws);
	} else if (waits)
		why = SEND_PATH;
	send_account_look(&w->send, why, now_us(), draining_us);
}

/* Tenths of MB/s from the first byte consumed to the last */
static uint64_t
mean_rate(const struct channel_window *w, uint64_t bytes)
{
	uint64_t took_us = w->last_us - w->first_us;

	return took_us == 0 ? 0 : (bytes - w->first) * 10 / took_us;
}

void
channel_window_status(const Channel *c, const struct channel_windows *ws,
    struct sshbuf *buf)
{
	const struct channel_window *w = c->window;
	uint64_t rate;
	int r;

	if (w == NULL || !w->bulk)
		return;
	rate = mean_rate(w, w->cw.consumed);
	if ((r = sshbuf_putf(buf, "     window %u, rtt %llu.%llu ms, "
	    "mean %llu.%llu MB/s, limited by %s\r\n", w->cw.target,
	    (unsigned long long)ws->rtt_us / 1000,
	    (unsigned long long)ws->rtt_us / 100 % 10,
	    (unsigned long long)rate / 10, (unsigned long long)rate % 10,
	    window_limited_name(w->cw.limited))) != 0)
		fatal_fr(r, "sshbuf_putf");
}

/* After a disconnect, too, when the connection's state is gone */
static void
report(struct channel_window *w, const struct channel_windows *ws,
    uint64_t bytes)
{
	uint64_t rate = mean_rate(w, bytes);
	LogLevel level;

	if (!w->bulk)
		return;
	level = ws->server ? SYSLOG_LEVEL_VERBOSE : SYSLOG_LEVEL_DEBUG1;
	if (bytes != 0)
		do_log2(level, "channel %d: peak window %u, least rtt "
		    "%llu.%llu ms, received %llu bytes, %llu.%llu MB/s", w->id,
		    w->peak, (unsigned long long)ws->least_rtt_us / 1000,
		    (unsigned long long)ws->least_rtt_us / 100 % 10,
		    (unsigned long long)bytes, (unsigned long long)rate / 10,
		    (unsigned long long)rate % 10);
	if (w->send.bytes == 0)
		return;
	send_account_look(&w->send, SEND_NO_DATA, now_us(), 0);
	do_log2(level, "channel %d: sent %llu bytes, held up by the peer's "
	    "window %u %% of the time, by the connection %u %%, without data "
	    "%u %%", w->id, (unsigned long long)w->send.bytes,
	    send_account_percent(&w->send, SEND_WINDOW),
	    send_account_percent(&w->send, SEND_PATH),
	    send_account_percent(&w->send, SEND_NO_DATA));
}

void
channel_window_free(struct ssh *ssh, Channel *c, struct channel_windows *ws)
{
	struct channel_window *w = c->window;

	if (w == NULL)
		return;
	/* Once the peer has closed, nobody asks for credit any more. */
	report(w, ws, w->cw.consumed + (c->local_consumed - w->seen));
	if (ws->filler == w)
		fill_segments(ssh, ws, NULL);
	if (w->bulk)
		ws->bulks--;
	window_budget_leave(ws->budget, &w->share);
	freezero(w, sizeof(*w));
	c->window = NULL;
}

void
channel_windows_report(struct ssh *ssh, struct channel_windows *ws)
{
	struct window_budget_share *s;
	struct channel_window *w;

	if (ws == NULL)
		return;
	TAILQ_FOREACH(s, &ws->budget->shares, entry) {
		w = (struct channel_window *)((char *)s -
		    offsetof(struct channel_window, share));
		report(w, ws, w->cw.consumed);
	}
}
