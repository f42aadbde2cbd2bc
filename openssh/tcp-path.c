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
# include <linux/sockios.h>
/* Not netinet/tcp.h: the C library's struct tcp_info ends before min_rtt. */
# include <linux/tcp.h>
#endif

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
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
	    sizeof(ti.tcpi_notsent_bytes))
		path->full = ti.tcpi_notsent_bytes >= ti.tcpi_snd_mss;
	return 0;
#else
	memset(path, 0, sizeof(*path));
	errno = EOPNOTSUPP;
	return SSH_ERR_SYSTEM_ERROR;
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

const struct path_info *
path_rtt_choose(const struct path_info *tcp, const struct path_info *inband)
{
	uint64_t tcp_us = tcp->min_rtt_us != 0 ? tcp->min_rtt_us : tcp->rtt_us;

	if (inband->rtt_us == 0)
		return tcp;
	if (tcp->rtt_us == 0 || inband->min_rtt_us >
	    tcp_us + tcp_us / 4 + PATH_RTT_SLACK_US)
		return inband;
	return tcp;
}

/*
 * The best rate fades by this part each round trip: a path that lost half of
 * its rate for good is as fast as it ever was after some 30 of them.
 */
#define PATH_RATE_FADE	64

/*
 * The mean rate, over whole round trips: what a window allows comes in one
 * burst of it, as fast as the path ever was. Not over less than this (us): on
 * a LAN it is the main loops that decide what comes in a round trip.
 */
#define PATH_RATE_MIN_US	10000

static void
measure_rate(struct path_rtt *pr, uint64_t rtt_us, uint64_t consumed,
    uint64_t now_us)
{
	uint64_t took_us = now_us - pr->since_us;

	if (pr->since_us != 0 && took_us < MAXIMUM(rtt_us, PATH_RATE_MIN_US))
		return;
	if (pr->since_us != 0 && took_us != 0) {
		pr->rate = (consumed - pr->consumed) * 1000000 / took_us;
		pr->best -= pr->best / PATH_RATE_FADE;
		pr->best = MAXIMUM(pr->best, pr->rate);
	}
	pr->since_us = now_us;
	pr->consumed = consumed;
}

/* The most that a path with this least RTT is taken for. */
static uint64_t
most_us(const struct path_rtt *pr)
{
	return pr->least_us + (pr->cautious ? pr->least_us / 4 : pr->least_us);
}

uint64_t
path_rtt_us(struct path_rtt *pr, const struct path_info *path,
    uint64_t consumed, uint64_t now_us)
{
	measure_rate(pr, path->rtt_us, consumed, now_us);
	if (pr->least_us == 0)
		pr->least_us = path->min_rtt_us != 0 ?
		    path->min_rtt_us : path->rtt_us;
	pr->least_us = MINIMUM(pr->least_us, path->rtt_us);
	/*
	 * A queue of our own leaves the rate what it is. Where a window's
	 * worth takes longer to come, the least RTT is that of a path that
	 * is gone. What it is now is followed just so far. (The kernel's is
	 * good for 5 minutes, so it is asked only once.)
	 */
	if (path->rtt_us > most_us(pr) && pr->rate < pr->best / 4 * 3)
		pr->least_us = pr->cautious ?
		    path->rtt_us / 5 * 4 : path->rtt_us / 2;
	return MINIMUM(path->rtt_us, most_us(pr));
}
