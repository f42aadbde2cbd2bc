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
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "chanbudget.h"
#include "chanwin.h"
#include "misc.h"
#include "pathinband.h"
#include "pathprobe.h"
#include "walk.h"

#define BASE		(2U * 1024 * 1024)
#define PACKET		(32U * 1024)
#define MIB		(1024U * 1024)
#define NCHANNELS	8
#define SECOND		1000000ULL

struct channel {
	int open, bulk;
	struct chanwin cw;
	struct chanbudget_share share;
	uint32_t window;	/* bytes that the peer may still send */
	uint64_t backlog;	/* bytes that wait for the consumer */
	uint64_t may;		/* bytes of credit that it may get at once */
	uint64_t then_us;	/* time of the last look at that */
};

struct connection {
	const u_char *data;
	size_t len;
	uint64_t now_us;
	int bounded;
	struct chanbudget *budget;
	struct channel channels[NCHANNELS];
	struct path_info tcp;
	struct pathinband inband;
	struct path_rtt path_rtt;
	uint64_t rtt_us, consumed;
};

static u_int
next(struct connection *w)
{
	if (w->len == 0)
		return 0;
	w->len--;
	return *w->data++;
}

/* A number of any magnitude up to 2^bits, from two bytes. */
static uint64_t
magnitude(struct connection *w, u_int bits)
{
	u_int shift = next(w) % bits;

	return ((uint64_t)1 << shift) + (((uint64_t)next(w) << shift) >> 8);
}

static void
channel_open(struct connection *w, struct channel *c)
{
	u_int how = next(w);

	memset(c, 0, sizeof(*c));
	c->open = 1;
	c->bulk = how & 1;
	c->window = BASE;
	chanwin_init(&c->cw, BASE, w->bounded, w->now_us);
	if (how & 2) {		/* counters about to wrap */
		c->cw.consumed = c->cw.received = how & 4 ?
		    UINT32_MAX - MIB : UINT64_MAX - MIB;
		c->cw.samples[c->cw.head].consumed =
		    c->cw.samples[c->cw.head].received = c->cw.consumed;
	}
	chanbudget_join(w->budget, &c->share, BASE);
}

static void
channel_close(struct connection *w, struct channel *c)
{
	chanbudget_leave(w->budget, &c->share);
	c->open = 0;
}

/*
 * What a sender that buffers may get: no faster than a target and some more a
 * round trip, once its window is more than what it can buffer unharmed.
 * Returns NULL, or what did not hold.
 */
static const char *
paced(struct connection *w, struct channel *c, uint32_t credit)
{
	uint64_t took_us = c->cw.now_us - c->then_us;
	uint64_t most = 2 * MAXIMUM(3 * PACKET,
	    c->cw.target / CHANWIN_QUANTUM);

	most = MAXIMUM(most, CHANWIN_BURST);
	c->then_us = c->cw.now_us;
	if (w->rtt_us == 0 || c->cw.target <= CHANWIN_HEADROOM_MAX) {
		c->may = most;
		return NULL;
	}
	took_us = MINIMUM(took_us, w->rtt_us);
	c->may += (double)(c->cw.target + CHANWIN_HEADROOM_UNKNOWN) * took_us /
	    w->rtt_us + 1;
	c->may = MINIMUM(c->may, most);
	if (credit > c->may)
		return "credit faster than the path";
	c->may -= credit;
	return NULL;
}

/* What channel-window.c does in a turn of the main loop. */
static const char *
channel_turn(struct connection *w, struct channel *c, uint64_t took)
{
	uint64_t limit, before = (uint64_t)c->window + c->backlog;
	uint32_t credit;
	const char *wrong;

	if (!c->bulk) {		/* stock: all that was taken is given back */
		c->window += took;
		return NULL;
	}
	w->consumed += took;
	c->cw.late = w->now_us >> 20 & 1;	/* comes and goes */
	chanwin_update(&c->cw, took, c->backlog, w->rtt_us, w->now_us,
	    128 * MIB);
	limit = chanbudget_ask(w->budget, &c->share, c->cw.target,
	    MINIMUM(before, UINT32_MAX));
	chanwin_limit(&c->cw, limit);
	if (c->cw.target < BASE)
		return "target under the initial window";
	if (c->cw.target > MAXIMUM(limit, BASE))
		return "target over what the budget allows";
	if (w->rtt_us == 0 && c->cw.target != BASE)
		return "unknown rtt, and not the initial window";
	if (!w->bounded && c->cw.target > BASE &&
	    c->cw.target > c->cw.bdp + CHANWIN_HEADROOM_MAX)
		return "headroom over that of an unknown peer";
	credit = chanwin_credit(&c->cw, c->window, PACKET);
	if (credit != 0 && before + credit > c->cw.target)
		return "credit over the target";
	if ((uint64_t)c->window + credit > UINT32_MAX)
		return "window over 2^32";
	c->window += credit;
	if (!w->bounded && (wrong = paced(w, c, credit)) != NULL)
		return wrong;
	if (c->cw.due_us != 0)
		return c->cw.due_us - c->cw.now_us > w->rtt_us + 1 ?
		    "credit withheld for more than a round trip" : NULL;
	if (c->window == 0 && c->backlog == 0)
		return "sender starved";
	return NULL;
}

/* The windows, and all that waits, together */
static const char *
budget_holds(const struct connection *w)
{
	const struct channel *c;
	uint64_t sum = 0, bases = 0;
	u_int i;

	for (i = 0; i < NCHANNELS; i++) {
		c = &w->channels[i];
		if (!c->open)
			continue;
		sum += c->window + c->backlog;
		bases += BASE;
	}
	/* Who joins late has its guarantee over what was lent before */
	return sum > w->budget->limit + bases ? "budget exceeded" : NULL;
}

static void
path_step(struct connection *w, u_int what)
{
	struct path_info ssh;

	switch (what % 6) {
	case 0:
		w->tcp.rtt_us = magnitude(w, 40);
		break;
	case 1:
		w->tcp.min_rtt_us = magnitude(w, 40);
		break;
	case 2:
		memset(&w->tcp, 0, sizeof(w->tcp));
		break;
	case 3:
		if (pathinband_due(&w->inband, w->now_us))
			pathinband_sent(&w->inband, w->now_us);
		break;
	case 4:
		pathinband_answer(&w->inband, w->now_us);
		break;
	case 5:
		pathinband_void(&w->inband);
		break;
	}
	ssh.rtt_us = w->inband.rtt_us;
	ssh.min_rtt_us = w->inband.least_us;
	w->rtt_us = path_choose(&w->tcp, &ssh)->rtt_us;
	if (w->rtt_us != 0)
		w->rtt_us = path_rtt_us(&w->path_rtt,
		    path_choose(&w->tcp, &ssh), w->consumed, w->now_us);
}

static void
clock_step(struct connection *w, u_int what)
{
	if (what < 28)
		w->now_us += magnitude(w, 16);	/* up to 65 ms */
	else if (what < 30)
		w->now_us += magnitude(w, 44);	/* half a year */
	else
		w->now_us -= MINIMUM(w->now_us, magnitude(w, 30));
}

static const char *
step(struct connection *w)
{
	u_int what = next(w);
	struct channel *c = &w->channels[next(w) % NCHANNELS];
	uint64_t n, took = 0;

	if (what >= 250) {
		path_step(w, what - 250);
		return NULL;
	}
	if (what >= 218) {
		clock_step(w, what - 218);
		return NULL;
	}
	if (!c->open) {
		channel_open(w, c);
		return NULL;
	}
	if (what >= 216) {
		channel_close(w, c);
		return NULL;
	}
	n = magnitude(w, 28);
	if (what < 20) {	/* nothing comes; withheld credit may be due */
		w->now_us = MAXIMUM(w->now_us, c->cw.due_us);
	} else if (what < 108) {
		n = MINIMUM(n, c->window);
		c->window -= n;
		c->backlog += n;
	} else {
		took = MINIMUM(n, c->backlog);
		c->backlog -= took;
	}
	return channel_turn(w, c, took);
}

const char *
walk(const u_char *data, size_t len)
{
	struct connection w;
	const char *wrong = NULL;

	memset(&w, 0, sizeof(w));
	w.data = data;
	w.len = len;
	w.now_us = 1 + magnitude(&w, 62);
	w.bounded = next(&w) & 1;
	w.path_rtt.cautious = !w.bounded;
	w.inband.refused = next(&w) & 1;
	w.tcp.rtt_us = w.tcp.min_rtt_us = magnitude(&w, 19);
	if ((w.budget = chanbudget_new(MINIMUM(magnitude(&w, 31),
	    1024 * MIB))) == NULL)
		return "no memory";
	path_step(&w, 5);
	while (w.len > 0 && wrong == NULL) {
		if ((wrong = step(&w)) == NULL)
			wrong = budget_holds(&w);
	}
	chanbudget_free(w.budget);
	return wrong;
}
