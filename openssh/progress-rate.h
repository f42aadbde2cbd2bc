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

#ifndef PROGRESS_RATE_H
#define PROGRESS_RATE_H

/*
 * The rate of the last seconds, which a meter shows while it runs. A mean over
 * the whole, or one that ages, still tells of a start or a stall long ago.
 * Pure: times are seconds of a clock that doesn't step back, counts are bytes.
 */

/* Seconds that the rate is of */
#define PROGRESS_RATE_S		5.0

/* Seconds that two samples are apart at least */
#define PROGRESS_RATE_STEP_S	0.5

/* Samples in PROGRESS_RATE_S, and one on either side */
#define PROGRESS_RATE_SAMPLES	12

struct progress_rate {
	u_int count;		/* samples ever */
	struct {
		double s;
		uint64_t bytes;
	} ring[PROGRESS_RATE_SAMPLES];
};

/* Starts anew. */
void	 progress_rate_init(struct progress_rate *p);

/*
 * Notes that `bytes` bytes have been transferred by now_s. Returns the rate
 * (bytes/s) since the latest call that is at least PROGRESS_RATE_S ago, or
 * since the first one. 0 if nothing came or no time has passed.
 */
uint64_t progress_rate(struct progress_rate *p, double now_s,
	    uint64_t bytes);

#endif /* PROGRESS_RATE_H */
