/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "misc.h"
#include "memory.h"

#define PIECE	(64 * 1024)
#define OURS_MAX	(1ULL << 30)	/* what is larger is a sanitizer's */

/* Returns 1 if the n bytes at d contain the len bytes sought, else 0. */
static int
has(const u_char *d, size_t n, const u_char *masked, const u_char *mask,
    size_t len)
{
	size_t at, i;

	for (at = 0; at + len <= n; at++) {
		for (i = 0; i < len && (d[at + i] ^ mask[i]) == masked[i]; i++)
			;
		if (i == len)
			return 1;
	}
	return 0;
}

int
memory_has(const u_char *masked, const u_char *mask, size_t len)
{
	static u_char d[PIECE];
	unsigned long long at, to;
	char line[512], perms[8];
	int fd, found = 0;
	ssize_t n;
	FILE *maps;

	if ((maps = fopen("/proc/self/maps", "r")) == NULL ||
	    (fd = open("/proc/self/mem", O_RDONLY)) == -1)
		abort();
	while (fgets(line, sizeof(line), maps) != NULL) {
		if (sscanf(line, "%llx-%llx %7s", &at, &to, perms) != 3 ||
		    perms[1] != 'w' || to - at > OURS_MAX)
			continue;
		for (; at + len <= to; at += PIECE - len + 1) {
			n = pread(fd, d, MINIMUM(PIECE, to - at), at);
			if (n <= 0)
				break;
			found |= has(d, n, masked, mask, len);
		}
	}
	explicit_bzero(d, sizeof(d));
	fclose(maps);
	close(fd);
	return found;
}
