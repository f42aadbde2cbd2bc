/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/socket.h>
#include <netinet/in.h>
#ifdef __linux__
/* Not netinet/tcp.h: the C library's struct tcp_info ends before min_rtt. */
# include <linux/tcp.h>
#endif

#include <string.h>

#include "tcp-path.h"

int
tcp_path_read(int fd, struct path_info *path)
{
#if defined(__linux__) && defined(TCP_INFO) && !defined(WITHOUT_TCP_INFO)
	struct tcp_info ti;
	socklen_t len = sizeof(ti);

	/* An older kernel does not write all fields. */
	memset(&ti, 0, sizeof(ti));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &ti, &len) == 0) {
		path->rtt_us = ti.tcpi_rtt;
		/* Linux 4.6 and later; all ones until there is a sample */
		path->min_rtt_us = ti.tcpi_min_rtt == UINT32_MAX ?
		    0 : ti.tcpi_min_rtt;
		return 0;
	}
#endif
	memset(path, 0, sizeof(*path));
	return -1;
}
