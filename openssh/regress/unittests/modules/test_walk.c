/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/* The windows of a connection: what must hold after every random step. */

#include "includes.h"

#include <sys/types.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../test_helper/test_helper.h"

#include "walk.h"

#define WALKS	200
#define BYTES	40000		/* 10,000 steps */

void test_walk(void);

void
test_walk(void)
{
	static u_char data[BYTES];
	uint64_t seed, state;
	const char *wrong;
	size_t i;

	TEST_START("channel windows, whatever happens in whatever order");
	for (seed = 1; seed <= WALKS; seed++) {
		for (state = seed, i = 0; i < BYTES; i++) {
			state = state * 6364136223846793005ULL +
			    1442695040888963407ULL;
			data[i] = state >> 56;
		}
		wrong = walk(data, sizeof(data));
		test_subtest_info("seed %llu: %s", (unsigned long long)seed,
		    wrong == NULL ? "" : wrong);
		ASSERT_PTR_EQ((void *)wrong, NULL);
	}
	TEST_DONE();
}
