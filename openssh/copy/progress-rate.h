/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

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
