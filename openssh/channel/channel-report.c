/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

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
#include "xmalloc.h"
#include "kex.h"
#include "channel-report.h"
#include "tcp-limit.h"
#include "window-state.h"

/* The totals of all channels: a process has one connection. */
static TAILQ_HEAD(, channel_report) reports = TAILQ_HEAD_INITIALIZER(reports);

/* Returns the log's word for what decided a target. */
static const char *
limited_name(enum window_limited limited)
{
	static const char *const names[] = {
		"base", "path", "peer", "reader", "budget"
	};

	return names[limited];
}

/* Returns the rate from the first byte consumed to the last (0.1 MB/s). */
static uint64_t
mean_rate(const struct channel_report *rep, uint64_t bytes)
{
	uint64_t took_us = rep->channel->window->facts.now_us - rep->first_us;

	return rep->first_us == 0 || took_us == 0 ? 0 :
	    (bytes - rep->first) * 10 / took_us;
}

static struct channel_report *
report_new(struct ssh *ssh, Channel *c)
{
	struct channel_report *rep = xcalloc(1, sizeof(*rep));

	rep->channel = c;
	rep->server = ssh->kex->server;
	rep->granted = rep->peak = c->window->control.base;
	TAILQ_INSERT_TAIL(&reports, rep, entry);
	return rep;
}

/* Programs read this line, and what bpftrace prints: see README.md. */
static void
report_credit(const Channel *c, uint32_t credit)
{
	const struct window_control *cw = &c->window->control;
	const struct window_facts *facts = &c->window->facts;

	DTRACE_PROBE8(openssh, window, c->self, cw->target, facts->window,
	    facts->backlog, cw->bdp, facts->rtt.rtt_us, credit, cw->limited);
	debug2("channel %d: chanwin t_us=%llu target=%u window=%u "
	    "backlog=%llu granted=%llu consumed=%llu bdp=%llu rtt_us=%llu "
	    "adjust=%u limited=%s", c->self, (unsigned long long)facts->now_us,
	    cw->target, facts->window, (unsigned long long)facts->backlog,
	    (unsigned long long)c->report->granted,
	    (unsigned long long)cw->now.consumed, (unsigned long long)cw->bdp,
	    (unsigned long long)facts->rtt.rtt_us, credit,
	    limited_name(cw->limited));
}

void
channel_report_turn(struct ssh *ssh, Channel *c, u_int credit)
{
	struct channel_window *w = c->window;
	struct channel_report *rep;

	if (w == NULL || !w->bulk)
		return;
	if (c->report == NULL)
		c->report = report_new(ssh, c);
	rep = c->report;
	if (rep->first_us == 0 && w->facts.consumed != 0) {
		rep->first = w->facts.consumed;
		rep->first_us = w->facts.now_us;
	}
	if (credit == 0)
		return;
	rep->granted += credit;
	rep->peak = MAXIMUM(rep->peak, w->control.target);
	report_credit(c, credit);
}

void
channel_report_sent(Channel *c, size_t len)
{
	if (c->report != NULL)
		send_account_sent(&c->report->send, len);
}

void
channel_report_look(struct ssh *ssh, Channel *c)
{
	enum send_why why = SEND_NO_DATA;

	if (c->report == NULL || c->report->send.bytes == 0)
		return;
	if (c->remote_window == 0 && !ssh_packet_have_data_to_write(ssh))
		why = SEND_WINDOW;
	else if (sshbuf_len(c->input) != 0)
		why = SEND_PATH;
	send_account_look(&c->report->send, why, WINDOW_NOW_US());
}

void
channel_report_status(const struct ssh *ssh, const Channel *c,
    struct sshbuf *buf)
{
	const struct window_control *cw;
	uint64_t rate, rtt_us;
	int r;

	if (c->report == NULL)
		return;
	cw = &c->window->control;
	rate = mean_rate(c->report, cw->now.consumed);
	rtt_us = ssh->windows->path.rtt.use.rtt_us;
	if ((r = sshbuf_putf(buf, "     window %u, rtt %llu.%llu ms, "
	    "mean %llu.%llu MB/s, limited by %s\r\n", cw->target,
	    (unsigned long long)rtt_us / 1000,
	    (unsigned long long)rtt_us / 100 % 10,
	    (unsigned long long)rate / 10, (unsigned long long)rate % 10,
	    limited_name(cw->limited))) != 0)
		fatal_fr(r, "sshbuf_putf");
}

static LogLevel
report_level(int server)
{
	return server ? SYSLOG_LEVEL_VERBOSE : SYSLOG_LEVEL_DEBUG1;
}

/* Logs what a channel's sent data waited for, if any was sent. */
static void
report_sent(struct channel_report *rep, LogLevel level)
{
	struct send_account *send = &rep->send;

	if (send->bytes == 0)
		return;
	send_account_look(send, SEND_NO_DATA, WINDOW_NOW_US());
	do_log2(level, "channel %d: sent %llu bytes, held up by the peer's "
	    "window %u %% of the time, by the connection %u %%, without data "
	    "%u %%", rep->channel->self, (unsigned long long)send->bytes,
	    send_account_percent(send, SEND_WINDOW),
	    send_account_percent(send, SEND_PATH),
	    send_account_percent(send, SEND_NO_DATA));
}

static void
report_end(struct ssh *ssh, struct channel_report *rep)
{
	const Channel *c = rep->channel;
	const struct channel_window *w = c->window;
	/* Once the peer has closed, channel_window_turn() is not called. */
	uint64_t consumed = w->control.now.consumed +
	    (c->local_consumed - w->seen);
	uint64_t rate = mean_rate(rep, consumed);
	uint64_t rtt_us = ssh->windows->path.rtt.use.least_us;
	LogLevel level = report_level(rep->server);

	if (consumed != 0)
		do_log2(level, "channel %d: peak window %u, least rtt "
		    "%llu.%llu ms, received %llu bytes, %llu.%llu MB/s",
		    c->self, rep->peak, (unsigned long long)rtt_us / 1000,
		    (unsigned long long)rtt_us / 100 % 10,
		    (unsigned long long)consumed,
		    (unsigned long long)rate / 10,
		    (unsigned long long)rate % 10);
	report_sent(rep, level);
}

void
channel_report_free(struct ssh *ssh, Channel *c)
{
	struct channel_report *rep = c->report;

	if (rep == NULL)
		return;
	report_end(ssh, rep);
	TAILQ_REMOVE(&reports, rep, entry);
	free(rep);
	c->report = NULL;
}

void
channel_report_path(struct ssh *ssh)
{
	struct tcp_limit limit;
	char text[768];

	/* After a disconnect, the connection has no state left. */
	if (ssh->windows != NULL && ssh->windows->path.source != NULL &&
	    ssh->state != NULL && ssh->kex != NULL &&
	    tcp_limit_get(ssh_packet_get_connection_out(ssh), &limit) == 0 &&
	    tcp_limit_text(&limit, ssh_remote_ipaddr(ssh), text, sizeof(text)))
		do_log2(report_level(ssh->kex->server), "%s", text);
}

void
channel_report_all(struct ssh *ssh)
{
	struct channel_report *rep;

	TAILQ_FOREACH(rep, &reports, entry)
		report_end(ssh, rep);
	channel_report_path(ssh);
}
