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

#include "misc.h"
#include "pathprobe.h"
#include "ssherr.h"

int
path_probe(int fd, struct path_info *path)
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
	return 0;
#else
	memset(path, 0, sizeof(*path));
	errno = EOPNOTSUPP;
	return SSH_ERR_SYSTEM_ERROR;
#endif
}

uint64_t
path_rtt_us(const struct path_info *path)
{
	if (path->min_rtt_us == 0)
		return path->rtt_us;
	return MINIMUM(path->rtt_us, 2 * path->min_rtt_us);
}
