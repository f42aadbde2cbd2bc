/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/* The memory of large sshbufs: contents, and that nothing old is left in it. */

#include "includes.h"

#include <sys/types.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "sshbuf-mem.h"
#include "fake.h"

#define MAPPED	SSHBUF_MAP_MIN		/* from this size on it is mapped */

void test_sshbuf_mem(void);

static void
filled(const u_char *d, u_char with, size_t len)
{
	size_t i;

	for (i = 0; i < len && d[i] == with; i++)
		;
	ASSERT_SIZE_T_EQ(i, len);
}

/* sshbuf_free() frees no memory after this. */
static void
frees_all(u_char *d, size_t size)
{
	sshbuf_mem_free(&d, &size);
	ASSERT_PTR_EQ(d, NULL);
	ASSERT_SIZE_T_EQ(size, 0);
}

/* From any size to any: what was there is, and what is new is zero. */
static void
resizes(void)
{
	static const size_t sizes[] = {
		256, 100000, MAPPED - 1, MAPPED, MAPPED + 100, 2 * MAPPED,
		5 * MAPPED + 1, MAPPED + 5000, 300, 3 * MAPPED, MAPPED - 1, 200
	};
	size_t i, j, old, new, kept, n = sizeof(sizes) / sizeof(sizes[0]);
	u_char *d;

	for (i = 0; i < n; i++) {
		for (j = 0; j < n; j++) {
			old = sizes[i];
			new = sizes[j];
			kept = old < new ? old : new;
			test_subtest_info("%zu to %zu and back", old, new);
			d = sshbuf_mem_resize(NULL, 0, old);
			ASSERT_PTR_NE(d, NULL);
			filled(d, 0, old);
			memset(d, 0xa5, old);
			d = sshbuf_mem_resize(d, old, new);
			ASSERT_PTR_NE(d, NULL);
			filled(d, 0xa5, kept);
			filled(d + kept, 0, new - kept);
			d = sshbuf_mem_resize(d, new, old);
			ASSERT_PTR_NE(d, NULL);
			filled(d, 0xa5, kept);
			filled(d + kept, 0, old - kept);
			frees_all(d, old);
		}
	}
	frees_all(NULL, 0);
	frees_all(NULL, MAPPED);
}

/* Whether d is wiped by the time it is freed, which it is */
static void
watch(const u_char *d, size_t len)
{
	fake_reset();
	fake.watched = d;
	fake.watched_len = len;
}

static void
wiped(void)
{
	ASSERT_INT_EQ(fake.watched_freed, 1);
	ASSERT_INT_EQ(fake.watched_wiped, 1);
}

static void
frees(void)
{
	static const size_t to[] = {
		300, 200000, MAPPED - 1, MAPPED, 2 * MAPPED
	};
	u_char *d;
	size_t i;

	for (i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
		test_subtest_info("%zu", to[i]);
		d = sshbuf_mem_resize(NULL, 0, 100000);
		ASSERT_PTR_NE(d, NULL);
		memset(d, 0xa5, 100000);
		watch(d, to[i] < 100000 ? 0 : 100000);
		d = sshbuf_mem_resize(d, 100000, to[i]);
		ASSERT_PTR_NE(d, NULL);
		if (to[i] > 100000)
			wiped();
		if (to[i] < MAPPED) {
			watch(d, to[i]);
			frees_all(d, to[i]);
			wiped();
		} else
			frees_all(d, to[i]);
	}
	fake_reset();
}

void
test_sshbuf_mem(void)
{
	TEST_START("sshbuf memory, contents of any size");
	resizes();
	TEST_DONE();
	TEST_START("sshbuf memory, wiped when freed");
	frees();
	TEST_DONE();
}
