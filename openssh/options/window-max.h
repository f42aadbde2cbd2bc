/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef WINDOW_MAX_H
#define WINDOW_MAX_H

/*
 * The option ChannelWindowMax: the maximum sum (bytes) of the receive windows
 * of a connection.
 */

/* Minimum (bytes): a stock window; maximum: a value that fits an int */
#define WINDOW_MAX_LEAST	(2 * 1024 * 1024)
#define WINDOW_MAX_MOST		(1024 * 1024 * 1024)

/*
 * The default is the maximum size of a buffer, enough for 10 Gbit/s over 100
 * ms. It is at most the memory divided by this, so that this many connections
 * fit into it if all their readers stop.
 */
#define WINDOW_MAX_CONNECTIONS	16

/*
 * Parses a size ("64M", see scan_scaled(3)) into *maxp. "none" is 0: windows
 * keep their initial size. Returns NULL, or what is wrong with arg.
 */
const char *window_max_parse(const char *arg, int *maxp);

/*
 * Returns a limit (bytes) as ssh -G and sshd -T print it. The text is good
 * until the next call.
 */
const char *window_max_text(int max);

/* Returns the default (bytes) for this machine and memory cgroup. */
int	 window_max_default(void);

/*
 * Returns the memory (bytes) that this process may use: phys, what the machine
 * has, or less if its cgroup or one above it says so (cgroups(7), versions 1
 * and 2). root is the directory with /proc and /sys, "" but in tests.
 */
uint64_t window_max_memory_of(const char *root, uint64_t phys);

/* Returns this memory (bytes) for this process, UINT64_MAX if unknown. */
uint64_t window_max_memory(void);

#endif /* WINDOW_MAX_H */
