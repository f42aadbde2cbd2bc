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

#include "log.h"
#include "misc.h"
#include "quick-pair.h"
#include "sftp-auto.h"
#include "sftp-bottleneck.h"
#include "sftp-grow.h"
#include "sftp-lanes.h"
#include "sftp-parts.h"

/* Time (s) without a question after which there was a pause */
#define PAUSE_S		1.0

static struct {
	struct sftp_grow grow;
	const struct sftp_parts *file;
	uint64_t held_us;	/* as ssh said it last */
	uint64_t all_held_us;	/* of all connections, added up */
	double asked_s;		/* time of the last question */
	u_int lost;		/* lanes lost before sftp_auto_begin() */
	u_int due;		/* connections to open now */
} state;

/* Counts the lanes. Returns how many were refused or are lost. */
static u_int
count_lanes(struct sftp_grow_facts *f)
{
	u_int i, lost = 0;

	for (i = 0; i < SFTP_LANES; i++) {
		f->lanes += sftp_lane(i)->state == SFTP_LANE_OPEN;
		f->opening += sftp_lane(i)->state == SFTP_LANE_OPENING;
		lost += sftp_lane(i)->state == SFTP_LANE_LOST;
	}
	return lost;
}

void
sftp_auto_begin(int paced)
{
	struct sftp_grow_params params = sftp_grow_connections;
	struct sftp_grow_facts f = { 0 };
	const struct sftp_parts *file = state.file;

	if (!paced) {
		params.burst_us = 0;
		params.step_percent = 100 * params.lanes_max;
	}
	memset(&state, 0, sizeof(state));
	state.file = file;
	state.lost = count_lanes(&f);
	sftp_grow_init(&state.grow, &params, 0);
}

void
sftp_auto_file(const struct sftp_parts *parts)
{
	state.file = parts;
}

/* Adds up the time that the connections waited for one more. */
static void
add_held(struct sftp_grow_facts *f)
{
	uint64_t held_us;

	quick_pair_held(&held_us, &f->rtt_us);
	if (held_us > state.held_us)
		state.all_held_us += (held_us - state.held_us) * f->lanes;
	state.held_us = held_us;
	f->held_us = state.all_held_us;
}

int
sftp_auto_wants(double now_s)
{
	struct sftp_grow_facts f = { .now_us = now_s * 1000000,
	    .left = sftp_lanes_left() };

	if (state.due != 0) {
		state.due--;
		return 1;
	}
	if (sftp_grow_done(&state.grow))
		return 0;
	if (now_s - state.asked_s > PAUSE_S)
		sftp_grow_restart(&state.grow);
	state.asked_s = now_s;
	if (count_lanes(&f) > state.lost)
		sftp_grow_refused(&state.grow);
	add_held(&f);
	f.waited_us = sftp_bottleneck_waited_us();
	f.bytes = sftp_bottleneck_moved();
	if (state.file != NULL)
		f.left = MAXIMUM(f.left, state.file->size - state.file->done);
	debug2_f("%.2f s: %llu bytes, %llu left, held %llu us, rtt %llu us, "
	    "%u lanes, %u opening", now_s, (unsigned long long)f.bytes,
	    (unsigned long long)f.left, (unsigned long long)f.held_us,
	    (unsigned long long)f.rtt_us, f.lanes, f.opening);
	if ((state.due = sftp_grow_step(&state.grow, &f)) == 0)
		return 0;
	debug("%u more connections, beside %u", state.due, f.lanes);
	state.due--;
	return 1;
}
