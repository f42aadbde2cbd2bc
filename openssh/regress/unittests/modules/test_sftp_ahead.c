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

/*
 * What scp and sftp plan before they are connected, what goes out of it, and
 * whether the server may end the session behind it.
 */

#include "includes.h"

#include <sys/types.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "sftp.h"
#include "sftp-ahead.h"
#include "sftp-lanes.h"
#include "sftp-burst.h"
#include "sftp-common.h"
#include "sftp-end.h"
#include "sftp-parallel.h"
#include "sftp-plan.h"
#include "sshbuf.h"
#include "ssherr.h"

void test_sftp_ahead(void);

/* Returns 1 if requests of these types, in this order, are in `out`. */
static int
sent(struct sshbuf *out, const char *types, u_int n)
{
	struct sshbuf *msg;
	u_int i, id;
	u_char type;
	int same = 1;

	for (i = 0; sshbuf_len(out) != 0; i++) {
		ASSERT_INT_EQ(sshbuf_froms(out, &msg), 0);
		ASSERT_INT_EQ(sshbuf_get_u8(msg, &type), 0);
		ASSERT_INT_EQ(sshbuf_get_u32(msg, &id), 0);
		same &= i < n && type == (u_char)types[i] && id == 5 + i;
		sshbuf_free(msg);
	}
	return same && i == n;
}

/* Makes a reply: a status, or with a text, the name that REALPATH returns */
static struct sshbuf *
reply(u_int id, u_int status, const char *text)
{
	struct sshbuf *msg = sshbuf_new();

	ASSERT_PTR_NE(msg, NULL);
	ASSERT_INT_EQ(sshbuf_put_u8(msg, text != NULL ? SSH2_FXP_NAME :
	    SSH2_FXP_STATUS), 0);
	ASSERT_INT_EQ(sshbuf_put_u32(msg, id), 0);
	ASSERT_INT_EQ(sshbuf_put_u32(msg, text != NULL ? 1 : status), 0);
	if (text != NULL)
		ASSERT_INT_EQ(sshbuf_put_cstring(msg, text), 0);
	return msg;
}

/* Hands a reply over. Returns whether it was expected. */
static int
got(struct sftp_ahead *a, u_int id, u_int status, const char *text)
{
	struct sshbuf *msg = reply(id, status, text);
	int r = sftp_lane_is_early(msg);	/* asks sftp_ahead_got() */

	sshbuf_free(msg);
	return r;
}

static int
use(struct sftp_ahead *a, u_char type, const char *path)
{
	return sftp_ahead_use(a, 99, type, path, strlen(path));
}

static struct sftp_ahead *
compose(const char *types, u_int n)
{
	struct sshbuf *out = sshbuf_new();
	struct sftp_ahead *a;
	u_int id = 5;

	ASSERT_PTR_NE(sftp_plan_current(), NULL);
	a = sftp_ahead_compose(sftp_plan_current(), &id, out);
	ASSERT_PTR_NE(a, NULL);
	ASSERT_U_INT_EQ(id, 5 + n);
	ASSERT_INT_EQ(sent(out, types, n), 1);
	ASSERT_U_INT_EQ(sftp_ahead_limits(a, 1), 5);
	sftp_plan_forget();
	ASSERT_PTR_EQ(sftp_plan_current(), NULL);
	sshbuf_free(out);
	return a;
}

static void
test_asks(void)
{
	const char types[] = { SSH2_FXP_EXTENDED, SSH2_FXP_REALPATH,
	    SSH2_FXP_STAT };
	struct sftp_ahead *a;
	struct sshbuf *msg = sshbuf_new();

	TEST_START("ahead: a question is answered once, under the asker's id");
	sftp_plan_ask(SSH2_FXP_REALPATH, ".");
	sftp_plan_ask(SSH2_FXP_STAT, "dir/file");
	a = compose(types, 3);
	ASSERT_INT_EQ(use(a, SSH2_FXP_LSTAT, "dir/file"), 0);
	ASSERT_INT_EQ(use(a, SSH2_FXP_STAT, "dir/files"), 0);
	ASSERT_INT_EQ(use(a, SSH2_FXP_STAT, "/home/u/dir/file"), 0);
	ASSERT_INT_EQ(sftp_ahead_take(a, msg), 0);
	ASSERT_INT_EQ(use(a, SSH2_FXP_REALPATH, "."), 1);
	ASSERT_INT_EQ(sftp_ahead_used(a), 1);
	ASSERT_INT_EQ(use(a, SSH2_FXP_STAT, "dir/file"), 0);
	ASSERT_INT_EQ(sftp_ahead_take(a, msg), 0);
	ASSERT_INT_EQ(got(a, 5, 0, NULL), 0);	/* the limits */
	ASSERT_U_INT_EQ(sftp_ahead_limits(a, 0), 0);
	ASSERT_INT_EQ(got(a, 5, 0, NULL), 1);
	ASSERT_INT_EQ(got(a, 5, 0, NULL), 0);
	ASSERT_INT_EQ(got(a, 8, 0, NULL), 0);
	ASSERT_INT_EQ(got(a, 7, SSH2_FX_NO_SUCH_FILE, NULL), 1);
	ASSERT_INT_EQ(sftp_ahead_take(a, msg), 0);
	ASSERT_INT_EQ(got(a, 6, 0, "/home/u"), 1);
	ASSERT_INT_EQ(got(a, 6, 0, "/home/u"), 0);
	ASSERT_INT_EQ(sftp_ahead_take(a, msg), 1);
	ASSERT_U_INT_EQ(PEEK_U32(sshbuf_ptr(msg) + 1), 99);
	ASSERT_INT_EQ(sftp_ahead_used(a), 0);
	TEST_DONE();

	TEST_START("ahead: a path below the one that the server starts in");
	ASSERT_INT_EQ(use(a, SSH2_FXP_STAT, "/home/dir/file"), 0);
	ASSERT_INT_EQ(use(a, SSH2_FXP_STAT, "/home/u/x/dir/file"), 0);
	ASSERT_INT_EQ(use(a, SSH2_FXP_STAT, "/home/u/dir/file"), 1);
	ASSERT_INT_EQ(sftp_ahead_take(a, msg), 1);
	ASSERT_INT_EQ(use(a, SSH2_FXP_STAT, "dir/file"), 0);
	ASSERT_INT_EQ(use(a, SSH2_FXP_REALPATH, "."), 0);
	TEST_DONE();
	sshbuf_free(msg);
}

/* Writes a file of a test and returns its path. */
static const char *
local_file(size_t size)
{
	static char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/test_sftp_ahead.%ld",
	    (long)getpid());
	ASSERT_PTR_NE(f = fopen(path, "w"), NULL);
	while (size-- > 0)
		fputc('x', f);
	ASSERT_INT_EQ(fclose(f), 0);
	return path;
}

static void
test_files(void)
{
	const char put[] = { SSH2_FXP_EXTENDED, SSH2_FXP_EXTENDED,
	    SSH2_FXP_WRITE, SSH2_FXP_FSETSTAT, SSH2_FXP_FSETSTAT,
	    SSH2_FXP_CLOSE, SSH2_FXP_EXTENDED };
	const char part[] = { SSH2_FXP_EXTENDED, SSH2_FXP_EXTENDED,
	    SSH2_FXP_WRITE };
	const char get[] = { SSH2_FXP_EXTENDED, SSH2_FXP_EXTENDED,
	    SSH2_FXP_READ, SSH2_FXP_READ, SSH2_FXP_READ,
	    SSH2_FXP_EXTENDED };
	const char none[] = { SSH2_FXP_EXTENDED, SSH2_FXP_STAT };
	const char after[] = { SSH2_FXP_EXTENDED, SSH2_FXP_STAT,
	    SSH2_FXP_LSTAT, SSH2_FXP_EXTENDED, SSH2_FXP_READ, SSH2_FXP_READ,
	    SSH2_FXP_READ, SSH2_FXP_EXTENDED };
	struct sftp_ahead *a;
	struct sshbuf *msg = sshbuf_new();
	const char *path;

	TEST_START("ahead: an upload, up to 32 KiB with its end");
	path = local_file(SFTP_AHEAD_DATA);
	sftp_plan_upload(path, "dest", "name", 1, 1, 1);
	a = compose(put, 7);
	ASSERT_SIZE_T_EQ(sftp_ahead_bytes(a), SFTP_AHEAD_DATA);
	ASSERT_INT_EQ(sftp_ahead_is_file(a), 1);
	ASSERT_PTR_NE(sftp_ahead_file(a, 1, "dest"), NULL);
	ASSERT_INT_EQ(sftp_ahead_is_file(a), 0);
	ASSERT_PTR_EQ(sftp_ahead_file(a, 1, "dest"), NULL);
	TEST_DONE();

	TEST_START("ahead: more than that, its first part");
	path = local_file(SFTP_AHEAD_DATA + 1);
	sftp_plan_upload(path, "dest/", "name", 1, 1, 1);
	a = compose(part, 3);
	ASSERT_SIZE_T_EQ(sftp_ahead_bytes(a), SFTP_AHEAD_DATA);
	ASSERT_PTR_NE(sftp_ahead_file(a, 1, "dest/name"), NULL);
	TEST_DONE();

	TEST_START("ahead: the last file");
	ASSERT_INT_EQ(sftp_ahead_is_last(a, 1, "dest/name"), 1);
	ASSERT_INT_EQ(sftp_ahead_is_last(a, 1, "dest/"), 1);
	ASSERT_INT_EQ(sftp_ahead_is_last(a, 0, "dest/name"), 0);
	ASSERT_INT_EQ(sftp_ahead_is_last(a, 1, "dest/names"), 0);
	ASSERT_INT_EQ(sftp_ahead_is_last(a, 1, "des"), 0);
	sftp_plan_upload(path, "dest", "name", 1, 1, 0);
	ASSERT_INT_EQ(sftp_ahead_is_last(compose(part, 3), 1, "dest"), 0);
	TEST_DONE();

	TEST_START("ahead: another file than planned");
	sftp_plan_upload(path, "dest", "name", 1, 1, 1);
	a = compose(part, 3);
	ASSERT_PTR_EQ(sftp_ahead_file(a, 1, "dest/names"), NULL);
	sftp_plan_upload(path, "dest", "name", 1, 1, 1);
	a = compose(part, 3);
	ASSERT_PTR_EQ(sftp_ahead_file(a, 0, "dest"), NULL);
	sftp_plan_upload(path, "dest", "name", 1, 1, 1);
	a = compose(part, 3);
	ASSERT_PTR_NE(sftp_ahead_file(a, 1, "dest/name"), NULL);
	TEST_DONE();
	unlink(path);

	TEST_START("ahead: a local file that is not there, or not one");
	sftp_plan_ask(SSH2_FXP_STAT, "dest");
	sftp_plan_upload(path, "dest", "name", 1, 1, 1);
	a = compose(none, 2);
	ASSERT_INT_EQ(sftp_ahead_is_file(a), 0);
	ASSERT_INT_EQ(sftp_ahead_is_last(a, 1, "dest"), 0);
	sftp_plan_ask(SSH2_FXP_STAT, "dest");
	sftp_plan_upload("/dev/null", "dest", "name", 1, 1, 1);
	(void)compose(none, 2);
	sftp_plan_ask(SSH2_FXP_STAT, "dest");
	sftp_plan_upload("/proc/version", "dest", "name", 1, 1, 1);
	(void)compose(none, 2);
	TEST_DONE();

	TEST_START("ahead: a download");
	sftp_plan_download("source", 1);
	a = compose(get, 6);
	ASSERT_PTR_NE(sftp_ahead_file(a, 0, "source"), NULL);
	ASSERT_INT_EQ(sftp_ahead_is_last(a, 0, "source"), 1);
	ASSERT_INT_EQ(sftp_ahead_is_last(a, 0, "source/x"), 0);
	sftp_plan_download("source", 0);
	a = compose(get, 5);
	ASSERT_INT_EQ(sftp_ahead_is_last(a, 0, "source"), 0);
	TEST_DONE();

	TEST_START("ahead: what is known of a file before its data");
	sftp_plan_ask(SSH2_FXP_STAT, "source");
	sftp_plan_ask(SSH2_FXP_LSTAT, "source");
	sftp_plan_download("source", 1);
	a = compose(after, 8);
	ASSERT_INT_EQ(got(a, 7, SSH2_FX_NO_SUCH_FILE, NULL), 1);
	ASSERT_INT_EQ(use(a, SSH2_FXP_LSTAT, "source"), 1);
	ASSERT_PTR_NE(sftp_ahead_file(a, 0, "source"), NULL);
	ASSERT_INT_EQ(sftp_ahead_take(a, msg), 1);
	ASSERT_INT_EQ(use(a, SSH2_FXP_STAT, "source"), 0);
	ASSERT_INT_EQ(got(a, 6, SSH2_FX_NO_SUCH_FILE, NULL), 1);
	sshbuf_free(msg);
	TEST_DONE();
}

/*
 * Answers a download's OPEN, or READ `i` (from 1) with len bytes; 0: with the
 * end of the file.
 */
static void
answer(struct sftp_burst *b, u_int i, size_t len)
{
	struct sshbuf *msg = sshbuf_new();
	u_char *data = calloc(1, len + 4);
	int type = i == 0 ? SSH2_FXP_HANDLE :
	    len != 0 ? SSH2_FXP_DATA : SSH2_FXP_STATUS;

	ASSERT_INT_EQ(sshbuf_put_u8(msg, type), 0);
	ASSERT_INT_EQ(sshbuf_put_u32(msg, b->first + i), 0);
	if (type == SSH2_FXP_STATUS)
		ASSERT_INT_EQ(sshbuf_put_u32(msg, SSH2_FX_EOF), 0);
	else
		ASSERT_INT_EQ(sshbuf_put_string(msg, data,
		    i == 0 ? 4 : len), 0);
	ASSERT_INT_EQ(sftp_burst_reply(b, msg), 0);
	sshbuf_free(msg);
	free(data);
}

/* Answers the request to end the session with a status (SSH2_FX_*). */
static void
answer_end(struct sftp_burst *b, u_int status)
{
	struct sshbuf *msg = sshbuf_new();

	ASSERT_INT_EQ(sshbuf_put_u8(msg, SSH2_FXP_STATUS), 0);
	ASSERT_INT_EQ(sshbuf_put_u32(msg, b->first + b->end), 0);
	ASSERT_INT_EQ(sshbuf_put_u32(msg, status), 0);
	ASSERT_INT_EQ(sftp_burst_reply(b, msg), 0);
	sshbuf_free(msg);
}

/*
 * Composes a download of a file of size bytes, of which the first READs are
 * answered.
 */
static void
download(struct sftp_burst *b, size_t size, u_int reads)
{
	const size_t len[SFTP_BURST_ANY] = SFTP_AHEAD_READS;
	struct sshbuf *out = sshbuf_new();
	u_int i;

	ASSERT_INT_EQ(sftp_burst_get_any(b, 5, "source", len, 1, out), 0);
	sshbuf_free(out);
	answer(b, 0, 0);
	for (i = 0; i < reads; i++) {
		answer(b, i + 1, size < len[i] ? size : len[i]);
		size -= size < len[i] ? size : len[i];
	}
}

static void
test_begin(void)
{
	const size_t all = SFTP_AHEAD_ALL, first = SFTP_AHEAD_FIRST;
	struct sftp_burst b;
	struct sshbuf *msg = sshbuf_new();
	size_t len[SFTP_BURST_ANY];
	u_int i;

	TEST_START("ahead: a large file begins with its first data");
	download(&b, all + 1, 0);
	ASSERT_INT_EQ(sftp_ahead_may_begin(&b, all + 1), 0);
	sftp_burst_end(&b);
	download(&b, all + 1, 1);
	ASSERT_INT_EQ(sftp_ahead_may_begin(&b, all + 1), 1);
	ASSERT_INT_EQ(sftp_ahead_may_begin(&b, all), 0);
	ASSERT_INT_EQ(sftp_ahead_lens(&b, len), 0);
	ASSERT_SIZE_T_EQ(len[0] + len[1] + len[2], all);
	sftp_burst_end(&b);
	download(&b, first - 1, 1);	/* not what its size says */
	ASSERT_INT_EQ(sftp_ahead_may_begin(&b, all + 1), 0);
	sftp_burst_end(&b);
	TEST_DONE();

	TEST_START("ahead: no READ of a small file is sent again");
	download(&b, 1, 3);
	answer_end(&b, SSH2_FX_OK);
	ASSERT_INT_EQ(sftp_ahead_lens(&b, len), 0);
	ASSERT_SIZE_T_EQ(len[0], 1);
	sftp_burst_end(&b);
	download(&b, first + 1, 3);
	answer_end(&b, SSH2_FX_OK);
	ASSERT_INT_EQ(sftp_ahead_lens(&b, len), 0);
	ASSERT_SIZE_T_EQ(len[0], first);
	ASSERT_SIZE_T_EQ(len[1], 1);
	sftp_burst_end(&b);
	download(&b, 0, 3);
	answer_end(&b, SSH2_FX_OK);
	ASSERT_INT_EQ(sftp_ahead_lens(&b, len), 0);
	ASSERT_SIZE_T_EQ(len[0], first);
	sftp_burst_end(&b);
	TEST_DONE();

	TEST_START("ahead: a READ that got less than there is is sent again");
	download(&b, 1, 3);
	answer_end(&b, SSH2_FX_FAILURE);
	ASSERT_INT_EQ(sftp_ahead_lens(&b, len), 0);
	ASSERT_SIZE_T_EQ(len[0] + len[1] + len[2], all);
	sftp_burst_end(&b);
	download(&b, 0, 0);	/* it grew between two READs */
	answer(&b, 1, first - 1);
	answer(&b, 2, 1);
	answer(&b, 3, 0);
	answer_end(&b, SSH2_FX_OK);
	ASSERT_INT_EQ(sftp_ahead_lens(&b, len), 0);
	ASSERT_SIZE_T_EQ(len[0], first);
	ASSERT_SIZE_T_EQ(len[1], 1);
	sftp_burst_end(&b);
	TEST_DONE();

	TEST_START("ahead: no data follows the end");
	download(&b, 0, 0);	/* it grew between two READs */
	answer(&b, 1, 0);
	answer(&b, 2, 1);
	answer(&b, 3, 1);
	answer_end(&b, SSH2_FX_FAILURE);
	ASSERT_INT_EQ(sftp_ahead_lens(&b, len), 0);
	ASSERT_SIZE_T_EQ(sftp_burst_read_len(&b, 1), 0);
	ASSERT_SIZE_T_EQ(sftp_burst_read_len(&b, 2), 0);
	for (i = 0; i < SFTP_BURST_ANY; i++) {
		ASSERT_INT_EQ(sftp_burst_take(&b, msg), 1);
		ASSERT_U_INT_EQ(PEEK_U32(sshbuf_ptr(msg) + 1),
		    b.first + 1 + i);
	}
	sftp_burst_end(&b);
	download(&b, 0, 0);
	answer(&b, 1, 1);
	answer(&b, 2, 0);
	answer(&b, 3, 1);
	answer_end(&b, SSH2_FX_FAILURE);
	ASSERT_INT_EQ(sftp_ahead_lens(&b, len), 0);
	ASSERT_SIZE_T_EQ(len[0], 1);
	ASSERT_SIZE_T_EQ(sftp_burst_read_len(&b, 2), 0);
	sftp_burst_end(&b);
	download(&b, 0, 0);
	answer(&b, 1, 1);
	answer(&b, 2, 1);
	answer(&b, 3, 0);
	answer_end(&b, SSH2_FX_FAILURE);
	ASSERT_INT_EQ(sftp_ahead_lens(&b, len), 0);
	ASSERT_SIZE_T_EQ(len[0], first);
	ASSERT_SIZE_T_EQ(sftp_burst_read_len(&b, 1), 1);
	sftp_burst_end(&b);
	sshbuf_free(msg);
	TEST_DONE();
}

/* Returns the plan's file of a batch file with len bytes, or NULL. */
static const char *
batch_of(const char *text, size_t len)
{
	const struct sftp_plan *p;
	FILE *f = tmpfile();

	ASSERT_PTR_NE(f, NULL);
	ASSERT_SIZE_T_EQ(fwrite(text, 1, len, f), len);
	rewind(f);
	sftp_plan_forget();
	sftp_plan_batch(f, 0);
	ASSERT_LONG_EQ(ftell(f), 0);
	fclose(f);
	p = sftp_plan_current();
	return p == NULL ? NULL : p->local != NULL ? p->local : p->remote;
}

static const char *
batch(const char *text)
{
	return batch_of(text, strlen(text));
}

/* The plan asks this question as its ith. */
static void
asks(u_int i, u_char type, const char *path)
{
	const struct sftp_plan *p = sftp_plan_current();

	ASSERT_PTR_NE(p, NULL);
	ASSERT_U_INT_LT(i, p->n);
	ASSERT_U8_EQ(p->ask[i].type, type);
	ASSERT_STRING_EQ(p->ask[i].path, path);
}

/* What a batch asks first, and how long it may be. */
static void
test_batch_limits(void)
{
	char text[SFTP_PLAN_BATCH + 1];
	size_t before;
	FILE *f;

	TEST_START("plan: the questions of a batch");
	ASSERT_STRING_EQ(batch("put a\n"), "a");
	ASSERT_U_INT_EQ(sftp_plan_current()->n, 1);
	asks(0, SSH2_FXP_REALPATH, ".");
	ASSERT_INT_EQ(sftp_plan_current()->end, 1);
	ASSERT_INT_EQ(sftp_plan_current()->truncate, 0);
	ASSERT_STRING_EQ(batch("put a b\n"), "a");
	ASSERT_U_INT_EQ(sftp_plan_current()->n, 2);
	asks(0, SSH2_FXP_REALPATH, ".");
	asks(1, SSH2_FXP_STAT, "b");
	ASSERT_STRING_EQ(batch("get a b\n"), "a");
	ASSERT_U_INT_EQ(sftp_plan_current()->n, 3);
	asks(0, SSH2_FXP_REALPATH, ".");
	asks(1, SSH2_FXP_LSTAT, "a");
	asks(2, SSH2_FXP_STAT, "a");
	ASSERT_INT_EQ(sftp_plan_current()->end, 1);
	sftp_plan_ask(SSH2_FXP_STAT, "d");
	sftp_plan_ask(SSH2_FXP_STAT, "e");
	ASSERT_U_INT_EQ(sftp_plan_current()->n, SFTP_PLAN_ASKS);
	asks(3, SSH2_FXP_STAT, "d");
	sftp_plan_forget();
	ASSERT_PTR_EQ(sftp_plan_current(), NULL);
	before = mallinfo2().uordblks;
	sftp_plan_ask(SSH2_FXP_STAT, "d");
	sftp_plan_ask(SSH2_FXP_STAT, "e");
	ASSERT_PTR_NE(sftp_plan_current(), NULL);
	sftp_plan_forget();
	ASSERT_SIZE_T_EQ(mallinfo2().uordblks, before);
	TEST_DONE();

	TEST_START("plan: a batch that is too long, or odd");
	memset(text, ' ', sizeof(text));
	memcpy(text, "put a", 5);
	ASSERT_PTR_EQ(batch_of(text, SFTP_PLAN_BATCH + 1), NULL);
	ASSERT_PTR_EQ(batch_of(text, SFTP_PLAN_BATCH), NULL);
	ASSERT_STRING_EQ(batch_of(text, SFTP_PLAN_BATCH - 1), "a");
	ASSERT_PTR_EQ(batch_of("put a\0b\n", 8), NULL);
	ASSERT_PTR_NE(f = tmpfile(), NULL);
	fputs("put a\nput a\n", f);
	fseek(f, 6, SEEK_SET);
	sftp_plan_forget();
	sftp_plan_batch(f, 0);
	ASSERT_PTR_EQ(sftp_plan_current(), NULL);
	fclose(f);
	ASSERT_PTR_NE(f = popen("echo put a", "r"), NULL);
	sftp_plan_batch(f, 0);
	ASSERT_PTR_EQ(sftp_plan_current(), NULL);
	pclose(f);
	TEST_DONE();
}

/* An upload of what is worth several connections */
static void
test_large(void)
{
	char path[] = "/tmp/plan.XXXXXXXXXX";
	int fd;

	TEST_START("plan: a large file");
	ASSERT_INT_EQ(sftp_plan_is_large(), 0);
	sftp_plan_upload("/", "dest", NULL, 0, 0, 0);
	sftp_plan_forget();
	ASSERT_INT_NE(fd = mkstemp(path), -1);
	ASSERT_INT_EQ(ftruncate(fd, SFTP_PARALLEL_MIN - 1), 0);
	sftp_plan_upload(path, "dest", NULL, 0, 0, 0);
	sftp_plan_forget();
	ASSERT_INT_EQ(sftp_plan_is_large(), 0);
	ASSERT_INT_EQ(ftruncate(fd, SFTP_PARALLEL_MIN), 0);
	sftp_plan_upload(path, "dest", NULL, 0, 0, 0);
	sftp_plan_forget();
	ASSERT_INT_EQ(sftp_plan_is_large(), 1);
	close(fd);
	unlink(path);
	TEST_DONE();
}

static void
test_batches(void)
{
	static const char *const others[] = { "", "put\n", "put a b c\n",
	    "put a b\nput c d\n", "put a*\n", "get \"a\"\n", "-put a\n",
	    "put -r a\n", "ls a\n", "put a b # c\n", "@put a\n", "get a\\b\n",
	    "put a\n\nls\n", "get -p\n", "!put a\n", "put a b; ls\n",
	    "put a b\r\n", "put a b\v\n", "put a\fb\n" };
	size_t i;

	TEST_START("plan: a batch of one plain command");
	ASSERT_STRING_EQ(batch("put a\n"), "a");
	ASSERT_STRING_EQ(sftp_plan_current()->remote, "a");
	ASSERT_PTR_EQ(sftp_plan_current()->name, NULL);
	ASSERT_STRING_EQ(batch("put  d/a\tb"), "d/a");
	ASSERT_STRING_EQ(sftp_plan_current()->remote, "b");
	ASSERT_STRING_EQ(sftp_plan_current()->name, "a");
	ASSERT_INT_EQ(sftp_plan_current()->preserve, 0);
	ASSERT_STRING_EQ(batch("put -p a b\n"), "a");
	ASSERT_INT_EQ(sftp_plan_current()->preserve, 1);
	ASSERT_STRING_EQ(batch("get a b\n"), "a");
	TEST_DONE();

	TEST_START("plan: no other batch");
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		ASSERT_PTR_EQ(batch(others[i]), NULL);
	TEST_DONE();
}

/* Returns 1 if a session may end behind two READs with these answers. */
static int
reads(struct sftp_end *e, u_int one, u_int other)
{
	sftp_end_answered(e, SSH2_FXP_READ, one);
	sftp_end_answered(e, SSH2_FXP_READ, other);
	return sftp_end_may(e, 2);
}

static void
test_end(void)
{
	struct sftp_end e = { 0 };

	TEST_START("end: all of the last requests have to succeed");
	ASSERT_INT_EQ(sftp_end_may(&e, 0), 0);
	ASSERT_INT_EQ(sftp_end_may(&e, 1), 0);
	sftp_end_answered(&e, SSH2_FXP_STAT, SSH2_FX_NO_SUCH_FILE);
	ASSERT_INT_EQ(sftp_end_may(&e, 1), 0);
	sftp_end_answered(&e, SSH2_FXP_OPEN, SSH2_FX_OK);
	sftp_end_answered(&e, SSH2_FXP_WRITE, SSH2_FX_OK);
	ASSERT_INT_EQ(sftp_end_may(&e, 0), 0);
	ASSERT_INT_EQ(sftp_end_may(&e, 1), 1);
	ASSERT_INT_EQ(sftp_end_may(&e, 2), 1);
	ASSERT_INT_EQ(sftp_end_may(&e, 3), 0);
	ASSERT_INT_EQ(sftp_end_may(&e, UINT32_MAX), 0);
	TEST_DONE();

	TEST_START("end: the last READ has to find the end");
	sftp_end_answered(&e, SSH2_FXP_READ, SSH2_FX_OK);
	ASSERT_INT_EQ(sftp_end_may(&e, 1), 0);
	sftp_end_answered(&e, SSH2_FXP_CLOSE, SSH2_FX_OK);
	ASSERT_INT_EQ(sftp_end_may(&e, 1), 1);
	ASSERT_INT_EQ(sftp_end_may(&e, 2), 0);
	sftp_end_answered(&e, SSH2_FXP_READ, SSH2_FX_EOF);
	ASSERT_INT_EQ(sftp_end_may(&e, 4), 1);
	sftp_end_answered(&e, SSH2_FXP_READ, SSH2_FX_FAILURE);
	ASSERT_INT_EQ(sftp_end_may(&e, 1), 0);
	TEST_DONE();

	TEST_START("end: all that there was has to have been read");
	sftp_end_answered(&e, SSH2_FXP_OPEN, SSH2_FX_OK);
	sftp_end_short(&e, 1);
	ASSERT_INT_EQ(reads(&e, SSH2_FX_OK, SSH2_FX_EOF), 1);
	sftp_end_answered(&e, SSH2_FXP_OPEN, SSH2_FX_OK);
	sftp_end_short(&e, 0);
	ASSERT_INT_EQ(reads(&e, SSH2_FX_OK, SSH2_FX_EOF), 0);
	sftp_end_answered(&e, SSH2_FXP_OPEN, SSH2_FX_OK);
	ASSERT_INT_EQ(reads(&e, SSH2_FX_OK, SSH2_FX_EOF), 1);
	TEST_DONE();

	TEST_START("end: no data behind a short READ, or behind the end");
	sftp_end_answered(&e, SSH2_FXP_OPEN, SSH2_FX_OK);
	sftp_end_short(&e, 1);
	sftp_end_answered(&e, SSH2_FXP_READ, SSH2_FX_OK);
	ASSERT_INT_EQ(reads(&e, SSH2_FX_OK, SSH2_FX_EOF), 0);
	sftp_end_answered(&e, SSH2_FXP_OPEN, SSH2_FX_OK);
	sftp_end_answered(&e, SSH2_FXP_READ, SSH2_FX_EOF);
	ASSERT_INT_EQ(reads(&e, SSH2_FX_OK, SSH2_FX_EOF), 0);
	sftp_end_answered(&e, SSH2_FXP_CLOSE, SSH2_FX_OK);
	ASSERT_INT_EQ(reads(&e, SSH2_FX_OK, SSH2_FX_EOF), 1);
	TEST_DONE();
}

void
test_sftp_ahead(void)
{
	test_asks();
	test_files();
	test_begin();
	test_batches();
	test_batch_limits();
	test_large();
	test_end();
}
