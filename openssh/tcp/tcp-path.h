/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef TCP_PATH_H
#define TCP_PATH_H

#include <sys/types.h>

#include <stdint.h>

/*
 * What the kernel knows of the path behind a TCP socket. Differences between
 * kernels are in here.
 */

/* What a source says of the path. 0: it doesn't say. */
struct path_info {
	uint64_t rtt_us;	/* smoothed round trip time */
	uint64_t min_rtt_us;	/* least round trip time seen */
};

/*
 * Asks the kernel about the TCP connection behind fd (tcp(7), TCP_INFO).
 * Returns 0, or SSH_ERR_SYSTEM_ERROR with errno set: EAGAIN if no RTT has been
 * measured yet, else that of getsockopt(2), or EOPNOTSUPP. *path is then all 0.
 */
int	 tcp_path_probe(int fd, struct path_info *path);

#endif /* TCP_PATH_H */
