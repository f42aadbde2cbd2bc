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

#ifndef CHANBUDGET_H
#define CHANBUDGET_H

#include "openbsd-compat/sys-queue.h"

/*
 * How much window the channels of one connection may have together. Pure,
 * like chanwin.h. See DESIGN.md.
 */

/*
 * Default bound on the sum of a connection's windows (bytes). It is what one
 * sshbuf can hold (SSHBUF_SIZE_MAX), and carries 10 Gbit/s over 100 ms.
 */
#define CHANBUDGET_DEFAULT	(128 * 1024 * 1024)

struct chanbudget_share {
	TAILQ_ENTRY(chanbudget_share) entry;
	uint32_t base;		/* bytes, guaranteed */
	uint32_t want;		/* bytes over base asked for */
	uint32_t held;		/* bytes over base, reserved or still out */
};

struct chanbudget {
	uint32_t limit;		/* bytes, for all windows together */
	TAILQ_HEAD(, chanbudget_share) shares;
};

/* Allocates a budget of limit bytes; NULL when out of memory. */
struct chanbudget *chanbudget_new(uint32_t);

/* Frees the budget. All shares must have left. */
void	 chanbudget_free(struct chanbudget *);

/* A channel with a guaranteed window of base bytes joins, or leaves. */
void	 chanbudget_join(struct chanbudget *, struct chanbudget_share *,
	    uint32_t);
void	 chanbudget_leave(struct chanbudget *, struct chanbudget_share *);

/*
 * Ask for a window of want bytes while outstanding bytes of credit and
 * backlog are still out. Returns the window (bytes) that the share may have
 * now: never under its base, never such that the windows, and what is still
 * out beyond them, pass the limit (unless the bases alone do).
 */
uint32_t chanbudget_ask(struct chanbudget *, struct chanbudget_share *,
	    uint32_t, uint32_t);

#endif /* CHANBUDGET_H */
