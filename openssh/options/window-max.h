/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef WINDOW_MAX_H
#define WINDOW_MAX_H

/*
 * The option ChannelWindowMax: the maximum (bytes) of one receive window. The
 * windows of a connection share this, less 2 MiB, beyond 2 MiB for each.
 */

/* Minimum and maximum (bytes): a stock window; what fits into an int */
#define WINDOW_MAX_LEAST	(2 * 1024 * 1024)
#define WINDOW_MAX_MOST		(1024 * 1024 * 1024)

/*
 * The default is the maximum size of a buffer, enough for 10 Gbit/s over 100
 * ms, but at most the memory divided by this. So this many connections fit into
 * memory if all their readers stop.
 */
#define WINDOW_MAX_CONNECTIONS	16

/*
 * Parses a size ("64M", see scan_scaled(3)) into *maxp. "none" becomes 0:
 * windows keep their initial size. Returns NULL, or a message if `arg` is
 * wrong.
 */
const char *window_max_parse(const char *arg, int *maxp);

/*
 * Returns a limit (bytes) as ssh -G and sshd -T print it. The next call
 * overwrites the text.
 */
const char *window_max_text(int max);

/* Returns the default (bytes) for this machine and memory cgroup. */
int	 window_max_default(void);

/*
 * Returns the memory (bytes) that this process may use: `phys`, the machine's
 * memory, or less if its cgroup or one above has a limit (cgroups(7), versions
 * 1 and 2). `root` is the directory with /proc and /sys: "" except in tests.
 */
uint64_t window_max_memory_of(const char *root, uint64_t phys);

/* Calls window_max_memory_of(). Returns UINT64_MAX if it is unknown. */
uint64_t window_max_memory(void);

#endif /* WINDOW_MAX_H */
