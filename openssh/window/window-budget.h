/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef WINDOW_BUDGET_H
#define WINDOW_BUDGET_H

#include <sys/types.h>

#include <stdint.h>

/*
 * Divides a bounded pool among the channels of a connection, whose windows may
 * exceed their initial size by it. Pure.
 */

/*
 * Default limit (bytes) on the window of a channel, enough for 10 Gbit/s over
 * 100 ms. An sshbuf can hold no more (SSHBUF_SIZE_MAX). The pool is the limit
 * less one initial window.
 */
#define WINDOW_BUDGET_DEFAULT	(128 * 1024 * 1024)

/* A channel's share. Before use, set `base`, and all else to 0. */
struct window_budget_share {
	uint32_t base;		/* bytes, guaranteed: the initial window */
	uint32_t want_over;	/* bytes requested beyond base */
	uint32_t held;		/* bytes beyond base, reserved or outstanding */
};

struct window_budget {
	uint32_t limit;		/* bytes, maximum of one window */
	uint32_t pool;		/* bytes beyond the bases, sum of all windows */
	u_int wanting;		/* number of shares whose want_over is not 0 */
	uint64_t wants;		/* bytes, sum over all shares */
	uint64_t held;		/* bytes, sum over all shares */
};

/* If no other window grows, one may grow from `base` to `limit` bytes. */
void	 window_budget_init(struct window_budget *b, uint32_t limit,
	    uint32_t base);

/* Removes a share. Its bytes are free for others at once. */
void	 window_budget_leave(struct window_budget *b,
	    struct window_budget_share *s);

/*
 * Requests a window of `want` bytes for `me`, which has `outstanding` bytes of
 * credit and backlog. Returns the window (bytes) that it may have now, at least
 * me->base. Beyond the bases, all windows and outstanding bytes never exceed
 * the pool. If it is too small, a share gets max(an equal part, what others
 * leave).
 */
uint32_t window_budget_ask(struct window_budget *b,
	    struct window_budget_share *me, uint32_t want,
	    uint32_t outstanding);

#endif /* WINDOW_BUDGET_H */
