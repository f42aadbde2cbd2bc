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
# include <linux/sock_diag.h>
# include <linux/tcp.h>
#endif

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "misc.h"
#include "packet.h"
#include "tcp-path.h"
#include "xmalloc.h"
#include "tcp-limit.h"

/*
 * %: our window counts as full if this part of it came in a round trip. The
 * rest is updates on their way, and the error of the RTT, an estimate.
 */
#define WINDOW_FULL	75

/*
 * The peer's window was not too small if the path never filled it in four round
 * trips: then its program left it full.
 */
#define WINDOW_UNUSED	4

uint64_t
tcp_limit_bytes(uint64_t bytes, uint64_t time_us, uint64_t took_us)
{
	return bytes / took_us * time_us + bytes % took_us * time_us / took_us;
}

int
tcp_limit_window_is_full(uint64_t received, uint64_t rtt_us, uint64_t took_us,
    uint64_t rcv_wnd)
{
	return rcv_wnd != 0 && tcp_limit_bytes(received, rtt_us, took_us) >=
	    rcv_wnd / 100 * WINDOW_FULL;
}

static void
add_sent(struct tcp_limit *l, const struct tcp_limit_look *look,
    uint64_t took_us)
{
	const struct tcp_limit_look *last = &l->last;
	uint64_t rwnd_us = look->rwnd_us - last->rwnd_us;
	uint64_t sndbuf_us = look->sndbuf_us - last->sndbuf_us;

	rwnd_us = MAXIMUM(rwnd_us, took_us / 100 * look->peer_full);
	if (tcp_limit_bytes(look->acked - last->acked, look->min_rtt_us,
	    took_us) * WINDOW_UNUSED >= look->snd_wnd)
		l->full_us[TCP_LIMIT_PEER_RECEIVE] +=
		    MINIMUM(rwnd_us, took_us);
	sndbuf_us = MAXIMUM(sndbuf_us, took_us / 100 * look->blocked);
	l->full_us[TCP_LIMIT_OUR_SEND] += MINIMUM(sndbuf_us, took_us);
}

void
tcp_limit_add(struct tcp_limit *l, const struct tcp_limit_look *look)
{
	const struct tcp_limit_look *last = &l->last;
	uint64_t took_us, acked, received;

	if (last->at_us == 0 || look->at_us <= last->at_us) {
		l->last = *look;
		return;
	}
	took_us = look->at_us - last->at_us;
	acked = look->acked - last->acked;
	received = look->received - last->received;
	if (tcp_limit_bytes(MAXIMUM(acked, received), 1000000, took_us) >=
	    TCP_LIMIT_IDLE) {
		l->all_us += took_us;
		if (acked >= received)
			add_sent(l, look, took_us);
		else if (tcp_limit_window_is_full(received, look->rtt_us,
		    took_us, look->rcv_wnd))
			l->full_us[TCP_LIMIT_OUR_RECEIVE] += took_us;
	}
	l->last = *look;
}

/*
 * Returns 1 if a buffer of ours is as large as the kernel makes it. What is
 * unknown counts as that.
 */
static int
is_grown(uint64_t size, uint64_t max)
{
	return size == 0 || max == 0 || size >= max;
}

int
tcp_limit_text(const struct tcp_limit *l, uint64_t wmem_max,
    uint64_t rmem_max, char *buf, size_t len)
{
	const char *end = "receiver", *sysctl = "tcp_rmem";
	const char *host = "this machine";
	uint64_t max = rmem_max;	/* of that host */
	int i, by = 0, grown = 1;

	for (i = 0; i < TCP_LIMITS; i++) {
		if (l->full_us[i] > l->full_us[by])
			by = i;
	}
	switch (by) {
	case TCP_LIMIT_OUR_SEND:
		end = "sender";
		sysctl = "tcp_wmem";
		max = wmem_max;
		grown = is_grown(l->last.sndbuf, max);
		break;
	case TCP_LIMIT_OUR_RECEIVE:
		grown = is_grown(l->last.rcvbuf, max);
		break;
	default:
		host = l->peer;
		max = l->last.snd_wnd * 2;	/* half of it is window */
	}
	if (!grown || l->all_us == 0 ||
	    l->full_us[by] < l->all_us / 100 * TCP_LIMIT_PERCENT)
		return 0;
	snprintf(buf, len, "the %s's TCP buffer was full %llu %% of the time: "
	    "raise net.ipv4.%s on %s%s", end,
	    (unsigned long long)(l->full_us[by] * 100 / l->all_us), sysctl,
	    host, max >= TCP_LIMIT_PACKAGE ? "" :
	    ", or install openssh-bdp-tuning there");
	return 1;
}

int
tcp_limit_blocked(uint32_t cwnd, uint32_t in_flight, uint32_t notsent,
    uint32_t mss, uint32_t sndbuf, uint32_t queued)
{
	return notsent < mss && in_flight < cwnd - cwnd / 10 &&
	    queued >= sndbuf / 2;
}

int
tcp_limit_peer_is_full(uint32_t cwnd, uint32_t in_flight, uint32_t unacked,
    uint32_t snd_wnd)
{
	return snd_wnd != 0 && in_flight < cwnd - cwnd / 10 &&
	    unacked >= snd_wnd - snd_wnd / 10;
}

void
tcp_limit_arrived(struct tcp_limit *l, uint64_t min_rtt_us, uint64_t now_us)
{
	uint64_t took_us = now_us > l->arrived_us ? now_us - l->arrived_us : 0;

	if (l->arrived_us != 0 && min_rtt_us != 0 &&
	    took_us > MAXIMUM(min_rtt_us / 4, TCP_LIMIT_QUIET_US))
		l->quiet_us += took_us;
	l->arrived_us = now_us;
}

/* As the user typed it, or NULL. A process has one connection. */
static char *typed;

void
tcp_limit_name_peer(const char *name)
{
	free(typed);
	typed = name == NULL ? NULL : xstrdup(name);
}

static void (*on_glance)(struct ssh *, const struct tcp_info *, int, uint64_t,
    uint64_t);

void
tcp_limit_on_glance(void (*glance)(struct ssh *, const struct tcp_info *, int,
    uint64_t, uint64_t))
{
	on_glance = glance;
}

#if defined(__linux__) && defined(TCP_INFO)
/* Returns the size (bytes) of a buffer of a socket, 0 if unknown. */
static uint64_t
buffer_size(int fd, int option)
{
	int size;
	socklen_t len = sizeof(size);

	return getsockopt(fd, SOL_SOCKET, option, &size, &len) == 0 &&
	    size > 0 ? size : 0;
}

/* Returns the segments in flight. */
static uint32_t
in_flight(const struct tcp_info *ti)
{
	uint32_t sent = ti->tcpi_unacked + ti->tcpi_retrans;
	uint32_t gone = ti->tcpi_sacked + ti->tcpi_lost;

	return sent > gone ? sent - gone : 0;
}

/* Returns the bytes that were sent and are not acknowledged, 0 if unknown. */
static uint32_t
unacked(int fd, const struct tcp_info *ti)
{
	uint32_t queued = tcp_path_unacked(fd);

	return queued > ti->tcpi_notsent_bytes ?
	    queued - ti->tcpi_notsent_bytes : 0;
}

/* Returns 1 if the socket's send buffer keeps TCP from sending now. */
static int
is_blocked(int fd, const struct tcp_info *ti)
{
#ifdef SO_MEMINFO
	uint32_t mem[16];
	socklen_t len = sizeof(mem);

	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, mem, &len) == -1 ||
	    len < (SK_MEMINFO_WMEM_QUEUED + 1) * sizeof(mem[0]))
		return 0;
	return tcp_limit_blocked(ti->tcpi_snd_cwnd, in_flight(ti),
	    ti->tcpi_notsent_bytes, ti->tcpi_snd_mss, mem[SK_MEMINFO_SNDBUF],
	    mem[SK_MEMINFO_WMEM_QUEUED]);
#else
	return 0;
#endif
}

void
tcp_limit_watch(struct tcp_limit *l, struct ssh *ssh, uint64_t now_us)
{
	struct tcp_limit_look look = { 0 };
	int fd = ssh_packet_get_connection_in(ssh);
	struct tcp_info ti;
	socklen_t len = sizeof(ti);
	int blocked;

	if (now_us < l->due_us)
		return;
	l->due_us = now_us + TCP_LIMIT_GLANCE_US;
	memset(&ti, 0, sizeof(ti));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &ti, &len) == -1)
		return;
	l->glances++;
	blocked = is_blocked(fd, &ti);
	if (on_glance != NULL)
		on_glance(ssh, &ti, blocked, l->quiet_us, now_us);
	l->blocked += blocked;
	l->peer_full += tcp_limit_peer_is_full(ti.tcpi_snd_cwnd, in_flight(&ti),
	    unacked(fd, &ti), ti.tcpi_snd_wnd);
	l->snd_wnd = MAXIMUM(l->snd_wnd, ti.tcpi_snd_wnd);
	if (l->last.at_us != 0 && now_us - l->last.at_us < TCP_LIMIT_LOOK_US)
		return;
	if (*l->peer == '\0')
		strlcpy(l->peer, typed != NULL ? typed :
		    ssh_remote_ipaddr(ssh), sizeof(l->peer));
	look.at_us = now_us;
	look.rtt_us = ti.tcpi_rtt;
	look.min_rtt_us = ti.tcpi_min_rtt;
	look.acked = ti.tcpi_bytes_acked;
	look.received = ti.tcpi_bytes_received;
	look.rwnd_us = ti.tcpi_rwnd_limited;
	look.sndbuf_us = ti.tcpi_sndbuf_limited;
	look.blocked = l->blocked * 100 / l->glances;
	look.peer_full = l->peer_full * 100 / l->glances;
	l->blocked = l->peer_full = l->glances = 0;
	look.snd_wnd = l->snd_wnd;
	l->snd_wnd = 0;
	look.rcv_wnd = ti.tcpi_rcv_ssthresh;
	look.sndbuf = buffer_size(fd, SO_SNDBUF);
	look.rcvbuf = buffer_size(fd, SO_RCVBUF);
	tcp_limit_add(l, &look);
}
#else
void
tcp_limit_watch(struct tcp_limit *l, struct ssh *ssh, uint64_t now_us)
{
}
#endif

int
tcp_limit_report(struct tcp_limit *l, char *buf, size_t len)
{
	int initial, wmem_max, rmem_max, found;

	tcp_path_kernel_sizes("tcp_wmem", &initial, &wmem_max);
	tcp_path_kernel_sizes("tcp_rmem", &initial, &rmem_max);
	found = tcp_limit_text(l, wmem_max, rmem_max, buf, len);
	l->all_us = 0;
	memset(l->full_us, 0, sizeof(l->full_us));
	return found;
}
