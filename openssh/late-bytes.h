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

#ifndef LATE_BYTES_H
#define LATE_BYTES_H

/*
 * How many bytes have arrived and wait in the kernel behind a lost segment, and
 * how many of them count as consumed. The channel has not got them yet, but
 * they are no longer on their way. Pure: what the socket said and the time go
 * in.
 */

/*
 * While data may wait, the socket is looked at LATE_PER_RTT times a round trip,
 * but not more often than every LATE_SPACING_MIN_US (us), and less often while
 * nothing arrives.
 */
#define LATE_PER_RTT		32
#define LATE_SPACING_MIN_US	1000

/*
 * If nothing arrives, the looks end after LATE_PATIENCE_RTTS round trips while
 * bytes wait. While none wait, they end after LATE_PATIENCE looks.
 */
#define LATE_PATIENCE_RTTS	2
#define LATE_PATIENCE		8

/*
 * late_bytes_allow(): a sender with less unspent credit (bytes) than this has
 * had too little, and how many bytes more count then, at least, after a round
 * trip.
 */
#define LATE_UNSPENT		(2 * 1024 * 1024)
#define LATE_MORE		(2 * 1024 * 1024)

/* What a socket said at one time. All zero: it holds nothing, or can't tell. */
struct late_look {
	uint64_t memory;	/* bytes, of all data that has arrived and was
				 * not read, with what the kernel adds */
	uint64_t unread;	/* bytes of it that can be read */
	uint64_t received;	/* bytes received in order so far */
	uint64_t late;		/* segments received out of order so far */
	uint64_t segment;	/* bytes in a full segment */
};

/* State, of one channel. All zero to start with. */
struct late_bytes {
	u_int share;		/* 1/1024, of the memory that is data; 0: not
				 * measured yet */
	struct late_look last;	/* the last look */
	uint64_t held;		/* bytes behind a lost segment, and those that
				 * were and have not been read since */
	uint64_t most;		/* how many of them may count */
	uint64_t allowed_us;	/* time at which that was decided; 0: never */
	uint64_t waiting;	/* how many count */
	uint64_t ahead;		/* bytes that count as consumed and are not */
	uint64_t news_us;	/* time at which something arrived last */
	uint64_t look_us;	/* time of the next look; 0: none is due */
};

/*
 * Notes that `bytes` bytes have arrived in the channel at now_us, over a path
 * with that round trip time, which is not 0. Plans the next look.
 */
void	 late_bytes_arrived(struct late_bytes *lb, uint64_t bytes,
	    uint64_t rtt_us, uint64_t now_us);

/* Returns 1 if it is time to look at the socket, else 0. */
int	 late_bytes_due(const struct late_bytes *lb, uint64_t now_us);

/*
 * Takes a look into account: updates lb->held, which is at most the window
 * (bytes), as the peer may send no more. Plans the next look, if any.
 * late_bytes_allow() has to follow.
 */
void	 late_bytes_look(struct late_bytes *lb, const struct late_look *look,
	    uint64_t window, uint64_t rtt_us, uint64_t now_us);

/*
 * Decides how many bytes of lb->held count, and sets lb->waiting. At least
 * `least` count, and at most `limit`, which is `least` or more. If these are
 * too few, and the sender has less than LATE_UNSPENT bytes of credit unspent,
 * more count: after a round trip LATE_MORE, or a quarter of what it delivers
 * (bdp, bytes) if that is more. If the sender has more unspent, fewer count:
 * after a round trip as many as it has over LATE_UNSPENT. After a part of a
 * round trip (rtt_us, not 0), that part of these bytes is added or taken away.
 */
void	 late_bytes_allow(struct late_bytes *lb, uint64_t least,
	    uint64_t limit, uint64_t bdp, uint64_t unspent, uint64_t rtt_us,
	    uint64_t now_us);

/*
 * Nothing waits as far as is known, and no look is due. What has counted early
 * stays known.
 */
void	 late_bytes_stop(struct late_bytes *lb);

/*
 * Returns the bytes that count as consumed since the last call: the `consumed`
 * bytes that the consumer took, and those that have begun to wait. No byte
 * counts twice.
 */
uint64_t late_bytes_count(struct late_bytes *lb, uint64_t consumed);

#endif /* LATE_BYTES_H */
