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
#include "send-account.h"

void
send_account_look(struct send_account *a, enum send_why why, uint64_t now_us,
    uint64_t drain_us)
{
	uint64_t took_us = now_us > a->at_us ? now_us - a->at_us : 0, path_us;

	if (a->at_us == 0)
		took_us = 0;
	switch (a->why) {
	case SEND_NO_DATA:
		/* It counts if more comes: before and after is no transfer. */
		if (a->bytes != 0)
			a->idle_us += took_us;
		break;
	case SEND_WINDOW:
		path_us = MINIMUM(took_us, a->drain_us);
		a->spent_us[SEND_PATH] += path_us;
		a->spent_us[SEND_WINDOW] += took_us - path_us;
		break;
	default:
		a->spent_us[a->why] += took_us;
	}
	a->drain_us = drain_us;
	a->why = why;
	a->at_us = now_us;
}

size_t
send_account_rest(const struct send_account *a, size_t whole)
{
	return whole - MINIMUM(a->piece, whole);
}

void
send_account_sent(struct send_account *a, size_t len, size_t all, size_t whole)
{
	if (len == 0)
		return;
	/* A packet that is smaller as there is no more begins none. */
	if (a->piece != 0 || len < MINIMUM(all, whole))
		a->piece = (a->piece + len) % whole;
	a->bytes += len;
	a->spent_us[SEND_NO_DATA] += a->idle_us;
	a->idle_us = 0;
}

u_int
send_account_percent(const struct send_account *a, enum send_why why)
{
	uint64_t all_us = 0;
	int i;

	for (i = 0; i < SEND_WHYS; i++)
		all_us += a->spent_us[i];
	return all_us == 0 ? 0 :
	    (a->spent_us[why] * 100 + all_us / 2) / all_us;
}

uint64_t
send_account_held_us(const struct send_account *a, uint64_t now_us)
{
	uint64_t took_us = 0;

	if (a->why == SEND_WINDOW && a->at_us != 0 && now_us > a->at_us)
		took_us = now_us - a->at_us;
	return a->spent_us[SEND_WINDOW] +
	    (took_us > a->drain_us ? took_us - a->drain_us : 0);
}
