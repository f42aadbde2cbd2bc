/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef PATH_RTT_H
#define PATH_RTT_H

#include "tcp-path.h"

/*
 * Which round trip time describes a path. Pure: what the sources say goes in,
 * with the time and what has come.
 */

/*
 * Slack (us) for what an answer in SSH takes longer than one in TCP, on a path
 * that has no proxy: the peer's main loop has other things to do.
 */
#define PATH_RTT_SLACK_US	5000

/* After a pause of this time (us), the kernel's least RTT is asked again. */
#define PATH_RTT_PAUSE_US	(10 * 1000000)

/* The round trip time that windows are computed with */
struct rtt_in_use {
	uint64_t rtt_us;	/* to take a BDP over; 0: unknown */
	uint64_t least_us;	/* of the path as it is now, without queues */
	int inband;		/* 1: the source is SSH's own round trip */
};

/* State of one source. All zero to start with, but for the configuration. */
struct path_rtt {
	int bounded;		/* configuration: the peer's buffers are */
	struct rtt_in_use use;	/* the result; inband is configuration */
	uint64_t rate;		/* bytes/s, of the last round trip */
	uint64_t best;		/* bytes/s, the best one, slowly forgotten */
	uint64_t last_us;	/* time of the last update; 0: none yet */
	uint64_t since_us;	/* start of the round trip now measured */
	uint64_t came;		/* bytes that came since then */
};

/*
 * Returns the one of two sources that describes the whole path: tcp, the
 * socket's own figures (all 0 if there are none), unless the least RTT in
 * inband, that of SSH (or NULL), shows a proxy behind the socket. One hop more
 * makes no difference below a quarter of the RTT.
 */
const struct path_info *path_rtt_choose(const struct path_info *tcp,
	    const struct path_info *inband);

/*
 * Sets pr->use to the round trip times to use, from what the source says in
 * path. `came` is the number of bytes that have come since the last update. The
 * RTT is the smoothed one, so that a queue which other flows keep on the path
 * counts, but at most twice the least, so that a queue of our own making can't
 * feed on itself; at most 5/4 towards a peer with unbounded buffers, as what
 * fits into a queue becomes unused credit when that queue overflows. Of SSH's
 * own RTT, only the least counts: the rest is data that waits in sockets.
 *
 * If less comes as the RTT gets longer, the path got longer; it is not a queue.
 * In SSH's own RTT the two can't be told apart: the queue is ours, and so is
 * what comes. Its least is never raised.
 */
void	 path_rtt_update(struct path_rtt *pr, const struct path_info *path,
	    uint64_t came, uint64_t now_us);

#endif /* PATH_RTT_H */
