/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SSH_RTT_H
#define SSH_RTT_H

#include "path-rtt.h"

/*
 * The in-band round trip time: the time from a probe through SSH to its reply.
 * It is for connections without a TCP socket, and for sockets that end at a
 * proxy: TCP_INFO knows at most the first hop. Pure.
 *
 * A probe is SSH2_MSG_PING (PROTOCOL, "ping@openssh.com") if the peer supports
 * it, otherwise a request that the peer has to refuse (RFC 4254, 4 and 5.4).
 * Each probe has a number, which its reply has to match.
 */

/*
 * A ping without a reply after this time (us) is lost: peers drop pings while
 * they rekey. Requests cannot get lost.
 */
#define SSH_RTT_LOST_US	(10 * 1000000)

/* SSH2_MSG_PONG, in OpenSSH since 9.5 */
#define SSH_RTT_PONG	193

/* Bytes of a ping: its number, and 5 that pings of keystroke chaff lack */
#define SSH_RTT_PING_LEN	13

/* Minimum time (us) from a reply to the next probe; see ssh_rtt_void() */
#define SSH_RTT_LEAST_US	10000

struct sshbuf;

/* Start with all zero */
struct ssh_rtt {
	int by_request;		/* 1: probes are requests; 0: pings */
	u_int asked;		/* probes, and sshd's global keepalives */
	u_int replied;		/* how many of `asked` have a reply */
	u_int number;		/* number of the probe in flight; 0: none */
	u_char ping[SSH_RTT_PING_LEN];	/* data of the last ping */
	uint64_t sent_us;	/* time of the last probe; 0: none yet */
	uint64_t due_us;	/* earliest time of the next probe */
	struct path_info path;	/* smoothed by 1/4, and minimum */
};

/* Records a sent probe. Sets ib->ping. Returns the probe's number. */
u_int	 ssh_rtt_sent(struct ssh_rtt *ib, uint64_t now_us);

/*
 * Records that the reply to a probe was lost, or delayed by rekeying: the next
 * probe is due at once, even within SSH_RTT_LEAST_US. Ignores numbers other
 * than that of the probe in flight, as ssh_rtt_answer() does.
 */
void	 ssh_rtt_void(struct ssh_rtt *ib, u_int number);

/* Records the reply to a probe. */
void	 ssh_rtt_answer(struct ssh_rtt *ib, u_int number, uint64_t now_us);

/*
 * For requests whose replies all look alike: records a reply, which belongs to
 * the oldest open request.
 */
void	 ssh_rtt_replied(struct ssh_rtt *ib, uint64_t now_us);

/*
 * Processes the body of a packet of type SSH_RTT_PONG that came at now_us.
 * Ignores late pongs, and those for pings of other code.
 */
void	 ssh_rtt_pong(struct ssh_rtt *ib, const struct sshbuf *body,
	    uint64_t now_us);

#endif /* SSH_RTT_H */
