/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SEND_ACCOUNT_H
#define SEND_ACCOUNT_H

#include <sys/types.h>

#include <stdint.h>

/*
 * The account of a channel's sender: what it sent and what it waited for. Pure.
 * In each loop iteration, the caller reports what the sender waits for. The
 * time until the next report counts as that. Times are us of a monotonic clock.
 */

enum send_why {
	SEND_NO_DATA,		/* nothing to send */
	SEND_PATH,		/* the connection accepts no more */
	SEND_WINDOW,		/* the peer's window is used up */
	SEND_WHYS
};

struct send_account {
	uint64_t bytes;			/* sent */
	enum send_why why;		/* the last sample: what it waits for */
	uint64_t at_us;			/* time of the last sample; 0: none */
	uint64_t spent_us[SEND_WHYS];	/* time waited, up to the last byte */
	uint64_t idle_us;		/* without data since the last byte */
};

/* Records that the channel waits for `why` from now_us on. */
void	 send_account_look(struct send_account *a, enum send_why why,
	    uint64_t now_us);

/* Records that `len` bytes were sent. */
void	 send_account_sent(struct send_account *a, size_t len);

/*
 * Returns the percentage of the time from the first byte to the last that was
 * spent waiting for `why`, or 0 if there was no such time.
 */
u_int	 send_account_percent(const struct send_account *a, enum send_why why);

#endif /* SEND_ACCOUNT_H */
