/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/* The option ChannelWindowMax, and the memory its default depends on. */

#include "includes.h"

#include <sys/types.h>
#include <sys/stat.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "window-max.h"

#define MIB	(1024 * 1024)
#define GIB	(1024ULL * MIB)

void test_window_max(void);

static void
parse(void)
{
	static const struct {
		const char *arg, *error;
		int value;
	} *t, tests[] = {
		{ "none", NULL, 0 },
		{ "2M", NULL, 2 * MIB },
		{ "2097152", NULL, 2 * MIB },
		{ "3000k", NULL, 3000 * 1024 },
		{ "64M", NULL, 64 * MIB },
		{ "1G", NULL, 1024 * MIB },
		{ "", "bad number", 0 },
		{ "M", "bad number", 0 },
		{ "64Q", "bad number", 0 },
		{ "None", "bad number", 0 },
		{ "99999999999999999999", "bad number", 0 },
		{ "0", "too small", 0 },
		{ "2097151", "too small", 0 },
		{ "-64M", "too small", 0 },
		{ "1073741825", "too large", 0 },
		{ "4G", "too large", 0 },
	};
	size_t i;
	int value;

	TEST_START("window max, sizes out of bounds are refused");
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		t = &tests[i];
		test_subtest_info("\"%s\"", t->arg == NULL ? "" : t->arg);
		value = -1;
		if (t->error == NULL) {
			ASSERT_PTR_EQ((void *)window_max_parse(t->arg, &value),
			    NULL);
			ASSERT_INT_EQ(value, t->value);
		} else {
			ASSERT_STRING_EQ(window_max_parse(t->arg, &value),
			    t->error);
			ASSERT_INT_EQ(value, -1);
		}
	}
	TEST_DONE();
}

/* Writes text to a file under root, and makes the folders on the way. */
static void
put(const char *root, const char *name, const char *text)
{
	char path[512];
	char *p;
	FILE *f;

	snprintf(path, sizeof(path), "%s%s", root, name);
	for (p = path + strlen(root) + 1; (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		(void)mkdir(path, 0700);
		*p = '/';
	}
	ASSERT_PTR_NE((f = fopen(path, "w")), NULL);
	ASSERT_INT_NE(fputs(text, f), EOF);
	ASSERT_INT_EQ(fclose(f), 0);
}

static void
memory(void)
{
	char root[] = "/tmp/test_window_max.XXXXXX", command[64];

	TEST_START("window max, memory of machine and cgroup");
	ASSERT_PTR_NE(mkdtemp(root), NULL);
	ASSERT_U64_EQ(window_max_memory_of(root, 4 * GIB), 4 * GIB);
	put(root, "/proc/self/cgroup", "0::/a.slice/b.service\n");
	ASSERT_U64_EQ(window_max_memory_of(root, 4 * GIB), 4 * GIB);
	/* version 2: that of the cgroup, or of one over it */
	put(root, "/sys/fs/cgroup/a.slice/b.service/memory.max", "max\n");
	ASSERT_U64_EQ(window_max_memory_of(root, 4 * GIB), 4 * GIB);
	put(root, "/sys/fs/cgroup/a.slice/b.service/memory.max", "0\n");
	ASSERT_U64_EQ(window_max_memory_of(root, 4 * GIB), 4 * GIB);
	put(root, "/sys/fs/cgroup/a.slice/memory.max", "1073741824\n");
	ASSERT_U64_EQ(window_max_memory_of(root, 4 * GIB), 1 * GIB);
	put(root, "/sys/fs/cgroup/a.slice/b.service/memory.max",
	    "536870912\n");
	ASSERT_U64_EQ(window_max_memory_of(root, 4 * GIB), GIB / 2);
	put(root, "/sys/fs/cgroup/memory.max", "268435456\n");
	ASSERT_U64_EQ(window_max_memory_of(root, 4 * GIB), GIB / 4);
	/* more than the machine has */
	ASSERT_U64_EQ(window_max_memory_of(root, GIB / 8), GIB / 8);
	/* version 1, among other controllers */
	put(root, "/proc/self/cgroup",
	    "9:cpu,cpuacct:/c\nnonsense\n4:memory:/c/d\n");
	put(root, "/sys/fs/cgroup/memory/c/memory.limit_in_bytes",
	    "805306368\n");
	put(root, "/sys/fs/cgroup/memory/c/d/memory.limit_in_bytes",
	    "9223372036854771712\n");
	ASSERT_U64_EQ(window_max_memory_of(root, 4 * GIB), 768 * MIB);
	/* what is no number is no limit */
	put(root, "/sys/fs/cgroup/memory/c/memory.limit_in_bytes", "\n");
	ASSERT_U64_EQ(window_max_memory_of(root, 4 * GIB), 4 * GIB);
	snprintf(command, sizeof(command), "rm -r %s", root);
	ASSERT_INT_EQ(system(command), 0);
	/* this machine */
	ASSERT_INT_GE(window_max_default(), WINDOW_MAX_LEAST);
	ASSERT_INT_LE(window_max_default(), 128 * MIB);
	TEST_DONE();
}

void
test_window_max(void)
{
	parse();
	memory();
}
