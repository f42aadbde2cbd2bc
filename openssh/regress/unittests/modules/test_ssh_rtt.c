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

/* The round trip time that SSH itself sees. */

#include "includes.h"

#include <sys/types.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "misc.h"
#include "sshbuf.h"
#include "ssh-rtt.h"

#define MS	1000ULL

void test_ssh_rtt(void);

static void
samples(void)
{
	struct ssh_rtt ib;
	uint64_t now = 5000 * MS, i;

	TEST_START("path inband, the least of all samples, and a smoothed one");
	memset(&ib, 0, sizeof(ib));
	ASSERT_INT_EQ(ssh_rtt_due(&ib, now), 1);
	ssh_rtt_sent(&ib, now);
	ASSERT_INT_EQ(ssh_rtt_due(&ib, now + 1), 0);
	ssh_rtt_answer(&ib, now += 200 * MS);
	ASSERT_U64_EQ(ib.rtt_us, 200 * MS);
	ASSERT_U64_EQ(ib.least_us, 200 * MS);
	/* A quarter of what is new, three quarters of what was */
	ssh_rtt_sent(&ib, now);
	ssh_rtt_answer(&ib, now += 300 * MS);
	ASSERT_U64_EQ(ib.rtt_us, 225 * MS);
	/* Behind bulk data answers take longer */
	for (i = 0; i < 100; i++) {
		/* At most one in a round trip */
		ASSERT_INT_EQ(ssh_rtt_due(&ib, now + ib.rtt_us - 1), 0);
		now += ib.rtt_us;
		ASSERT_INT_EQ(ssh_rtt_due(&ib, now), 1);
		ssh_rtt_sent(&ib, now);
		ssh_rtt_answer(&ib, now += 300 * MS);
	}
	ASSERT_U64_EQ(ib.least_us, 200 * MS);
	ASSERT_U64_GE(ib.rtt_us, 299 * MS);
	ASSERT_U64_LE(ib.rtt_us, 300 * MS);
	TEST_DONE();
}

static void
pongs(void)
{
	struct ssh_rtt ib;
	u_char first[SSH_RTT_PING_LEN], ping[SSH_RTT_PING_LEN];
	uint64_t now = 5000 * MS;

	TEST_START("path inband, only the pong to the ping under way counts");
	memset(&ib, 0, sizeof(ib));
	ssh_rtt_pong(&ib, (const u_char *)"", 0, now);
	ssh_rtt_compose(ssh_rtt_sent(&ib, now), first);
	ssh_rtt_pong(&ib, (const u_char *)"PING!", 5, now + 1);
	ssh_rtt_pong(&ib, first, sizeof(first) - 1, now + 1);
	ASSERT_U64_EQ(ib.rtt_us, 0);
	/* Keystroke timing obfuscation sends pings of its own. */
	memcpy(ping, first, sizeof(ping));
	ping[0] ^= 1;
	ssh_rtt_pong(&ib, ping, sizeof(ping), now + 1);
	ASSERT_U64_EQ(ib.rtt_us, 0);
	/* One that got lost, and is answered after all */
	ASSERT_INT_EQ(ssh_rtt_due(&ib, now + SSH_RTT_LOST_US - 1), 0);
	now += SSH_RTT_LOST_US;
	ASSERT_INT_EQ(ssh_rtt_due(&ib, now), 1);
	ssh_rtt_compose(ssh_rtt_sent(&ib, now), ping);
	ssh_rtt_pong(&ib, first, sizeof(first), now + 1 * MS);
	ASSERT_U64_EQ(ib.rtt_us, 0);
	ssh_rtt_pong(&ib, ping, sizeof(ping), now + 100 * MS);
	ASSERT_U64_EQ(ib.rtt_us, 100 * MS);
	/* and twice */
	ssh_rtt_pong(&ib, ping, sizeof(ping), now + 900 * MS);
	ASSERT_U64_EQ(ib.rtt_us, 100 * MS);
	/* No ping of ours was ever sent to this peer */
	memset(&ib, 0, sizeof(ib));
	ib.refused = 1;
	ssh_rtt_compose(ssh_rtt_sent(&ib, now), ping);
	ssh_rtt_pong(&ib, ping, sizeof(ping), now + 1);
	ASSERT_U64_EQ(ib.rtt_us, 0);
	TEST_DONE();
}

/* The packet of a pong: its payload is a string. */
static void
packets(void)
{
	struct ssh_rtt ib;
	struct sshbuf *body = sshbuf_new();
	u_char ping[SSH_RTT_PING_LEN];
	uint64_t now = 5000 * MS;

	TEST_START("path inband, the string in a pong's packet");
	ASSERT_PTR_NE(body, NULL);
	memset(&ib, 0, sizeof(ib));
	ssh_rtt_compose(ssh_rtt_sent(&ib, now), ping);
	/* A string that ends before its length says so */
	ASSERT_INT_EQ(sshbuf_put_u32(body, sizeof(ping) + 1), 0);
	ASSERT_INT_EQ(sshbuf_put(body, ping, sizeof(ping)), 0);
	ssh_rtt_reply(&ib, body, now + 100 * MS);
	ASSERT_U64_EQ(ib.rtt_us, 0);
	sshbuf_reset(body);
	ASSERT_INT_EQ(sshbuf_put_string(body, ping, sizeof(ping)), 0);
	ssh_rtt_reply(&ib, body, now + 100 * MS);
	ASSERT_U64_EQ(ib.rtt_us, 100 * MS);
	/* packet.c reads it, too. */
	ASSERT_SIZE_T_EQ(sshbuf_len(body), 4 + sizeof(ping));
	sshbuf_free(body);
	TEST_DONE();
}

static void
rekeying(void)
{
	struct ssh_rtt ib;
	uint64_t now = 5000 * MS;

	TEST_START("path inband, rekeying voids the probe under way");
	memset(&ib, 0, sizeof(ib));
	ssh_rtt_sent(&ib, now);
	ssh_rtt_void(&ib);
	ssh_rtt_answer(&ib, now + 900 * MS);
	ASSERT_U64_EQ(ib.rtt_us, 0);
	ASSERT_INT_EQ(ssh_rtt_due(&ib, now + 900 * MS), 1);
	/* A request will be answered all the same: the next has to wait */
	ib.refused = 1;
	ssh_rtt_sent(&ib, now);
	ssh_rtt_void(&ib);
	ASSERT_INT_EQ(ssh_rtt_due(&ib, now + 900 * MS), 0);
	ssh_rtt_answer(&ib, now + 900 * MS);
	ASSERT_U64_EQ(ib.rtt_us, 0);
	ASSERT_INT_EQ(ssh_rtt_due(&ib, now + 900 * MS), 1);
	/* and its sample counts */
	ssh_rtt_sent(&ib, now + 900 * MS);
	ssh_rtt_answer(&ib, now + 950 * MS);
	ASSERT_U64_EQ(ib.rtt_us, 50 * MS);
	TEST_DONE();
}

static void
hostile(void)
{
	struct ssh_rtt ib;
	uint64_t now = 5000 * MS, i;

	TEST_START("path inband, peers that never answer, or unasked");
	memset(&ib, 0, sizeof(ib));
	ib.refused = 1;
	ssh_rtt_sent(&ib, now);
	ASSERT_INT_EQ(ssh_rtt_due(&ib,
	    now + 1000ULL * SSH_RTT_LOST_US), 0);
	ssh_rtt_abandon(&ib);
	ASSERT_INT_EQ(ssh_rtt_due(&ib, now + 1), 1);
	for (i = 0; i < 1000; i++)
		ssh_rtt_answer(&ib, now + i);
	ASSERT_U64_EQ(ib.rtt_us, 0);
	/* At once: not 0, which is unknown; with a clock that stepped back */
	ssh_rtt_sent(&ib, now);
	ssh_rtt_answer(&ib, now - 700 * MS);
	ASSERT_U64_EQ(ib.rtt_us, 1);
	ASSERT_U64_EQ(ib.least_us, 1);
	for (i = 0; i < 10; i++) {
		ssh_rtt_sent(&ib, now);
		ssh_rtt_answer(&ib, now);
	}
	ASSERT_U64_EQ(ib.rtt_us, 1);
	TEST_DONE();
}

/* What SSH asks anyway bounds the least, and is no smoothed RTT. */
static void
exchanges(void)
{
	struct ssh_rtt ib;

	TEST_START("path inband, the least of other exchanges");
	memset(&ib, 0, sizeof(ib));
	ASSERT_U64_EQ(ssh_rtt_least_us(&ib), 0);
	ssh_rtt_exchange(&ib, 300 * MS);
	ssh_rtt_exchange(&ib, 200 * MS);
	ssh_rtt_exchange(&ib, 5000 * MS);
	ASSERT_U64_EQ(ssh_rtt_least_us(&ib), 200 * MS);
	ASSERT_U64_EQ(ib.rtt_us, 0);
	ssh_rtt_sent(&ib, 1000 * MS);
	ssh_rtt_answer(&ib, 1210 * MS);
	ASSERT_U64_EQ(ssh_rtt_least_us(&ib), 200 * MS);
	ASSERT_U64_EQ(ib.rtt_us, 210 * MS);
	ssh_rtt_sent(&ib, 2000 * MS);
	ssh_rtt_answer(&ib, 2190 * MS);
	ASSERT_U64_EQ(ssh_rtt_least_us(&ib), 190 * MS);
	ssh_rtt_exchange(&ib, 0);
	ASSERT_U64_EQ(ssh_rtt_least_us(&ib), 1);
	TEST_DONE();
}

void
test_ssh_rtt(void)
{
	exchanges();
	samples();
	pongs();
	packets();
	rekeying();
	hostile();
}
