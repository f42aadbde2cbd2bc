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
 * What functions return where memory runs out, at any of their allocations:
 * SSH_ERR_ALLOC_FAIL, unless all is there, and nothing leaks. And where a
 * buffer is too small.
 */

#include "includes.h"

#include <sys/types.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "bdp-options.h"
#include "log.h"
#include "memory.h"
#include "quick-entry.h"
#include "quick-known.h"
#include "sftp.h"
#include "sftp-burst.h"
#include "sftp-check-file.h"
#include "sftp-common.h"
#include "sshbuf.h"
#include "ssherr.h"

#define ID	7

/* Lengths of a name: with one of them, any field is where a buffer grows. */
#define NAMES	300

void test_no_memory(void);

static char name[NAMES + 1];
static char path[64];		/* of a file of logins */
static size_t made;		/* bytes that were composed */

/* Calls f with each allocation failing in turn. Returns how many there are. */
static u_int
each_fails(int (*f)(void))
{
	size_t before, all;
	u_int n;
	int r;

	ASSERT_INT_EQ(f(), 0);
	all = made;
	for (n = 1; ; n++) {
		before = mallinfo2().uordblks;
		memory_fail(n);
		r = f();
		if (!memory_failed())
			break;
		memory_fail(0);
		/* A buffer that can't be made smaller stays as it is. */
		if (r != 0)
			ASSERT_INT_EQ(r, SSH_ERR_ALLOC_FAIL);
		else
			ASSERT_SIZE_T_EQ(made, all);
		ASSERT_SIZE_T_EQ(mallinfo2().uordblks, before);
	}
	memory_fail(0);
	ASSERT_INT_EQ(r, 0);
	return n - 1;
}

/* Calls f with names of all lengths, and fails each of its allocations. */
static void
each_name(int (*f)(void))
{
	u_int n = 0;
	size_t i;

	for (i = 1; i <= NAMES; i++) {
		memset(name, 'n', i);
		name[i] = '\0';
		n += each_fails(f);
	}
	ASSERT_U_INT_GE(n, 2 * NAMES);
}

static int
put(void)
{
	static u_char data[2000];
	struct sftp_burst b;
	struct sshbuf *out;
	Attrib a = { .flags = SSH2_FILEXFER_ATTR_PERMISSIONS };
	struct sftp_burst_put file = { .path = name, .name = "name",
	    .data = data, .len = sizeof(data), .attrs = &a, .truncate = 1,
	    .times = &a, .end = 1 };
	int r;

	if ((out = sshbuf_new()) == NULL)
		return SSH_ERR_ALLOC_FAIL;
	r = sftp_burst_put(&b, ID, &file, out);
	made = sshbuf_len(out);
	sshbuf_free(out);
	return r;
}

static int
get(void)
{
	const size_t len[SFTP_BURST_KEPT] = { 1000, 1000 };
	struct sftp_burst b;
	struct sshbuf *out;
	int r;

	if ((out = sshbuf_new()) == NULL)
		return SSH_ERR_ALLOC_FAIL;
	r = sftp_burst_get(&b, ID, name, 1000, len, out);
	made = sshbuf_len(out);
	sshbuf_free(out);
	return r;
}

static int
get_any(void)
{
	const size_t len[SFTP_BURST_ANY] = { 1000, 1000, 1000 };
	struct sftp_burst b;
	struct sshbuf *out;
	int r;

	if ((out = sshbuf_new()) == NULL)
		return SSH_ERR_ALLOC_FAIL;
	r = sftp_burst_get_any(&b, ID, name, len, 1, out);
	made = sshbuf_len(out);
	sshbuf_free(out);
	return r;
}

/* A server's reply, which the burst keeps */
static struct sshbuf *reply;
static struct sftp_burst burst;

static int
keep_reply(void)
{
	int r;

	burst.requests = burst.outstanding = 4;
	burst.answered = 0;
	burst.first = ID;
	burst.reads = 2;
	burst.any_size = 1;
	r = sftp_burst_reply(&burst, reply);
	made = r == 0 ? sshbuf_len(burst.kept[0]) : 0;
	sshbuf_free(burst.kept[0]);
	burst.kept[0] = NULL;
	return r;
}

static void
bursts(void)
{
	TEST_START("no memory: the burst of an upload");
	each_name(put);
	TEST_DONE();
	TEST_START("no memory: the burst of a download");
	each_name(get);
	TEST_DONE();
	TEST_START("no memory: one of a file of any size");
	each_name(get_any);
	TEST_DONE();
	TEST_START("no memory: a reply that is kept");
	ASSERT_PTR_NE(reply = sshbuf_new(), NULL);
	ASSERT_INT_EQ(sshbuf_put_u8(reply, SSH2_FXP_DATA), 0);
	ASSERT_INT_EQ(sshbuf_put_u32(reply, ID + 1), 0);
	ASSERT_INT_EQ(sshbuf_put_string(reply, name, NAMES), 0);
	ASSERT_U_INT_GE(each_fails(keep_reply), 2);
	sshbuf_free(reply);
	TEST_DONE();
}

/* A login that is to be remembered: to salt it takes memory, or is fatal. */
static struct quick_entry entry;

static int
replace(void)
{
	int r = quick_known_replace(path, "host", "user", &entry, 0, 0);

	made = r == 0;
	return r;
}

static int
load(void)
{
	static struct quick_known known;
	int r = quick_known_load(&known, path);

	made = known.num;
	return r;
}

/* There is nothing to forget. It says nothing if there is no memory. */
static int
forget(void)
{
	quick_known_forget(path, "another host");
	return memory_failed() ? SSH_ERR_ALLOC_FAIL : 0;
}

static void
logins(void)
{
	char dir[] = "/tmp/memory.XXXXXXXXXX", fresh[80];
	struct stat st;

	TEST_START("no memory: a login that is to be remembered");
	ASSERT_PTR_NE(mkdtemp(dir), NULL);
	snprintf(path, sizeof(path), "%s/quick_hosts", dir);
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	ASSERT_INT_EQ(quick_entry_new(&entry, "host", "user"), 0);
	ASSERT_U_INT_GE(each_fails(replace), 3);
	ASSERT_INT_EQ(stat(path, &st), 0);
	ASSERT_INT_EQ(stat(fresh, &st), -1);
	ASSERT_U_INT_GE(each_fails(load), 1);
	unlink(path);
	snprintf(path, sizeof(path), "%s/known_hosts", dir);
	ASSERT_U_INT_GE(each_fails(forget), 1);
	ASSERT_INT_EQ(rmdir(dir), 0);
	TEST_DONE();
}

static int
request(struct sshbuf *b)
{
	return sftp_check_request(b, ID, (const u_char *)"handle", 6, 1, 2);
}

static int
options(struct sshbuf *b)
{
	struct bdp_options o = { .tcp_congestion = "cubic" };

	return bdp_options_put(&o, b);
}

static int fd;		/* of a file of a few bytes */

static int
digest(struct sshbuf *b)
{
	return sftp_check_file(fd, 0, 0, 0, -1, -1, b);
}

static int
line(struct sshbuf *b)
{
	return quick_entry_put(&entry, b);
}

/* Calls f with buffers that are too small, by any number of bytes. */
static void
each_size(int (*f)(struct sshbuf *b))
{
	struct sshbuf *b = sshbuf_new();
	size_t len, i;

	ASSERT_PTR_NE(b, NULL);
	ASSERT_INT_EQ(f(b), 0);
	len = sshbuf_len(b);
	ASSERT_SIZE_T_GT(len, 4);
	sshbuf_free(b);
	for (i = 1; i < len; i++) {
		ASSERT_PTR_NE(b = sshbuf_new(), NULL);
		ASSERT_INT_EQ(sshbuf_set_max_size(b, i), 0);
		ASSERT_INT_EQ(f(b), SSH_ERR_NO_BUFFER_SPACE);
		sshbuf_free(b);
	}
}

static void
buffers(void)
{
	char file[] = "/tmp/memory.XXXXXXXXXX";

	TEST_START("no room in a buffer");
	each_size(request);
	each_size(line);
	log_init("test", SYSLOG_LEVEL_QUIET, SYSLOG_FACILITY_AUTH, 1);
	each_size(options);
	log_init("test", SYSLOG_LEVEL_INFO, SYSLOG_FACILITY_AUTH, 1);
	ASSERT_INT_NE(fd = mkstemp(file), -1);
	ASSERT_INT_EQ(unlink(file), 0);
	ASSERT_INT_EQ(write(fd, "data", 4), 4);
	each_size(digest);
	close(fd);
	TEST_DONE();
}

void
test_no_memory(void)
{
	bursts();
	logins();
	buffers();
}
