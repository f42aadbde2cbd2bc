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

#ifndef TCP_LIMIT_H
#define TCP_LIMIT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Which TCP buffer limits a connection, and what to do about it. Linux counts
 * the time that a sender waits for the receiver's buffer or for its own
 * (TCP_INFO); a receiver compares what comes in a round trip with its window.
 */

struct ssh;
struct tcp_info;

/* The time (us) between two glances at the socket, and between two looks */
#define TCP_LIMIT_GLANCE_US	100000
#define TCP_LIMIT_LOOK_US	1000000

/* Data that comes without a pause has shorter ones than this (us). */
#define TCP_LIMIT_QUIET_US	5000

/* Less than this (bytes/s) is a terminal, or keepalives. */
#define TCP_LIMIT_IDLE		4000

/* %: a buffer that was full for this part of the time is the limit. */
#define TCP_LIMIT_PERCENT	50

/* The size (bytes) that the package openssh-bdp-tuning allows buffers */
#define TCP_LIMIT_PACKAGE	(64 * 1024 * 1024)

enum tcp_limit_by {
	TCP_LIMIT_OUR_SEND,	/* our send buffer */
	TCP_LIMIT_OUR_RECEIVE,	/* our receive buffer */
	TCP_LIMIT_PEER_RECEIVE,	/* the peer's receive buffer */
	TCP_LIMITS
};

/* What the socket says at one time. Totals are since the connection began. */
struct tcp_limit_look {
	uint64_t at_us;		/* time of the look */
	uint64_t rtt_us;
	uint64_t min_rtt_us;
	uint64_t acked;		/* total of bytes sent and acknowledged */
	uint64_t received;	/* total of bytes */
	uint64_t rwnd_us;	/* total time that the peer had no room */
	uint64_t sndbuf_us;	/* total time that our send buffer had none */
	u_int	 blocked;	/* %: glances that saw our send buffer full */
	u_int	 peer_full;	/* %: glances that saw the peer's buffer full */
	uint64_t snd_wnd;	/* peer's largest window (bytes); 0: unknown */
	uint64_t rcv_wnd;	/* window (bytes) that ours can be */
	uint64_t sndbuf;	/* size (bytes) of our send buffer, or 0 */
	uint64_t rcvbuf;	/* size (bytes) of our receive buffer; ditto */
};

/* All zero to start with */
struct tcp_limit {
	struct tcp_limit_look last;	/* the last look */
	uint64_t due_us;		/* time of the next glance */
	uint64_t arrived_us;		/* time at which data came last */
	uint64_t quiet_us;		/* total time in which none came */
	u_int	 glances;		/* since the last look */
	u_int	 blocked;	/* of these, with a full send buffer */
	u_int	 peer_full;	/* of these, with a full buffer of the peer */
	uint64_t snd_wnd;		/* largest (bytes) of these */
	uint64_t all_us;		/* time in which data flowed */
	uint64_t full_us[TCP_LIMITS];	/* time that each was full */
	char peer[256];			/* name of the other host */
};

/* Takes a look into account. Pure. */
void	 tcp_limit_add(struct tcp_limit *l, const struct tcp_limit_look *look);

/*
 * Returns the bytes that come in time_us if so many came in took_us, which is
 * not 0. Pure.
 */
uint64_t tcp_limit_bytes(uint64_t bytes, uint64_t time_us, uint64_t took_us);

/*
 * Returns 1 if our window (rcv_wnd bytes; 0: unknown) was full while so many
 * bytes were received in took_us, which is not 0; else 0. Pure.
 */
int	 tcp_limit_window_is_full(uint64_t received, uint64_t rtt_us,
	    uint64_t took_us, uint64_t rcv_wnd);

/*
 * Writes one line into buf of len bytes: which buffer was full for how much of
 * the time, and which sysctl to raise on which host. wmem_max and rmem_max are
 * the maxima (bytes; 0: unknown) of this host's sysctls. Returns 1. Returns 0
 * if no buffer is the limit, or if it is one of ours that a program has set to
 * less than the sysctl allows. Pure.
 */
int	 tcp_limit_text(const struct tcp_limit *l, uint64_t wmem_max,
	    uint64_t rmem_max, char *buf, size_t len);

/* Names the peer as the user typed it; else it is known by its address. */
void	 tcp_limit_name_peer(const char *name);

/*
 * Returns 1 if our send buffer keeps TCP from sending: nearly nothing waits
 * unsent (bytes), a tenth of the congestion window (segments) is free, and half
 * of the buffer (bytes) is in use: we are woken at two thirds. It does not
 * count each such wait. Pure.
 */
int	 tcp_limit_blocked(uint32_t cwnd, uint32_t in_flight, uint32_t notsent,
	    uint32_t mss, uint32_t sndbuf, uint32_t queued);

/*
 * Returns 1 if the peer's buffer keeps TCP from sending: a tenth of the
 * congestion window (segments) is free, and what was sent and is not
 * acknowledged (bytes) takes nine tenths of the peer's window (bytes; 0:
 * unknown). Linux counts only a part of this time, less with small segments.
 * Pure.
 */
int	 tcp_limit_peer_is_full(uint32_t cwnd, uint32_t in_flight,
	    uint32_t unacked, uint32_t snd_wnd);

/*
 * Has a function called with each glance at the socket: what the kernel says of
 * it, 1 if our send buffer is full, and the total time (us) in which no data
 * came.
 */
void	 tcp_limit_on_glance(void (*glance)(struct ssh *ssh,
	    const struct tcp_info *ti, int blocked, uint64_t quiet_us,
	    uint64_t now_us));

/*
 * Notes that data has come, at now_us. The time since the last data counts as
 * quiet if it is longer than a quarter of the least RTT, and than
 * TCP_LIMIT_QUIET_US. Pure.
 */
void	 tcp_limit_arrived(struct tcp_limit *l, uint64_t min_rtt_us,
	    uint64_t now_us);

/* Looks at the connection's socket, if it is time to, at now_us. */
void	 tcp_limit_watch(struct tcp_limit *l, struct ssh *ssh,
	    uint64_t now_us);

/*
 * Writes the line of tcp_limit_text() with what this host's sysctls say.
 * Returns as it does. What has been counted is forgotten.
 */
int	 tcp_limit_report(struct tcp_limit *l, char *buf, size_t len);

#endif /* TCP_LIMIT_H */
