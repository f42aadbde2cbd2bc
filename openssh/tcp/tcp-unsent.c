/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#ifdef __linux__
# include <linux/sockios.h>
#endif

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "log.h"
#include "tcp-unsent.h"

void
tcp_unsent_bound(int fd)
{
#ifdef TCP_NOTSENT_LOWAT
	u_int unsent = TCP_UNSENT_MAX;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent,
	    sizeof(unsent)) == -1)
		debug_f("TCP_NOTSENT_LOWAT: %s", strerror(errno));
#endif
}

int
tcp_unsent(int fd)
{
#ifdef SIOCOUTQNSD
	int bytes;

	if (ioctl(fd, SIOCOUTQNSD, &bytes) == 0 && bytes >= 0)
		return bytes;
#endif
	return -1;
}
