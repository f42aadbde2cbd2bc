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

#ifndef TCP_HELD_H
#define TCP_HELD_H

#include <stdint.h>

/*
 * How long a connection waits for what one more connection would bring: room in
 * TCP's buffers or in the peer's window, or a congestion window that losses
 * keep small. A connection that fills its path does not wait for that: a queue
 * shows it, as the round trip then takes longer than it need. Pure.
 */

/* The least time (us) between two looks; 7/8 of the RTT if that is longer. */
#define TCP_HELD_LOOK_US	100000

/* What is known at one time. Totals are since the connection began. */
struct tcp_held_look {
	uint64_t at_us;		/* time of the look */
	uint64_t rtt_us;
	uint64_t min_rtt_us;
	uint64_t acked;		/* total of bytes sent and acknowledged */
	uint64_t received;	/* total of bytes */
	uint64_t quiet_us;	/* total time in which none came */
	uint64_t buffers_us;	/* total time that TCP's buffers held it up */
	uint64_t window_us;	/* total time that channels' windows did */
	uint64_t resent;	/* total of segments */
	uint64_t rcv_wnd;	/* window (bytes) that ours can be */
	uint64_t in_flight;	/* bytes */
	uint64_t room;		/* bytes in flight that TCP's buffers allow;
				 * 0: unknown */
	int	 blocked;	/* 1: our send buffer is full */
	int	 filled;	/* 1: the congestion window is in use */
};

/* A look's rate is compared with that of so many looks before. */
#define TCP_HELD_RATES		2

/* Losses, and a queue, within so many looks belong together. */
#define TCP_HELD_EVENT		4

/* Looks for which a loss counts */
#define TCP_HELD_LOSSY		8

/* TCP is wide if its buffers allow this many times the bytes in flight. */
#define TCP_HELD_WIDE		3

/* All zero to start with */
struct tcp_held {
	struct tcp_held_look last;
	uint64_t held_us;		/* total time that it waited */
	uint64_t rates[TCP_HELD_RATES];	/* bytes/s, ring */
	u_int	 n;			/* looks at rates */
	u_int	 lossy;			/* looks for which a loss counts */
	u_int	 queued;		/* looks for which a queue explains
					 * losses */
	u_int	 lost;			/* looks since the first loss that
					 * none explained; 0: there was none */
	int	 wide;			/* 1: at the last look the peer's
					 * windows held it up for longer than
					 * TCP's buffers, and TCP was wide */
};

/* Returns 1 if it is time for the next look. */
int	 tcp_held_is_due(const struct tcp_held *h, uint64_t now_us);

/* Takes a look into account. */
void	 tcp_held_add(struct tcp_held *h, const struct tcp_held_look *look);

#endif /* TCP_HELD_H */
