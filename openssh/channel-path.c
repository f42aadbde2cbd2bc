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
#include <stdint.h>
#include <string.h>

#include "sshbuf.h"
#include "ssh2.h"
#include "ssherr.h"
#include "packet.h"
#include "channels.h"
#include "kex.h"
#include "log.h"
#include "misc.h"
#include "bdp-names.h"
#include "path-rtt.h"
#include "ssh-rtt.h"
#include "tcp-path.h"
#include "window-state.h"
#include "channel-path.h"

/* After a segment out of order, more are expected for this many RTTs. */
#define LATE_RTTS	16

/*
 * A path is lossy after this many round trips with segments out of order. One
 * without them halves the number, which is at most LOSSY_MAX. A sender under
 * CUBIC, which sends less after each of them, sends a quarter by then.
 */
#define LOSSY_RTTS	4
#define LOSSY_MAX	8

/* OpenSSH before 9.5 has no pings, so that no peer has them for us. */
#ifndef SSH2_MSG_PING
# define SSH2_MSG_PING	192
# define KEX_HAS_PING	0
#endif

void
channel_path_start(struct ssh *ssh, struct channel_windows *ws)
{
	struct channel_path *p = &ws->path;

	p->path_rtt.cautious = !ws->bounded;
	p->inband.refused = (ssh->kex->flags & KEX_HAS_PING) == 0;
	p->source = &p->tcp;
	ssh->inband = &p->inband;
}

static void
probe_refused(struct ssh *ssh, int type, Channel *c, void *ctx)
{
	ssh_rtt_answer(ctx, window_now_us());
}

static void
probe_abandoned(struct ssh *ssh, Channel *c, void *ctx)
{
	ssh_rtt_abandon(ctx);
}

/* Returns 1 if the socket is known to tell of the whole path. */
static int
is_direct(const struct channel_path *p)
{
	struct path_info seen = { .rtt_us = ssh_rtt_least_us(&p->inband) };

	seen.min_rtt_us = seen.rtt_us;
	return seen.rtt_us != 0 && p->tcp.rtt_us != 0 &&
	    path_rtt_choose(&p->tcp, &seen) == &p->tcp;
}

static void
send_probe(struct ssh *ssh, Channel *c, struct ssh_rtt *ib, uint64_t now_us)
{
	u_char ping[SSH_RTT_PING_LEN];
	int r;

	if (ib->refused) {
		channel_request_start(ssh, c->self, BDP_PATH_PROBE, 1);
		r = sshpkt_send(ssh);
		channel_register_status_confirm(ssh, c->self, probe_refused,
		    probe_abandoned, ib);
		ssh_rtt_sent(ib, now_us);
	} else {
		ssh_rtt_compose(ssh_rtt_sent(ib, now_us), ping);
		if ((r = sshpkt_start(ssh, SSH2_MSG_PING)) == 0 &&
		    (r = sshpkt_put_string(ssh, ping, sizeof(ping))) == 0)
			r = sshpkt_send(ssh);
	}
	if (r != 0)
		fatal_fr(r, "channel %d", c->self);
}

/*
 * Measures SSH's own round trip once a channel has received enough to be worth
 * a message, unless the exchanges that opened it have shown that the socket
 * tells of the whole path. Those took place before data flowed; the answers to
 * probes have to wait behind it.
 */
static void
probe_ssh(struct ssh *ssh, Channel *c, struct channel_path *p,
    uint64_t received, uint64_t now_us)
{
	if (ssh_packet_is_rekeying(ssh))
		ssh_rtt_void(&p->inband);
	else if (received >= WINDOW_MUCH && !is_direct(p) &&
	    ssh_rtt_due(&p->inband, now_us))
		send_probe(ssh, c, &p->inband, now_us);
	p->ssh.rtt_us = p->inband.rtt_us;
	p->ssh.min_rtt_us = ssh_rtt_least_us(&p->inband);
}

/* What the socket knows moves no faster than once a round trip. */
static void
probe_tcp(struct ssh *ssh, struct channel_path *p, uint64_t now_us)
{
	if (p->no_tcp || now_us < p->probe_us)
		return;
	if (tcp_path_probe(ssh_packet_get_connection_in(ssh), &p->tcp) != 0)
		p->no_tcp = errno != EAGAIN;
	p->probe_us = now_us + p->tcp.rtt_us;
	if (p->tcp.late != p->late) {
		p->late_us = now_us + LATE_RTTS * p->tcp.rtt_us;
		p->lossy = MINIMUM(p->lossy + 1, LOSSY_MAX);
	} else
		p->lossy /= 2;
	p->late = p->tcp.late;
}

int
channel_path_is_lossy(const struct channel_path *p)
{
	return p->lossy >= LOSSY_RTTS;
}

/* Takes the source that describes the whole path, and starts anew with it. */
static void
choose_source(struct channel_path *p)
{
	const struct path_info *source = path_rtt_choose(&p->tcp, &p->ssh);
	int cautious = p->path_rtt.cautious;

	if (source == p->source)
		return;
	debug2_f("rtt of %s", source == &p->tcp ? "tcp" : "ssh");
	p->source = source;
	memset(&p->path_rtt, 0, sizeof(p->path_rtt));
	p->path_rtt.cautious = cautious;
	p->path_rtt.inband = source == &p->ssh;
	p->least_rtt_us = 0;
}

void
channel_path_probe(struct ssh *ssh, Channel *c, struct channel_windows *ws,
    uint64_t received, uint64_t now_us)
{
	struct channel_path *p = &ws->path;

	probe_tcp(ssh, p, now_us);
	probe_ssh(ssh, c, p, received, now_us);
	choose_source(p);
	if ((p->rtt_us = p->source->rtt_us) == 0)
		return;
	p->rtt_us = path_rtt_us(&p->path_rtt, p->source, p->consumed, now_us);
	if (p->least_rtt_us == 0 || p->rtt_us < p->least_rtt_us)
		p->least_rtt_us = p->rtt_us;
	if (p->source->min_rtt_us != 0 &&
	    p->source->min_rtt_us < p->least_rtt_us)
		p->least_rtt_us = p->source->min_rtt_us;
}

void
channel_path_asked(Channel *c)
{
	c->asked_us = window_now_us();
}

void
channel_path_answered(Channel *c, struct channel_windows **wsp)
{
	uint64_t now_us = window_now_us();
	struct channel_windows *ws;

	if (c->asked_us == 0)
		return;
	ws = channel_windows_get(wsp);
	/* A clock that stepped back says nothing. */
	if (now_us > c->asked_us)
		ssh_rtt_exchange(&ws->path.inband, now_us - c->asked_us);
	c->asked_us = 0;
}

void
channel_path_reply(struct ssh *ssh, int type, Channel *c, void *ctx)
{
}
