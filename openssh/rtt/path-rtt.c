/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include "misc.h"
#include "path-rtt.h"

/*
 * The best rate decays by this fraction each round trip. After about 26 round
 * trips, a path that lost half of its rate no longer counts as slower.
 */
#define PATH_RATE_FADE	64

/*
 * The rate is a mean over whole round trips, because a window's data comes in a
 * burst at the path's rate. It is taken over at least this time (us), because
 * on a LAN the main loops decide how much comes in a round trip.
 */
#define PATH_RATE_MIN_US	10000

const struct path_info *
path_rtt_choose(const struct path_info *tcp, const struct path_info *inband)
{
	uint64_t tcp_us = tcp->min_rtt_us != 0 ? tcp->min_rtt_us : tcp->rtt_us;

	if (inband == NULL || inband->rtt_us == 0)
		return tcp;
	if (tcp->rtt_us == 0 || inband->min_rtt_us >
	    tcp_us + tcp_us / 4 + PATH_RTT_SLACK_US)
		return inband;
	return tcp;
}

static void
measure_rate(struct path_rtt *pr, uint64_t rtt_us, uint64_t now_us)
{
	uint64_t took_us = now_us - pr->since_us;

	if (pr->since_us != 0 && took_us < MAXIMUM(rtt_us, PATH_RATE_MIN_US))
		return;
	if (pr->since_us != 0 && took_us != 0) {
		pr->rate = pr->came * 1000000 / took_us;
		pr->best -= pr->best / PATH_RATE_FADE;
		pr->best = MAXIMUM(pr->best, pr->rate);
	}
	pr->since_us = now_us;
	pr->came = 0;
}

/* Returns the largest RTT (us) to use with this minimum RTT. */
static uint64_t
most_us(const struct path_rtt *pr)
{
	if (pr->use.inband)
		return pr->use.least_us;
	return pr->use.least_us + pr->use.least_us / (pr->bounded ? 1 : 4);
}

void
path_rtt_update(struct path_rtt *pr, const struct path_info *path,
    uint64_t came, uint64_t now_us)
{
	uint64_t gap_us = pr->last_us == 0 ? 0 : now_us - pr->last_us;

	pr->came += came;
	pr->use.rtt_us = path->rtt_us;
	if (path->rtt_us == 0)
		return;
	pr->last_us = now_us;
	if (gap_us > PATH_RTT_PAUSE_US && !pr->use.inband)
		pr->use.least_us = pr->best = 0;
	/* The sender stopped, so this is not the path's rate */
	if (gap_us > path->rtt_us)
		pr->since_us = 0;
	measure_rate(pr, path->rtt_us, now_us);
	if (pr->use.least_us == 0)
		pr->use.least_us = path->min_rtt_us != 0 && !pr->use.inband ?
		    path->min_rtt_us : path->rtt_us;
	pr->use.least_us = MINIMUM(pr->use.least_us, path->rtt_us);
	/*
	 * A queue does not lower the rate. If the rate falls as well, the path
	 * has changed: raise the minimum RTT until this RTT is allowed. (The
	 * kernel keeps its minimum RTT for 5 minutes, so it is read only once.)
	 */
	if (!pr->use.inband && path->rtt_us > most_us(pr) &&
	    pr->rate < pr->best / 4 * 3)
		pr->use.least_us = pr->bounded ?
		    path->rtt_us / 2 : path->rtt_us / 5 * 4;
	pr->use.rtt_us = MINIMUM(path->rtt_us, most_us(pr));
}
