/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>
#include <netinet/in.h>
#ifdef __linux__
# include <linux/tcp.h>
#endif

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tcp-limit.h"

#if defined(__linux__) && defined(TCP_INFO) && !defined(WITHOUT_TCP_INFO)
int
tcp_limit_get(int fd, struct tcp_limit *limit)
{
	struct tcp_info ti;
	socklen_t len = sizeof(ti);

	memset(&ti, 0, sizeof(ti));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &ti, &len) == -1)
		return -1;
	limit->busy_us = ti.tcpi_busy_time;
	limit->rwnd_us = ti.tcpi_rwnd_limited;
	limit->sndbuf_us = ti.tcpi_sndbuf_limited;
	return 0;
}
#else
int
tcp_limit_get(int fd, struct tcp_limit *limit)
{
	return -1;
}
#endif

int
tcp_limit_text(const struct tcp_limit *limit, const char *host, char *buf,
    size_t len)
{
	uint64_t percent_us = limit->busy_us / 100;
	u_int rwnd, sndbuf;
	char remedy[512] = "";

	if (percent_us == 0)
		return 0;
	rwnd = limit->rwnd_us / percent_us;
	sndbuf = limit->sndbuf_us / percent_us;
	if (rwnd >= TCP_LIMIT_PERCENT && rwnd >= sndbuf)
		snprintf(remedy, sizeof(remedy), ": raise net.ipv4.tcp_rmem on "
		    "%s (package openssh-bdp-tuning)", host);
	else if (sndbuf >= TCP_LIMIT_PERCENT)
		snprintf(remedy, sizeof(remedy), ": raise net.ipv4.tcp_wmem "
		    "here (package openssh-bdp-tuning)");
	snprintf(buf, len, "TCP was sending for %llu.%llu s, limited by the "
	    "receiver's buffer for %u %% of it, by the send buffer for %u %%%s",
	    (unsigned long long)limit->busy_us / 1000000,
	    (unsigned long long)limit->busy_us / 100000 % 10, rwnd, sndbuf,
	    remedy);
	return 1;
}
