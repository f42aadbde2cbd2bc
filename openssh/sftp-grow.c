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
#include <string.h>

#include "misc.h"
#include "sftp-grow.h"
#include "tcp-held.h"

/* A measurement takes at least this many round trips. */
#define MEASURE_ROUNDS	4

/*
 * After lanes have opened, this many round trips pass before a measurement
 * counts: opening the file, the first data, TCP's slow start up to twice what
 * was in flight.
 */
#define SETTLE_ROUNDS	3

/* So many measurements in a row must miss the gain before it is given up. */
#define TRIES		3

const struct sftp_grow_params sftp_grow_sessions = {
	.lanes_max = 10,
	.held_percent = 60,
	.lane_percent = 50,
	.total_percent = 0,
	/* With each that came into use it is less likely that the next does. */
	.step_percent = 50,
	.burst = SFTP_GROW_LANES,
	.burst_us = 0,
	.measure_us = 200000,
	/* Three to open the lanes, and as many as it takes to measure */
	.worth_rounds = 12,
	/* 2 MiB in 2 ms is 8 Gbit/s. */
	.rtt_min_us = 2000
};

const struct sftp_grow_params sftp_grow_connections = {
	.lanes_max = 8,
	.held_percent = 50,
	.lane_percent = 0,
	.total_percent = 15,
	/*
	 * A login takes as long as all else, so there are few steps: the first
	 * one is all that may begin at once.
	 */
	.step_percent = 400,
	/* The first connection is one of the five. */
	.burst = 4,
	.burst_us = 31000000,
	/*
	 * Eight looks of ssh at the socket. A path whose jitter lets segments
	 * overtake each other can look held up for half of that.
	 */
	.measure_us = 8 * TCP_HELD_LOOK_US,
	/* Up to 12 to log in and open the file, and TCP's slow start */
	.worth_rounds = 24,
	.worth_us = 2000000,
	.rtt_min_us = 2000
};

void
sftp_grow_init(struct sftp_grow *g, const struct sftp_grow_params *params,
    u_int lanes_max)
{
	memset(g, 0, sizeof(*g));
	g->p = *params;
	g->p.lanes_max = MINIMUM(g->p.lanes_max, SFTP_GROW_LANES);
	g->p.burst = MINIMUM(g->p.burst, SFTP_GROW_LANES);
	if (lanes_max != 0)
		g->p.lanes_max = MINIMUM(g->p.lanes_max, lanes_max);
}

void
sftp_grow_refused(struct sftp_grow *g)
{
	g->done = 1;
}

void
sftp_grow_restart(struct sftp_grow *g)
{
	g->since.now_us = 0;
}

int
sftp_grow_done(const struct sftp_grow *g)
{
	return g->done;
}

/* Returns a total's increase per second, over took_us. */
static uint64_t
per_second(uint64_t now, uint64_t then, uint64_t took_us)
{
	return MINIMUM(now - then, UINT64_MAX / 1000000) * 1000000 / took_us;
}

/* Returns 1 if the lanes waited for what one more would bring. */
static int
is_held(const struct sftp_grow *g, const struct sftp_grow_facts *f,
    uint64_t took_us)
{
	uint64_t held_us = MINIMUM(f->held_us - g->since.held_us,
	    (f->waited_us - g->since.waited_us) * f->lanes);

	return held_us * 100 >= took_us * f->lanes * g->p.held_percent;
}

/* Returns 1 if the lanes added last have raised the goodput to `rate`. */
static int
has_gained(const struct sftp_grow *g, uint64_t rate)
{
	uint64_t lane = g->before_rate / g->before_lanes;

	return rate >= g->before_rate + MAXIMUM(
	    g->added * lane / 100 * g->p.lane_percent,
	    g->before_rate / 100 * g->p.total_percent);
}

/* Returns 1 if what is left lasts long enough, at `rate`, for a lane's gain. */
static int
is_worth(const struct sftp_grow *g, const struct sftp_grow_facts *f,
    uint64_t rate)
{
	return f->left / (rate / 1000 + 1) >=
	    MAXIMUM(g->p.worth_rounds * f->rtt_us, g->p.worth_us) / 1000;
}

/* Returns how many lanes to add to those that there are. */
static u_int
step_size(const struct sftp_grow *g, const struct sftp_grow_facts *f)
{
	u_int n, recent = 0, i;

	if (f->lanes >= g->p.lanes_max)
		return 0;
	n = (f->lanes * g->p.step_percent + 99) / 100;
	n = MINIMUM(n, g->p.lanes_max - f->lanes);
	/* Whoever closes lanes doesn't get them back. */
	n = MINIMUM(n, SFTP_GROW_LANES - g->nadds);
	if (g->p.burst_us == 0)
		return n;
	for (i = 0; i < g->nadds; i++)
		recent += f->now_us - g->adds_us[i] < g->p.burst_us;
	return MINIMUM(n, g->p.burst - recent);
}

static void
note_added(struct sftp_grow *g, const struct sftp_grow_facts *f, uint64_t rate,
    u_int n)
{
	g->added = n;
	g->before_lanes = f->lanes;
	g->before_rate = rate;
	g->tries = 0;
	while (n-- > 0)
		g->adds_us[g->nadds++] = f->now_us;
	g->settle_us = 0;
	sftp_grow_restart(g);
}

/*
 * Returns 1 once a measurement is complete. One that anything disturbs starts
 * over.
 */
static int
is_measured(struct sftp_grow *g, const struct sftp_grow_facts *f)
{
	if (f->opening != 0) {
		g->settle_us = 0;
		sftp_grow_restart(g);
		return 0;
	}
	if (g->added != 0 && g->settle_us == 0)
		g->settle_us = f->now_us + SETTLE_ROUNDS * f->rtt_us;
	if (f->now_us < g->settle_us)
		return 0;
	if (g->since.now_us == 0 || f->now_us < g->since.now_us ||
	    f->bytes < g->since.bytes || f->held_us < g->since.held_us ||
	    f->waited_us < g->since.waited_us ||
	    f->lanes != g->since.lanes) {
		g->since = *f;
		return 0;
	}
	return f->now_us - g->since.now_us >=
	    MAXIMUM(MEASURE_ROUNDS * f->rtt_us, g->p.measure_us);
}

u_int
sftp_grow_step(struct sftp_grow *g, const struct sftp_grow_facts *f)
{
	uint64_t took_us, rate;
	u_int n;
	int held;

	if (g->done || f->rtt_us < g->p.rtt_min_us || f->lanes == 0 ||
	    !is_measured(g, f))
		return 0;
	took_us = f->now_us - g->since.now_us;
	rate = per_second(f->bytes, g->since.bytes, took_us);
	held = is_held(g, f, took_us);
	g->since = *f;
	/* The other end's disk, or a pause, says nothing about lanes. */
	if (rate == 0)
		return 0;
	if (g->added != 0) {
		if (!has_gained(g, rate)) {
			if (++g->tries >= TRIES)
				g->done = 1;
			return 0;
		}
		g->added = 0;
	}
	if (f->lanes >= g->p.lanes_max) {
		g->done = 1;
		return 0;
	}
	if (!held || !is_worth(g, f, rate))
		return 0;
	if ((n = step_size(g, f)) != 0)
		note_added(g, f, rate, n);
	return n;
}
