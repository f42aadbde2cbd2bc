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

#ifndef WINDOW_BUDGET_H
#define WINDOW_BUDGET_H

#include "openbsd-compat/sys-queue.h"

/*
 * How much window each channel of one connection may have, as all of them
 * together are bounded. Pure. See DESIGN.md.
 */

/*
 * Default bound on the sum of a connection's windows (bytes). It is what one
 * sshbuf can hold (SSHBUF_SIZE_MAX), and carries 10 Gbit/s over 100 ms.
 */
#define WINDOW_BUDGET_DEFAULT	(128 * 1024 * 1024)

struct window_budget_share {
	TAILQ_ENTRY(window_budget_share) entry;
	uint32_t base;		/* bytes, guaranteed */
	uint32_t want;		/* bytes over base asked for */
	uint32_t held;		/* bytes over base, reserved or still out */
};

struct window_budget {
	uint32_t limit;		/* bytes, for all windows together */
	u_int wanting;		/* number of shares, the first ones on the
				 * list, whose want is not 0 */
	uint64_t bases;		/* bytes, sum over all shares */
	uint64_t wants;		/* bytes, sum over all shares */
	uint64_t held;		/* bytes, sum over all shares */
	TAILQ_HEAD(, window_budget_share) shares;
};

/* Returns a new budget of limit bytes, or NULL if there is no memory. */
struct window_budget *window_budget_new(uint32_t limit);

/* Frees the budget. All shares must have left. */
void	 window_budget_free(struct window_budget *b);

/* Adds the share of a channel with a guaranteed window of base bytes. */
void	 window_budget_join(struct window_budget *b,
	    struct window_budget_share *s, uint32_t base);

/* Removes a share; what it held is free for others at once. */
void	 window_budget_leave(struct window_budget *b,
	    struct window_budget_share *s);

/*
 * Asks for a window of want bytes while `outstanding` bytes of credit and
 * backlog are still out. Returns the window (bytes) that the share may have
 * now. It is at least its base, and all windows, with what is still out beyond
 * them, don't pass the limit (unless the bases alone do).
 *
 * The time that this takes does not depend on the number of shares, unless the
 * pool over all bases is too small for what is wanted. Then it depends on the
 * number of those that want more than their base, at most limit / base.
 */
uint32_t window_budget_ask(struct window_budget *b,
	    struct window_budget_share *me, uint32_t want,
	    uint32_t outstanding);

#endif /* WINDOW_BUDGET_H */
