/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <stdint.h>

#include "send-account.h"

void
send_account_look(struct send_account *a, enum send_why why, uint64_t now_us)
{
	uint64_t took_us = now_us > a->at_us ? now_us - a->at_us : 0;

	if (a->at_us == 0)
		took_us = 0;
	if (a->why != SEND_NO_DATA)
		a->spent_us[a->why] += took_us;
	else if (a->bytes != 0)
		/* Count this wait only if more data follows. */
		a->idle_us += took_us;
	a->why = why;
	a->at_us = now_us;
}

void
send_account_sent(struct send_account *a, size_t len)
{
	if (len == 0)
		return;
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
