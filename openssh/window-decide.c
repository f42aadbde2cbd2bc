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

#include "includes.h"

#include <sys/types.h>

#include <stdint.h>

#include "misc.h"
#include "sshbuf.h"
#include "window-decide.h"

uint32_t
window_decide(struct window_control *cw, struct window_budget *budget,
    struct window_budget_share *share, const struct window_facts *facts)
{
	uint64_t waiting = MINIMUM(facts->waiting, facts->window);
	uint64_t outstanding = facts->window + facts->backlog, room;
	uint32_t limit;
	uint64_t credit;

	cw->late = facts->late;
	cw->forwarded = facts->forwarded;
	cw->early = facts->early;
	/* What waits in an sshbuf can't be more. */
	window_update(cw, facts->counted, facts->backlog, facts->rtt_us,
	    facts->now_us, SSHBUF_SIZE_MAX);
	limit = window_budget_ask(budget, share,
	    MINIMUM(cw->target + waiting, SSHBUF_SIZE_MAX),
	    MINIMUM(outstanding, UINT32_MAX));
	/*
	 * What waits in the kernel is no longer on its way. But it takes memory
	 * until it is consumed, and the limit bounds that memory.
	 */
	window_limit(cw, limit);
	credit = window_credit(cw, facts->window - waiting, facts->maxpacket);
	if (waiting != 0) {
		room = outstanding < limit ? limit - outstanding : 0;
		if (room < 3 * (uint64_t)facts->maxpacket)
			room = 0;	/* not worth a message */
		credit = MINIMUM(credit, room);
	}
	cw->granted += credit;
	return credit;
}
