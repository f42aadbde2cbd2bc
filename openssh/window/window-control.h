/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef WINDOW_CONTROL_H
#define WINDOW_CONTROL_H

#include "path-rtt.h"
#include "window-budget.h"

/*
 * The controller of one channel's receive window. Pure: computes a target
 * window and the credit to grant from the bytes consumed, the backlog, the RTT
 * and the time. Channels call window_decide(), sftp only window_update().
 *
 *	target   = bdp + headroom, at least base, at most the limit
 *	bdp      = the most delivered in one of the last few round trips
 *	headroom = 2 * bdp towards a peer whose buffers are bounded,
 *	           min(2 * bdp, WINDOW_HEADROOM_MAX) towards any other,
 *	           at most base while the reader is slow,
 *	           bdp with the in-band RTT, unless deliveries grow
 *	credit   = target - (what the peer may still send + backlog)
 *
 * A byte is delivered when it has arrived and was consumed. So neither a slow
 * reader nor one that empties a backlog in a burst raises the bdp.
 *
 * A sender whose rate doubles every round trip needs 2 * bdp, and BBR's startup
 * 2.89 * bdp. After a loss, TCP delivers the data that follows a round trip
 * late. 3 * bdp covers each case. The target is at most three times the bdp of
 * the minimum RTT, so that a queue of our own data cannot feed on itself. With
 * the in-band RTT, only the window bounds such a queue (in the sockets of a
 * proxy, for instance).
 *
 * If a peer's buffers are unbounded, it fills them with all credit that the
 * path does not need. Stock OpenSSH's buffers are safe below 8 MiB.
 */

/*
 * The delivery history has WINDOW_PER_RTT samples a round trip. Its ring holds
 * two round trips, which are compared, and some spare samples.
 */
#define WINDOW_PER_RTT		16
#define WINDOW_SAMPLES		(2 * WINDOW_PER_RTT + 8)

/*
 * Number of round trips, the current one included, for which the best delivery
 * is remembered. Four outlast a retransmission timeout. For a peer with
 * unbounded buffers, the target has to fall soon after the path gets slower.
 */
#define WINDOW_ROUNDS		4
#define WINDOW_ROUNDS_UNBOUNDED	2

/*
 * Shortest interval over which delivery is measured (us): on a LAN, a burst of
 * data after a late wake-up is not the path's rate.
 */
#define WINDOW_INTERVAL_MIN_US	2000

/* Most headroom (bytes) for a peer that has not announced bounded buffers */
#define WINDOW_HEADROOM_MAX	(3 * 1024 * 1024)

/*
 * If the backlog (bytes) stays at or above this for a whole round trip, the
 * local reader is slow: it is the limit, not the path. A smaller backlog can be
 * due to scheduling, as one loop iteration may read 256 KiB.
 */
#define WINDOW_LAG_BYTES	(256 * 1024)

/*
 * An adjust has at least 1/WINDOW_QUANTUM of the target. Adjusts within
 * 1/WINDOW_QUANTUM of the RTT are delayed where window_credit() can do so.
 */
#define WINDOW_QUANTUM		64

/* What decided the target */
enum window_limited {
	WINDOW_BY_BASE,		/* the initial window suffices, or no RTT */
	WINDOW_BY_PATH,		/* BDP plus headroom */
	WINDOW_BY_PEER,		/* the peer's buffers bound the headroom */
	WINDOW_BY_READER,	/* the local reader is slow */
	WINDOW_BY_BUDGET	/* the limit of all channels together */
};

/* The counters at the start of an interval */
struct window_sample {
	uint64_t t_us;
	uint64_t consumed;	/* cumulative, bytes */
	uint64_t received;	/* cumulative, bytes: consumed + backlog */
	uint64_t backlog;	/* bytes, minimum in the interval */
};

struct window_control {
	/* Configuration */
	uint32_t base;		/* bytes: initial window, never less */
	int bounded;		/* 1: the peer's buffers are bounded */

	/* State */
	struct window_sample now;	/* as of the last update */
	uint64_t granted_us;	/* time of the last credit */
	uint64_t starved_us;	/* last time with little credit; 0: never */
	uint64_t rtt_us;	/* round trip time in use; 0: unknown */
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

/* Facts about a channel, for the decision on its credit */
struct window_facts {
	uint64_t now_us;	/* time, of a clock that never steps back */
	struct rtt_in_use rtt;
	uint64_t consumed;	/* bytes consumed since the last update */
	uint64_t backlog;	/* bytes that wait for the consumer */
	uint32_t window;	/* bytes that the peer may still send */
	uint32_t maxpacket;	/* bytes of the largest packet */
};

/*
 * Starts at time now_us with a window of `base` bytes. `bounded` is 1 if the
 * sender has announced that its buffers are bounded.
 */
void	 window_init(struct window_control *cw, uint32_t base,
	    int bounded, uint64_t now_us);

/*
 * Updates the target. Call this when data has come or was consumed. If calls
 * were missing while the reader has stopped, all data of that time would seem
 * to come at once when the reader resumes.
 */
void	 window_update(struct window_control *cw,
	    const struct window_facts *facts);

/*
 * Returns the credit (bytes) to grant now, or 0 if it is not worth a message.
 * The peer may still send `window` bytes, at most `maxpacket` in a packet.
 */
uint32_t window_credit(struct window_control *cw, uint32_t window,
	    uint32_t maxpacket);

/*
 * Updates the target, and lowers it to what the budget allows. Returns the
 * credit (bytes) to send now, or 0 for none.
 */
uint32_t window_decide(struct window_control *cw,
	    struct window_budget *budget, struct window_budget_share *share,
	    const struct window_facts *facts);

#endif /* WINDOW_CONTROL_H */
