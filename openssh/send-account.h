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

#ifndef SEND_ACCOUNT_H
#define SEND_ACCOUNT_H

/*
 * The account of a channel's sender: what it sent and what it waited for. Pure:
 * whoever looks at the channel, once a turn of the main loop, says what it
 * waits for until the next look. Times are us of a clock that doesn't step
 * back.
 */

enum send_why {
	SEND_NO_DATA,		/* nothing to send */
	SEND_PATH,		/* the connection takes no more */
	SEND_WINDOW,		/* the peer's window is used up */
	SEND_WHYS
};

struct send_account {
	uint64_t bytes;			/* sent */
	size_t piece;			/* bytes sent of a whole packet */
	enum send_why why;		/* what it has waited for since at_us */
	uint64_t at_us;			/* time of the last look; 0: none yet */
	uint64_t drain_us;		/* see send_account_look() */
	uint64_t spent_us[SEND_WHYS];	/* time waited, up to the last byte */
	uint64_t idle_us;		/* without data since the last byte */
};

/*
 * Notes that the channel waits for `why` from now_us on. If that is the window,
 * drain_us is the time that what was sent takes to leave this machine: that
 * part of the wait counts as the path's.
 */
void	 send_account_look(struct send_account *a, enum send_why why,
	    uint64_t now_us, uint64_t drain_us);

/*
 * Returns the bytes that are missing from a packet of `whole` bytes, the
 * largest that the peer takes. Smaller packets are pieces of it and end where
 * it would: a window is a number of whole packets as a rule, and some peers do
 * badly if their credit doesn't end with a packet.
 */
size_t	 send_account_rest(const struct send_account *a, size_t whole);

/*
 * Notes that len bytes were sent, out of `all` that there were to send, with
 * packets of at most `whole` bytes.
 */
void	 send_account_sent(struct send_account *a, size_t len, size_t all,
	    size_t whole);

/*
 * Returns the percentage of the time from the first byte to the last that was
 * spent waiting for `why`, or 0 if there was no such time.
 */
u_int	 send_account_percent(const struct send_account *a, enum send_why why);

/*
 * Returns the total time (us), until now_us, that was spent waiting for the
 * peer's window.
 */
uint64_t send_account_held_us(const struct send_account *a, uint64_t now_us);

#endif /* SEND_ACCOUNT_H */
