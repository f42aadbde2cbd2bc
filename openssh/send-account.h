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
 * What held a channel's sender up. Pure: whoever looks at the channel, once a
 * turn of the main loop, says what it waits for until the next look. Times are
 * us, of a clock that doesn't step back. And what its packets add up to.
 */

enum send_why {
	SEND_NO_DATA,	/* nothing to send */
	SEND_PATH,		/* the connection takes no more */
	SEND_WINDOW,	/* the peer's window is used up */
	SEND_WHYS
};

struct send_account {
	uint64_t bytes;			/* sent */
	size_t piece;			/* bytes of a packet that has begun */
	enum send_why why;		/* since the last look, */
	uint64_t at_us;			/* at this time */
	uint64_t drain_us;		/* and for so long it is the path */
	uint64_t spent_us[SEND_WHYS];
	uint64_t idle_us;		/* without data, and none came since */
};

/*
 * The channel waits for this from now on. If that is the window: what was sent
 * will still be on its way out of this machine for so long, and that is the
 * path's time.
 */
void	 send_account_look(struct send_account *, enum send_why, uint64_t,
	    uint64_t);

/*
 * Bytes to the end of a packet of the peer's largest size. Smaller ones, which
 * are pieces of it, end where it would: windows are whole ones as a rule, and
 * some peers do badly if their credit doesn't end with a packet.
 */
size_t	 send_account_rest(const struct send_account *, size_t);

/* Counts the bytes sent, out of those there were, and the packet size. */
void	 send_account_sent(struct send_account *, size_t, size_t, size_t);

/*
 * Percent of the time from the first byte to the last in which it was this.
 * 0 when there was no such time.
 */
u_int	 send_account_percent(const struct send_account *, enum send_why);

#endif /* SEND_ACCOUNT_H */
