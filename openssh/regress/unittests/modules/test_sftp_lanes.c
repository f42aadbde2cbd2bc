/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/* What several lanes share: the parts of a file, its mark, the memory */

#include "includes.h"

#include <sys/types.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "sftp-inflight.h"
#include "sftp-mark.h"
#include "sftp-parts.h"
#include "sftp-reply-form.h"
#include "sftp-slots.h"
#include "sshbuf.h"
#include "ssherr.h"
#include "sftp.h"
#include "sftp-common.h"

#define MIB	(1024 * 1024ULL)
#define GIB	(1024 * MIB)

void test_sftp_lanes(void);

static void
test_order(void)
{
	struct sftp_parts p;
	uint64_t offset, len;

	TEST_START("parts are given out in order, and again if need be");
	sftp_parts_init(&p, 3 * MIB + 7);
	ASSERT_U_INT_EQ(p.n, 4);
	ASSERT_U64_EQ(sftp_parts_left(&p), 3 * MIB + 7);
	ASSERT_INT_EQ(sftp_parts_next(&p, &offset, &len), 0);
	ASSERT_INT_EQ(sftp_parts_next(&p, &offset, &len), 1);
	ASSERT_U64_EQ(offset, MIB);
	ASSERT_U64_EQ(len, MIB);
	ASSERT_U64_EQ(sftp_parts_left(&p), MIB + 7);
	/* What came first doesn't count until what is before it is there. */
	sftp_parts_copied(&p, 1);
	ASSERT_U64_EQ(sftp_parts_begin(&p), 0);
	ASSERT_U64_EQ(p.done, MIB);
	sftp_parts_back(&p, 0);
	ASSERT_U64_EQ(sftp_parts_left(&p), 2 * MIB + 7);
	ASSERT_INT_EQ(sftp_parts_next(&p, &offset, &len), 0);
	ASSERT_INT_EQ(sftp_parts_next(&p, &offset, &len), 2);
	ASSERT_INT_EQ(sftp_parts_next(&p, &offset, &len), 3);
	ASSERT_U64_EQ(offset, 3 * MIB);
	ASSERT_U64_EQ(len, 7);
	ASSERT_INT_EQ(sftp_parts_next(&p, &offset, &len), -1);
	ASSERT_U64_EQ(sftp_parts_left(&p), 0);
	sftp_parts_copied(&p, 0);
	ASSERT_U64_EQ(sftp_parts_begin(&p), 2 * MIB);
	sftp_parts_copied(&p, 3);
	sftp_parts_copied(&p, 2);
	ASSERT_U64_EQ(sftp_parts_begin(&p), 3 * MIB + 7);
	ASSERT_U64_EQ(p.done, 3 * MIB + 7);
	sftp_parts_free(&p);
	sftp_parts_free(&p);	/* once more does nothing */
	TEST_DONE();
}

static void
test_have(void)
{
	struct sftp_parts p;
	uint64_t offset, len;

	TEST_START("what is there already is not given out");
	sftp_parts_init(&p, 8 * MIB);
	sftp_parts_have(&p, 2 * MIB + 5);
	ASSERT_U64_EQ(sftp_parts_begin(&p), 2 * MIB);
	ASSERT_INT_EQ(sftp_parts_next(&p, &offset, &len), 2);
	ASSERT_INT_EQ(sftp_parts_next(&p, &offset, &len), 3);
	sftp_parts_copied(&p, 3);
	sftp_parts_back(&p, 2);
	ASSERT_INT_EQ(sftp_parts_run(&p, 0, &offset, &len), 1);
	ASSERT_U64_EQ(offset, 0);
	ASSERT_U64_EQ(len, 2 * MIB);
	ASSERT_INT_EQ(sftp_parts_run(&p, offset + len, &offset, &len), 1);
	ASSERT_U64_EQ(offset, 3 * MIB);
	ASSERT_U64_EQ(len, MIB);
	ASSERT_INT_EQ(sftp_parts_run(&p, offset + len, &offset, &len), 0);
	sftp_parts_forget(&p, MIB, MIB);
	ASSERT_U64_EQ(sftp_parts_begin(&p), MIB);
	ASSERT_U64_EQ(p.done, 2 * MIB);
	ASSERT_INT_EQ(sftp_parts_next(&p, &offset, &len), 1);
	ASSERT_INT_EQ(sftp_parts_next(&p, &offset, &len), 2);
	sftp_parts_free(&p);
	TEST_DONE();
}

static void
test_large(void)
{
	TEST_START("a mark stays small, however large the file");
	ASSERT_U64_EQ(sftp_parts_part(1), SFTP_PART_BYTES);
	ASSERT_U64_EQ(sftp_parts_part(512 * GIB), MIB);
	ASSERT_U64_EQ(sftp_parts_part(512 * GIB + 1), 2 * MIB);
	ASSERT_U64_EQ(sftp_parts_bitmap(8 * MIB), 1);
	ASSERT_U64_EQ(sftp_parts_bitmap(8 * MIB + 1), 2);
	ASSERT_U64_EQ(sftp_parts_bitmap(512 * GIB), 64 * 1024);
	ASSERT_INT_EQ(sftp_mark_len(1024 * 1024 * GIB) < 66 * 1024, 1);
	TEST_DONE();
}

static void
test_mark(void)
{
	static const u_char nonce[SFTP_MARK_NONCE] = "a random number";
	struct sftp_parts p, q;
	uint64_t offset, len;
	u_char *mark;
	size_t i, n;

	TEST_START("a mark says what is there, and nothing else does");
	sftp_parts_init(&p, 21 * MIB);
	for (i = 0; i < 12; i++)
		(void)sftp_parts_next(&p, &offset, &len);
	sftp_parts_copied(&p, 0);
	sftp_parts_copied(&p, 11);
	n = sftp_mark_len(p.size);
	mark = malloc(n);
	ASSERT_PTR_NE(mark, NULL);
	ASSERT_INT_EQ(sftp_mark_put(&p, 1234, nonce, mark), 0);
	ASSERT_INT_EQ(memcmp(mark, SFTP_MARK_MAGIC, SFTP_MARK_MAGIC_LEN), 0);
	ASSERT_INT_EQ(memcmp(mark + SFTP_MARK_MAGIC_LEN, nonce,
	    SFTP_MARK_NONCE), 0);

	sftp_parts_init(&q, p.size);
	ASSERT_INT_EQ(sftp_mark_get(&q, 1234, mark), 0);
	ASSERT_U64_EQ(q.done, 2 * MIB);
	ASSERT_U64_EQ(sftp_parts_begin(&q), MIB);
	ASSERT_INT_EQ(sftp_parts_run(&q, MIB, &offset, &len), 1);
	ASSERT_U64_EQ(offset, 11 * MIB);
	sftp_parts_free(&q);

	/* Another source, or any byte that is not as it was written */
	sftp_parts_init(&q, p.size);
	ASSERT_INT_EQ(sftp_mark_get(&q, 1235, mark), SSH_ERR_INVALID_FORMAT);
	for (i = 0; i < n; i++) {
		mark[i] ^= 1;
		ASSERT_INT_EQ(sftp_mark_get(&q, 1234, mark),
		    SSH_ERR_INVALID_FORMAT);
		mark[i] ^= 1;
	}
	ASSERT_U64_EQ(q.done, 0);
	sftp_parts_free(&q);
	sftp_parts_init(&q, p.size - 1);
	ASSERT_U64_EQ(sftp_mark_len(q.size), n);
	ASSERT_INT_EQ(sftp_mark_get(&q, 1234, mark), SSH_ERR_INVALID_FORMAT);
	sftp_parts_free(&q);
	sftp_parts_free(&p);
	free(mark);
	TEST_DONE();
}

/* Returns a file's last `len` bytes, which end in the mark of its copy. */
static u_char *
marked_end(uint64_t size, size_t len)
{
	static const u_char nonce[SFTP_MARK_NONCE] = "a random number";
	struct sftp_parts p;
	u_char *end = calloc(1, len);

	ASSERT_PTR_NE(end, NULL);
	sftp_parts_init(&p, size);
	ASSERT_INT_EQ(sftp_mark_put(&p, 1234, nonce,
	    end + len - sftp_mark_len(size)), 0);
	sftp_parts_free(&p);
	return end;
}

static void
test_find(void)
{
	static const uint64_t sizes[] = { 1, 32 * MIB, 8 * 1024 * MIB + 1,
	    512 * GIB, 512 * GIB + 1, 3000 * GIB };
	uint64_t all, size, mtime;
	size_t i, len, n;
	u_char *end;

	TEST_START("a mark is found, whatever the source's size");
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		n = sftp_mark_len(sizes[i]);
		ASSERT_SIZE_T_LE(n, SFTP_MARK_MAX);
		all = sizes[i] + n;
		for (len = n; len <= n + 200; len += 100) {
			end = marked_end(sizes[i], len);
			ASSERT_PTR_EQ((void *)sftp_mark_find(end, len, all,
			    &size, &mtime), end + len - n);
			ASSERT_U64_EQ(size, sizes[i]);
			ASSERT_U64_EQ(mtime, 1234);
			/* Not where it should not be, nor a part of it */
			ASSERT_PTR_EQ((void *)sftp_mark_find(end, len, all + 1,
			    &size, &mtime), NULL);
			ASSERT_PTR_EQ((void *)sftp_mark_find(end, len - 1,
			    all - 1, &size, &mtime), NULL);
			ASSERT_PTR_EQ((void *)sftp_mark_find(end + len - n + 1,
			    n - 1, all, &size, &mtime), NULL);
			free(end);
		}
	}
	end = calloc(1, 100);
	ASSERT_PTR_EQ((void *)sftp_mark_find(end, 100, 100, &size, &mtime),
	    NULL);
	ASSERT_PTR_EQ((void *)sftp_mark_find(end, 10, 10, &size, &mtime), NULL);
	memcpy(end + 12, SFTP_MARK_MAGIC, SFTP_MARK_MAGIC_LEN);
	ASSERT_PTR_EQ((void *)sftp_mark_find(end, 100, 12 + 88, &size, &mtime),
	    NULL);
	free(end);
	TEST_DONE();
}

static void
test_memory(void)
{
	struct sftp_inflight d;
	struct sftp_slots s;
	double t;
	u_int n;

	TEST_START("all lanes together take no more than one connection");
	sftp_inflight_init(&d, 0, 1000);
	sftp_inflight_opened(&d, 999, 1000);	/* 1 s */
	sftp_inflight_share(&d, 8);
	for (t = 1000; t < 1010; t += 0.0005)
		sftp_inflight_got(&d, 1024 * 1024, t);	/* 2 GB/s */
	ASSERT_INT_EQ(sftp_inflight_max(&d, 32768) * 32768ULL <=
	    SFTP_INFLIGHT_MAX / 8, 1);
	ASSERT_INT_EQ(sftp_inflight_max(&d, 32768) * 32768ULL >
	    SFTP_INFLIGHT_MAX / 16, 1);
	sftp_inflight_share(&d, 1);
	for (; t < 1020; t += 0.0005)
		sftp_inflight_got(&d, 1024 * 1024, t);
	ASSERT_INT_EQ(sftp_inflight_max(&d, 32768) * 32768ULL >
	    SFTP_INFLIGHT_MAX / 2, 1);

	/* Files of a tree: each lane has as many as one had. */
	sftp_slots_init(&s, SFTP_SLOTS_FILES);
	sftp_slots_lanes(&s, 4);
	for (n = 0; sftp_slots_file_start(&s, SFTP_SLOTS_FILE_BYTES) ==
	    SFTP_START_NOW; n++)
		sftp_slots_begin(&s, 0, SFTP_SLOTS_FILE_BYTES);
	ASSERT_U_INT_EQ(n, 4 * SFTP_SLOTS_ALL_BYTES / SFTP_SLOTS_FILE_BYTES);
	TEST_DONE();
}

/* Messages: type, id and what follows */
#define ID		"\0\0\0\7"
#define STATUS_OK	"e" ID "\0\0\0\0\0\0\0\0\0\0\0\0"
#define STATUS_EOF	"e" ID "\0\0\0\1\0\0\0\0\0\0\0\0"
#define HANDLE		"f" ID "\0\0\0\4abcd"
#define DATA		"g" ID "\0\0\0\4abcd"
#define ATTRS		"i" ID "\0\0\0\0"

static int
is_formed(u_char request, const char *msg, size_t len)
{
	struct sshbuf *b = sshbuf_from(msg, len);
	int formed = sftp_reply_is_formed(request, b);

	sshbuf_free(b);
	return formed;
}

#define FORMED(request, msg)	is_formed(request, msg, sizeof(msg) - 1)

static void
test_replies(void)
{
	struct sshbuf *b;

	TEST_START("replies that answer their request");
	ASSERT_INT_EQ(FORMED(SSH2_FXP_OPEN, HANDLE), 1);
	ASSERT_INT_EQ(FORMED(SSH2_FXP_OPENDIR, HANDLE), 1);
	ASSERT_INT_EQ(FORMED(SSH2_FXP_READ, DATA), 1);
	ASSERT_INT_EQ(FORMED(SSH2_FXP_READ, STATUS_EOF), 1);
	ASSERT_INT_EQ(FORMED(SSH2_FXP_LSTAT, ATTRS), 1);
	ASSERT_INT_EQ(FORMED(SSH2_FXP_WRITE, STATUS_OK), 1);
	ASSERT_INT_EQ(FORMED(SSH2_FXP_OPEN, STATUS_EOF), 1);
	ASSERT_INT_EQ(FORMED(SSH2_FXP_EXTENDED, STATUS_OK), 1);
	ASSERT_INT_EQ(FORMED(SSH2_FXP_READDIR, ATTRS), 1);
	TEST_DONE();

	TEST_START("replies of another type");
	ASSERT_INT_EQ(FORMED(SSH2_FXP_READ, HANDLE), 0);
	ASSERT_INT_EQ(FORMED(SSH2_FXP_OPEN, DATA), 0);
	ASSERT_INT_EQ(FORMED(SSH2_FXP_STAT, HANDLE), 0);
	ASSERT_INT_EQ(FORMED(SSH2_FXP_WRITE, HANDLE), 0);
	ASSERT_INT_EQ(FORMED(SSH2_FXP_OPEN, STATUS_OK), 0);
	ASSERT_INT_EQ(FORMED(SSH2_FXP_READ, STATUS_OK), 0);
	ASSERT_INT_EQ(FORMED(SSH2_FXP_FSTAT, STATUS_OK), 0);
	TEST_DONE();

	TEST_START("replies that are cut, or empty");
	ASSERT_INT_EQ(FORMED(SSH2_FXP_READ, ""), 0);
	ASSERT_INT_EQ(FORMED(SSH2_FXP_READ, "g\0\0\0"), 0);
	ASSERT_INT_EQ(FORMED(SSH2_FXP_READ, "g" ID "\0\0\0\4abc"), 0);
	ASSERT_INT_EQ(FORMED(SSH2_FXP_READ, "g" ID "\0\0\0\0"), 0);
	ASSERT_INT_EQ(FORMED(SSH2_FXP_STAT, "i" ID "\0\0\0\1"), 0);
	ASSERT_INT_EQ(FORMED(SSH2_FXP_WRITE, "e" ID "\0\0"), 0);
	TEST_DONE();

	TEST_START("the type of a request of an extension");
	b = sshbuf_from("\310" ID "\0\0\0\21fsync@openssh.com", 26);
	ASSERT_INT_EQ(sftp_reply_request(b), SSH2_FXP_FSETSTAT);
	ASSERT_SIZE_T_EQ(sftp_reply_data_max(b), 0);
	sshbuf_free(b);
	b = sshbuf_from("\310" ID "\0\0\0\21fsync@openssh.co", 25);
	ASSERT_INT_EQ(sftp_reply_request(b), SSH2_FXP_EXTENDED);
	sshbuf_free(b);
	b = sshbuf_from("\310" ID "\0\0\0\21check-file-handle", 26);
	ASSERT_INT_EQ(sftp_reply_request(b), SSH2_FXP_EXTENDED);
	sshbuf_free(b);
	b = sshbuf_from("\6" ID, 5);
	ASSERT_INT_EQ(sftp_reply_request(b), SSH2_FXP_WRITE);
	sshbuf_free(b);
	TEST_DONE();

	TEST_START("how much data a reply may have");
	b = sshbuf_from("\5" ID "\0\0\1\2", 9);
	ASSERT_SIZE_T_EQ(sftp_reply_data_max(b), 258);
	sshbuf_free(b);
	b = sshbuf_from("\5" ID "\0\0\1", 8);
	ASSERT_SIZE_T_EQ(sftp_reply_data_max(b), 0);
	sshbuf_free(b);
	b = sshbuf_from("\6" ID "\0\0\1\2", 9);
	ASSERT_SIZE_T_EQ(sftp_reply_data_max(b), 0);
	sshbuf_free(b);
	b = sshbuf_from("\21" ID "\0\0\1\2", 9);
	ASSERT_SIZE_T_EQ(sftp_reply_data_max(b), SFTP_MAX_MSG_LENGTH);
	sshbuf_free(b);
	TEST_DONE();
}

static void
test_awaited(void)
{
	struct sftp_mark_facts f = { .there = 20 * MIB, .in_flight = 39 * MIB,
	    .next = MIB, .asked = 1 };

	TEST_START("a mark is awaited");
	/* What is in flight counts, and what would be. */
	ASSERT_INT_EQ(sftp_mark_is_awaited(&f), 0);
	f.next++;
	ASSERT_INT_EQ(sftp_mark_is_awaited(&f), 1);
	f.next = MIB;
	f.in_flight++;
	ASSERT_INT_EQ(sftp_mark_is_awaited(&f), 1);
	f.asked = 0;
	ASSERT_INT_EQ(sftp_mark_is_awaited(&f), 1);
	/* A mark takes a round trip. */
	f.bdp = 25 * MIB;
	ASSERT_INT_EQ(sftp_mark_is_awaited(&f), 0);
	f.in_flight += 2 * MIB;
	ASSERT_INT_EQ(sftp_mark_is_awaited(&f), 0);
	f.in_flight += MIB;
	ASSERT_INT_EQ(sftp_mark_is_awaited(&f), 1);
	f.one_mark = 1;
	f.in_flight += 24 * MIB;
	ASSERT_INT_EQ(sftp_mark_is_awaited(&f), 0);
	f.in_flight += MIB;
	ASSERT_INT_EQ(sftp_mark_is_awaited(&f), 1);
	f.one_mark = 0;
	TEST_DONE();

	TEST_START("a mark is awaited, by the lane that writes it");
	f.first = 1;
	f.asked = 1;
	ASSERT_INT_EQ(sftp_mark_is_awaited(&f), 1);
	/* It always has a reply to come. */
	f.asked = 0;
	ASSERT_INT_EQ(sftp_mark_is_awaited(&f), 0);
	f.asked = 1;
	f.in_flight = f.bdp = 0;
	f.marks = 1;
	f.there = 37 * MIB;
	ASSERT_INT_EQ(sftp_mark_is_awaited(&f), 0);
	f.there = 38 * MIB;
	ASSERT_INT_EQ(sftp_mark_is_awaited(&f), 1);
	f.marks = 0;
	ASSERT_INT_EQ(sftp_mark_is_awaited(&f), 0);
	TEST_DONE();
}

void
test_sftp_lanes(void)
{
	test_order();
	test_have();
	test_large();
	test_mark();
	test_find();
	test_awaited();
	test_memory();
	test_replies();
}
