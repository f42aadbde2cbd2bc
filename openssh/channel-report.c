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

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* USDT, if configured: "bpftrace -l usdt:/usr/sbin/sshd:*" */
#ifdef WITH_USDT
# include <sys/sdt.h>
#else
# define DTRACE_PROBE8(provider, name, a, b, c, d, e, f, g, h)
#endif

#include "sshbuf.h"
#include "ssherr.h"
#include "packet.h"
#include "channels.h"
#include "log.h"
#include "misc.h"
#include "send-account.h"
#include "tcp-limit.h"
#include "window-decide.h"
#include "window-state.h"
#include "channel-report.h"

void
channel_report_count(struct channel_window *w,
    const struct window_facts *facts)
{
	w->last_us = facts->now_us;
	if (w->first_us == 0 && facts->consumed != 0) {
		w->first = facts->consumed;
		w->first_us = facts->now_us;
	}
}

/* Returns the rate from the first byte consumed to the last (0.1 MB/s). */
static uint64_t
mean_rate(const struct channel_window *w, uint64_t bytes)
{
	uint64_t took_us = w->last_us - w->first_us;

	return took_us == 0 ? 0 : (bytes - w->first) * 10 / took_us;
}

/* Programs read this line, and what bpftrace prints: see DESIGN.md. */
void
channel_report_credit(const Channel *c, const struct channel_window *w,
    const struct window_facts *facts, uint32_t credit)
{
	const struct window_control *cw = &w->control;

	DTRACE_PROBE8(openssh, window, c->self, cw->target, c->local_window,
	    facts->backlog, cw->bdp, facts->rtt_us, credit, cw->limited);
	debug2("channel %d: chanwin t_us=%llu target=%u window=%u "
	    "backlog=%llu granted=%llu consumed=%llu bdp=%llu rtt_us=%llu "
	    "adjust=%u limited=%s", c->self, (unsigned long long)facts->now_us,
	    cw->target, c->local_window, (unsigned long long)facts->backlog,
	    (unsigned long long)w->granted,
	    (unsigned long long)window_consumed(w),
	    (unsigned long long)cw->bdp, (unsigned long long)facts->rtt_us,
	    credit, window_limited_name(cw->limited));
}

void
channel_report_status(const Channel *c, const struct channel_windows *ws,
    struct sshbuf *buf)
{
	const struct channel_window *w = c->window;
	uint64_t rate, rtt_us;
	int r;

	if (w == NULL || !w->bulk)
		return;
	rate = mean_rate(w, window_consumed(w));
	rtt_us = ws->path.rtt_us;
	if ((r = sshbuf_putf(buf, "     window %u, rtt %llu.%llu ms, "
	    "mean %llu.%llu MB/s, limited by %s\r\n", w->control.target,
	    (unsigned long long)rtt_us / 1000,
	    (unsigned long long)rtt_us / 100 % 10,
	    (unsigned long long)rate / 10, (unsigned long long)rate % 10,
	    window_limited_name(w->control.limited))) != 0)
		fatal_fr(r, "sshbuf_putf");
}

/* Logs what held up a channel's data that was sent, if any was. */
static void
report_sent(struct channel_window *w, LogLevel level)
{
	if (w->send.bytes == 0)
		return;
	send_account_look(&w->send, SEND_NO_DATA, window_now_us(), 0);
	do_log2(level, "channel %d: sent %llu bytes, held up by the peer's "
	    "window %u %% of the time, by the connection %u %%, without data "
	    "%u %%", w->id, (unsigned long long)w->send.bytes,
	    send_account_percent(&w->send, SEND_WINDOW),
	    send_account_percent(&w->send, SEND_PATH),
	    send_account_percent(&w->send, SEND_NO_DATA));
}

void
channel_report_end(struct channel_window *w, struct channel_windows *ws,
    uint64_t consumed)
{
	uint64_t rate = mean_rate(w, consumed), rtt_us = ws->path.least_rtt_us;
	LogLevel level;

	if (!w->bulk)
		return;
	level = ws->server ? SYSLOG_LEVEL_VERBOSE : SYSLOG_LEVEL_DEBUG1;
	if (consumed != 0)
		do_log2(level, "channel %d: peak window %u, least rtt "
		    "%llu.%llu ms, received %llu bytes, %llu.%llu MB/s", w->id,
		    w->peak, (unsigned long long)rtt_us / 1000,
		    (unsigned long long)rtt_us / 100 % 10,
		    (unsigned long long)consumed,
		    (unsigned long long)rate / 10,
		    (unsigned long long)rate % 10);
	report_sent(w, level);
}

void
channel_report_path(struct ssh *ssh, const struct channel_windows *ws)
{
	struct tcp_limit limit;
	char text[768];

	/* After a disconnect, the connection has no state left. */
	if (ws->started && ssh->state != NULL &&
	    tcp_limit_get(ssh_packet_get_connection_out(ssh), &limit) == 0 &&
	    tcp_limit_text(&limit, ssh_remote_ipaddr(ssh), text, sizeof(text)))
		do_log2(ws->server ? SYSLOG_LEVEL_VERBOSE :
		    SYSLOG_LEVEL_DEBUG1, "%s", text);
}

void
channel_report_all(struct ssh *ssh, struct channel_windows *ws)
{
	struct window_budget_share *s;
	struct channel_window *w;

	if (ws == NULL)
		return;
	TAILQ_FOREACH(s, &ws->budget->shares, entry) {
		w = (struct channel_window *)((char *)s -
		    offsetof(struct channel_window, share));
		channel_report_end(w, ws, window_consumed(w));
	}
	channel_report_path(ssh, ws);
}
