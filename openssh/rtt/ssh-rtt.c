/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <stdint.h>
#include <string.h>

#include "misc.h"
#include "sshbuf.h"
#include "ssh-rtt.h"

static const u_char tag[5] = { 'p', 'a', 't', 'h', ' ' };

int
ssh_rtt_due(const struct ssh_rtt *ib, uint64_t now_us)
{
	if (ib->pending)
		return !ib->refused &&
		    now_us - ib->sent_us >= SSH_RTT_LOST_US;
	return now_us >= ib->due_us;
}

uint64_t
ssh_rtt_sent(struct ssh_rtt *ib, uint64_t now_us)
{
	ib->pending = 1;
	ib->spoiled = 0;
	ib->sent_us = now_us;
	if (ib->refused)
		ib->number = ++ib->asked;
	return ++ib->cookie;
}

void
ssh_rtt_void(struct ssh_rtt *ib)
{
	if (ib->refused)
		ib->spoiled = 1;
	else
		ib->pending = 0;
}

void
ssh_rtt_abandon(struct ssh_rtt *ib)
{
	ib->pending = 0;
}

void
ssh_rtt_answer(struct ssh_rtt *ib, uint64_t now_us)
{
	uint64_t sample_us;

	if (!ib->pending)
		return;
	ib->pending = 0;
	if (ib->spoiled)
		return;
	/* A clock that stood or stepped back says nothing; 0 means unknown */
	sample_us = now_us > ib->sent_us ? now_us - ib->sent_us : 1;
	if (ib->path.rtt_us == 0)
		ib->path.rtt_us = ib->path.min_rtt_us = sample_us;
	ib->path.rtt_us = MAXIMUM((ib->path.rtt_us * 3 + sample_us) / 4, 1);
	ib->path.min_rtt_us = MINIMUM(ib->path.min_rtt_us, sample_us);
	ib->due_us = now_us + MAXIMUM(ib->path.rtt_us, SSH_RTT_LEAST_US);
}

void
ssh_rtt_other_sent(struct ssh_rtt *ib)
{
	ib->asked++;
}

void
ssh_rtt_replied(struct ssh_rtt *ib, uint64_t now_us)
{
	/* A reply to nothing says nothing. */
	if (ib->replied == ib->asked)
		return;
	if (++ib->replied == ib->number && ib->refused)
		ssh_rtt_answer(ib, now_us);
}

void
ssh_rtt_compose(uint64_t cookie, u_char ping[SSH_RTT_PING_LEN])
{
	memcpy(ping, tag, sizeof(tag));
	POKE_U64(ping + sizeof(tag), cookie);
}

void
ssh_rtt_pong(struct ssh_rtt *ib, const struct sshbuf *body, uint64_t now_us)
{
	const u_char *d;
	size_t len;

	if (sshbuf_peek_string_direct(body, &d, &len) == 0 && !ib->refused &&
	    len == SSH_RTT_PING_LEN && memcmp(d, tag, sizeof(tag)) == 0 &&
	    PEEK_U64(d + sizeof(tag)) == ib->cookie)
		ssh_rtt_answer(ib, now_us);
}
