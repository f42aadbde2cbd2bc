/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <stdint.h>
#include <string.h>

#include "misc.h"
#include "sftp-inflight.h"

static uint64_t
us(double s)
{
	return s * 1000000;
}

void
sftp_inflight_init(struct sftp_inflight *d, u_int fixed, uint32_t base,
    uint64_t most, double now_s)
{
	memset(d, 0, sizeof(*d));
	d->fixed = fixed;
	d->most = most;
	/* What was asked for waits in a file at the server: no memory. */
	window_init(&d->cw, base, 1, us(now_s));
}

void
sftp_inflight_opened(struct sftp_inflight *d, double asked_s, double now_s)
{
	uint64_t rtt_us;

	/* A clock that stood or stepped back says nothing. */
	if (now_s <= asked_s)
		return;
	rtt_us = MAXIMUM(us(now_s - asked_s), 1);
	/* With data in flight the reply had to wait behind it. */
	if (d->asked == 0 || d->rtt_us == 0 || rtt_us < d->rtt_us)
		d->rtt_us = rtt_us;
}

void
sftp_inflight_got(struct sftp_inflight *d, size_t len, double now_s)
{
	const struct window_facts facts = { .now_us = us(now_s),
	    .rtt = { d->rtt_us, d->rtt_us, 0 }, .consumed = len };

	window_update(&d->cw, &facts);
}

uint64_t
sftp_inflight_depth(const struct sftp_inflight *d)
{
	return MINIMUM(d->cw.target, d->most);
}

static uint64_t
cost(size_t len)
{
	return MAXIMUM(len, SFTP_INFLIGHT_LEAST);
}

void
sftp_inflight_ask(struct sftp_inflight *d, size_t len)
{
	d->asked += cost(len);
}

void
sftp_inflight_end(struct sftp_inflight *d, size_t len)
{
	d->asked -= MINIMUM(cost(len), d->asked);
}

int
sftp_inflight_room(const struct sftp_inflight *d, size_t len)
{
	uint64_t most = sftp_inflight_depth(d);

	/* The user's number is for each file; together they get no less. */
	if (d->fixed != 0)
		most = MAXIMUM(d->fixed * cost(len), d->cw.base);
	return d->asked == 0 || d->asked + cost(len) <= most;
}
