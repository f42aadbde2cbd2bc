/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sshbuf.h"
#include "ssh2.h"
#include "packet.h"
#include "bdp-names.h"
#include "channels.h"
#include "window-budget.h"
#include "window-control.h"
#include "channel-window.h"
#include "kex.h"
#include "misc.h"
#include "ssh-rtt.h"
#include "tcp-path.h"
#include "window-state.h"
#include "xmalloc.h"
#include "conn.h"
#include "fake.h"
#include "walk.h"

#ifndef KEX_HAS_PING		/* older than 9.5: no peer takes pings */
# define KEX_HAS_PING	0
#endif

#define BASE		((uint32_t)CHAN_SES_WINDOW_DEFAULT)
#define MIB		(1024U * 1024)

/* What the walk knows of a channel without asking the modules */
struct model {
	int bulk;
	uint64_t consumed;	/* bytes, ever */
	uint64_t waiting;	/* bytes that came and were not consumed */
	const struct window_control *cw;	/* once it was asked */
};

struct walk {
	const u_char *data;
	size_t len;
	struct conn conn;
	struct model models[CONN_CHANNELS];
	uint32_t limit;		/* bytes */
	int bounded;
	struct path_info tcp;
};

static u_int
next(struct walk *w)
{
	if (w->len == 0)
		return 0;
	w->len--;
	return *w->data++;
}

/* A number of any magnitude up to 2^bits, from two bytes. */
static uint64_t
magnitude(struct walk *w, u_int bits)
{
	u_int shift = next(w) % bits;

	return ((uint64_t)1 << shift) + (((uint64_t)next(w) << shift) >> 8);
}

/* A function, because a macro would evaluate an argument twice. */
static uint64_t
least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Checks what became of the controller's and the budget's answers. */
static const char *
check_credit(struct walk *w, const Channel *c, uint64_t before, u_int credit)
{
	struct model *model = &w->models[c->self];
	const struct window_control *cw = fake.cw;

	if (cw == NULL)
		return credit != 0 ? "credit out of nothing" : NULL;
	model->cw = cw;
	if (cw->now.backlog != model->waiting)
		return "controller not told of the backlog";
	if (cw->now.consumed != model->consumed)
		return "controller not told what was consumed";
	if (fake.outstanding != MINIMUM(before, UINT32_MAX))
		return "budget not told what is out";
	if (cw->target < BASE)
		return "target under the initial window";
	if (cw->target > MAXIMUM(fake.limit, BASE))
		return "target over what the budget allows";
	if (cw->rtt_us == 0 && cw->target != BASE)
		return "unknown rtt, and not the initial window";
	if (!w->bounded && cw->target > BASE &&
	    cw->target > cw->bdp + WINDOW_HEADROOM_MAX)
		return "headroom over that of an unknown peer";
	if (cw->target > MAXIMUM(3 * cw->bdp, BASE))
		return "target over three times the bdp";
	if (credit != 0 && before + credit != cw->target)
		return "credit for more or less than the target";
	if (credit != 0 && c->local_window_max != cw->target)
		return "another maximum than the target";
	return NULL;
}

static const char *
channel_turn(struct walk *w, Channel *c)
{
	const struct model *model = &w->models[c->self];
	uint64_t before = c->local_window + model->waiting;
	const char *wrong;
	u_int credit;

	fake.cw = NULL;
	credit = conn_turn(&w->conn, c);
	if (!model->bulk) {
		if (before + c->local_consumed + credit > BASE)
			return "a fixed window grew";
	} else if ((wrong = check_credit(w, c, before, credit)) != NULL)
		return wrong;
	if (before + credit > UINT32_MAX)
		return "window over 2^32";
	/* What stock code takes an excess from: never less than is allowed */
	if (c->local_window_max < c->local_window)
		return "window over its maximum";
	if (c->local_window == 0 && model->waiting == 0)
		return "sender starved";
	return NULL;
}

static const char *
channel_open(struct walk *w)
{
	u_int how = next(w);
	Channel *c = conn_channel(&w->conn, "session");
	struct model *model = &w->models[c->self];

	memset(model, 0, sizeof(*model));
	model->bulk = how & 1;
	c->isatty = !model->bulk;
	fake.counters = 0;
	if (how & 2)		/* counters about to wrap */
		fake.counters = how & 4 ? UINT32_MAX - MIB : UINT64_MAX - MIB;
	model->consumed = fake.counters;
	if (how & 8)
		c->extended_usage = CHAN_EXTENDED_WRITE;
	return channel_turn(w, c);
}

/* What the windows and all that waits have beyond the bases, together */
static const char *
budget_holds(const struct walk *w)
{
	const Channel *c;
	uint64_t sum = 0, has;
	u_int i;

	for (i = 0; i < CONN_CHANNELS; i++) {
		if ((c = w->conn.channels[i]) == NULL)
			continue;
		has = c->local_window + w->models[i].waiting;
		sum += MAXIMUM(has, BASE) - BASE;
	}
	return sum > (w->limit > BASE ? w->limit - BASE : 0) ?
	    "budget exceeded" : NULL;
}

/* Answers the probe that waits, or one that was never sent. */
static void
answer(struct conn *conn)
{
	struct channel_confirm *cc;
	u_int i;

	for (i = 0; i < CONN_CHANNELS; i++) {
		if (conn->channels[i] == NULL || (cc = TAILQ_FIRST(
		    &conn->channels[i]->status_confirms)) == NULL)
			continue;
		cc->cb(conn->ssh, 0, conn->channels[i], cc->ctx);
		TAILQ_REMOVE(&conn->channels[i]->status_confirms, cc, entry);
		freezero(cc, sizeof(*cc));
		return;
	}
	ssh_rtt_answer(&conn->ssh->inband, conn->ssh->inband.number,
	    fake.now_us);
}

static void
path_step(struct walk *w, u_int what)
{
	switch (what % 6) {
	case 0:
		fake.path_fails = 0;
		w->tcp.rtt_us = magnitude(w, 40);
		break;
	case 1:
		w->tcp.min_rtt_us = magnitude(w, 40);
		break;
	case 2:
		memset(&w->tcp, 0, sizeof(w->tcp));
		fake.path_fails = next(w) & 1 ? 0 : 1;
		break;
	case 3:			/* sshd's keepalive, and a reply to it */
		if (next(w) & 1)
			w->conn.ssh->inband.asked++;
		else
			channel_probe_replied(w->conn.ssh,
			    SSH2_MSG_REQUEST_FAILURE);
		break;
	case 4:
		answer(&w->conn);
		break;
	case 5:			/* keys are renewed, or have been */
		w->conn.ssh->kex->done = !w->conn.ssh->kex->done;
		break;
	}
}

static void
clock_step(struct walk *w, u_int what)
{
	if (what < 28)
		fake.now_us += magnitude(w, 16);	/* up to 65 ms */
	else if (what < 30)		/* half a year; a double holds 2^52 */
		fake.now_us += least(magnitude(w, 44),
		    ((uint64_t)1 << 52) - fake.now_us);
	else
		fake.now_us -= least(fake.now_us - 1, magnitude(w, 30));
}

static const char *
step(struct walk *w)
{
	u_int what = next(w), which = next(w) % CONN_CHANNELS;
	Channel *c = w->conn.channels[which];
	struct sshbuf *buf;
	uint64_t n;

	if (what >= 250) {
		path_step(w, what - 250);
		return NULL;
	}
	if (what >= 218) {
		clock_step(w, what - 218);
		return NULL;
	}
	if (c == NULL)
		return channel_open(w);
	if (what >= 216) {
		conn_channel_free(&w->conn, c);
		return NULL;
	}
	buf = c->extended_usage == CHAN_EXTENDED_WRITE && what & 1 ?
	    c->extended : c->output;
	n = magnitude(w, 28);
	if (what < 108) {
		n = MINIMUM(n, c->local_window);
		w->models[which].waiting += n;
		conn_comes(c, buf, n);
	} else {
		n = conn_goes(c, buf, n);
		w->models[which].waiting -= n;
		w->models[which].consumed += n;
	}
	return channel_turn(w, c);
}

const char *
walk(const u_char *data, size_t len)
{
	struct walk w;
	const char *wrong = NULL;
	int server;

	memset(&w, 0, sizeof(w));
	w.data = data;
	w.len = len;
	fake_reset();
	fake.now_us = 1 + magnitude(&w, 51);
	w.bounded = next(&w) & 1;
	w.tcp.rtt_us = w.tcp.min_rtt_us = magnitude(&w, 19);
	fake.path = &w.tcp;
	w.limit = least(magnitude(&w, 31), 1024 * MIB);
	server = next(&w) & 1;
	conn_open(&w.conn, server, (w.bounded ? KEX_HAS_BOUNDED_INPUT : 0) |
	    (next(&w) & 1 ? KEX_HAS_PING : 0), w.limit);
	while (w.len > 0 && wrong == NULL) {
		if ((wrong = step(&w)) == NULL)
			wrong = budget_holds(&w);
		sshbuf_reset(ssh_packet_get_output(w.conn.ssh));
	}
	conn_close(&w.conn);
	fake_reset();
	return wrong;
}
