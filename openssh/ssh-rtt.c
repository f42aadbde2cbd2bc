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
	if (ib->rtt_us == 0)
		ib->rtt_us = ib->least_us = sample_us;
	ib->rtt_us = MAXIMUM((ib->rtt_us * 3 + sample_us) / 4, 1);
	ib->least_us = MINIMUM(ib->least_us, sample_us);
	ib->due_us = now_us + ib->rtt_us;
}

void
ssh_rtt_exchange(struct ssh_rtt *ib, uint64_t took_us)
{
	took_us = MAXIMUM(took_us, 1);	/* 0 means unknown */
	if (ib->exchange_us == 0 || took_us < ib->exchange_us)
		ib->exchange_us = took_us;
}

uint64_t
ssh_rtt_least_us(const struct ssh_rtt *ib)
{
	if (ib->least_us == 0 || ib->exchange_us == 0)
		return MAXIMUM(ib->least_us, ib->exchange_us);
	return MINIMUM(ib->least_us, ib->exchange_us);
}

void
ssh_rtt_compose(uint64_t cookie, u_char ping[SSH_RTT_PING_LEN])
{
	memcpy(ping, tag, sizeof(tag));
	POKE_U64(ping + sizeof(tag), cookie);
}

void
ssh_rtt_pong(struct ssh_rtt *ib, const u_char *d, size_t len,
    uint64_t now_us)
{
	if (!ib->refused && len == SSH_RTT_PING_LEN &&
	    memcmp(d, tag, sizeof(tag)) == 0 &&
	    PEEK_U64(d + sizeof(tag)) == ib->cookie)
		ssh_rtt_answer(ib, now_us);
}

void
ssh_rtt_reply(struct ssh_rtt *ib, const struct sshbuf *body,
    uint64_t now_us)
{
	const u_char *d;
	size_t len;

	if (sshbuf_peek_string_direct(body, &d, &len) == 0)
		ssh_rtt_pong(ib, d, len, now_us);
}
