/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef PROGRESS_RATE_H
#define PROGRESS_RATE_H

/*
 * The rate of the last seconds, for a running progress meter. A mean over the
 * whole transfer, or a decaying one, would still show an old stall. Pure: times
 * are seconds of a clock that never steps back, counts are bytes.
 */

#define PROGRESS_RATE_S		5.0	/* time that the rate covers */
#define PROGRESS_RATE_STEP_S	0.5	/* minimum between two samples */
#define PROGRESS_RATE_SAMPLES	12	/* in that time, and before it */

struct progress_rate {		/* at the start, all is 0 */
	u_int count;		/* number of samples so far */
	struct {
		double s;
		uint64_t bytes;
	} ring[PROGRESS_RATE_SAMPLES];
};

/*
 * Records that `bytes` bytes have been transferred at now_s. Returns the mean
 * rate (bytes/s) since the latest call that is at least PROGRESS_RATE_S old, or
 * since the first call if none is. Returns 0 without bytes or time.
 */
uint64_t progress_rate(struct progress_rate *p, double now_s, uint64_t bytes);

#endif /* PROGRESS_RATE_H */
