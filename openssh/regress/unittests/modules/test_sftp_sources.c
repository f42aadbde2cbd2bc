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

/* Whether what is to be uploaded is large */

#include "includes.h"

#include <sys/types.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "fake.h"
#include "sftp-sources.h"

void test_sftp_sources(void);

static char top[PATH_MAX];

/* Returns a path below the test's directory. Good until the next call. */
static char *
below(const char *name)
{
	static char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	return path;
}

/* Makes a sparse file of `size` bytes. */
static void
file(const char *name, off_t size)
{
	int fd = open(below(name), O_WRONLY | O_CREAT, 0600);

	ASSERT_INT_NE(fd, -1);
	ASSERT_INT_EQ(ftruncate(fd, size), 0);
	close(fd);
}

static int
hold(const char *name, int recursive, uint64_t bytes)
{
	char *path = below(name);

	return sftp_sources_hold(&path, 1, recursive, bytes);
}

static void
sums(void)
{
	char *two[2], missing[] = "/nonexistent/file";

	file("a", 1000);
	ASSERT_INT_EQ(hold("a", 0, 1000), 1);
	ASSERT_INT_EQ(hold("a", 0, 1001), 0);
	ASSERT_INT_EQ(hold("none", 1, 1), 0);
	two[0] = strdup(below("a"));
	two[1] = two[0];
	ASSERT_INT_EQ(sftp_sources_hold(two, 2, 0, 2000), 1);
	ASSERT_INT_EQ(sftp_sources_hold(two, 2, 0, 2001), 0);
	two[1] = missing;
	ASSERT_INT_EQ(sftp_sources_hold(two, 2, 0, 1001), 0);
	ASSERT_INT_EQ(sftp_sources_hold(two, 2, 0, 1000), 1);
	free(two[0]);
	/* Nobody opens a pipe to look at it. */
	ASSERT_INT_EQ(mkfifo(below("pipe"), 0600), 0);
	ASSERT_INT_EQ(hold("pipe", 1, 1), 0);
}

static void
trees(void)
{
	ASSERT_INT_EQ(mkdir(below("tree"), 0700), 0);
	ASSERT_INT_EQ(mkdir(below("tree/sub"), 0700), 0);
	file("tree/b", 10);
	file("tree/sub/c", 90);
	ASSERT_INT_EQ(hold("tree", 1, 100), 1);
	ASSERT_INT_EQ(hold("tree", 1, 101), 0);
	ASSERT_INT_EQ(hold("tree", 0, 1), 0);
	/* As scp does, a link counts as what it leads to. */
	ASSERT_INT_EQ(symlink("../a", below("tree/link")), 0);
	ASSERT_INT_EQ(hold("tree", 1, 1100), 1);
	ASSERT_INT_EQ(hold("tree", 1, 1101), 0);
}

/* What has many names may hold anything: it ends, and says so. */
static void
many(void)
{
	static char *given[SFTP_SOURCES_NAMES + 20];
	char name[32], none[] = "/nonexistent/file";
	int i;

	ASSERT_INT_EQ(mkdir(below("many"), 0700), 0);
	for (i = 0; i < SFTP_SOURCES_NAMES - 2; i++) {
		snprintf(name, sizeof(name), "many/%d", i);
		file(name, 0);
	}
	ASSERT_INT_EQ(hold("many", 1, 1), 0);
	file("many/one more", 0);
	ASSERT_INT_EQ(hold("many", 1, 1), 1);
	/* So do many that are given. */
	for (i = 0; i < SFTP_SOURCES_NAMES + 20; i++)
		given[i] = none;
	ASSERT_INT_EQ(sftp_sources_hold(given, SFTP_SOURCES_NAMES - 1, 0, 1),
	    0);
	ASSERT_INT_EQ(sftp_sources_hold(given, SFTP_SOURCES_NAMES + 20, 0, 1),
	    1);
	/* A loop has names without end. */
	ASSERT_INT_EQ(mkdir(below("loop"), 0700), 0);
	ASSERT_INT_EQ(symlink(".", below("loop/a")), 0);
	ASSERT_INT_EQ(symlink(".", below("loop/b")), 0);
	ASSERT_INT_EQ(hold("loop", 1, 1), 1);
}

/* Each name takes so long: the second one is not looked at. */
static void
slow(void)
{
	char *two[2];

	two[0] = two[1] = below("a");
	ASSERT_INT_EQ(sftp_sources_hold(two, 2, 0, UINT64_MAX), 0);
	fake.step_us = SFTP_SOURCES_S * 1e6 * 6 / 10;
	ASSERT_INT_EQ(sftp_sources_hold(two, 1, 0, UINT64_MAX), 0);
	ASSERT_INT_EQ(sftp_sources_hold(two, 2, 0, UINT64_MAX), 1);
}

void
test_sftp_sources(void)
{
	char command[PATH_MAX + 16];

	fake_reset();
	fake.now_us = 1000000;		/* no time passes */
	strlcpy(top, "/tmp/bdp-sources.XXXXXXXX", sizeof(top));
	ASSERT_PTR_NE(mkdtemp(top), NULL);
	TEST_START("sftp sources: sizes add up");
	sums();
	TEST_DONE();
	TEST_START("sftp sources: trees");
	trees();
	TEST_DONE();
	TEST_START("sftp sources: many names");
	many();
	TEST_DONE();
	TEST_START("sftp sources: a slow file system");
	slow();
	fake_reset();
	TEST_DONE();
	snprintf(command, sizeof(command), "rm -r %s", top);
	ASSERT_INT_EQ(system(command), 0);
}
