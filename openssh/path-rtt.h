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

#ifndef PATH_RTT_H
#define PATH_RTT_H

/*
 * Which round trip time describes a path. Pure: what the sources say goes in,
 * with the time and what has come.
 */

/* What a source says of the path. 0: it doesn't say. */
struct path_info {
	uint64_t rtt_us;	/* smoothed round trip time */
	uint64_t min_rtt_us;	/* least round trip time seen */
	uint64_t late;		/* segments out of order so far */
	uint64_t send_rate;	/* bytes/s at which it would send */
	int full;		/* 1: there is more to send than it takes now */
	int drained;		/* 1: less than a segment waits unsent; 0:
				 * more does, or it can't tell */
};

/*
 * Slack (us) for what an answer in SSH takes longer than one in TCP, on a path
 * that has no forwarder: the peer's main loop has other things to do.
 */
#define PATH_RTT_SLACK_US	5000

/*
 * Returns the one of two sources that describes the whole path: tcp, the
 * socket's own figures (all 0 if there are none), unless the least RTT in
 * inband, that of SSH, shows a forwarder behind the socket. One hop more makes
 * no difference below a quarter of the RTT.
 */
const struct path_info *path_rtt_choose(const struct path_info *tcp,
	    const struct path_info *inband);

/* State of path_rtt_us(), of one source. All zero to start with. */
struct path_rtt {
	/* Configuration */
	int cautious;		/* a queue on the path counts a quarter RTT; if
				 * inband as well, it does not count */
	int inband;		/* the source is SSH's own round trip */

	/* State */
	uint64_t least_us;	/* of the path as it is now, without queues */
	uint64_t rate;		/* bytes/s, of the last round trip */
	uint64_t best;		/* bytes/s, the best one, slowly forgotten */
	uint64_t since_us;	/* start of the round trip now measured */
	uint64_t consumed;	/* bytes that had been consumed by then */
};

/*
 * Returns the round trip time (us) to take a BDP over, from what a source says
 * in path. It is the smoothed one, so that a queue which other flows keep on
 * the path counts, but at most twice the least, so that a queue of our own
 * making can't feed on itself. (If pr->cautious, at most 5/4: towards a sender
 * that buffers, what fits into a queue becomes unspent credit when that queue
 * overflows. If pr->inband as well, the least: the queue may be in the sockets
 * of a forwarder, and what fits into those is all that keeps credit out of the
 * sender's buffer.) consumed is the number of bytes that have come so far. If
 * less comes as the RTT gets longer, the path got longer; it is not a queue.
 */
uint64_t path_rtt_us(struct path_rtt *pr, const struct path_info *path,
	    uint64_t consumed, uint64_t now_us);

#endif /* PATH_RTT_H */
