/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/*
 * What files of a tree may take: jobs, incomplete files, bytes of files, and
 * bytes that were asked for.
 */

#include "includes.h"

#include <sys/types.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "ssh2.h"
#include "packet.h"
#include "channels.h"
#include "log.h"
#include "misc.h"
#include "sshbuf.h"
#include "conn.h"
#include "fake.h"
#include "fixture.h"
#include "sftp-inflight.h"
#include "sftp-finish.h"
#include "sftp-slots.h"
#include "sftp.h"

#define LONG_US		200000

void test_sftp_slots(void);

/* Starts files of size until one has to wait or be alone. Returns how many. */
static u_int
fill(struct sftp_slots *r, uint64_t size)
{
	u_int n;

	for (n = 0; sftp_slots_file_start(r, size) == SFTP_START_NOW; n++)
		sftp_slots_begin(r, 0, size);
	return n;
}

static u_int
fill_dirs(struct sftp_slots *r)
{
	u_int n;

	for (n = 0; sftp_slots_may_start_dir(r); n++)
		sftp_slots_begin(r, 1, 0);
	return n;
}

static void
start(struct sftp_slots *r, u_int files, uint64_t descriptors, uint64_t handles,
    uint64_t rtt_us)
{
	sftp_slots_init(r, files);
	sftp_slots_limit(r, descriptors);
	sftp_slots_limit(r, handles);
	sftp_slots_rtt(r, rtt_us);
}

/* Jobs of files and of directories, and one directory read by the caller */
static void
test_descriptors(void)
{
	static const struct {
		uint64_t here, there, rtt_us;
		u_int files, dirs;
	} t[] = {
		{ 2048, 2048, LONG_US, 448, 64 },
		{ 1024, 1000, LONG_US, 437, 62 },
		{ 1024, 1000, 200, 8, 0 },	/* a LAN */
		{ 1024, 1000, 2000, 18, 2 },
		{ 100, 1000, LONG_US, 43, 6 },
		{ 1024, 100, LONG_US, 43, 6 },	/* whichever is less */
		{ 32, 1000, LONG_US, 15, 0 },
		{ 6, 1000, LONG_US, 2, 0 },
	};
	struct sftp_slots r;
	size_t i;

	TEST_START("half of all descriptors and handles");
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		test_subtest_info("%zu", i);
		start(&r, SFTP_SLOTS_FILES, t[i].here, t[i].there, t[i].rtt_us);
		ASSERT_INT_EQ(sftp_slots_parallel(&r), 1);
		ASSERT_U_INT_EQ(fill_dirs(&r), t[i].dirs);
		ASSERT_U_INT_EQ(fill(&r, 1), t[i].files);
		ASSERT_INT_EQ(r.file_jobs + r.dir_jobs + 1 <=
		    MINIMUM(t[i].here, t[i].there) / 2, 1);
		/* One that ends makes room for one. */
		sftp_slots_end(&r, 0, 1);
		ASSERT_U_INT_EQ(fill(&r, 1), 1);
		if (t[i].dirs != 0) {
			sftp_slots_end(&r, 1, 0);
			ASSERT_U_INT_EQ(r.file_jobs, t[i].files);
			ASSERT_U_INT_EQ(fill_dirs(&r), 1);
		}
	}
	/* A third end, such as the target of scp -3 */
	start(&r, SFTP_SLOTS_FILES, 1024, 1000, LONG_US);
	sftp_slots_limit(&r, 20);
	ASSERT_U_INT_EQ(fill_dirs(&r) + fill(&r, 1), 9);
	/* It has none, or does not say how many: one file after the other */
	sftp_slots_limit(&r, 0);
	sftp_slots_rtt(&r, LONG_US);
	ASSERT_INT_EQ(sftp_slots_file_start(&r, 1), SFTP_START_ALONE);
	ASSERT_INT_EQ(sftp_slots_may_start_dir(&r), 0);
	for (i = 0; i < 6; i++) {
		start(&r, SFTP_SLOTS_FILES, i, 1000, LONG_US);
		ASSERT_INT_EQ(sftp_slots_parallel(&r), 0);
	}
	TEST_DONE();

	TEST_START("no more than there are, once they are full");
	start(&r, SFTP_SLOTS_FILES, 1024, 1000, LONG_US);
	for (i = 0; i < 7; i++)
		sftp_slots_begin(&r, 0, 1);
	for (i = 0; i < 3; i++)
		sftp_slots_begin(&r, 1, 0);
	sftp_slots_freeze(&r);
	ASSERT_U_INT_EQ(r.jobs_limit, 10);
	for (i = 0; i < 3; i++)
		sftp_slots_end(&r, 1, 0);
	sftp_slots_freeze(&r);
	ASSERT_U_INT_EQ(r.jobs_limit, 7);
	ASSERT_U_INT_EQ(fill(&r, 1), 0);
	sftp_slots_rtt(&r, LONG_US);
	ASSERT_U_INT_EQ(fill(&r, 1) + fill_dirs(&r), 0);
	/* There is always room for one. */
	while (r.file_jobs != 0)
		sftp_slots_end(&r, 0, 1);
	sftp_slots_freeze(&r);
	ASSERT_U_INT_EQ(fill(&r, 1), 1);
	TEST_DONE();
}

static void
test_files(void)
{
	struct sftp_slots r;
	u_int i, n;

	TEST_START("incomplete files");
	for (i = 0; i <= SFTP_SLOTS_FILES + 1; i++) {
		sftp_slots_init(&r, i);
		for (n = 0; sftp_slots_may_open(&r); n++)
			r.incomplete++;
		ASSERT_U_INT_EQ(n, MINIMUM(MAXIMUM(i, 1), SFTP_SLOTS_FILES));
		ASSERT_INT_EQ(sftp_slots_parallel(&r), i > 1);
	}
	ASSERT_U_INT_EQ(SFTP_SLOTS_FILES, 64);
	TEST_DONE();

	TEST_START("bytes");
	start(&r, SFTP_SLOTS_FILES, 1024, 1000, LONG_US);
	ASSERT_U_INT_EQ(fill(&r, 10 * MIB), 6);
	ASSERT_U_INT_EQ(fill(&r, 4 * MIB), 1);
	ASSERT_U64_EQ(r.file_bytes, 64 * MIB);
	ASSERT_INT_EQ(sftp_slots_file_start(&r, 1), SFTP_START_LATER);
	ASSERT_U_INT_EQ(fill(&r, 0), 430);
	/* What ends gives its bytes back, again and again. */
	for (i = 0; i < 100; i++) {
		sftp_slots_end(&r, 0, 10 * MIB);
		ASSERT_U_INT_EQ(fill(&r, 10 * MIB), 1);
	}
	TEST_DONE();

	TEST_START("large files");
	start(&r, SFTP_SLOTS_FILES, 1024, 1000, LONG_US);
	ASSERT_INT_EQ(sftp_slots_file_start(&r, 16 * MIB), SFTP_START_NOW);
	ASSERT_INT_EQ(sftp_slots_file_start(&r, 16 * MIB + 1),
	    SFTP_START_ALONE);
	ASSERT_INT_EQ(sftp_slots_file_start(&r, UINT64_MAX), SFTP_START_ALONE);
	r.alone = 1;
	ASSERT_INT_EQ(sftp_slots_file_start(&r, 0), SFTP_START_LATER);
	TEST_DONE();
}

/* Asks until there is no room, and returns the bytes. */
static uint64_t
ask(struct sftp_inflight *d, size_t len)
{
	uint64_t n = 0;

	for (; sftp_inflight_room(d, len); n += len)
		sftp_inflight_ask(d, len);
	return n;
}

static void
test_asked(void)
{
	struct sftp_inflight d;
	uint64_t asked;
	double now = 1;
	u_int i;

	TEST_START("bytes asked for");
	sftp_inflight_init(&d, 0, now);
	ASSERT_U64_EQ(ask(&d, 255 * 1024), SFTP_INFLIGHT_BASE);
	sftp_inflight_end(&d, 255 * 1024);
	ASSERT_U64_EQ(ask(&d, 255 * 1024), 255 * 1024);
	/* A small request takes memory, too. */
	sftp_inflight_init(&d, 0, now);
	ASSERT_U64_EQ(ask(&d, 1), SFTP_INFLIGHT_BASE / SFTP_INFLIGHT_LEAST);
	ASSERT_U_INT_EQ(sftp_inflight_max(&d, 1),
	    SFTP_INFLIGHT_BASE / SFTP_INFLIGHT_LEAST);
	/* What the user said, but what stock has at least */
	sftp_inflight_init(&d, 100, now);
	ASSERT_U64_EQ(ask(&d, 255 * 1024), 100 * 255 * 1024);
	sftp_inflight_init(&d, 1, now);
	ASSERT_U64_EQ(ask(&d, 255 * 1024), SFTP_INFLIGHT_BASE);
	/* However fast and far the server claims to be */
	sftp_inflight_init(&d, 0, now);
	sftp_inflight_opened(&d, now, now + 2);
	for (i = 0; i < 100000; i++)
		sftp_inflight_got(&d, 255 * 1024, now += 0.0001);
	asked = ask(&d, 255 * 1024);
	ASSERT_U64_LE(asked, SFTP_INFLIGHT_MAX);
	ASSERT_U64_GT(asked, SFTP_INFLIGHT_BASE);
	/* One file may always send as many as it may have. */
	sftp_inflight_init(&d, 0, now);
	for (i = 1; i < sftp_inflight_max(&d, 32768); i++)
		sftp_inflight_ask(&d, 32768);
	ASSERT_INT_EQ(sftp_inflight_room(&d, 32768), 1);
	sftp_inflight_end(&d, SIZE_MAX);
	ASSERT_U64_EQ(d.asked, 0);
	TEST_DONE();

	TEST_START("an open behind data is no round trip time");
	/* It is the best that there is until there is a better one. */
	sftp_inflight_init(&d, 0, now);
	sftp_inflight_ask(&d, 1000);
	sftp_inflight_opened(&d, now, now + 5);
	ASSERT_U64_GE(d.rtt_us, 4999999);
	sftp_inflight_init(&d, 0, now);
	sftp_inflight_opened(&d, now, now + 0.1);
	sftp_inflight_ask(&d, 1000);
	sftp_inflight_opened(&d, now, now + 5);
	ASSERT_U64_LE(d.rtt_us, 100001);
	sftp_inflight_opened(&d, now, now + 0.05);
	ASSERT_U64_LE(d.rtt_us, 50001);
	sftp_inflight_end(&d, 1000);
	sftp_inflight_opened(&d, now, now + 5);
	ASSERT_U64_GE(d.rtt_us, 4999999);
	TEST_DONE();
}

static void
test_rest(void)
{
	struct sftp_finish rest = { 0 };
	struct heard heard;
	struct sshbuf *m;

	TEST_START("answers to what follows the data");
	ASSERT_INT_EQ(sftp_finish_got(&rest, 0, SSH2_FX_FAILURE), 0);
	ASSERT_INT_EQ(sftp_finish_end(&rest), 0);
	ASSERT_U_INT_EQ(sftp_finish_add(&rest, 7), 7);
	ASSERT_U_INT_EQ(sftp_finish_add(&rest, 8), 8);
	ASSERT_U_INT_EQ(sftp_finish_add(&rest, 9), 9);
	ASSERT_INT_EQ(sftp_finish_got(&rest, 6, SSH2_FX_FAILURE), 0);
	ASSERT_INT_EQ(sftp_finish_got(&rest, 8, SSH2_FX_FAILURE), 1);
	ASSERT_INT_EQ(sftp_finish_got(&rest, 9, SSH2_FX_OK), 1);
	ASSERT_INT_EQ(sftp_finish_end(&rest), 0); /* as stock: attributes */
	ASSERT_INT_EQ(sftp_finish_got(&rest, 9, SSH2_FX_FAILURE), 1);
	ASSERT_INT_EQ(sftp_finish_end(&rest), -1);
	TEST_DONE();

	TEST_START("answers to what follows the data, from a message");
	m = sshbuf_new();
	ASSERT_PTR_NE(m, NULL);
	memset(&rest, 0xff, sizeof(rest));
	rest.n = 0;
	sftp_finish_add(&rest, 7);
	sftp_finish_add(&rest, 8);
	fixture_listen(&heard, "remote");
	ASSERT_INT_EQ(sftp_finish_end(&rest), 0);
	ASSERT_STRING_EQ(heard.lines, "");
	ASSERT_INT_EQ(sshbuf_put_u32(m, SSH2_FX_FAILURE), 0);
	/* One to something else is left to whoever has asked. */
	ASSERT_INT_EQ(sftp_finish_take(&rest, 9, m), 0);
	ASSERT_SIZE_T_EQ(sshbuf_len(m), 4);
	ASSERT_INT_EQ(sftp_finish_end(&rest), 0);
	ASSERT_INT_EQ(sftp_finish_take(&rest, 8, m), 1);
	ASSERT_SIZE_T_EQ(sshbuf_len(m), 0);
	ASSERT_U_INT_EQ(rest.status[0], SSH2_FX_OK);
	ASSERT_U_INT_EQ(rest.status[1], SSH2_FX_FAILURE);
	ASSERT_INT_EQ(sftp_finish_end(&rest), -1);
	ASSERT_STRING_EQ(heard.lines, "close remote: Failure\n");
	fixture_listen_ends();
	sshbuf_free(m);
	TEST_DONE();
}

void
test_sftp_slots(void)
{
	test_descriptors();
	test_files();
	test_asked();
	test_rest();
}
