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


/* The controller of lanes, fed with facts. test_sftp_grow_paths.c has paths. */

#include "includes.h"

#include <sys/types.h>

#include <stdint.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "sftp-grow.h"

#define MIB		(1024ULL * 1024)

void test_sftp_grow(void);

static void
feed(struct sftp_grow *g, struct sftp_grow_facts *f, uint64_t us,
    uint64_t bytes, u_int *asked)
{
	f->now_us += us;
	f->bytes += bytes;
	f->held_us += us * f->lanes;
	f->waited_us += us;
	*asked += sftp_grow_step(g, f);
}

/* What is odd: no RTT, totals and clocks that step back, a limit of one. */
static void
odd_facts(void)
{
	struct sftp_grow_facts f = { .now_us = 1, .lanes = 1,
	    .left = UINT64_MAX };
	struct sftp_grow g;
	u_int i, asked = 0;

	sftp_grow_init(&g, &sftp_grow_sessions, 1);
	f.rtt_us = 100000;
	for (i = 0; i < 100; i++)
		feed(&g, &f, 100000, MIB, &asked);
	ASSERT_U32_EQ(asked, 0);
	ASSERT_INT_EQ(sftp_grow_done(&g), 1);

	sftp_grow_init(&g, &sftp_grow_sessions, 0);
	f.rtt_us = 0;
	for (i = 0; i < 100; i++)
		feed(&g, &f, 100000, MIB, &asked);
	ASSERT_U32_EQ(asked, 0);
	f.rtt_us = 100000;
	/* The total steps back before each measurement is complete. */
	f.bytes = 1000 * MIB;
	f.now_us = 1000000000;
	for (i = 0; i < 100; i++) {
		if (i % 3 == 0)
			f.bytes -= 4 * MIB;
		feed(&g, &f, 100000, MIB, &asked);
	}
	ASSERT_U32_EQ(asked, 0);
	/* So does the clock, and a pause is told. */
	for (i = 0; i < 100; i++) {
		if (i % 3 == 0)
			f.now_us -= 400000;
		feed(&g, &f, 100000, MIB, &asked);
	}
	ASSERT_U32_EQ(asked, 0);
	for (i = 0; i < 100; i++) {
		if (i % 3 == 0)
			sftp_grow_restart(&g);
		feed(&g, &f, 100000, MIB, &asked);
	}
	ASSERT_U32_EQ(asked, 0);
	for (i = 0; i < 100; i++)	/* nothing arrives */
		feed(&g, &f, 100000, 0, &asked);
	ASSERT_U32_EQ(asked, 0);
	/* A number of bytes that times 1000000 is 0 modulo 2^64 */
	for (i = 0; i < 6; i++)
		feed(&g, &f, 100000, 1ULL << 56, &asked);
	ASSERT_U32_EQ(asked, 1);
	/* The last lane before the limit is one, not a half of them. */
	sftp_grow_init(&g, &sftp_grow_sessions, 0);
	asked = 0;
	f.lanes = 9;
	f.bytes = 0;
	for (i = 0; i < 6; i++)
		feed(&g, &f, 100000, MIB, &asked);
	ASSERT_U32_EQ(asked, 1);
}

/* Starts with 4 lanes that carry 1 MiB each, and an RTT of 200 ms. */
static void
start(struct sftp_grow *g, struct sftp_grow_facts *f,
    const struct sftp_grow_params *params, u_int lanes)
{
	sftp_grow_init(g, params, 0);
	memset(f, 0, sizeof(*f));
	f->now_us = 1000000;
	f->rtt_us = 200000;
	f->left = UINT64_MAX;
	f->lanes = lanes;
	ASSERT_U32_EQ(sftp_grow_step(g, f), 0);
}

/* %: how much of its time the copy waits */
static u_int waits = 100;

/*
 * Lets `rounds` round trips pass, each with `bytes` and lanes that are held up
 * for `held` % of the time. Returns the lanes that the last round asked for.
 */
static u_int
pass(struct sftp_grow *g, struct sftp_grow_facts *f, u_int rounds,
    uint64_t bytes, u_int held)
{
	u_int n = 0;

	while (rounds-- > 0) {
		f->now_us += f->rtt_us;
		f->bytes += bytes;
		f->held_us += f->rtt_us * f->lanes * held / 100;
		f->waited_us += f->rtt_us * waits / 100;
		n = sftp_grow_step(g, f);
		if (rounds != 0)
			ASSERT_U32_EQ(n, 0);
	}
	return n;
}

/* Notes that the lanes asked for have opened. */
static void
opened(struct sftp_grow *g, struct sftp_grow_facts *f, u_int n)
{
	f->opening = n;
	ASSERT_U32_EQ(pass(g, f, 30, MIB, 100), 0);
	f->opening = 0;
	f->lanes += n;
	ASSERT_U32_EQ(sftp_grow_step(g, f), 0);
}

static void
held(void)
{
	struct sftp_grow_facts f;
	struct sftp_grow g;

	start(&g, &f, &sftp_grow_sessions, 4);
	ASSERT_U32_EQ(pass(&g, &f, 40, 4 * MIB, 59), 0);
	/* A total that steps back says nothing. */
	f.held_us -= f.rtt_us;
	ASSERT_U32_EQ(pass(&g, &f, 1, 4 * MIB, 0), 0);
	ASSERT_U32_EQ(pass(&g, &f, 4, 4 * MIB, 60), 2);
	start(&g, &f, &sftp_grow_connections, 1);
	ASSERT_U32_EQ(pass(&g, &f, 40, 4 * MIB, 49), 0);
	ASSERT_U32_EQ(pass(&g, &f, 4, 4 * MIB, 50), 4);
}

/* What waits for local files for most of the time is not held up. */
static void
local_files(void)
{
	struct sftp_grow_facts f;
	struct sftp_grow g;

	start(&g, &f, &sftp_grow_connections, 1);
	/* It has waited for the other end, but that was before. */
	f.waited_us = 100 * f.rtt_us;
	sftp_grow_restart(&g);
	ASSERT_U32_EQ(sftp_grow_step(&g, &f), 0);
	waits = 49;
	ASSERT_U32_EQ(pass(&g, &f, 40, MIB, 100), 0);
	waits = 50;
	ASSERT_U32_EQ(pass(&g, &f, 4, MIB, 100), 4);
	waits = 100;
	/* A total that steps back says nothing. */
	start(&g, &f, &sftp_grow_connections, 1);
	f.waited_us = 10 * f.rtt_us;
	sftp_grow_restart(&g);
	ASSERT_U32_EQ(pass(&g, &f, 4, MIB, 100), 0);
	f.waited_us = 0;
	ASSERT_U32_EQ(pass(&g, &f, 1, MIB, 100), 0);
}

/* Over a short RTT, a measurement of connections takes 800 ms. */
static void
short_rtt(void)
{
	struct sftp_grow_facts f;
	struct sftp_grow g;

	start(&g, &f, &sftp_grow_connections, 1);
	f.rtt_us = 10000;
	ASSERT_U32_EQ(pass(&g, &f, 79, MIB, 100), 0);
	ASSERT_U32_EQ(pass(&g, &f, 1, MIB, 100), 4);
	/* Three looks of 100 ms that are held up, and five that aren't */
	start(&g, &f, &sftp_grow_connections, 1);
	f.rtt_us = 10000;
	ASSERT_U32_EQ(pass(&g, &f, 50, MIB, 0), 0);
	ASSERT_U32_EQ(pass(&g, &f, 30, MIB, 100), 0);
}

/* More lanes than there may be: none is added, and none ever will be. */
static void
too_many(void)
{
	struct sftp_grow_facts f;
	struct sftp_grow g;

	start(&g, &f, &sftp_grow_connections, 8);
	ASSERT_U32_EQ(pass(&g, &f, 4, 4 * MIB, 100), 0);
	ASSERT_INT_EQ(sftp_grow_done(&g), 1);
	start(&g, &f, &sftp_grow_connections, 9);
	ASSERT_U32_EQ(pass(&g, &f, 4, 4 * MIB, 100), 0);
	ASSERT_INT_EQ(sftp_grow_done(&g), 1);
}

/* A measurement takes 4 round trips, and 200 ms, with as many lanes. */
static void
measured(void)
{
	struct sftp_grow_facts f;
	struct sftp_grow g;

	start(&g, &f, &sftp_grow_sessions, 4);
	ASSERT_U32_EQ(pass(&g, &f, 3, 4 * MIB, 100), 0);
	f.lanes = 3;
	ASSERT_U32_EQ(pass(&g, &f, 1, 3 * MIB, 100), 0);
	ASSERT_U32_EQ(pass(&g, &f, 4, 3 * MIB, 100), 2);
	start(&g, &f, &sftp_grow_sessions, 4);
	f.rtt_us = 10000;
	ASSERT_U32_EQ(pass(&g, &f, 20, MIB, 100), 2);
}

/* What the added lanes are worth is seen once they are in use. */
static void
gained(void)
{
	struct sftp_grow_facts f;
	struct sftp_grow g;
	u_int i;

	start(&g, &f, &sftp_grow_sessions, 4);
	ASSERT_U32_EQ(pass(&g, &f, 4, 4 * MIB, 100), 2);
	opened(&g, &f, 2);
	ASSERT_U32_EQ(pass(&g, &f, 3, 4 * MIB, 100), 0);
	ASSERT_U32_EQ(pass(&g, &f, 4, 5 * MIB, 100), 3);
	/* Three more, each worth less than half of one: seen three times */
	opened(&g, &f, 3);
	ASSERT_U32_EQ(pass(&g, &f, 3 + 8, 6 * MIB, 100), 0);
	ASSERT_INT_EQ(sftp_grow_done(&g), 0);
	ASSERT_U32_EQ(pass(&g, &f, 4, 6 * MIB, 100), 0);
	ASSERT_INT_EQ(sftp_grow_done(&g), 1);
	ASSERT_U32_EQ(pass(&g, &f, 40, 20 * MIB, 100), 0);

	/* The gain comes late. */
	start(&g, &f, &sftp_grow_sessions, 4);
	ASSERT_U32_EQ(pass(&g, &f, 4, 4 * MIB, 100), 2);
	opened(&g, &f, 2);
	ASSERT_U32_EQ(pass(&g, &f, 3 + 8, 4 * MIB, 100), 0);
	ASSERT_U32_EQ(pass(&g, &f, 4, 6 * MIB, 100), 3);

	/* Lanes that are closed again are not replaced for ever. */
	start(&g, &f, &sftp_grow_sessions, 1);
	ASSERT_U32_EQ(pass(&g, &f, 4, MIB, 100), 1);
	for (i = 1; i <= SFTP_GROW_LANES; i++) {
		opened(&g, &f, 1);
		f.lanes = 1;
		ASSERT_U32_EQ(pass(&g, &f, 3 + 4, MIB << i, 100),
		    i < SFTP_GROW_LANES);
	}
}

/* Connections: 15 % more in all, four times as many, four in 31 s. */
static void
gained_connections(void)
{
	struct sftp_grow_params params = sftp_grow_connections;
	struct sftp_grow_facts f;
	struct sftp_grow g;

	start(&g, &f, &sftp_grow_connections, 5);
	ASSERT_U32_EQ(pass(&g, &f, 4, 100 * MIB, 100), 3);
	opened(&g, &f, 3);
	ASSERT_U32_EQ(pass(&g, &f, 3 + 12, 114 * MIB, 100), 0);
	ASSERT_INT_EQ(sftp_grow_done(&g), 1);
	start(&g, &f, &sftp_grow_connections, 1);
	ASSERT_U32_EQ(pass(&g, &f, 4, 100 * MIB, 100), 4);
	opened(&g, &f, 4);
	ASSERT_U32_EQ(pass(&g, &f, 3 + 4, 116 * MIB, 100), 0);
	f.now_us += 31000000;
	sftp_grow_restart(&g);
	ASSERT_U32_EQ(pass(&g, &f, 5, 116 * MIB, 100), 3);

	/* Where connections need no pace, all of them (sftp-auto.c) */
	params.burst_us = 0;
	params.step_percent = 800;
	start(&g, &f, &params, 1);
	ASSERT_U32_EQ(pass(&g, &f, 4, 100 * MIB, 100), 7);
	opened(&g, &f, 7);
	ASSERT_U32_EQ(pass(&g, &f, 3 + 4, 116 * MIB, 100), 0);
	ASSERT_INT_EQ(sftp_grow_done(&g), 1);
}

/* Lanes are added if the rest takes so long (ms), or longer. */
static void
worth(const struct sftp_grow_params *params, uint64_t rtt_us, uint64_t ms)
{
	u_int rounds = rtt_us < 200000 ? 800000 / rtt_us : 4;
	struct sftp_grow_facts f;
	struct sftp_grow g;
	int more;

	for (more = -1; more <= 0; more++) {
		start(&g, &f, params, 1);
		f.rtt_us = rtt_us;
		/* 10 MB/s, rounded up */
		f.left = ms * 10001 + more;
		ASSERT_INT_EQ(pass(&g, &f, rounds, rtt_us * 10, 100) != 0,
		    more == 0);
	}
}

void
test_sftp_grow(void)
{
	TEST_START("sftp grow: odd facts");
	odd_facts();
	TEST_DONE();
	TEST_START("sftp grow: lanes that are held up");
	held();
	local_files();
	short_rtt();
	too_many();
	TEST_DONE();
	TEST_START("sftp grow: a measurement");
	measured();
	TEST_DONE();
	TEST_START("sftp grow: the gain");
	gained();
	TEST_DONE();
	TEST_START("sftp grow: the gain of connections");
	gained_connections();
	TEST_DONE();
	TEST_START("sftp grow: what is left");
	worth(&sftp_grow_sessions, 200000, 12 * 200);
	worth(&sftp_grow_connections, 200000, 24 * 200);
	worth(&sftp_grow_connections, 20000, 2000);
	TEST_DONE();
}
