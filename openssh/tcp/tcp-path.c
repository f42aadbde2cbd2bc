/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>
#include <netinet/in.h>
#ifdef __linux__
/* Not netinet/tcp.h: the C library's struct tcp_info ends before min_rtt. */
# include <linux/tcp.h>
#endif

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ssherr.h"
#include "tcp-path.h"

#if defined(__linux__) && defined(TCP_INFO) && !defined(WITHOUT_TCP_INFO)
/* Whether the kernel's answer, of len bytes, has a field */
#define HAS(len, field) ((len) >= offsetof(struct tcp_info, field) + \
	sizeof(((struct tcp_info *)0)->field))

int
tcp_path_probe(int fd, struct path_info *path)
{
	struct tcp_info ti;
	socklen_t len = sizeof(ti);

	memset(path, 0, sizeof(*path));
	memset(&ti, 0, sizeof(ti));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &ti, &len) == -1)
		return SSH_ERR_SYSTEM_ERROR;
	if (!HAS(len, tcpi_rtt) || ti.tcpi_rtt == 0) {
		errno = EAGAIN;
		return SSH_ERR_SYSTEM_ERROR;
	}
	path->rtt_us = ti.tcpi_rtt;
	/* Linux 4.6 and later; all ones until there is a sample */
	if (HAS(len, tcpi_min_rtt) && ti.tcpi_min_rtt != UINT32_MAX)
		path->min_rtt_us = ti.tcpi_min_rtt;
	return 0;
}
#else
int
tcp_path_probe(int fd, struct path_info *path)
{
	memset(path, 0, sizeof(*path));
	errno = EOPNOTSUPP;
	return SSH_ERR_SYSTEM_ERROR;
}
#endif
