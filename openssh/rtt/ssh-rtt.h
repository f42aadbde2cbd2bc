/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SSH_RTT_H
#define SSH_RTT_H

#include "path-rtt.h"

/*
 * The round trip time that SSH itself sees: the time from a probe to its
 * answer. For connections that have no TCP socket, or one that ends at a proxy,
 * of which TCP_INFO knows the first hop at most. Pure.
 *
 * A probe is SSH2_MSG_PING (PROTOCOL, "ping@openssh.com") towards peers that
 * have it, else a request that the peer has to refuse (RFC 4254, 4 and 5.4).
 * Each has a number, which its answer has to match.
 */

/*
 * A ping that has not been answered after this long (us) won't be: peers drop
 * pings while they renew keys. Requests can't get lost.
 */
#define SSH_RTT_LOST_US	(10 * 1000000)

/* SSH2_MSG_PONG, which OpenSSH has since 9.5 */
#define SSH_RTT_PONG	193

/* Bytes of a ping: 5 that keystroke chaff doesn't have, and its number */
#define SSH_RTT_PING_LEN	13

/* Least time (us) from an answer to the next probe */
#define SSH_RTT_LEAST_US	10000

struct sshbuf;

/* All zero to start with */
struct ssh_rtt {
	int by_request;		/* 1: probes are requests; 0: pings */
	u_int asked;		/* probes, and sshd's global keepalives */
	u_int replied;		/* number of those that were replied to */
	u_int number;		/* of the probe in flight; 0: none */
	u_char ping[SSH_RTT_PING_LEN];	/* string of the last probe's ping */
	uint64_t sent_us;	/* time of the last probe; 0: none yet */
	uint64_t due_us;	/* time from which on one may be sent */
	struct path_info path;	/* smoothed by 1/4, and least */
};

/* Notes that a probe is sent. Sets ib->ping. Returns the probe's number. */
u_int	 ssh_rtt_sent(struct ssh_rtt *ib, uint64_t now_us);

/*
 * Notes that the answer to a probe will tell nothing, or never come: the next
 * one is due. Ignored if it is not the one in flight, as in ssh_rtt_answer().
 */
void	 ssh_rtt_void(struct ssh_rtt *ib, u_int number);

/* Notes that a probe was answered. */
void	 ssh_rtt_answer(struct ssh_rtt *ib, u_int number, uint64_t now_us);

/*
 * For requests whose replies can't be told apart: notes that one has come,
 * which answers the oldest of those that were asked.
 */
void	 ssh_rtt_replied(struct ssh_rtt *ib, uint64_t now_us);

/*
 * Takes the body of a packet of type SSH_RTT_PONG that came at now_us. Ignores
 * late pongs, and answers to others' pings.
 */
void	 ssh_rtt_pong(struct ssh_rtt *ib, const struct sshbuf *body,
	    uint64_t now_us);

#endif /* SSH_RTT_H */
