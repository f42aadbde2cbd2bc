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
 * The controller of one channel's receive window. Pure: the bytes consumed, the
 * backlog, the RTT and the time go in; a target window and the credit to grant
 * come out. No socket, clock or log in here. See DESIGN.md.
 */

/*
 * The delivery history has WINDOW_PER_RTT samples a round trip. Its ring holds
 * the two round trips that are compared, and some spare samples.
 */
#define WINDOW_PER_RTT		16
#define WINDOW_SAMPLES		(2 * WINDOW_PER_RTT + 8)

/*
 * Number of round trips, the current one included, for which the best delivery
 * is remembered. WINDOW_ROUNDS outlast a retransmission timeout. For senders
 * that buffer the number is smaller: when the path gets slower, credit has to
 * follow at once.
 */
#define WINDOW_ROUNDS		4
#define WINDOW_ROUNDS_UNBOUNDED	2

/*
 * Shortest interval over which delivery is measured (us). On a LAN, data that
 * comes in a burst after a late wake-up must not be taken for a rate.
 */
#define WINDOW_INTERVAL_MIN_US	2000

/*
 * Headroom over the BDP (bytes). For a peer with bounded buffers, the least
 * that remains once delivery stops growing (bdp / 2 if that is more). For other
 * peers, the most that headroom may reach, and only while delivery grows.
 */
#define WINDOW_HEADROOM_MAX	(6 * 1024 * 1024)

/*
 * Headroom (bytes) towards a sender that buffers, once delivery has stopped
 * growing. On a full path that sender holds this much unspent credit. Its
 * input buffer is safe below 8 MiB and collapses near 16 MiB. The rest is for
 * what a hiccup of the path adds: 40 ms at 1 Gbit/s.
 */
#define WINDOW_HEADROOM_UNBOUNDED	(3 * 1024 * 1024)

/*
 * Behind a forwarder there is less headroom, because the forwarder's sockets
 * are all the room there is for what a hiccup adds: what the path carries in
 * WINDOW_HICCUP_US, at least WINDOW_HEADROOM_FORWARDED (bytes); while delivery
 * grows, up to WINDOW_GROWING_FORWARDED (bytes). See unbounded_room().
 */
#define WINDOW_HICCUP_US		12000
#define WINDOW_HEADROOM_FORWARDED	(1536 * 1024)
#define WINDOW_GROWING_FORWARDED	(4 * 1024 * 1024)

/*
 * Most credit (bytes) that a sender that buffers gets at once, and that it gets
 * at once behind a forwarder. If two quanta (see below) are more, they are the
 * limit.
 */
#define WINDOW_BURST		(1024 * 1024)
#define WINDOW_BURST_FORWARDED	(512 * 1024)

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
	WINDOW_GREW,		/* BDP plus headroom, while delivery grows */
	WINDOW_PATH,		/* BDP plus headroom */
	WINDOW_PEER,		/* growth is held back: the peer buffers */
	WINDOW_READER,		/* the local consumer lags behind the path */
	WINDOW_BUDGET		/* the limit passed in */
};

struct window_sample {
	uint64_t t_us;		/* start of the interval */
	uint64_t consumed;	/* cumulative, bytes, at t_us */
	uint64_t received;	/* cumulative, bytes, at t_us */
	uint64_t granted;	/* cumulative, bytes, at t_us */
	uint64_t backlog_min;	/* bytes, least seen in the interval */
};

struct window_control {
	/* Configuration */
	uint32_t base;		/* bytes: initial window, never less */
	int bounded_peer;	/* 1: the sender's buffers are bounded */
	int forwarded;		/* 1: the RTT is SSH's own, as behind a
				 * forwarder. The caller may set it at any
				 * time. */
	int late;		/* 1: segments get lost, so data may come a
				 * round trip late. The caller may set it at any
				 * time. */
	uint64_t early;		/* bytes of the backlog that have counted as
				 * consumed already, while they waited behind a
				 * lost segment. The caller may set it at any
				 * time. */

	/* State */
	uint64_t now_us;	/* time of the last update */
	uint64_t granted_us;	/* time of the last credit */
	uint64_t starved_us;	/* last time with little credit; 0: never */
	uint64_t paced_us;	/* time up to which allowance has accrued */
	uint64_t allowance;	/* bytes of credit that may go out at once */
	uint64_t rtt_us;	/* round trip time in use; 0: unknown */
	uint64_t consumed;	/* cumulative, bytes */
	uint64_t received;	/* cumulative, bytes: consumed + backlog,
				 * without what has counted early */
	uint64_t backlog;	/* bytes received and not yet consumed */
	uint64_t granted;	/* cumulative, bytes of credit; the caller adds
				 * what it sends */
	uint64_t round_us;	/* start of the current round trip */
	uint64_t best[WINDOW_ROUNDS];	/* bytes, best delivery of a round */
	struct window_sample samples[WINDOW_SAMPLES];	/* ring */
	u_int head;		/* index of the latest sample */
	u_int nsamples;		/* number of samples in the ring */

	/* Results */
	uint64_t bdp;		/* bytes delivered in one round trip */
	uint64_t growth;	/* bytes delivered beyond those of the round
				 * trip before; at least 0 */
	uint64_t gain;		/* bytes delivered beyond the better of two and
				 * three round trips ago; a stall gives none */
	uint32_t target;	/* bytes, wanted window */
	enum window_limited limited;	/* what decided the target */
	uint64_t due_us;	/* time at which withheld credit may go out, by
				 * the clock of now_us; 0: none is withheld */
};

/*
 * Starts at time now_us with a window of base bytes. bounded_peer is 1 if the
 * sender has announced that its buffers are bounded.
 */
void	 window_init(struct window_control *cw, uint32_t base,
	    int bounded_peer, uint64_t now_us);

/*
 * Counts `consumed` bytes that the local consumer has taken since the last
 * update, or that have begun to wait behind a lost segment, while `backlog`
 * bytes wait for the consumer. Updates the target. rtt_us is
 * the round trip time, or 0 if it is unknown. The target is at most `limit`
 * bytes, or base if that is more. Call it also when data came and nothing was
 * consumed. Otherwise all data that comes while the reader has stopped would
 * seem to come at once when it resumes.
 */
void	 window_update(struct window_control *cw, uint64_t consumed,
	    uint64_t backlog, uint64_t rtt_us, uint64_t now_us, uint32_t limit);

/*
 * Lowers the target to what the budget allows: limit bytes, or base if that is
 * more.
 */
void	 window_limit(struct window_control *cw, uint32_t limit);

/*
 * Returns the credit (bytes) to grant now to a peer that may still send window
 * bytes in packets of up to maxpacket bytes; 0 if it is not worth a message.
 * If a sender that buffers may not have all of it at once, this sets due_us. At
 * that time call window_update(), with 0 bytes consumed if no data came, and
 * then this function again.
 */
uint32_t window_credit(struct window_control *cw, uint32_t window,
	    uint32_t maxpacket);

/*
 * Returns about how many bytes of credit the sender had half a round trip ago
 * and had not sent, of `outstanding` bytes that it may still send or that are
 * on their way at now_us. Credit of the last round trip does not count: what it
 * lets the sender send can't have come yet. Lost segments count, and so does
 * what waits in a queue of the path.
 */
uint64_t window_unspent(const struct window_control *cw, uint64_t outstanding,
	    uint64_t now_us);

/* Returns the log's word for what decided the target. */
const char *window_limited_name(enum window_limited limited);

#endif /* WINDOW_CONTROL_H */
