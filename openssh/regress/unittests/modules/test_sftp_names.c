/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/* The names in a directory, and that no memory is left. */

#include "includes.h"

#include <sys/types.h>
#include <sys/stat.h>

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "sftp-names.h"

#define FILES		300
#define TIMES		50

void test_sftp_names(void);

static char folder[64];

/* Returns the bytes that are allocated. */
static size_t
allocated(void)
{
	return mallinfo2().uordblks;
}

/* Reads the names. Returns how many there are that begin with "file". */
static u_int
count(void)
{
	struct sftp_names *names;
	const char *name;
	u_int n = 0;
	DIR *dir;

	ASSERT_PTR_NE(dir = opendir(folder), NULL);
	names = sftp_names_read(dir);
	while ((name = sftp_names_next(names)) != NULL)
		n += strncmp(name, "file", 4) == 0 && strlen(name) == 7;
	ASSERT_PTR_EQ(sftp_names_next(names), NULL);
	sftp_names_free(names);
	return n;
}

void
test_sftp_names(void)
{
	char path[128];
	size_t before;
	FILE *f;
	u_int i;

	snprintf(folder, sizeof(folder), "/tmp/test_sftp_names.%ld",
	    (long)getpid());
	ASSERT_INT_EQ(mkdir(folder, 0700), 0);
	for (i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/file%03u", folder, i);
		ASSERT_PTR_NE(f = fopen(path, "w"), NULL);
		ASSERT_INT_EQ(fclose(f), 0);
	}
	TEST_START("sftp names: all of them, and their memory is freed");
	ASSERT_U32_EQ(count(), FILES);
	before = allocated();
	for (i = 0; i < TIMES; i++)
		ASSERT_U32_EQ(count(), FILES);
	ASSERT_SIZE_T_LT(allocated(), before + 1024);
	sftp_names_free(NULL);
	TEST_DONE();
	for (i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/file%03u", folder, i);
		unlink(path);
	}
	rmdir(folder);
}
