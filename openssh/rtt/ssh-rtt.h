/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SSH_RTT_H
#define SSH_RTT_H

#include <sys/types.h>

#include <stdint.h>

#include "path-rtt.h"

/*
 * The round trip time that SSH itself sees: the time from a probe to its
 * answer. For connections that have no TCP socket, or one that ends at a proxy,
 * of which TCP_INFO knows the first hop at most. Pure.
 *
 * A probe is SSH2_MSG_PING (PROTOCOL, "ping@openssh.com") towards peers that
 * have it, else a channel request that the peer has to refuse (RFC 4254, 5.4).
 */

/*
 * A ping that has not been answered after this long (us) won't be: peers drop
 * pings while they renew keys. Refused requests can't get lost.
 */
#define SSH_RTT_LOST_US	(10 * 1000000)

/* SSH2_MSG_PONG, which OpenSSH has since 9.5 */
#define SSH_RTT_PONG	193

/* Bytes of a ping: a tag that keystroke chaff doesn't have, and the cookie */
#define SSH_RTT_PING_LEN	13

/* Least time (us) from an answer to the next probe */
#define SSH_RTT_LEAST_US	10000

struct sshbuf;

/* All zero to start with, but for the configuration. */
struct ssh_rtt {
	/* Configuration */
	int refused;		/* probes are requests, which can't get lost */

	/* State */
	int pending;		/* a probe is in flight */
	uint64_t cookie;	/* of that probe */
	int channel;		/* number of the channel that it is on, or -1 */
	uint64_t sent_us;	/* time at which it was sent */
	int spoiled;		/* its answer will tell nothing */
	u_int asked;		/* number of requests sent, the probes too */
	u_int replied;		/* number of those that were replied to */
	u_int number;		/* the probe's */
	uint64_t due_us;	/* time at which the next may be sent */
	struct path_info path;	/* smoothed by 1/4, and least */
};

/* Returns 1 if a probe is to be sent now: none is in flight, and it is time. */
int	 ssh_rtt_due(const struct ssh_rtt *ib, uint64_t now_us);

/* Notes that a probe is sent. Returns the cookie that it has to carry. */
uint64_t ssh_rtt_sent(struct ssh_rtt *ib, uint64_t now_us);

/*
 * Notes that keys are being renewed: a ping in flight may not be answered, and
 * other answers come late.
 */
void	 ssh_rtt_void(struct ssh_rtt *ib);

/* Notes that the channel of a request is gone: no answer will come. */
void	 ssh_rtt_abandon(struct ssh_rtt *ib);

/* Notes that the probe in flight was answered. Ignored if none is. */
void	 ssh_rtt_answer(struct ssh_rtt *ib, uint64_t now_us);

/*
 * For probes whose replies can't be told from those to other requests: notes
 * that another request was sent, and that a reply has come, which answers the
 * oldest of them.
 */
void	 ssh_rtt_other_sent(struct ssh_rtt *ib);
void	 ssh_rtt_replied(struct ssh_rtt *ib, uint64_t now_us);

/* Writes the ping that carries a cookie. */
void	 ssh_rtt_compose(uint64_t cookie, u_char ping[SSH_RTT_PING_LEN]);

/*
 * Takes the body of a packet of type SSH_RTT_PONG that came at now_us. Ignores
 * pongs whose cookie is not that of the probe in flight: late ones, and answers
 * to others' pings.
 */
void	 ssh_rtt_pong(struct ssh_rtt *ib, const struct sshbuf *body,
	    uint64_t now_us);

#endif /* SSH_RTT_H */
