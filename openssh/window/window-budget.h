/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef WINDOW_BUDGET_H
#define WINDOW_BUDGET_H

#include <sys/types.h>

#include <stdint.h>

/*
 * Divides a bounded pool of window, beyond their initial windows, among the
 * channels of a connection. Pure.
 */

/*
 * Default limit (bytes) on the window of a channel. Channels share a pool
 * beyond their initial windows, which is this less one such window. An sshbuf
 * can hold no more (SSHBUF_SIZE_MAX). It carries 10 Gbit/s over 100 ms.
 */
#define WINDOW_BUDGET_DEFAULT	(128 * 1024 * 1024)

/* A channel's share. Start with all zero but the base. */
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

/* A window of `base` bytes may grow to `limit` bytes if no other grows. */
void	 window_budget_init(struct window_budget *b, uint32_t limit,
	    uint32_t base);

/* Removes a share. What it held is free for others at once. */
void	 window_budget_leave(struct window_budget *b,
	    struct window_budget_share *s);

/*
 * Asks for a window of want bytes while `outstanding` bytes of credit and
 * backlog are still out. Returns the window (bytes) that the share may have
 * now. It is at least its base. The windows beyond the bases, and the bytes
 * still out, never exceed the pool. If the pool is too small, a share gets an
 * equal part, or what the others leave if that is more.
 */
uint32_t window_budget_ask(struct window_budget *b,
	    struct window_budget_share *me, uint32_t want,
	    uint32_t outstanding);

#endif /* WINDOW_BUDGET_H */
