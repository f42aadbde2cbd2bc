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

#ifndef WINDOW_CONTROL_H
#define WINDOW_CONTROL_H

/*
 * Receive window controller of one channel. Pure: what was consumed, what
 * waits, the path's RTT and the time go in; a target window and the credit
 * to grant come out. No socket, clock or log in here. See DESIGN.md.
 */

/*
 * Samples of the delivery history. WINDOW_PER_RTT of them a round trip, and
 * room for the two round trips whose deliveries are compared.
 */
#define WINDOW_PER_RTT		16
#define WINDOW_SAMPLES		(2 * WINDOW_PER_RTT + 8)

/*
 * Round trips for which the best delivery is remembered, the current one
 * included: enough to sit out a retransmission timeout's silence. Towards
 * senders that buffer what they may send, credit has to follow a path that
 * got slower at once.
 */
#define WINDOW_ROUNDS		4
#define WINDOW_ROUNDS_UNKNOWN	2

/*
 * Shortest interval over which delivery is measured (us). On a LAN a burst
 * that a late wake-up piled together must not pass for a rate.
 */
#define WINDOW_INTERVAL_MIN_US	2000

/*
 * Headroom over the BDP (bytes). Towards peers that bound their buffers this
 * is what remains once delivery has stopped growing; towards others it is the
 * most, and is there only while delivery grows.
 */
#define WINDOW_HEADROOM_MAX	(6 * 1024 * 1024)

/*
 * Headroom (bytes) towards a sender that buffers, once delivery has stopped
 * growing. On a full path this is what that sender holds as unspent credit.
 * Its input buffer collapses near 16 MiB and is safe below 8 MiB. The rest is
 * for what a hiccup of the path adds: 40 ms at 1 Gbit/s.
 */
#define WINDOW_HEADROOM_UNKNOWN	(3 * 1024 * 1024)

/*
 * Credit (bytes) that a sender that buffers gets at once, beyond what its
 * path takes meanwhile. At least two quanta of credit, see below.
 */
#define WINDOW_BURST		(1024 * 1024)

/*
 * A backlog (bytes) that never fell below this for a whole round trip means
 * that the local consumer, not the path, is what limits. One turn of the
 * main loop may read 256 KiB, so anything less can be ordinary scheduling.
 */
#define WINDOW_LAG		(256 * 1024)

/*
 * Adjusts are at least 1/WINDOW_QUANTUM of the window, and as much of the RTT
 * apart: 64 a round trip.
 */
#define WINDOW_QUANTUM		64

/* What decided the target */
enum window_limited {
	WINDOW_BASE,		/* the initial window suffices, or no RTT */
	WINDOW_GREW,		/* BDP plus headroom, which growth adds to */
	WINDOW_PATH,		/* BDP plus headroom */
	WINDOW_PEER,		/* less than that: its buffers follow credit */
	WINDOW_READER,		/* the local consumer lags behind the path */
	WINDOW_BUDGET		/* the limit passed in */
};

struct window_sample {
	uint64_t t_us;		/* start of the interval */
	uint64_t consumed;	/* cumulative, bytes, at t_us */
	uint64_t received;	/* ditto */
	uint64_t backlog_min;	/* bytes, least seen in the interval */
};

struct window_control {
	/* configuration */
	uint32_t base;		/* bytes: initial window, never less */
	int bounded_peer;	/* sender's buffer doesn't follow our credit */
	int late;		/* what comes may have waited a round trip for
				 * a segment that was lost; set at any time */

	/* state */
	uint64_t now_us;	/* time of the last update, */
	uint64_t granted_us;	/* and of the last credit */
	uint64_t starved_us;	/* time at which little credit was out, or 0 */
	uint64_t paced_us;	/* time up to which allowance has accrued */
	uint64_t allowance;	/* bytes of credit that may go out at once */
	uint64_t rtt_us;	/* round trip time in use; 0 = unknown */
	uint64_t consumed;	/* cumulative, bytes */
	uint64_t received;	/* cumulative, bytes: consumed + backlog */
	uint64_t backlog;	/* bytes received and not yet consumed */
	uint64_t round_us;	/* start of the current round trip */
	uint64_t best[WINDOW_ROUNDS];	/* bytes, best delivery of a round */
	struct window_sample samples[WINDOW_SAMPLES];	/* ring */
	u_int head, nsamples;

	/* results */
	uint64_t bdp;		/* bytes delivered in one round trip */
	uint64_t growth;	/* bytes, bdp over that of a round trip ago */
	uint64_t gain;		/* bytes, bdp over the best of two and three
				 * rounds ago: a stall in between is no gain */
	uint32_t target;	/* bytes, wanted window */
	enum window_limited limited;
	uint64_t due_us;	/* time at which withheld credit may go out,
				 * of window_update's clock; 0: none is */
};

/*
 * Start at time now_us with a window of base bytes. Set bounded_peer when the
 * sender is known not to buffer in proportion to the credit it holds.
 */
void	 window_init(struct window_control *, uint32_t, int, uint64_t);

/*
 * Account for consumed bytes taken by the local consumer since the last
 * update, with backlog bytes still waiting for it. rtt_us 0 = unknown.
 * Updates the target; limit is the largest it may be, base excepted. To be
 * called when data came, too, and nothing was taken: or all that comes while
 * a reader stops seems to have come when it goes on.
 */
void	 window_update(struct window_control *, uint64_t, uint64_t, uint64_t,
	    uint64_t, uint32_t);

/*
 * The target is what the budget allows: limit bytes, or base if that is more.
 */
void	 window_limit(struct window_control *, uint32_t);

/*
 * Returns the credit (bytes) to grant now to a peer that may still send window
 * bytes in packets of up to maxpacket bytes; 0 when it is not worth a message.
 * If more is wanted than a sender that buffers may have at once, due_us is
 * when to ask again: call window_update() then, with nothing consumed, and
 * this, though no data may have come.
 */
uint32_t window_credit(struct window_control *cw, uint32_t window,
	    uint32_t maxpacket);

const char *window_limited_name(enum window_limited);

#endif /* WINDOW_CONTROL_H */
