/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef TCP_PATH_H
#define TCP_PATH_H

#include <sys/types.h>

#include <stdint.h>

/* What a source says of the path. 0: it doesn't say. */
struct path_info {
	uint64_t rtt_us;	/* smoothed round trip time */
	uint64_t min_rtt_us;	/* least round trip time seen */
};

/*
 * Asks the kernel about the TCP connection behind fd (tcp(7), TCP_INFO).
 * Returns 0, or -1 if it can't tell, now or later. *path is then all 0.
 */
int	 tcp_path_probe(int fd, struct path_info *path);

#endif /* TCP_PATH_H */
