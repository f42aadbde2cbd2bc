/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

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

static struct ssh_rtt ib;
static uint64_t now_us;
static u_int last;			/* number of the last probe */

static void
start(int by_request)
{
	memset(&ib, 0, sizeof(ib));
	ib.by_request = by_request;
	now_us = 5000 * MS;
}

static int
due(uint64_t at_us)
{
	return at_us >= ib.due_us;
}

static u_int
sent(uint64_t at_us)
{
	last = ssh_rtt_sent(&ib, at_us);
	ASSERT_U_INT_NE(last, 0);
	return last;
}

/* The last probe is answered. */
static void
answer(uint64_t at_us)
{
	ssh_rtt_answer(&ib, last, at_us);
}

static void
samples(void)
{
	uint64_t i;

	TEST_START("ssh rtt: the least of all samples, and a smoothed one");
	start(0);
	ASSERT_INT_EQ(due(now_us), 1);
	sent(now_us);
	ASSERT_INT_EQ(due(now_us + 1), 0);
	answer(now_us += 200 * MS);
	ASSERT_U64_EQ(ib.path.rtt_us, 200 * MS);
	ASSERT_U64_EQ(ib.path.min_rtt_us, 200 * MS);
	/* A quarter of what is new, three quarters of what was */
	sent(now_us);
	answer(now_us += 300 * MS);
	ASSERT_U64_EQ(ib.path.rtt_us, 225 * MS);
	/* Behind bulk data answers take longer */
	for (i = 0; i < 100; i++) {
		/* At most one in a round trip */
		ASSERT_INT_EQ(due(now_us + ib.path.rtt_us - 1), 0);
		now_us += ib.path.rtt_us;
		ASSERT_INT_EQ(due(now_us), 1);
		sent(now_us);
		answer(now_us += 300 * MS);
	}
	ASSERT_U64_EQ(ib.path.min_rtt_us, 200 * MS);
	ASSERT_U64_GE(ib.path.rtt_us, 299 * MS);
	ASSERT_U64_LE(ib.path.rtt_us, 300 * MS);
	/* Unasked answers tell nothing. */
	for (i = 0; i < 100; i++)
		answer(now_us + i);
	ASSERT_U64_GE(ib.path.rtt_us, 299 * MS);
	/* At once: not 0, which is unknown; with a clock that stepped back */
	start(0);
	sent(now_us);
	answer(now_us - 700 * MS);
	ASSERT_U64_EQ(ib.path.rtt_us, 1);
	ASSERT_U64_EQ(ib.path.min_rtt_us, 1);
	for (i = 0; i < 10; i++) {
		sent(now_us);
		answer(now_us);
	}
	ASSERT_U64_EQ(ib.path.rtt_us, 1);
	/* On a short path they are no closer than this. */
	ASSERT_INT_EQ(due(now_us + SSH_RTT_LEAST_US - 1), 0);
	ASSERT_INT_EQ(due(now_us + SSH_RTT_LEAST_US), 1);
	TEST_DONE();
}

/* A pong comes with the first len bytes of data in its string. */
static void
pong(const u_char *data, size_t len, uint64_t at_us)
{
	struct sshbuf *body = sshbuf_new();

	ASSERT_PTR_NE(body, NULL);
	ASSERT_INT_EQ(sshbuf_put_string(body, data, len), 0);
	ssh_rtt_pong(&ib, body, at_us);
	/* packet.c reads it, too. */
	ASSERT_SIZE_T_EQ(sshbuf_len(body), 4 + len);
	sshbuf_free(body);
}

static void
pongs(void)
{
	struct sshbuf *body = sshbuf_new();
	u_char first[SSH_RTT_PING_LEN], ping[SSH_RTT_PING_LEN + 1];

	TEST_START("ssh rtt: only the pong to the ping under way counts");
	ASSERT_PTR_NE(body, NULL);
	start(0);
	pong((const u_char *)"", 0, now_us);
	sent(now_us);
	memcpy(first, ib.ping, sizeof(first));
	pong((const u_char *)"PING!", 5, now_us + 1);
	pong(first, sizeof(first) - 1, now_us + 1);
	/* Keystroke timing obfuscation sends pings of its own. */
	memcpy(ping, first, sizeof(first));
	ping[0] ^= 1;
	pong(ping, sizeof(first), now_us + 1);
	/* Nor one that is longer, or says that it is */
	ping[0] ^= 1;
	pong(ping, sizeof(ping), now_us + 1);
	ASSERT_INT_EQ(sshbuf_put_u32(body, sizeof(first) + 1), 0);
	ASSERT_INT_EQ(sshbuf_put(body, first, sizeof(first)), 0);
	ssh_rtt_pong(&ib, body, now_us + 1);
	ASSERT_U64_EQ(ib.path.rtt_us, 0);
	/* One that got lost, and is answered after all */
	ASSERT_INT_EQ(due(now_us + SSH_RTT_LOST_US - 1), 0);
	now_us += SSH_RTT_LOST_US;
	ASSERT_INT_EQ(due(now_us), 1);
	sent(now_us);
	memcpy(ping, ib.ping, sizeof(ib.ping));
	pong(first, sizeof(first), now_us + 1 * MS);
	ASSERT_U64_EQ(ib.path.rtt_us, 0);
	pong(ping, sizeof(first), now_us + 100 * MS);
	ASSERT_U64_EQ(ib.path.rtt_us, 100 * MS);
	/* and twice */
	pong(ping, sizeof(first), now_us + 900 * MS);
	ASSERT_U64_EQ(ib.path.rtt_us, 100 * MS);
	/* No ping of ours was ever sent to this peer */
	start(1);
	sent(now_us);
	memcpy(ping, ib.ping, sizeof(ib.ping));
	pong(ping, sizeof(first), now_us + 1);
	ASSERT_U64_EQ(ib.path.rtt_us, 0);
	sshbuf_free(body);
	TEST_DONE();
}

static void
rekeying(void)
{
	u_int voided;
	int by_request;

	TEST_START("ssh rtt: rekeying voids the probe under way");
	for (by_request = 0; by_request < 2; by_request++) {
		start(by_request);
		voided = sent(now_us);
		/* A request can't get lost: the next one has to wait. */
		ASSERT_INT_EQ(due(now_us + 1000ULL * SSH_RTT_LOST_US),
		    !by_request);
		ssh_rtt_void(&ib, voided);
		ASSERT_INT_EQ(due(now_us), 1);
		answer(now_us + 900 * MS);
		ASSERT_U64_EQ(ib.path.rtt_us, 0);
		ASSERT_INT_EQ(due(now_us), 1);
		/* A late answer is not that to the next probe, whose counts. */
		sent(now_us + 900 * MS);
		ssh_rtt_answer(&ib, voided, now_us + 910 * MS);
		ssh_rtt_void(&ib, voided);
		ASSERT_U64_EQ(ib.path.rtt_us, 0);
		ASSERT_INT_EQ(due(now_us + 910 * MS), 0);
		answer(now_us + 950 * MS);
		ASSERT_U64_EQ(ib.path.rtt_us, 50 * MS);
		/* With none in flight, the next one has to wait all the same */
		ssh_rtt_void(&ib, ib.number);
		ASSERT_INT_EQ(due(now_us + 1000 * MS - 1), 0);
		ASSERT_INT_EQ(due(now_us + 1000 * MS), 1);
	}
	/* sshd's: replies come for both, in order */
	start(1);
	voided = sent(now_us);
	ssh_rtt_void(&ib, voided);
	sent(now_us);
	ssh_rtt_replied(&ib, now_us + 10 * MS);
	ASSERT_U64_EQ(ib.path.rtt_us, 0);
	ssh_rtt_replied(&ib, now_us + 50 * MS);
	ASSERT_U64_EQ(ib.path.rtt_us, 50 * MS);
	TEST_DONE();
}

/* sshd sends requests in any order, and the peer answers them in that order. */
static void
in_order(uint64_t seed, int by_request)
{
	enum { PROBE = 1, OTHER } line[64];	/* not answered yet */
	uint64_t asked_us = 0, rtt_us;
	u_int n = 0, i, what, out = 0;

	start(by_request);
	for (i = 0; i < 20000; i++) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		what = (seed >> 40) % 16;
		now_us += (seed >> 50) + 1;
		rtt_us = ib.path.rtt_us;
		if (what < 3 && n < 32) {
			ib.asked++;
			line[n++] = OTHER;
		} else if (what < 8 && due(now_us) && n < 32) {
			sent(now_us);
			asked_us = now_us;
			if (by_request)
				line[n++] = PROBE;
			out = 1;
		} else if (n > 0) {
			what = line[0];
			memmove(line, line + 1, --n * sizeof(line[0]));
			ssh_rtt_replied(&ib, now_us);
			if (what == OTHER)
				ASSERT_U64_EQ(ib.path.rtt_us, rtt_us);
			else {
				ASSERT_U64_EQ(ib.path.rtt_us, rtt_us == 0 ?
				    now_us - asked_us :
				    (rtt_us * 3 + now_us - asked_us) / 4);
				out = 0;
			}
		}
		ASSERT_INT_EQ(ib.number != 0, out);
	}
}

static void
abandoned(void)
{
	start(1);
	sent(now_us);
	ASSERT_INT_EQ(due(now_us), 0);
	ssh_rtt_void(&ib, last);
	ASSERT_INT_EQ(due(now_us), 1);
	sent(now_us + 10 * MS);
	answer(now_us + 80 * MS);
	ASSERT_U64_EQ(ib.path.rtt_us, 70 * MS);
}

static void
others(void)
{
	u_int i;

	TEST_START("ssh rtt: a reply is the oldest request's");
	for (i = 1; i <= 20; i++) {
		in_order(i, 1);
		in_order(i, 0);
	}
	TEST_DONE();
	TEST_START("ssh rtt: a probe that is gone makes room for another");
	abandoned();
	TEST_DONE();
}

void
test_ssh_rtt(void)
{
	samples();
	pongs();
	rekeying();
	others();
}
