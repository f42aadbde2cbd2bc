/*
 * Copyright (c) 2026 The openssh-bdp authors
 *
 * Permission to use, copy, modify, and distribute this software for any
 * purpose with or without fee is hereby granted, provided that the above
 * copyright notice and this permission notice appear in all copies.
 *
 * THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES
 * WITH REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF
 * MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR
 * ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES
 * WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN
 * ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF
 * OR IN CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.
 */

#include "includes.h"

#include <sys/types.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <netinet/in.h>
#ifdef __linux__
# include <linux/sock_diag.h>
# include <linux/sockios.h>
/* Not netinet/tcp.h: the C library's struct tcp_info ends before min_rtt. */
# include <linux/tcp.h>
#endif

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "misc.h"
#include "tcp-path.h"
#include "ssherr.h"

int
tcp_path_probe(int fd, struct path_info *path)
{
#if defined(__linux__) && defined(TCP_INFO)
	struct tcp_info ti;
	socklen_t len = sizeof(ti);

	memset(path, 0, sizeof(*path));
	memset(&ti, 0, sizeof(ti));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &ti, &len) == -1)
		return SSH_ERR_SYSTEM_ERROR;
	if (len < offsetof(struct tcp_info, tcpi_rtt) + sizeof(ti.tcpi_rtt) ||
	    ti.tcpi_rtt == 0) {
		errno = EAGAIN;
		return SSH_ERR_SYSTEM_ERROR;
	}
	path->rtt_us = ti.tcpi_rtt;
	/* Linux 4.6 and later; all ones until there is a sample */
	if (len >= offsetof(struct tcp_info, tcpi_min_rtt) +
	    sizeof(ti.tcpi_min_rtt) && ti.tcpi_min_rtt != UINT32_MAX)
		path->min_rtt_us = ti.tcpi_min_rtt;
	/* Linux 5.4 and later: behind one that was lost, or overtaken */
	if (len >= offsetof(struct tcp_info, tcpi_rcv_ooopack) +
	    sizeof(ti.tcpi_rcv_ooopack))
		path->late = ti.tcpi_rcv_ooopack;
	/* Linux 3.15 and later, paced or not; all ones until there is an RTT */
	if (len >= offsetof(struct tcp_info, tcpi_pacing_rate) +
	    sizeof(ti.tcpi_pacing_rate) && ti.tcpi_pacing_rate != UINT64_MAX)
		path->send_rate = ti.tcpi_pacing_rate;
	/* Linux 4.6 and later; part of a segment may wait for the rest */
	if (len >= offsetof(struct tcp_info, tcpi_notsent_bytes) +
	    sizeof(ti.tcpi_notsent_bytes)) {
		path->full = ti.tcpi_notsent_bytes >= ti.tcpi_snd_mss;
		path->drained = !path->full;
	}
	return 0;
#else
	memset(path, 0, sizeof(*path));
	errno = EOPNOTSUPP;
	return SSH_ERR_SYSTEM_ERROR;
#endif
}

void
tcp_path_look(int fd, struct late_look *look)
{
#if defined(__linux__) && defined(TCP_INFO) && defined(SO_MEMINFO) && \
    defined(SIOCINQ)
	struct tcp_info ti;
	uint32_t mem[16];
	socklen_t len = sizeof(mem);
	int unread;

	memset(look, 0, sizeof(*look));
	/* Linux 4.12 and later */
	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, mem, &len) == -1 ||
	    len < (SK_MEMINFO_RMEM_ALLOC + 1) * sizeof(mem[0]) ||
	    mem[SK_MEMINFO_RMEM_ALLOC] == 0)
		return;
	memset(&ti, 0, sizeof(ti));
	len = sizeof(ti);
	/* Linux 5.4 and later have rcv_ooopack. */
	if (ioctl(fd, SIOCINQ, &unread) == -1 || unread < 0 ||
	    getsockopt(fd, IPPROTO_TCP, TCP_INFO, &ti, &len) == -1 ||
	    len < offsetof(struct tcp_info, tcpi_rcv_ooopack) +
	    sizeof(ti.tcpi_rcv_ooopack))
		return;
	look->memory = mem[SK_MEMINFO_RMEM_ALLOC];
	look->unread = unread;
	look->received = ti.tcpi_bytes_received;
	look->late = ti.tcpi_rcv_ooopack;
	look->segment = ti.tcpi_rcv_mss;
#else
	memset(look, 0, sizeof(*look));
#endif
}

u_int
tcp_path_unsent(uint64_t rate)
{
	uint64_t unsent = rate / (1000000 / TCP_PATH_UNSENT_US);

	if (rate == 0 || unsent >= TCP_PATH_UNSENT_MAX)
		return TCP_PATH_UNSENT_MAX;
	if (unsent <= TCP_PATH_UNSENT_MIN)
		return TCP_PATH_UNSENT_MIN;
	/* A rate wavers: not every change is worth a system call. */
	return unsent / TCP_PATH_UNSENT_STEP * TCP_PATH_UNSENT_STEP;
}

void
tcp_path_bound_unsent(int fd, u_int unsent)
{
#ifdef TCP_NOTSENT_LOWAT
	if (setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent,
	    sizeof(unsent)) == -1)
		debug_f("TCP_NOTSENT_LOWAT: %s", strerror(errno));
#endif
}

void
tcp_path_fill_segments(int fd, int fill)
{
	int nodelay = !fill;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &nodelay,
	    sizeof(nodelay)) == -1)
		debug_f("TCP_NODELAY: %s", strerror(errno));
}

u_int
tcp_path_waiting(int fd)
{
#ifdef SIOCOUTQNSD
	int bytes;

	if (ioctl(fd, SIOCOUTQNSD, &bytes) == 0 && bytes > 0)
		return bytes;
#endif
	return 0;
}

u_int
tcp_path_unacked(int fd)
{
#ifdef TIOCOUTQ
	int bytes;

	if (ioctl(fd, TIOCOUTQ, &bytes) == 0 && bytes > 0)
		return bytes;
#endif
	return 0;
}
