/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <stdint.h>

#include "misc.h"
#include "progress-rate.h"

#define SAMPLE(p, i)	((p)->ring[(i) % PROGRESS_RATE_SAMPLES])

uint64_t
progress_rate(struct progress_rate *p, double now_s, uint64_t bytes)
{
	u_int i, first;
	double took_s;

	/* Replace a sample that is too recent: resizing makes many. */
	if (p->count < 2 || SAMPLE(p, p->count - 1).s >=
	    SAMPLE(p, p->count - 2).s + PROGRESS_RATE_STEP_S)
		p->count++;
	SAMPLE(p, p->count - 1).s = now_s;
	SAMPLE(p, p->count - 1).bytes = bytes;
	first = p->count - MINIMUM(p->count, PROGRESS_RATE_SAMPLES);
	for (i = p->count - 1; i > first; i--) {
		if (SAMPLE(p, i).s <= now_s - PROGRESS_RATE_S)
			break;
	}
	took_s = now_s - SAMPLE(p, i).s;
	if (took_s <= 0 || bytes <= SAMPLE(p, i).bytes)
		return 0;
	return (bytes - SAMPLE(p, i).bytes) / took_s;
}
