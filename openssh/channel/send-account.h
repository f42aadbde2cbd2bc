/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SEND_ACCOUNT_H
#define SEND_ACCOUNT_H

#include <sys/types.h>

#include <stdint.h>

/*
 * The account of a channel's sender: what it sent and what it waited for. Pure:
 * the caller looks at the channel once in a loop iteration, and says what
 * it waits for until the next look. Times are us of a clock that doesn't step
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
	enum send_why why;		/* what it has waited for since at_us */
	uint64_t at_us;			/* time of the last look; 0: none yet */
	uint64_t spent_us[SEND_WHYS];	/* time waited, up to the last byte */
	uint64_t idle_us;		/* without data since the last byte */
};

/* Notes that the channel waits for `why` from now_us on. */
void	 send_account_look(struct send_account *a, enum send_why why,
	    uint64_t now_us);

/* Notes that len bytes were sent. */
void	 send_account_sent(struct send_account *a, size_t len);

/*
 * Returns the percentage of the time from the first byte to the last that was
 * spent waiting for `why`, or 0 if there was no such time.
 */
u_int	 send_account_percent(const struct send_account *a, enum send_why why);

#endif /* SEND_ACCOUNT_H */
