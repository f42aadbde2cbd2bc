/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef PATH_RTT_H
#define PATH_RTT_H

#include "tcp-path.h"

/*
 * Chooses the round trip time of a path, from the figures of TCP and of probes
 * through SSH, the time and the number of bytes received. Pure.
 */

/*
 * Time (us) by which a reply through SSH may be slower than one of TCP without
 * a proxy, because the peer's main loop is busy.
 */
#define PATH_RTT_SLACK_US	5000

/* After a pause of this time (us), the kernel's minimum RTT is read again. */
#define PATH_RTT_PAUSE_US	(10 * 1000000)

/* The round trip times for computing windows */
struct rtt_in_use {
	uint64_t rtt_us;	/* for the BDP; 0: unknown */
	uint64_t least_us;	/* minimum of the current path */
	int inband;		/* 1: the source is the in-band RTT */
};

/* State of one source. Start with all zero but the configuration. */
struct path_rtt {
	int bounded;		/* configuration: are peer's buffers bounded? */
	struct rtt_in_use use;	/* the result; use.inband is configuration */
	uint64_t rate;		/* bytes/s, of the last round trip */
	uint64_t best;		/* bytes/s, the best rate; it decays */
	uint64_t last_us;	/* time of the last update; 0: none yet */
	uint64_t since_us;	/* start of the round trip now measured */
	uint64_t came;		/* bytes that came since since_us */
};

/*
 * Returns the source that describes the whole path: `tcp`, the socket's figures
 * (all 0: none), or `inband` (NULL: unknown) if its minimum RTT shows a proxy
 * behind the socket. Ignores a proxy that adds a quarter of tcp's RTT or less.
 */
const struct path_info *path_rtt_choose(const struct path_info *tcp,
	    const struct path_info *inband);

/*
 * Sets pr->use to the round trip times to use, from the source's `path`. `came`
 * is the number of bytes received since the last update. The RTT is the
 * smoothed one, as it includes the queue of other flows. It is at most twice
 * the minimum, so that a queue of our own data cannot feed on itself. If the
 * peer's buffers are unbounded, it is at most 5/4 of the minimum, as data for a
 * queue becomes unused credit when the queue overflows. Of the in-band RTT only
 * the minimum is used: the rest is time that data waits in sockets.
 *
 * If the rate falls as the RTT grows, the path is longer: the minimum is
 * raised. The minimum in-band RTT is never raised, as our window determines
 * both the queue and the rate.
 */
void	 path_rtt_update(struct path_rtt *pr, const struct path_info *path,
	    uint64_t came, uint64_t now_us);

#endif /* PATH_RTT_H */
