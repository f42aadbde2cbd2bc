/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/* The files that a process leaves incomplete, and what it says of them. */

#include "includes.h"

#include <sys/types.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "sftp-incomplete.h"

#define FILES	512	/* for which there are places */

void test_sftp_incomplete(void);

/* Calls f with i and puts what it prints into text. Returns its length. */
static ssize_t
printed(void (*f)(int), int i, char *text, size_t len)
{
	char path[] = "/tmp/incomplete.XXXXXXXXXX";
	int fd, stderr_fd;
	ssize_t n;

	ASSERT_INT_NE(fd = mkstemp(path), -1);
	ASSERT_INT_EQ(unlink(path), 0);
	ASSERT_INT_NE(stderr_fd = dup(STDERR_FILENO), -1);
	ASSERT_INT_NE(dup2(fd, STDERR_FILENO), -1);
	f(i);
	ASSERT_INT_NE(dup2(stderr_fd, STDERR_FILENO), -1);
	close(stderr_fd);
	ASSERT_INT_NE(n = pread(fd, text, len - 1, 0), -1);
	text[n] = '\0';
	close(fd);
	return n;
}

static void
report(int i)
{
	sftp_incomplete_print_all();
}

void
test_sftp_incomplete(void)
{
	const char *first = "incomplete: \"a\\033b\"\r\n";
	const char *both = "incomplete: \"a\\033b\"\r\n"
	    "incomplete: \"c\"\r\n";
	static char text[FILES * 40];
	int i, j;

	TEST_START("sftp incomplete: what is said of files");
	ASSERT_INT_NE(i = sftp_incomplete_begin("a\033b"), -1);
	ASSERT_INT_GT(printed(sftp_incomplete_print_one, i, text,
	    sizeof(text)), 0);
	ASSERT_STRING_EQ(text, first);
	ASSERT_INT_NE(j = sftp_incomplete_begin("c"), -1);
	ASSERT_INT_NE(i, j);
	ASSERT_INT_GT(printed(report, 0, text, sizeof(text)), 0);
	ASSERT_STRING_EQ(text, both);
	sftp_incomplete_end(i);
	ASSERT_INT_EQ(printed(sftp_incomplete_print_one, i, text,
	    sizeof(text)), 0);
	/* Its place is free. */
	ASSERT_INT_EQ(sftp_incomplete_begin("a\033b"), i);
	ASSERT_INT_GT(printed(sftp_incomplete_print_one, i, text,
	    sizeof(text)), 0);
	ASSERT_STRING_EQ(text, first);
	sftp_incomplete_end(i);
	sftp_incomplete_end(j);
	ASSERT_INT_EQ(printed(report, 0, text, sizeof(text)), 0);
	TEST_DONE();

	TEST_START("sftp incomplete: more files than there are places");
	for (i = 0; i < FILES; i++)
		ASSERT_INT_EQ(sftp_incomplete_begin("file"), i);
	ASSERT_INT_EQ(sftp_incomplete_begin("file"), -1);
	ASSERT_INT_EQ(printed(sftp_incomplete_print_one, -1, text,
	    sizeof(text)), 0);
	sftp_incomplete_end(-1);
	ASSERT_INT_EQ(printed(report, 0, text, sizeof(text)), FILES *
	    strlen("incomplete: \"file\"\r\n"));
	for (i = 0; i < FILES; i++)
		sftp_incomplete_end(i);
	ASSERT_INT_EQ(printed(report, 0, text, sizeof(text)), 0);
	TEST_DONE();
}
