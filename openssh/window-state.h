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

#ifndef WINDOW_STATE_H
#define WINDOW_STATE_H

#include "late-bytes.h"
#include "path-rtt.h"
#include "reader-turn.h"
#include "send-account.h"
#include "ssh-rtt.h"
#include "window-budget.h"
#include "window-control.h"

/*
 * The state behind the windows of a connection, which channel-window.c,
 * channel-path.c, channel-sender.c, channel-pipe.c and channel-report.c share.
 * Nothing else includes this.
 */

/*
 * A channel that has carried this much (bytes) may have more memory, to carry
 * the rest with fewer turns. Not before: many never carry much.
 */
#define WINDOW_MUCH	(1024 * 1024)

/* A channel's */
struct channel_window {
	int id;			/* number of the channel */
	int bulk;		/* 1: the window follows the path; 0: fixed */

	/* Credit (channel-window.c) */
	struct window_budget_share share;
	struct window_control control;
	uint32_t seen;		/* bytes of c->local_consumed at last look */
	struct late_bytes late;	/* what waits behind a lost segment */
	uint64_t took_us;	/* last time the consumer took something */
	uint64_t swollen;	/* bytes, largest backlog since last empty */

	/* Totals (channel-report.c) */
	uint64_t granted;	/* bytes of credit, with the initial window */
	uint32_t peak;		/* bytes, largest window */
	uint64_t first;		/* bytes that were consumed at first_us */
	uint64_t first_us;	/* time of the first of them; 0: none yet */
	uint64_t last_us;	/* time of the last look */

	/* Sending (channel-sender.c) */
	struct send_account send;
	uint64_t turn;		/* the one in which it last sent a packet */
	int no_room;		/* memory is short: it reads less in a turn */
	uint64_t early_wake_us;	/* wake-up for an early write; 0: none */

	/* Pipes (channel-pipe.c) */
	int output_enlarged;	/* once is enough, whether it worked or not */
	int input_enlarged;
};

/* What a connection knows of its path (channel-path.c) */
struct channel_path {
	int no_tcp;		/* the kernel can't tell: don't ask again */
	struct path_info tcp;	/* as the kernel sees the path */
	struct path_info ssh;	/* as SSH sees it */
	const struct path_info *source;	/* the one of these two in use */
	struct ssh_rtt inband;
	struct path_rtt path_rtt;
	uint64_t consumed;	/* bytes, by all bulk channels */
	uint64_t rtt_us;	/* round trip time in use; 0: unknown */
	uint64_t least_rtt_us;	/* of the path as it is, without queues */
	uint64_t probe_us;	/* time of the next look at the socket */
	uint64_t late;		/* segments out of order at the last look */
	uint64_t late_us;	/* time until which more are expected */
	u_int lossy;		/* how many of the last round trips had such
				 * segments, see channel_path_is_lossy() */
};

/* What a connection knows of what it sends (channel-sender.c) */
struct channel_sender {
	u_int unsent;		/* bytes of bulk data that may wait unsent */
	uint64_t unsent_us;	/* time of the next look at the socket */
	uint64_t rate;		/* bytes/s at the last look; 0: unknown */
	uint64_t rtt_us;	/* smoothed RTT at the last look; 0: unknown */
	int full;		/* the path took less than there was */
	int drained;		/* less than a segment waited unsent */
	size_t early_len;	/* bytes that waited at the last try */
	size_t early_left;	/* these, and the kernel's that are not acked */
	uint64_t early_sent;	/* bytes of all packets by then, less MACs */
	u_int early_failed;	/* tries in a row with nothing written between
				 * them */
	uint64_t turn;		/* counts the times that nothing waited */
	const struct channel_window *filler;	/* fills segments, or NULL */
};

/* A connection's */
struct channel_windows {
	uint32_t limit;		/* bytes of all windows; 0: all are fixed */
	struct window_budget *budget;
	int started;		/* there has been a bulk channel */
	int server;		/* which end we are */
	int bounded;		/* the peer's buffers don't follow our credit */
	u_int bulks;		/* number of open bulk channels */
	struct channel_path path;
	struct channel_sender sender;
	struct reader_turn reader;	/* whether it is read in this turn */
	int reader_fd;		/* written to for that reader */
	int wakes;		/* the main loop's wait ends early for us */
	uint64_t event_us;	/* last time that something else woke it, or
				 * that a try of an early write found more
				 * acknowledged */
};

/*
 * Returns the bytes that the channel's consumer has taken, without those that
 * only count as consumed.
 */
uint64_t window_consumed(const struct channel_window *w);

/* Returns the time (us) of a clock that doesn't step back. */
uint64_t window_now_us(void);

#endif /* WINDOW_STATE_H */
