/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/*
 * The depth of sftp's requests, on simulated links: requests take half a round
 * trip to get there, and are answered in order through a bottleneck, by a
 * sender that is in slow start at first.
 */

#include "includes.h"

#include <sys/types.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "misc.h"
#include "sftp-inflight.h"

#define MIB		(1024.0 * 1024)
#define LARGE		(255 * 1024)	/* bytes, a request of ours */
#define SMALL		(32 * 1024)	/* ditto, to servers without limits */
#define MANY		20000		/* more requests than are under way */

void test_sftp_inflight(void);

struct server {
	double rate, rtt_s;	/* bytes/s */
	double free_s;		/* when the bottleneck is */
	double due_s[MANY];	/* ring: when the reply will be there */
	double start_s;
	u_int sent, answered;
};

/* Returns the number of further requests of len bytes that may be sent. */
static u_int
room_for(struct sftp_inflight inflight, size_t len)
{
	u_int n;

	for (n = 0; sftp_inflight_room(&inflight, len); n++)
		sftp_inflight_ask(&inflight, len);
	return n;
}

static double
rate_at(const struct server *s, double t)
{
	double rate = 14480 / s->rtt_s;

	for (t -= s->start_s; t > 0 && rate < s->rate; t -= s->rtt_s)
		rate *= 2;
	return MINIMUM(rate, s->rate);
}

static void
send_request(struct server *s, size_t len, double now)
{
	double at_s = MAXIMUM(s->free_s, now + s->rtt_s / 2);

	s->free_s = at_s + len / rate_at(s, at_s);
	s->due_s[s->sent % MANY] = s->free_s + s->rtt_s / 2;
	s->sent++;
}

/*
 * Fetches a file of `count` bytes as sftp does, from *now on, in requests of
 * len bytes. Returns the rate (bytes/s) of its last third. *peak is the most
 * (bytes) that was in flight.
 */
static double
fetch(struct server *s, struct sftp_inflight *d, uint64_t count, size_t len,
    double *now, double *peak)
{
	uint64_t asked = 0, got = 0;
	double third_s = 0;

	sftp_inflight_opened(d, *now, *now + s->rtt_s);
	*now += s->rtt_s;
	*peak = 0;
	while (got < count) {
		while (asked < count && sftp_inflight_room(d, len) &&
		    asked - got + len <= sftp_inflight_start(d, got)) {
			send_request(s, len, *now);
			sftp_inflight_ask(d, len);
			asked += len;
		}
		*peak = MAXIMUM(*peak, (double)(asked - got));
		*now = MAXIMUM(*now, s->due_s[s->answered % MANY]);
		sftp_inflight_got(d, len, *now);
		sftp_inflight_end(d, len);
		s->answered++;
		got += len;
		if (third_s == 0 && got >= count / 3 * 2)
			third_s = *now;
	}
	ASSERT_U64_EQ(d->asked, 0);
	return count / 3 / (*now - third_s);
}

static void
fills(double mbit, double rtt_ms, size_t len)
{
	struct server s = { .rate = mbit * 125000, .rtt_s = rtt_ms / 1000 };
	struct sftp_inflight d;
	double bdp = s.rate * s.rtt_s, now = 12345.6, peak, rate, least;

	s.start_s = now;
	sftp_inflight_init(&d, 0, SFTP_INFLIGHT_BASE,
	    SFTP_INFLIGHT_MAX, now);
	rate = fetch(&s, &d, MAXIMUM(30 * bdp, 64 * MIB), len, &now, &peak);
	least = 0.95 * MINIMUM(1, SFTP_INFLIGHT_MAX / bdp);
	test_subtest_info("%.0f Mbit/s x %.1f ms, %zu: %.0f %%, %.1f MiB",
	    mbit, rtt_ms, len, rate / s.rate * 100, peak / MIB);
	ASSERT_INT_EQ(rate >= least * s.rate, 1);
	/* Enough for replies that a lost segment holds up for a round trip */
	ASSERT_U64_GE((uint64_t)(room_for(d, len) + 1) * len,
	    2.9 * bdp < SFTP_INFLIGHT_MAX ? 2.9 * bdp : SFTP_INFLIGHT_MAX);
	/* No more than three BDPs and a window's headroom */
	ASSERT_INT_EQ(peak <= MAXIMUM(SFTP_INFLIGHT_BASE, 3 * bdp + 8 * MIB) +
	    len, 1);
	ASSERT_INT_EQ(peak <= SFTP_INFLIGHT_MAX + len, 1);
}

/* What was under way for a path that got slower is not asked for again. */
static void
follows(void)
{
	struct server s = { .rate = 125e6, .rtt_s = 0.3 };
	struct sftp_inflight d;
	double now = 1, peak;

	s.start_s = now;
	sftp_inflight_init(&d, 0, SFTP_INFLIGHT_BASE,
	    SFTP_INFLIGHT_MAX, now);
	fetch(&s, &d, 2e9, LARGE, &now, &peak);
	ASSERT_INT_EQ(peak > 37.5e6, 1);
	s.rate = 1.25e6;
	fetch(&s, &d, 100e6, LARGE, &now, &peak);
	fetch(&s, &d, 100e6, LARGE, &now, &peak);
	ASSERT_INT_EQ(peak <= SFTP_INFLIGHT_BASE + LARGE, 1);
}

/*
 * A number of requests that the user set holds whatever the path. It is for one
 * file: together, files have at least what stock's one file has.
 */
static void
fixed(u_int number, u_int together)
{
	struct server s = { .rate = 125e6, .rtt_s = 0.3 };
	struct sftp_inflight d;
	double now = 1, peak;
	u_int i;

	s.start_s = now;
	sftp_inflight_init(&d, number, SFTP_INFLIGHT_BASE,
	    SFTP_INFLIGHT_MAX, now);
	fetch(&s, &d, 100e6, LARGE, &now, &peak);
	ASSERT_INT_EQ(peak == (double)together * LARGE, 1);
	ASSERT_U_INT_EQ(room_for(d, LARGE), together);
	/* Until so many are in flight, the next file may be opened. */
	for (i = 1; i < together; i++)
		sftp_inflight_ask(&d, LARGE);
	ASSERT_INT_EQ(sftp_inflight_room(&d, 0), 1);
}

/* Answers to nothing, lengths of nothing, a clock that steps back */
static void
odd(void)
{
	struct sftp_inflight d;

	sftp_inflight_init(&d, 0, SFTP_INFLIGHT_BASE,
	    SFTP_INFLIGHT_MAX, 100);
	ASSERT_U_INT_EQ(room_for(d, LARGE), 64);
	ASSERT_U_INT_EQ(room_for(d, SFTP_INFLIGHT_BASE + 1), 1);
	ASSERT_U_INT_EQ(room_for(d, 0),
	    SFTP_INFLIGHT_BASE / SFTP_INFLIGHT_LEAST);
	sftp_inflight_got(&d, LARGE, 100.1);
	sftp_inflight_opened(&d, 100.2, 100.2);
	sftp_inflight_opened(&d, 100.2, 90);
	ASSERT_INT_EQ(d.rtt_us == 0, 1);
	sftp_inflight_got(&d, LARGE, 99);
	sftp_inflight_opened(&d, 100.2, 100.3);
	sftp_inflight_got(&d, 0, 98);
	sftp_inflight_got(&d, LARGE, 100.3);
	sftp_inflight_end(&d, LARGE);
	ASSERT_U_INT_EQ(room_for(d, LARGE), 64);
}

/* What one of four connections may have in flight */
static void
shares(void)
{
	struct sftp_inflight d;

	TEST_START("sftp inflight: one of four sessions has a quarter");
	sftp_inflight_init(&d, 0, SFTP_INFLIGHT_BASE, SFTP_INFLIGHT_MAX / 4,
	    1);
	d.cw.target = SFTP_INFLIGHT_MAX;
	d.asked = SFTP_INFLIGHT_MAX / 4 - LARGE;
	ASSERT_INT_EQ(sftp_inflight_room(&d, LARGE), 1);
	ASSERT_INT_EQ(sftp_inflight_room(&d, LARGE + 1), 0);
	TEST_DONE();
}

/* What a download asks for first, and once the path is known */
static void
starts(void)
{
	struct server slow = { .rate = 125000, .rtt_s = 0.2 };
	struct server fast = { .rate = 125000000, .rtt_s = 0.2 };
	struct sftp_inflight d;
	double now = 1, peak;

	TEST_START("sftp inflight: a slow path's file starts with 1 MiB");
	sftp_inflight_init(&d, 0, SFTP_INFLIGHT_BASE, SFTP_INFLIGHT_MAX, now);
	slow.start_s = now;
	fetch(&slow, &d, 3 * MIB, SMALL, &now, &peak);
	ASSERT_U64_EQ(sftp_inflight_start(&d, 0), MIB);
	ASSERT_U64_EQ(sftp_inflight_start(&d, MIB), 2 * MIB);
	TEST_DONE();
	TEST_START("sftp inflight: a fast path's next file starts at once");
	now = 1;
	sftp_inflight_init(&d, 0, SFTP_INFLIGHT_BASE, SFTP_INFLIGHT_MAX, now);
	fast.start_s = now;
	fetch(&fast, &d, 300 * MIB, LARGE, &now, &peak);
	/* In a batch, its name and attributes take some round trips. */
	sftp_inflight_got(&d, 0, now + 5 * fast.rtt_s);
	ASSERT_INT_EQ(sftp_inflight_start(&d, 0) > 2 * fast.rate * fast.rtt_s,
	    1);
	TEST_DONE();
}

void
test_sftp_inflight(void)
{
	static const double mbit[] = { 10, 100, 1000, 10000 };
	static const double rtt_ms[] = { 0.2, 1, 20, 100, 200, 300 };
	size_t i, j;

	TEST_START("sftp: requests fill the path");
	for (i = 0; i < sizeof(mbit) / sizeof(mbit[0]); i++) {
		for (j = 0; j < sizeof(rtt_ms) / sizeof(rtt_ms[0]); j++) {
			fills(mbit[i], rtt_ms[j], LARGE);
			fills(mbit[i], rtt_ms[j], SMALL);
		}
	}
	TEST_DONE();
	TEST_START("sftp: requests follow a path that got slower");
	follows();
	TEST_DONE();
	TEST_START("sftp: a number of requests that the user set holds");
	fixed(7, SFTP_INFLIGHT_STOCK);
	fixed(100, 100);
	TEST_DONE();
	TEST_START("sftp: odd answers and clocks change no limit");
	odd();
	TEST_DONE();
	shares();
	starts();
}
