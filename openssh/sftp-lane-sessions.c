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

#include "bdp-options.h"
#include "extra-limit.h"
#include "extra-session.h"
#include "log.h"
#include "misc.h"
#include "sftp-bottleneck.h"
#include "sftp-conn.h"
#include "sftp-connections.h"
#include "sftp-grow.h"
#include "sftp-inflight.h"
#include "sftp-lanes.h"
#include "sftp-lane-sessions.h"
#include "sftp-parallel.h"
#include "sftp-session.h"
#include "sftp-sources.h"

/* The least time (s) between two questions to ssh */
#define ASK_S		0.05

/* Time (s) without a question after which there was a pause */
#define PAUSE_S		1.0

static struct {
	int	 asked;		/* -X sessions=; 0: auto; -1: not given */
	int	 off;		/* 1: there are no others */
	struct sftp_conn *first;	/* the lane that the rest is about */
	struct sftp_grow grow;
	double	 asked_s;		/* last question to ssh */
	double	 wanted_s;		/* last question to us */
	u_int	 due;			/* lanes to open now */
	void	 (*on_none)(void);	/* sftp_lane_sessions_on_none() */
} state = { .asked = -1 };

/* Returns the socket to the first lane's ssh, or NULL. */
static struct sftp_sessions *
sessions(void)
{
	return sftp_session_of(sftp_lane(0)->fd_in);
}

/* Counts the lanes in *f. Returns 1 if one of them was refused or lost. */
static int
count_lanes(struct sftp_grow_facts *f)
{
	int lost = 0;
	u_int i;

	f->lanes = sftp_lanes_open();
	f->opening = 0;
	for (i = 1; i < SFTP_LANES; i++) {
		f->opening += sftp_lane(i)->state == SFTP_LANE_OPENING ||
		    (sftp_lane(i)->state == SFTP_LANE_OPEN &&
		    sftp_lane(i)->unused);
		lost |= sftp_lane(i)->state == SFTP_LANE_LOST;
	}
	return lost;
}

/* Starts anew with another first lane. */
static void
begin(void)
{
	if (state.first == sftp_lane(0)->conn)
		return;
	state.first = sftp_lane(0)->conn;
	sftp_grow_init(&state.grow, &sftp_grow_sessions, sftp_session_max());
	state.asked_s = 0;
	state.due = 0;
}

/*
 * Asks ssh how the sessions fare, and whether that calls for more. Returns how
 * many: 0 if not, or if ssh's answer is still to come.
 */
static u_int
more(double now_s)
{
	struct sftp_session_report report;
	struct sftp_grow_facts f;
	int r;

	begin();
	if (sessions() == NULL || now_s - state.asked_s < ASK_S)
		return 0;
	/* Time without a copy is no measurement. */
	if (now_s - state.asked_s > PAUSE_S)
		sftp_grow_restart(&state.grow);
	state.asked_s = now_s;
	if (count_lanes(&f))
		sftp_grow_refused(&state.grow);
	r = sftp_session_report(sessions(), &report);
	if (r == -1 || sftp_grow_done(&state.grow)) {
		debug("%u sessions", f.lanes);
		sftp_lane_sessions_end();
		if (f.lanes == 1 && state.on_none != NULL)
			state.on_none();
		return 0;
	}
	if (r == 0)
		return 0;
	f.now_us = now_s * 1000000;
	f.rtt_us = report.rtt_us != 0 ? report.rtt_us :
	    sftp_conn_inflight(state.first)->rtt_us;
	f.bytes = sftp_bottleneck_moved();
	f.held_us = report.held_us;
	f.waited_us = sftp_bottleneck_waited_us();
	f.left = UINT64_MAX;
	return sftp_grow_step(&state.grow, &f);
}

u_int
sftp_lane_sessions_want(double now_s)
{
	/* What was found before a pause, and not used, doesn't count. */
	if (state.due != 0 && now_s - state.wanted_s > PAUSE_S) {
		state.first = NULL;
		begin();
	}
	state.wanted_s = now_s;
	if (state.due == 0)
		state.due = more(now_s);
	return state.due;
}

void
sftp_lane_sessions_on_none(void (*none)(void))
{
	state.on_none = none;
}

int
sftp_lane_sessions_are_there(void)
{
	return sessions() != NULL && !sftp_session_is_closed(sessions());
}

/* The callbacks of a struct sftp_lane_source */

static int
may_open(void *ctx, double now_s)
{
	u_int due = state.due;

	if (sftp_lane_sessions_want(now_s) == 0)
		return 0;
	if (due == 0)
		debug("%u more sessions, beside %u", state.due,
		    sftp_lanes_open());
	state.due--;
	return 1;
}

static int
open_session(void *ctx, int *in, int *out, pid_t *pid)
{
	*pid = -1;
	return sessions() == NULL ? -1 :
	    sftp_session_open(sessions(), in, out);
}

void
sftp_lane_sessions_end(void)
{
	sftp_session_end(sessions());
}

void
sftp_lane_sessions_prepare(void)
{
	u_int max = state.asked > 0 ? state.asked : EXTRA_LIMIT_MAX;

	if (state.off || !sftp_connections_is_one())
		max = 1;
	sftp_session_limit(max, state.asked > 0 ? EXTRA_SESSION_ASKED :
	    state.asked == 0 ? EXTRA_SESSION_AUTO : EXTRA_SESSION_OPTION);
	sftp_session_prepare();
}

int
sftp_lane_sessions_use(void)
{
	struct sftp_lane_source source = {
		.open = open_session, .may_open = may_open, .later = 1,
		.same_peer = 1, .what = "session"
	};

	if (!sftp_lane_sessions_are_there()) {
		sftp_lane_sessions_end();
		return 0;
	}
	sftp_lanes_max(sftp_session_max());
	sftp_lanes_source(&source);
	return 1;
}

int
sftp_lane_sessions_option(const char *option)
{
	const char *errstr;

	if (strncmp(option, "sessions=", 9) != 0)
		return 0;
	if ((errstr = bdp_options_number(option + 9, EXTRA_LIMIT_MAX,
	    &state.asked)) != NULL)
		fatal("Invalid number of sessions \"%s\": %s", option + 9,
		    errstr);
	return 1;
}

void
sftp_lane_sessions_off(void)
{
	state.off = 1;
}

void
sftp_lane_sessions_sources(char *const paths[], int n, int recursive)
{
	if (state.asked <= 0 &&
	    !sftp_sources_hold(paths, n, recursive, SFTP_PARALLEL_MIN))
		state.off = 1;
}
