/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <string.h>

#include "misc.h"
#include "sshbuf.h"
#include "ssh-rtt.h"

u_int
ssh_rtt_sent(struct ssh_rtt *ib, uint64_t now_us)
{
	ib->sent_us = now_us;
	ib->due_us = ib->by_request ? UINT64_MAX : now_us + SSH_RTT_LOST_US;
	ib->number = ++ib->asked;
	memcpy(ib->ping, "path ", 5);
	POKE_U64(ib->ping + 5, ib->number);
	return ib->number;
}

void
ssh_rtt_void(struct ssh_rtt *ib, u_int number)
{
	if (number == 0 || number != ib->number)
		return;
	ib->number = 0;
	ib->due_us = 0;
}

void
ssh_rtt_answer(struct ssh_rtt *ib, u_int number, uint64_t now_us)
{
	uint64_t sample_us;

	if (number == 0 || number != ib->number)
		return;
	ib->number = 0;
	/* Ignore a clock that stood or stepped back; 0 means unknown */
	sample_us = now_us > ib->sent_us ? now_us - ib->sent_us : 1;
	if (ib->path.rtt_us == 0)
		ib->path.rtt_us = ib->path.min_rtt_us = sample_us;
	ib->path.rtt_us = MAXIMUM((ib->path.rtt_us * 3 + sample_us) / 4, 1);
	ib->path.min_rtt_us = MINIMUM(ib->path.min_rtt_us, sample_us);
	ib->due_us = now_us + MAXIMUM(ib->path.rtt_us, SSH_RTT_LEAST_US);
}

void
ssh_rtt_replied(struct ssh_rtt *ib, uint64_t now_us)
{
	/* A reply without a request means nothing. */
	if (ib->replied == ib->asked)
		return;
	ib->replied++;
	if (ib->by_request)
		ssh_rtt_answer(ib, ib->replied, now_us);
}

void
ssh_rtt_pong(struct ssh_rtt *ib, const struct sshbuf *body, uint64_t now_us)
{
	const u_char *d;
	size_t len;

	if (!ib->by_request &&
	    sshbuf_peek_string_direct(body, &d, &len) == 0 &&
	    len == sizeof(ib->ping) && memcmp(d, ib->ping, len) == 0)
		ssh_rtt_answer(ib, ib->number, now_us);
}
