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

#ifndef READER_TURN_H
#define READER_TURN_H

/*
 * Whether the main loop leaves the connection unread for a turn, so that a
 * channel's reader can take what has come. When a lost segment arrives at last,
 * all data behind it can be read at once. ssh and sshd read it faster than a
 * reader can run, and keep it in memory meanwhile. Pure: no socket or clock.
 */

/* With a backlog of no more than this (bytes) all is as usual. */
#define READER_TURN_BACKLOG	(4 * 1024 * 1024)

/*
 * A reader that took nothing for so long (us) is not waited for. It takes what
 * is written into its pipe or socket.
 */
#define READER_TURN_LATELY_US	10000

/* After so long (us) the connection is read, whatever the backlog. */
#define READER_TURN_MOST_US	2000

/* State, of a connection. All zero to start with. */
struct reader_turn {
	uint64_t since_us;	/* unread since then; 0: it is read */
	int behind;		/* there is such a reader in this turn */
};

/*
 * Notes in each turn, at now_us, the backlog (bytes) of a channel, and that of
 * the turn before. Its reader took something at took_us for the last time.
 * Returns 1 if the reader is to be waited for, else 0. A wait begins only if
 * the backlog has grown: otherwise others' data has come.
 */
int	 reader_turn_look(struct reader_turn *rt, uint64_t backlog,
	    uint64_t before, uint64_t took_us, uint64_t now_us);

/*
 * Returns 1 if readers go first: the connection is to be left unread in this
 * turn. The caller makes such a turn no longer than a millisecond. Returns 0 if
 * the connection is to be read. now_us is not 0.
 */
int	 reader_turn_first(struct reader_turn *rt, uint64_t now_us);

#endif /* READER_TURN_H */
