/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef WINDOW_CONTROL_H
#define WINDOW_CONTROL_H

#include <sys/types.h>

#include <stdint.h>

#include "path-rtt.h"

/*
 * The controller of one channel's receive window. Pure: the bytes consumed, the
 * backlog, the RTT and the time go in; a target window and the credit to grant
 * come out. No socket, clock or log in here.
 *
 *	target   = bdp + headroom, at least base, at most the limit
 *	bdp      = the most delivered in one of the last few round trips
 *	headroom = 2 * bdp towards a peer whose buffers are bounded,
 *	           min(2 * bdp, WINDOW_HEADROOM_MAX) towards any other,
 *	           at most base while the reader lags,
 *	           less while a queue of SSH's own lengthens the RTT
 *	credit   = target - (what the peer may still send + backlog)
 *
 * A byte is delivered once it has come and was consumed. So neither a reader
 * that lags nor one that empties a backlog in a burst raises the bdp.
 *
 * A sender whose rate doubles every round trip needs room for 2 * bdp, BBR's
 * startup for 2.89 * bdp, and a sender that repairs a loss for the data behind
 * the hole as well, which TCP hands over a round trip late: 3 * bdp in all. The
 * target is never more than three times the bdp of the least RTT, so that a
 * queue that we make ourselves can't feed on itself. If the RTT is SSH's own,
 * nothing but the window bounds such a queue (in the sockets of a proxy, say):
 * headroom then ends where the RTT is twice the least.
 *
 * A peer with unbounded buffers fills them with all credit that the path does
 * not take. Those of stock OpenSSH are safe below 8 MiB.
 */

/*
 * The delivery history has WINDOW_PER_RTT samples a round trip. Its ring holds
 * the two round trips that are compared, and some spare samples.
 */
#define WINDOW_PER_RTT		16
#define WINDOW_SAMPLES		(2 * WINDOW_PER_RTT + 8)

/*
 * Number of round trips, the current one included, for which the best delivery
 * is remembered. Four outlast a retransmission timeout. For peers with
 * unbounded buffers credit has to follow at once when the path gets slower.
 */
#define WINDOW_ROUNDS		4
#define WINDOW_ROUNDS_UNBOUNDED	2

/*
 * Shortest interval over which delivery is measured (us). On a LAN, data that
 * comes in a burst after a late wake-up must not be taken for a rate.
 */
#define WINDOW_INTERVAL_MIN_US	2000

/* Most headroom (bytes) towards a peer with buffers not known as bounded */
#define WINDOW_HEADROOM_MAX	(3 * 1024 * 1024)

/*
 * If the backlog (bytes) did not fall below this for a whole round trip, the
 * local consumer is the limit, not the path. One turn of the main loop may read
 * 256 KiB, so anything less can be ordinary scheduling.
 */
#define WINDOW_LAG		(256 * 1024)

/*
 * A quantum of credit is 1/WINDOW_QUANTUM of the window. Adjusts are no smaller
 * than that, and no closer than 1/WINDOW_QUANTUM of the RTT: 64 a round trip.
 */
#define WINDOW_QUANTUM		64

/* What decided the target */
enum window_limited {
	WINDOW_BASE,		/* the initial window suffices, or no RTT */
	WINDOW_PATH,		/* BDP plus headroom */
	WINDOW_PEER,		/* the peer's buffers bound the headroom */
	WINDOW_READER,		/* the local consumer lags behind the path */
	WINDOW_BUDGET		/* the limit passed in */
};

struct window_sample {
	uint64_t t_us;		/* start of the interval */
	uint64_t consumed;	/* cumulative, bytes, at t_us */
	uint64_t received;	/* cumulative, bytes, at t_us */
	uint64_t backlog_min;	/* bytes, least seen in the interval */
};

struct window_control {
	/* Configuration */
	uint32_t base;		/* bytes: initial window, never less */
	int bounded;	/* 1: the peer's buffers are bounded */

	/* State */
	uint64_t now_us;	/* time of the last update */
	uint64_t granted_us;	/* time of the last credit */
	uint64_t starved_us;	/* last time with little credit; 0: never */
	uint64_t rtt_us;	/* round trip time in use; 0: unknown */
	uint64_t consumed;	/* cumulative, bytes */
	uint64_t received;	/* cumulative, bytes: consumed + backlog */
	uint64_t backlog;	/* bytes received and not yet consumed */
	uint64_t round_us;	/* start of the current round trip */
	uint64_t best[WINDOW_ROUNDS];	/* bytes, best delivery of a round */
	struct window_sample samples[WINDOW_SAMPLES];	/* ring */
	u_int head;		/* index of the latest sample */
	u_int nsamples;		/* number of samples in the ring */

	/* Results */
	uint64_t bdp;		/* bytes delivered in one round trip */
	uint32_t target;	/* bytes, wanted window */
	enum window_limited limited;	/* what decided the target */
};

/*
 * Starts at time now_us with a window of base bytes. bounded is 1 if the
 * sender has announced that its buffers are bounded.
 */
void	 window_init(struct window_control *cw, uint32_t base,
	    int bounded, uint64_t now_us);

/*
 * Counts `consumed` bytes that the local consumer has taken since the last
 * update, while `backlog` bytes wait for it. Updates the target, which is at
 * most `limit` bytes, or base if that is more. Call it also when data came and
 * nothing was consumed. Otherwise all data that comes while the reader has
 * stopped would seem to come at once when it resumes.
 */
void	 window_update(struct window_control *cw, uint64_t consumed,
	    uint64_t backlog, const struct rtt_in_use *rtt, uint64_t now_us,
	    uint32_t limit);

/*
 * Lowers the target to what the budget allows: limit bytes, or base if that is
 * more.
 */
void	 window_limit(struct window_control *cw, uint32_t limit);

/*
 * Returns the credit (bytes) to grant now to a peer that may still send window
 * bytes in packets of up to maxpacket bytes; 0 if it is not worth a message.
 */
uint32_t window_credit(struct window_control *cw, uint32_t window,
	    uint32_t maxpacket);

#endif /* WINDOW_CONTROL_H */
