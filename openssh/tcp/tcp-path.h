/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef TCP_PATH_H
#define TCP_PATH_H

#include <sys/types.h>

#include <stdint.h>

/* Figures for the path from one source. 0: unknown */
struct path_info {
	uint64_t rtt_us;	/* smoothed round trip time */
	uint64_t min_rtt_us;	/* minimum round trip time */
};

/*
 * Reads the path of the TCP connection of `fd` (tcp(7), TCP_INFO). Returns 0.
 * If the kernel cannot report it, returns -1 and sets *path to 0.
 */
int	 tcp_path_read(int fd, struct path_info *path);

#endif /* TCP_PATH_H */
