/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef HAVE_UTIL_H
# include <util.h>
#endif

#include "window-budget.h"
#include "misc.h"
#include "window-max.h"

const char *
window_max_parse(const char *arg, int *maxp)
{
	long long val;

	if (strcmp(arg, "none") == 0) {
		*maxp = 0;
		return NULL;
	}
	/* scan_scaled() reads a bare suffix as zero */
	if (strpbrk(arg, "0123456789") == NULL ||
	    scan_scaled((char *)arg, &val) == -1)
		return "bad number";
	if (val < WINDOW_MAX_LEAST)
		return "too small";
	if (val > WINDOW_MAX_MOST)
		return "too large";
	*maxp = val;
	return NULL;
}

const char *
window_max_text(int max)
{
	static char text[16];

	if (max == 0)
		return "none";
	snprintf(text, sizeof(text), "%d", max);
	return text;
}

/* Returns the number in a file, or UINT64_MAX ("max", or no file). */
static uint64_t
read_limit(const char *path)
{
	char line[32];
	char *end;
	unsigned long long n = UINT64_MAX;
	FILE *f;

	if ((f = fopen(path, "r")) == NULL)
		return UINT64_MAX;
	if (fgets(line, sizeof(line), f) != NULL) {
		n = strtoull(line, &end, 10);
		if (end == line || n == 0)
			n = UINT64_MAX;
	}
	fclose(f);
	return n;
}

/*
 * Returns the smallest limit of a cgroup and of all above it. Shortens the name
 * of the cgroup.
 */
static uint64_t
cgroup_limit(const char *root, const char *mount, char *cgroup,
    const char *file)
{
	char path[PATH_MAX];
	uint64_t limit = UINT64_MAX, n;
	char *slash;
	int len;

	for (;;) {
		len = snprintf(path, sizeof(path), "%s/sys/fs/cgroup%s%s/%s",
		    root, mount, cgroup, file);
		if (len >= 0 && (size_t)len < sizeof(path)) {
			n = read_limit(path);
			limit = MINIMUM(limit, n);
		}
		if ((slash = strrchr(cgroup, '/')) == NULL)
			return limit;
		*slash = '\0';
	}
}

uint64_t
window_max_memory_of(const char *root, uint64_t phys)
{
	char path[PATH_MAX], line[PATH_MAX];
	char *controllers, *cgroup;
	uint64_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	if ((f = fopen(path, "r")) == NULL)
		return phys;
	/* hierarchy:controllers:cgroup, and no controllers in version 2 */
	while (fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if ((controllers = strchr(line, ':')) == NULL ||
		    (cgroup = strchr(++controllers, ':')) == NULL)
			continue;
		*cgroup++ = '\0';
		if (*controllers == '\0')
			n = cgroup_limit(root, "", cgroup, "memory.max");
		else if (strcmp(controllers, "memory") == 0)
			n = cgroup_limit(root, "/memory", cgroup,
			    "memory.limit_in_bytes");
		else
			continue;
		phys = MINIMUM(phys, n);
	}
	fclose(f);
	return phys;
}

uint64_t
window_max_memory(void)
{
	uint64_t memory = UINT64_MAX;
#if defined(_SC_PHYS_PAGES) && defined(_SC_PAGESIZE)
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	if (pages > 0 && size > 0)
		memory = (uint64_t)pages * size;
#endif
	return window_max_memory_of("", memory);
}

int
window_max_default(void)
{
	uint64_t memory = window_max_memory() / WINDOW_MAX_CONNECTIONS;

	memory = MINIMUM(memory, WINDOW_BUDGET_DEFAULT);
	return MAXIMUM(memory, WINDOW_MAX_LEAST);
}
