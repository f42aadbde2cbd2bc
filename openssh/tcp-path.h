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

#ifndef TCP_PATH_H
#define TCP_PATH_H

/* What the kernel knows of the path behind a socket. */
struct path_info {
	uint64_t rtt_us;	/* smoothed round trip time */
	uint64_t min_rtt_us;	/* least seen; 0 = the kernel doesn't say */
	uint64_t late;		/* segments out of order so far; 0 = likewise */
	uint64_t send_rate;	/* bytes/s that it would send; 0 = likewise */
	int full;		/* there is more to send than it takes now */
};

/*
 * Ask the kernel about the TCP connection behind fd (tcp(7), TCP_INFO).
 * Returns 0, or SSH_ERR_SYSTEM_ERROR with errno set when there is no TCP
 * socket, no such interface, or no RTT measured yet.
 */
int	 tcp_path_probe(int fd, struct path_info *);

/*
 * Data (bytes) that waits unsent while more is to come: nothing can overtake
 * it. So many us at the rate that the kernel sends at: a few turns of the main
 * loop. The most leaves fast links no idle moment between two turns, the least
 * is a packet.
 */
#define TCP_PATH_UNSENT_US	4000
#define TCP_PATH_UNSENT_MAX	(128 * 1024)
#define TCP_PATH_UNSENT_MIN	(16 * 1024)
#define TCP_PATH_UNSENT_STEP	(8 * 1024)

/* That amount at a rate (bytes/s, 0 = unknown), in whole steps. Pure. */
u_int	 tcp_path_unsent(uint64_t);

/*
 * Keep the kernel from taking much more than so many bytes (tcp(7),
 * TCP_NOTSENT_LOWAT), if it can.
 */
void	 tcp_path_bound_unsent(int, u_int);

/* Whether parts of a segment wait for more data (Nagle) or are sent at once. */
void	 tcp_path_fill_segments(int, int);

/* Bytes that the kernel has not sent even once; 0 if it can't tell. */
u_int	 tcp_path_waiting(int);

/*
 * Slack (us) for what an answer in SSH takes longer than one in TCP, on a path
 * that has no forwarder: the peer's main loop has other things to do.
 */
#define PATH_RTT_SLACK_US	5000

/*
 * Which of two sources describes the whole path: the socket's own figures (all
 * 0 if there are none), unless SSH's least RTT shows a forwarder behind them.
 * One hop more makes no difference below a quarter of the RTT. Pure.
 */
const struct path_info *path_rtt_choose(const struct path_info *,
	    const struct path_info *);

/* Which round trip time to take a BDP over. All zero to start with. */
struct path_rtt {
	/* configuration */
	int cautious;		/* a queue on the path counts a quarter RTT */

	/* state */
	uint64_t least_us;	/* of the path as it is now, without queues */
	uint64_t rate;		/* bytes/s, of the last round trip */
	uint64_t best;		/* bytes/s, the best one, slowly forgotten */
	uint64_t since_us;	/* when the one now measured began, and what */
	uint64_t consumed;	/* had been consumed by then, bytes */
};

/*
 * The round trip time (us) to take a BDP over: the smoothed one, so that a
 * queue which other flows keep on the path counts, but at most twice the
 * least, so that a queue of our own making can't feed on itself. (Towards a
 * sender that buffers at most 5/4: what fits into a queue becomes unspent
 * credit when that queue overflows.) consumed is what has come so far
 * (bytes), now_us the time: when less comes as the RTT gets longer, it is the
 * path that got longer, and not a queue. Pure.
 */
uint64_t path_rtt_us(struct path_rtt *, const struct path_info *, uint64_t,
	    uint64_t);

#endif /* TCP_PATH_H */
