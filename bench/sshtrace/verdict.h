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

#ifndef VERDICT_H
#define VERDICT_H

#include <stddef.h>

/*
 * What limits a connection, from what was seen of one end of it in an
 * interval. Pure: no socket, clock or log.
 */

/* The window of OpenSSH's session channels (bytes), which never changes. */
#define VERDICT_STOCK_WINDOW	(2 * 1024 * 1024)

enum verdict {
	VERDICT_IDLE,		/* next to nothing to carry */
	VERDICT_SSH_WINDOW,	/* the channel window is used up */
	VERDICT_RECEIVER_BUFFER,	/* TCP's, at the receiving end */
	VERDICT_SENDER_BUFFER,	/* ditto, at the sending end */
	VERDICT_CONGESTION,	/* the congestion window: the path */
	VERDICT_SOURCE,		/* what ssh reads: application, disk */
	VERDICT_READER,		/* what reads from ssh: ditto */
	VERDICT_CPU,		/* this end's ssh has no more of it */
	VERDICT_FAR_END,	/* the receiver can't tell: sender or path */
	VERDICT_MAX
};

/* Room (bytes) that the buffers get from the package openssh-bdp-tuning */
#define VERDICT_PACKAGE_BUFFER	(64ULL * 1024 * 1024)

/* Shares are percent of the looks in the interval, -1 where unknown. */
struct verdict_in {
	uint64_t interval_us;
	uint64_t sent;		/* bytes acknowledged */
	uint64_t received;	/* bytes */
	int	 sends;		/* it is the sending end: verdict_sends() */
	uint64_t rwnd_us;	/* the peer's TCP had no room */
	uint64_t sndbuf_us;	/* the send buffer was too small */
	uint64_t late;		/* segments that came out of order */
	uint64_t cpu_us;	/* its busiest process ran, or waited to run */
	uint64_t rtt_us;	/* smoothed, 0 unknown */
	uint64_t min_rtt_us;	/* ditto */
	/* the largest windows (bytes), 0 unknown */
	uint64_t snd_wnd;	/* that the peer's TCP gave */
	uint64_t rcv_wnd;	/* that ours can give */
	uint64_t window;	/* of our channels */
	/* this end's TCP buffers, and the sysctls' maxima (bytes), 0 unknown */
	uint64_t sndbuf, rcvbuf;
	uint64_t wmem_max, rmem_max;
	int	 starved;	/* see verdict_starved() */
	int	 blocked;	/* and verdict_blocked(), too */
	int	 source;	/* the source had something to read */
	int	 sink;		/* the reader took nothing */
};

/*
 * Whether TCP could send more, had it more to send: less than a segment waits,
 * and a tenth of the congestion window (segments) is free.
 */
static inline int
verdict_starved(uint32_t cwnd, uint32_t in_flight, uint32_t notsent,
    uint32_t mss)
{
	return notsent < mss && in_flight < cwnd - cwnd / 10;
}

/*
 * Whether a writer has to wait for room in the send buffer: the kernel wakes
 * it when a third of that is free (bytes).
 */
static inline int
verdict_blocked(uint32_t sndbuf, uint32_t queued)
{
	return queued >= sndbuf || sndbuf - queued < queued / 2;
}

/*
 * Whether a connection rather sends than receives: in the interval, or ever
 * where that had too little to tell. in needs bytes and time only.
 */
int		 verdict_sends(const struct verdict_in *, uint64_t, uint64_t);

enum verdict	 verdict(const struct verdict_in *);

/*
 * Writes into buf of len bytes what to do about the TCP buffer that limits a
 * connection: which sysctl to raise, and on which host; peer names the other
 * end. Returns 1. Returns 0, with an empty string, if the limit is not a TCP
 * buffer, or if it is one of this end that the sysctl doesn't bound.
 */
int		 verdict_remedy(enum verdict v, const struct verdict_in *in,
		    const char *peer, char *buf, size_t len);

/* A word for programs, and some for people. */
const char	*verdict_name(enum verdict);
const char	*verdict_text(enum verdict);

#endif /* VERDICT_H */
