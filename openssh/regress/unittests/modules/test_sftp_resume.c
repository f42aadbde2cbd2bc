/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/* Going on with copies: what is kept, and the digests that decide it. */

#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "packet.h"
#include "channels.h"
#include "digest.h"
#include "log.h"
#include "misc.h"
#include "sshbuf.h"
#include "ssherr.h"
#include "sftp.h"
#include "sftp-check-file.h"
#include "sftp-resume.h"
#include "conn.h"
#include "fake.h"
#include "fixture.h"

#define SIZE	600000		/* bytes of the file: more than two reads */
#define L	9000		/* bytes of a source */
#define LEAST	SFTP_CHECK_BLOCK_MIN
#define H	LEAST		/* bytes of it that are there */

void test_sftp_resume(void);

static void
test_at(void)
{
	static const struct {
		const char *name;
		struct sftp_resume r;
		uint64_t at;
	} t[] = {
		{ "nothing there", { L, 0, 5, 5, SFTP_SAME_UNKNOWN }, 0 },
		{ "the same start", { L, H, 5, 1, SFTP_SAME_YES }, H },
		{ "all of it", { L, L, 5, 1, SFTP_SAME_YES }, L },
		{ "another start", { L, H, 5, 5, SFTP_SAME_NO }, 0 },
		{ "longer", { L, L + 1, 5, 5, SFTP_SAME_YES }, 0 },
		{ "of an empty file", { 0, 1, 5, 5, SFTP_SAME_YES }, 0 },
		{ "both are empty", { 0, 0, 5, 5, SFTP_SAME_UNKNOWN }, 0 },
		{ "later", { L, H, 5, 6, SFTP_SAME_UNKNOWN }, H },
		{ "as old", { L, H, 5, 5, SFTP_SAME_UNKNOWN }, H },
		{ "older", { L, H, 5, 4, SFTP_SAME_UNKNOWN }, 0 },
		{ "size and time", { L, L, 5, 5, SFTP_SAME_UNKNOWN }, L },
		{ "size, and later", { L, L, 5, 6, SFTP_SAME_UNKNOWN }, 0 },
		{ "longer, and later", { L, L + 1, 5, 6, SFTP_SAME_UNKNOWN },
		    0 },
		/* The server digests so little at the end of a file only. */
		{ "a short start", { L, H - 1, 5, 6, SFTP_SAME_YES }, 0 },
		{ "a short file", { 9, 9, 5, 1, SFTP_SAME_YES }, 9 },
	};
	u_int i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		TEST_START(t[i].name);
		ASSERT_U64_EQ(sftp_resume_at(&t[i].r), t[i].at);
		TEST_DONE();
	}
}

/* What the user is told of a file, at the level for it */
static void
test_say(void)
{
	static const struct {
		struct sftp_resume r;
		LogLevel level;
		const char *line;
	} t[] = {
		{ { L, 0, 5, 5, SFTP_SAME_UNKNOWN }, 0, "" },
		{ { L, H, 5, 5, SFTP_SAME_NO }, SYSLOG_LEVEL_INFO,
		    "\"f\" is not what the source begins with: "
		    "copying all of it\n" },
		{ { L, L + 1, 5, 5, SFTP_SAME_UNKNOWN }, SYSLOG_LEVEL_INFO,
		    "\"f\" is not what the source begins with: "
		    "copying all of it\n" },
		{ { L, L, 5, 6, SFTP_SAME_UNKNOWN }, SYSLOG_LEVEL_INFO,
		    "\"f\" may not be what the source begins with: "
		    "copying all of it\n" },
		{ { L, H, 5, 5, SFTP_SAME_UNKNOWN }, SYSLOG_LEVEL_INFO,
		    "\"f\": keeping 4096 bytes because of size and time only: "
		    "the server can't compare content\n" },
		{ { L, H, 5, 1, SFTP_SAME_YES }, SYSLOG_LEVEL_DEBUG1,
		    "\"f\": 4096 of 9000 bytes are the same\n" },
	};
	struct heard heard;
	u_int i;

	TEST_START("what the user is told");
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		test_subtest_info("%u", i);
		fixture_listen(&heard, "");
		sftp_resume_say(&t[i].r, "f");
		fixture_listen_ends();
		ASSERT_STRING_EQ(heard.lines, t[i].line);
		if (t[i].line[0] != '\0')
			ASSERT_INT_EQ(heard.level, t[i].level);
	}
	TEST_DONE();
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
		{ "the least", 1, LEAST, 1 + LEAST, 0, 1 },
		{ "the last byte", SIZE - 1, 0, SIZE, 0, 1 },
		{ "a short end", SIZE - LEAST + 1, LEAST - 1, SIZE, 0, 1 },
		{ "whole blocks", 1, 4 * LEAST, 1 + 4 * LEAST, LEAST, 4 },
		{ "a shorter last block", 1, 10000 + LEAST, 10001 + LEAST, 5000,
		    3 },
		{ "blocks and a short end", SIZE - 10001, 0, SIZE, 5000, 3 },
		{ "blocks of nothing", SIZE, 0, SIZE, LEAST, 0 },
		{ "large blocks", 0, 0, SIZE, UINT32_MAX, 1 },
		{ "many blocks", 3, 146 * LEAST, 3 + 146 * LEAST, LEAST, 146 },
	};
	struct sshbuf *b;
	uint64_t at, end, total;
	u_int i, n;
	int fd = a_file(content);

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		TEST_START(t[i].name);
		b = sshbuf_new();
		ASSERT_PTR_NE(b, NULL);
		ASSERT_INT_EQ(sftp_check_file(fd, t[i].start, t[i].len,
		    t[i].block, -1, -1, b, &total), 0);
		ASSERT_SIZE_T_EQ(sshbuf_len(b), t[i].count * SFTP_CHECK_LEN);
		end = t[i].end;
		ASSERT_U64_EQ(total, end == 0 ? 0 : end - t[i].start);
		for (n = 0; n < t[i].count && end != 0; n++) {
			at = t[i].start + (uint64_t)n * t[i].block;
			check_digest(sshbuf_ptr(b) + n * SFTP_CHECK_LEN,
			    content + at, t[i].block != 0 &&
			    end - at > t[i].block ? t[i].block : end - at);
		}
		sshbuf_free(b);
		TEST_DONE();
	}

	close(fd);
}

/* Returns what a request for digests of a file returns. */
static int
digests(int fd, uint64_t start, uint64_t len, uint32_t block, uint64_t *total)
{
	struct sshbuf *b = sshbuf_new();
	int r;

	ASSERT_PTR_NE(b, NULL);
	*total = UINT64_MAX;
	r = sftp_check_file(fd, start, len, block, -1, -1, b, total);
	sshbuf_free(b);
	return r;
}

static void
test_refused(void)
{
	static u_char content[SIZE];
	static const struct {
		uint64_t start, len;
		uint32_t block;
	} t[] = {
		/* Digests of a few bytes tell what these are. */
		{ 0, 1, 0 }, { 0, LEAST - 1, 0 },
		{ SIZE - LEAST, LEAST - 1, 0 }, { SIZE - 2, 1, 0 },
		{ 0, 1, LEAST }, { 0, LEAST - 1, LEAST },
		{ 0, LEAST + 1, LEAST }, { 0, 2 * LEAST - 1, LEAST },
		{ 7, 10000 + LEAST - 1, 5000 }, { SIZE - 5002, 5001, 5000 },
		{ 0, 0, 1 }, { 0, 0, LEAST - 1 }, { SIZE, 0, LEAST - 1 },
		{ UINT64_MAX, 0, 0 },
	};
	int fd = a_file(content);
	uint64_t total;
	size_t i;

	TEST_START("less than 4 KiB before the end of the file is refused");
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		test_subtest_info("%zu", i);
		ASSERT_INT_EQ(digests(fd, t[i].start, t[i].len, t[i].block,
		    &total), SSH_ERR_INVALID_ARGUMENT);
		ASSERT_U64_EQ(total, 0);
	}
	ASSERT_INT_EQ(digests(-1, 0, 0, 0, &total), SSH_ERR_SYSTEM_ERROR);
	ASSERT_INT_EQ(errno, EBADF);
	ASSERT_U64_EQ(total, 0);
	TEST_DONE();

	TEST_START("one block more than a reply has room for is refused");
	ASSERT_INT_EQ(ftruncate(fd, LEAST * SFTP_CHECK_MAX + 1), 0);
	ASSERT_INT_EQ(digests(fd, 0, 0, LEAST, &total),
	    SSH_ERR_INVALID_ARGUMENT);
	/* What was read before that counts. */
	ASSERT_U64_EQ(total, LEAST * SFTP_CHECK_MAX);
	ASSERT_INT_EQ(digests(fd, 1, 0, LEAST, &total), 0);
	ASSERT_U64_EQ(total, LEAST * SFTP_CHECK_MAX);
	close(fd);
	TEST_DONE();
}

static int
check_all(int fd, uint64_t start, uint64_t len, int in, int out)
{
	struct sshbuf *b = sshbuf_new();
	uint64_t total;
	int r;

	ASSERT_PTR_NE(b, NULL);
	errno = 0;
	r = sftp_check_file(fd, start, len, 0, in, out, b, &total);
	ASSERT_SIZE_T_EQ(sshbuf_len(b), r == 0 ? SFTP_CHECK_LEN : 0);
	sshbuf_free(b);
	return r;
}

static void
test_bound(void)
{
	static u_char content[SIZE];
	int fd = a_file(content);

	TEST_START("bytes a request");
	ASSERT_INT_EQ(ftruncate(fd, SFTP_CHECK_BYTES), 0);
	ASSERT_INT_EQ(check_all(fd, 0, 0, -1, -1), 0);
	ASSERT_INT_EQ(ftruncate(fd, SFTP_CHECK_BYTES + 1), 0);
	ASSERT_INT_EQ(check_all(fd, 0, 0, -1, -1), SSH_ERR_INVALID_ARGUMENT);
	ASSERT_INT_EQ(check_all(fd, 0, SFTP_CHECK_BYTES + 1, -1, -1),
	    SSH_ERR_INVALID_ARGUMENT);
	ASSERT_INT_EQ(check_all(fd, 0, UINT64_MAX, -1, -1),
	    SSH_ERR_INVALID_ARGUMENT);
	ASSERT_INT_EQ(check_all(fd, 0, SFTP_CHECK_BYTES, -1, -1), 0);
	ASSERT_INT_EQ(check_all(fd, 1, 0, -1, -1), 0);
	ASSERT_INT_EQ(close(fd), 0);
	TEST_DONE();

	TEST_START("what is not to be read");
	fd = open("/dev/zero", O_RDONLY);
	ASSERT_INT_EQ(check_all(fd, 0, 1, -1, -1), SSH_ERR_INVALID_ARGUMENT);
	ASSERT_INT_EQ(close(fd), 0);
	fd = open("/", O_RDONLY);
	ASSERT_INT_EQ(check_all(fd, 0, 1, -1, -1), SSH_ERR_INVALID_ARGUMENT);
	ASSERT_INT_EQ(close(fd), 0);
	TEST_DONE();
}

/* A handle that read(2) would refuse is refused, whatever is asked for. */
static void
test_write_only(void)
{
	char name[] = "/tmp/bdp-check.XXXXXXXXXX";
	int fd, other;

	TEST_START("open for writing only");
	fd = mkstemp(name);
	ASSERT_INT_NE(fd, -1);
	ASSERT_INT_EQ(write(fd, "secret", 6), 6);
	other = open(name, O_WRONLY);
	ASSERT_INT_NE(other, -1);
	ASSERT_INT_EQ(unlink(name), 0);
	ASSERT_INT_EQ(check_all(fd, 0, 0, -1, -1), 0);
	ASSERT_INT_EQ(check_all(other, 0, 0, -1, -1), SSH_ERR_SYSTEM_ERROR);
	ASSERT_INT_EQ(errno, EBADF);
	ASSERT_INT_EQ(check_all(other, 9, 0, -1, -1), SSH_ERR_SYSTEM_ERROR);
	close(other);
	close(fd);
	TEST_DONE();
}

static void
test_client_gone(void)
{
	static u_char content[SIZE];
	int fd = a_file(content), in[2], out[2], s[2];

	TEST_START("a client that is there");
	ASSERT_INT_EQ(pipe(in), 0);
	ASSERT_INT_EQ(pipe(out), 0);
	ASSERT_INT_EQ(write(in[1], "more", 4), 4);
	ASSERT_INT_EQ(check_all(fd, 0, 0, in[0], out[1]), 0);
	TEST_DONE();

	TEST_START("that reads no more");
	close(out[0]);
	ASSERT_INT_EQ(check_all(fd, 0, 0, in[0], out[1]), SSH_ERR_CONN_CLOSED);
	close(out[1]);
	TEST_DONE();

	TEST_START("that sends no more, with requests left");
	ASSERT_INT_EQ(check_all(fd, 0, 0, in[0], -1), 0);
	close(in[1]);
	ASSERT_INT_EQ(check_all(fd, 0, 0, in[0], -1), SSH_ERR_CONN_CLOSED);
	close(in[0]);
	TEST_DONE();

	TEST_START("that has closed its socket");
	ASSERT_INT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	ASSERT_INT_EQ(write(s[1], "more", 4), 4);
	ASSERT_INT_EQ(check_all(fd, 0, 0, s[0], s[0]), 0);
	ASSERT_INT_EQ(shutdown(s[1], SHUT_WR), 0);
#ifdef POLLRDHUP
	ASSERT_INT_EQ(check_all(fd, 0, 0, s[0], s[0]), SSH_ERR_CONN_CLOSED);
#endif
	close(s[1]);
	ASSERT_INT_EQ(check_all(fd, 0, 0, s[0], s[0]), SSH_ERR_CONN_CLOSED);
	close(s[0]);
	close(fd);
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
	ASSERT_INT_NE(reply("check-file", "md5", 32), 0);
	ASSERT_INT_NE(reply("check-file", "sha2567", 32), 0);
	ASSERT_INT_NE(reply(NULL, "md5", 32), 0);
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

/*
 * Pieces, as test_compare() lays them out. The last one would have 5 bytes, and
 * gets 4 KiB of the one before it.
 */
#define PIECES	(SFTP_COMPARE_AHEAD + 3)
#define STEP	300000
#define LEN	((PIECES - 1) * STEP + 5)

static uint64_t
piece_start(u_int n)
{
	return (uint64_t)n * STEP - (n == PIECES - 1 ? LEAST : 0);
}

static uint64_t
piece_len(u_int n)
{
	return n == PIECES - 1 ? LEAST + 5 :
	    STEP - (n == PIECES - 2 ? LEAST : 0);
}

/* The answer to piece n of the file behind fd, or a status if fd is -1 */
static void
answer(struct sshbuf *m, u_int n, int fd)
{
	uint64_t total;

	sshbuf_reset(m);
	ASSERT_INT_EQ(sshbuf_put_u8(m, fd == -1 ? SSH2_FXP_STATUS :
	    SSH2_FXP_EXTENDED_REPLY), 0);
	ASSERT_INT_EQ(sshbuf_put_u32(m, 100 + n), 0);
	if (fd == -1) {
		ASSERT_INT_EQ(sshbuf_put_u32(m, SSH2_FX_FAILURE), 0);
		return;
	}
	ASSERT_INT_EQ(sshbuf_put_cstring(m, "sha256"), 0);
	ASSERT_INT_EQ(sftp_check_file(fd, piece_start(n), piece_len(n), 0,
	    -1, -1, m, &total), 0);
}

/* What a request for piece n says */
static void
check_asked(struct sshbuf *m, u_int n)
{
	uint64_t start, len;
	u_int32_t id, block;
	u_char type;

	ASSERT_INT_EQ(sshbuf_get_u8(m, &type), 0);
	ASSERT_U8_EQ(type, SSH2_FXP_EXTENDED);
	ASSERT_INT_EQ(sshbuf_get_u32(m, &id), 0);
	ASSERT_U32_EQ(id, 100 + n);
	ASSERT_INT_EQ(sshbuf_skip_string(m), 0);
	ASSERT_INT_EQ(sshbuf_skip_string(m), 0);
	ASSERT_INT_EQ(sshbuf_skip_string(m), 0);
	ASSERT_INT_EQ(sshbuf_get_u64(m, &start), 0);
	ASSERT_U64_EQ(start, piece_start(n));
	ASSERT_INT_EQ(sshbuf_get_u64(m, &len), 0);
	ASSERT_U64_EQ(len, piece_len(n));
	ASSERT_INT_EQ(sshbuf_get_u32(m, &block), 0);
	ASSERT_U32_EQ(block, 0);
	ASSERT_SIZE_T_EQ(sshbuf_len(m), 0);
}

/*
 * Compares ours with theirs, where piece odd is answered from other (-1: by a
 * status). backwards: the last of the outstanding is answered first. Returns
 * how often it asked.
 */
static u_int
compare(struct sftp_compare *c, int ours, int theirs, u_int odd, int other,
    int backwards)
{
	struct sshbuf *m = sshbuf_new();
	u_int asked = 0, n;

	ASSERT_PTR_NE(m, NULL);
	sftp_compare_start(c, ours, LEN);
	ASSERT_U64_EQ(c->step, SFTP_CHECK_BYTES);
	c->step = STEP;
	do {
		while (sftp_compare_more(c)) {
			ASSERT_INT_EQ(sftp_compare_ask(c, m, 100 + asked,
			    (const u_char *)"h", 1), 0);
			check_asked(m, asked++);
		}
		ASSERT_U_INT_LE(c->outstanding, SFTP_COMPARE_AHEAD);
		sftp_compare_read(c);
		n = c->piece[backwards ? c->outstanding - 1 : 0].id - 100;
		answer(m, n, n == odd ? other : theirs);
		ASSERT_INT_EQ(sftp_compare_reply(c, m), 0);
	} while (sftp_compare_more(c) || c->outstanding != 0);
	sshbuf_free(m);
	return asked;
}

/* No piece is too short for the server, unless all of the file is. */
static void
test_pieces(void)
{
	static const uint64_t lens[] = { 1, LEAST, STEP - 1, STEP, STEP + 1,
	    STEP + LEAST - 1, STEP + LEAST, 2 * STEP, 2 * STEP + 1,
	    2 * STEP + LEAST - 1 };
	struct sftp_compare c;
	struct sshbuf *m = sshbuf_new();
	uint64_t at;
	size_t i;
	u_int n;

	TEST_START("no piece has less than 4 KiB");
	ASSERT_PTR_NE(m, NULL);
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		test_subtest_info("%llu", (unsigned long long)lens[i]);
		sftp_compare_start(&c, -1, lens[i]);
		c.step = STEP;
		for (n = 0, at = 0; sftp_compare_more(&c); n++) {
			ASSERT_INT_EQ(sftp_compare_ask(&c, m, n,
			    (const u_char *)"h", 1), 0);
			ASSERT_U64_EQ(c.piece[n].start, at);
			ASSERT_U64_GE(c.piece[n].len, MINIMUM(LEAST, lens[i]));
			ASSERT_U64_LE(c.piece[n].len, STEP);
			at += c.piece[n].len;
		}
		ASSERT_U64_EQ(at, lens[i]);
		ASSERT_U_INT_EQ(n, (lens[i] + STEP - 1) / STEP);
	}
	sshbuf_free(m);
	TEST_DONE();
}

static void
test_compare(void)
{
	static u_char content[SIZE];
	struct sftp_compare c;
	struct sshbuf *m;
	int a = a_file(content), b = a_file(content), back;
	u_int asked, i;

	/* The source has more than what is there. */
	ASSERT_INT_EQ(ftruncate(a, LEN + STEP), 0);
	ASSERT_INT_EQ(ftruncate(b, LEN), 0);
	for (back = 0; back < 2; back++) {
		TEST_START(back ? "pieces, backwards" : "pieces");
		ASSERT_U_INT_EQ(compare(&c, a, b, PIECES, -1, back), PIECES);
		ASSERT_INT_EQ(c.same, SFTP_SAME_YES);
		TEST_DONE();
	}
	TEST_START("a piece that the server refuses");
	ASSERT_U_INT_EQ(compare(&c, a, b, PIECES - 1, -1, 0), PIECES);
	ASSERT_INT_EQ(c.same, SFTP_SAME_UNKNOWN);
	TEST_DONE();
	TEST_START("the last byte differs");
	ASSERT_INT_EQ(pwrite(b, "x", 1, LEN - 1), 1);
	ASSERT_U_INT_EQ(compare(&c, a, b, PIECES, -1, 0), PIECES);
	ASSERT_INT_EQ(c.same, SFTP_SAME_NO);
	TEST_DONE();
	TEST_START("the first byte differs: no more is asked for");
	ASSERT_INT_EQ(pwrite(b, "x", 1, 0), 1);
	asked = compare(&c, a, b, 1, -1, 0);
	ASSERT_INT_EQ(c.same, SFTP_SAME_NO);
	ASSERT_U_INT_EQ(asked, SFTP_COMPARE_AHEAD);
	TEST_DONE();
	TEST_START("the file here can't be read");
	ASSERT_U_INT_EQ(compare(&c, -1, b, PIECES, -1, 0),
	    SFTP_COMPARE_AHEAD);
	ASSERT_INT_EQ(c.same, SFTP_SAME_NO);
	TEST_DONE();
	TEST_START("nor is what it has no digest of the same");
	m = sshbuf_new();
	ASSERT_PTR_NE(m, NULL);
	sftp_compare_start(&c, -1, 5);
	ASSERT_INT_EQ(sftp_compare_ask(&c, m, 100, (const u_char *)"h", 1), 0);
	sftp_compare_read(&c);
	sshbuf_reset(m);
	ASSERT_INT_EQ(sshbuf_put_u8(m, SSH2_FXP_EXTENDED_REPLY), 0);
	ASSERT_INT_EQ(sshbuf_put_u32(m, 100), 0);
	ASSERT_INT_EQ(sshbuf_put_cstring(m, "sha256"), 0);
	ASSERT_INT_EQ(sshbuf_put(m, c.piece[0].ours, SFTP_CHECK_LEN), 0);
	ASSERT_INT_EQ(sftp_compare_reply(&c, m), 0);
	ASSERT_INT_EQ(c.same, SFTP_SAME_NO);
	sshbuf_free(m);
	TEST_DONE();
	TEST_START("one piece is read at a time, and each once");
	m = sshbuf_new();
	ASSERT_PTR_NE(m, NULL);
	sftp_compare_start(&c, a, LEN);
	c.step = STEP;
	for (asked = 0; asked < 3; asked++) {
		sshbuf_reset(m);
		ASSERT_INT_EQ(sftp_compare_ask(&c, m, 100 + asked,
		    (const u_char *)"h", 1), 0);
	}
	for (i = 0; i < 5; i++) {
		for (asked = 0; asked < SFTP_COMPARE_AHEAD; asked++)
			ASSERT_INT_EQ(c.piece[asked].digested,
			    asked < MINIMUM(i, 3));
		sftp_compare_read(&c);
		ASSERT_INT_EQ(c.piece[0].failed, 0);
		/* A second look would fail now. */
		c.fd = i >= 2 ? -1 : a;
	}
	ASSERT_INT_EQ(c.piece[2].failed, 0);
	sshbuf_free(m);
	TEST_DONE();
	TEST_START("an answer to nothing");
	m = sshbuf_new();
	ASSERT_PTR_NE(m, NULL);
	sftp_compare_start(&c, a, 5);
	ASSERT_INT_EQ(sftp_compare_ask(&c, m, 100, (const u_char *)"h", 1), 0);
	ASSERT_INT_EQ(sftp_compare_more(&c), 0);
	answer(m, 1, a);
	ASSERT_INT_EQ(sftp_compare_reply(&c, m), SSH_ERR_INVALID_FORMAT);
	sshbuf_reset(m);
	ASSERT_INT_NE(sftp_compare_reply(&c, m), 0);
	ASSERT_U_INT_EQ(c.outstanding, 1);
	sshbuf_free(m);
	close(a);
	close(b);
	TEST_DONE();
}

void
test_sftp_resume(void)
{
	test_at();
	test_say();
	test_digests();
	test_refused();
	test_bound();
	test_write_only();
	test_client_gone();
	test_compare();
	test_pieces();
	test_replies();
}
