/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef WINDOW_BUDGET_H
#define WINDOW_BUDGET_H

#include <sys/types.h>

#include <stdint.h>

/*
 * How much window each channel of one connection may have beyond its initial
 * one, as that is bounded for all of them together. Pure.
 */

/*
 * Default limit (bytes) on the window of a channel. The pool, which channels
 * share beyond their initial windows, is this less one such window. It is what
 * one sshbuf can hold (SSHBUF_SIZE_MAX), and carries 10 Gbit/s over 100 ms.
 */
#define WINDOW_BUDGET_DEFAULT	(128 * 1024 * 1024)

/* A channel's. All zero but for the base to start with. */
struct window_budget_share {
	uint32_t base;		/* bytes, guaranteed */
	uint32_t want_over;	/* bytes asked for beyond base */
	uint32_t held;		/* bytes over base, reserved or still out */
};

struct window_budget {
	uint32_t limit;		/* bytes: most that one window may have */
	uint32_t pool;		/* bytes over the bases, for all together */
	u_int wanting;		/* number of shares whose want_over is not 0 */
	uint64_t wants;		/* bytes, sum over all shares */
	uint64_t held;		/* bytes, sum over all shares */
};

/* A window of `base` bytes may grow to limit bytes, if no other does. */
void	 window_budget_init(struct window_budget *b, uint32_t limit,
	    uint32_t base);

/* Takes a share out. What it held is free for others at once. */
void	 window_budget_leave(struct window_budget *b,
	    struct window_budget_share *s);

/*
 * Asks for a window of want bytes while `outstanding` bytes of credit and
 * backlog are still out. Returns the window (bytes) that the share may have
 * now. It is at least its base. What all shares have beyond their bases, with
 * what is still out, does not pass the pool. If that is too small, a share gets
 * an equal part of it, or what the others don't want if that is more.
 */
uint32_t window_budget_ask(struct window_budget *b,
	    struct window_budget_share *me, uint32_t want,
	    uint32_t outstanding);

#endif /* WINDOW_BUDGET_H */
