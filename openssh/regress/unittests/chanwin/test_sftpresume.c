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

/* Going on with copies: what is kept, and the digests that decide it. */

#include "includes.h"

#include <sys/types.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "digest.h"
#include "sshbuf.h"
#include "ssherr.h"
#include "sftp-check-file.h"
#include "sftp-resume.h"

#define SIZE	600000		/* bytes of the file: more than two reads */

void test_sftpresume(void);

static void
test_at(void)
{
	static const struct {
		const char *name;
		struct sftp_resume r;
		uint64_t at;
	} t[] = {
		{ "nothing there", { 9, 0, 5, 5, SFTP_SAME_UNKNOWN }, 0 },
		{ "the same start", { 9, 4, 5, 1, SFTP_SAME_YES }, 4 },
		{ "all of it", { 9, 9, 5, 1, SFTP_SAME_YES }, 9 },
		{ "another start", { 9, 4, 5, 5, SFTP_SAME_NO }, 0 },
		{ "longer", { 9, 10, 5, 5, SFTP_SAME_YES }, 0 },
		{ "of an empty file", { 0, 1, 5, 5, SFTP_SAME_YES }, 0 },
		{ "both are empty", { 0, 0, 5, 5, SFTP_SAME_UNKNOWN }, 0 },
		{ "later than its source", { 9, 4, 5, 6, SFTP_SAME_UNKNOWN }, 4 },
		{ "as old", { 9, 4, 5, 5, SFTP_SAME_UNKNOWN }, 4 },
		{ "older than its source", { 9, 4, 5, 4, SFTP_SAME_UNKNOWN }, 0 },
		{ "size and time", { 9, 9, 5, 5, SFTP_SAME_UNKNOWN }, 9 },
		{ "size, and later", { 9, 9, 5, 6, SFTP_SAME_UNKNOWN }, 0 },
		{ "longer, and later", { 9, 10, 5, 6, SFTP_SAME_UNKNOWN }, 0 },
	};
	u_int i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		TEST_START(t[i].name);
		ASSERT_U64_EQ(sftp_resume_at(&t[i].r), t[i].at);
		TEST_DONE();
	}
}

/* A file of SIZE bytes without a name */
static int
a_file(u_char *content)
{
	FILE *f = tmpfile();
	u_int i;

	ASSERT_PTR_NE(f, NULL);
	for (i = 0; i < SIZE; i++)
		content[i] = i * 2654435761U >> 24;
	ASSERT_SIZE_T_EQ(fwrite(content, 1, SIZE, f), SIZE);
	ASSERT_INT_EQ(fflush(f), 0);
	return fileno(f);
}

/* The digest at d, of these bytes */
static void
check_digest(const u_char *d, const u_char *content, size_t len)
{
	u_char out[SFTP_CHECK_LEN];

	ASSERT_INT_EQ(ssh_digest_memory(SSH_DIGEST_SHA256, content, len, out,
	    sizeof(out)), 0);
	ASSERT_MEM_EQ(d, out, sizeof(out));
}

static void
test_digests(void)
{
	static u_char content[SIZE];
	static const struct {
		const char *name;
		uint64_t start, len, end;	/* end: where it has to end */
		uint32_t block;
		u_int count;			/* 0: it is refused */
	} t[] = {
		{ "all", 0, SIZE, SIZE, 0, 1 },
		{ "a part", 5, 300000, 300005, 0, 1 },
		{ "to the end", 7, 0, SIZE, 0, 1 },
		{ "beyond the end", 7, SIZE, SIZE, 0, 1 },
		{ "to the end of all numbers", 7, UINT64_MAX, SIZE, 0, 1 },
		{ "of nothing", SIZE, 0, SIZE, 0, 1 },
		{ "far beyond the end", (uint64_t)1 << 40, 9, 0, 0, 1 },
		{ "blocks", 1, 1000, 1001, 256, 4 },
		{ "whole blocks", 1, 1024, 1025, 256, 4 },
		{ "blocks to the end", SIZE - 1000, 0, SIZE, 300, 4 },
		{ "blocks of nothing", SIZE, 0, SIZE, 256, 0 },
		{ "large blocks", 0, 0, SIZE, UINT32_MAX, 1 },
		{ "many blocks", 3, 448576, 448579, 256, 1753 },
	};
	struct sshbuf *b;
	uint64_t at, end;
	u_int i, n;
	int fd = a_file(content);

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		TEST_START(t[i].name);
		b = sshbuf_new();
		ASSERT_PTR_NE(b, NULL);
		ASSERT_INT_EQ(sftp_check_file(fd, t[i].start, t[i].len,
		    t[i].block, b), 0);
		ASSERT_SIZE_T_EQ(sshbuf_len(b), t[i].count * SFTP_CHECK_LEN);
		end = t[i].end;
		for (n = 0; n < t[i].count && end != 0; n++) {
			at = t[i].start + (uint64_t)n * t[i].block;
			check_digest(sshbuf_ptr(b) + n * SFTP_CHECK_LEN,
			    content + at, t[i].block != 0 &&
			    end - at > t[i].block ? t[i].block : end - at);
		}
		sshbuf_free(b);
		TEST_DONE();
	}

	TEST_START("refused");
	b = sshbuf_new();
	ASSERT_PTR_NE(b, NULL);
	ASSERT_INT_EQ(sftp_check_file(fd, 0, 0, 255, b),
	    SSH_ERR_INVALID_ARGUMENT);
	ASSERT_INT_EQ(sftp_check_file(fd, UINT64_MAX, 0, 0, b),
	    SSH_ERR_INVALID_ARGUMENT);
	ASSERT_INT_EQ(sftp_check_file(-1, 0, 0, 0, b), SSH_ERR_SYSTEM_ERROR);
	ASSERT_INT_EQ(errno, EBADF);
	/* One block more than a reply has room for */
	ASSERT_INT_EQ(ftruncate(fd, 256 * SFTP_CHECK_MAX + 1), 0);
	ASSERT_INT_EQ(sftp_check_file(fd, 0, 0, 256, b),
	    SSH_ERR_INVALID_ARGUMENT);
	sshbuf_reset(b);
	ASSERT_INT_EQ(sftp_check_file(fd, 1, 0, 256, b), 0);
	ASSERT_SIZE_T_EQ(sshbuf_len(b), SFTP_CHECK_MAX * SFTP_CHECK_LEN);
	sshbuf_free(b);
	TEST_DONE();
}

static int
reply(const char *name, const char *alg, size_t len)
{
	struct sshbuf *b = sshbuf_new();
	u_char out[SFTP_CHECK_LEN], digest[64] = { 1, 2, 3 };
	int r;

	ASSERT_PTR_NE(b, NULL);
	if (name != NULL)
		ASSERT_INT_EQ(sshbuf_put_cstring(b, name), 0);
	if (alg != NULL)
		ASSERT_INT_EQ(sshbuf_put_cstring(b, alg), 0);
	ASSERT_INT_EQ(sshbuf_put(b, digest, len), 0);
	if ((r = sftp_check_reply(b, out)) == 0)
		ASSERT_MEM_EQ(out, digest, sizeof(out));
	sshbuf_free(b);
	return r;
}

static void
test_replies(void)
{
	TEST_START("replies");
	ASSERT_INT_EQ(reply("check-file", "sha256", 32), 0);
	ASSERT_INT_EQ(reply(NULL, "sha256", 32), 0);
	ASSERT_INT_NE(reply("check-file", "md5", 16), 0);
	ASSERT_INT_NE(reply("check-file", "sha256", 31), 0);
	ASSERT_INT_NE(reply("check-file", "sha256", 64), 0);
	ASSERT_INT_NE(reply("check-file", NULL, 0), 0);
	ASSERT_INT_NE(reply(NULL, NULL, 3), 0);
	TEST_DONE();

	TEST_START("lists");
	ASSERT_INT_EQ(sftp_check_list("sha256"), 1);
	ASSERT_INT_EQ(sftp_check_list("md5,sha256"), 1);
	ASSERT_INT_EQ(sftp_check_list("md5,sha2567"), 0);
	ASSERT_INT_EQ(sftp_check_list(""), 0);
	TEST_DONE();
}

void
test_sftpresume(void)
{
	test_at();
	test_digests();
	test_replies();
}
