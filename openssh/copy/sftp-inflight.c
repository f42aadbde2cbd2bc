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
sftp_inflight_init(struct sftp_inflight *inflight, u_int fixed, uint32_t base,
    uint64_t most, double now_s)
{
	memset(inflight, 0, sizeof(*inflight));
	inflight->fixed = fixed;
	inflight->most = most;
	/* The requested data waits in a file at the server, not in memory. */
	window_init(&inflight->cw, base, 1, us(now_s));
}

void
sftp_inflight_opened(struct sftp_inflight *inflight, double asked_s,
    double now_s)
{
	uint64_t rtt_us;

	/* Ignore a clock that stood or stepped back. */
	if (now_s <= asked_s)
		return;
	rtt_us = MAXIMUM(us(now_s - asked_s), 1);
	/* With data in flight, the reply had to wait for it. */
	if (inflight->asked == 0 || inflight->rtt_us == 0 ||
	    rtt_us < inflight->rtt_us)
		inflight->rtt_us = rtt_us;
}

void
sftp_inflight_got(struct sftp_inflight *inflight, size_t len, double now_s)
{
	const struct window_facts facts = { .now_us = us(now_s),
	    .rtt = { inflight->rtt_us, inflight->rtt_us, 0 }, .consumed = len };

	/* A reply without data says nothing about the path. */
	if (len != 0)
		window_update(&inflight->cw, &facts);
}

uint64_t
sftp_inflight_depth(const struct sftp_inflight *inflight)
{
	return MINIMUM(inflight->cw.target, inflight->most);
}

uint64_t
sftp_inflight_start(const struct sftp_inflight *inflight, uint64_t got)
{
	/* TCP sends no more than twice as much in each round trip. */
	return MAXIMUM(SFTP_INFLIGHT_START + got, 3 * inflight->cw.bdp);
}

static uint64_t
cost(size_t len)
{
	return MAXIMUM(len, SFTP_INFLIGHT_LEAST);
}

void
sftp_inflight_ask(struct sftp_inflight *inflight, size_t len)
{
	inflight->asked += cost(len);
}

void
sftp_inflight_end(struct sftp_inflight *inflight, size_t len)
{
	inflight->asked -= MINIMUM(cost(len), inflight->asked);
}

int
sftp_inflight_room(const struct sftp_inflight *inflight, size_t len)
{
	uint64_t most = sftp_inflight_depth(inflight);

	/* The user's number is for each file; all may have as much. */
	if (inflight->fixed != 0)
		most = MAXIMUM(inflight->cw.base, inflight->fixed * MAXIMUM(
		    cost(len), inflight->cw.base / SFTP_INFLIGHT_STOCK));
	return inflight->asked == 0 || inflight->asked + cost(len) <= most;
}
