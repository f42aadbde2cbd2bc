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

#ifndef SSH_RTT_H
#define SSH_RTT_H

/*
 * The round trip time that SSH itself sees: the time from a probe to its
 * answer. For connections with no TCP socket under them, or with a forwarder
 * between, of which TCP_INFO knows the first hop at most. Pure.
 *
 * A probe is SSH2_MSG_PING (PROTOCOL, "ping@openssh.com") towards peers that
 * have it, else a channel request that the peer has to refuse (RFC 4254, 5.4).
 * SSH's own exchanges, as that which opens a channel, bound the least of it.
 */

/*
 * An answer that has not come after this long (us) won't: peers drop pings
 * that meet them rekeying. Refused requests can't get lost.
 */
#define SSH_RTT_LOST_US	(10 * 1000000)

struct sshbuf;

struct ssh_rtt {
	/* configuration */
	int refused;		/* probes are requests, which can't get lost */

	/* state */
	int pending;		/* a probe is under way, */
	uint64_t cookie;	/* this one, */
	uint64_t sent_us;	/* since then */
	int spoiled;		/* what its answer will say means nothing */
	uint64_t due_us;	/* when the next may be sent */
	uint64_t rtt_us;	/* smoothed by 1/4; 0 = unknown */
	uint64_t least_us;	/* least seen */
	uint64_t exchange_us;	/* least of other exchanges; 0 = none yet */
};

/* Whether to send a probe now: not while one is under way. */
int	 ssh_rtt_due(const struct ssh_rtt *, uint64_t);

/* A probe is sent; returns the cookie that the answer has to carry. */
uint64_t ssh_rtt_sent(struct ssh_rtt *, uint64_t);

/*
 * Rekeying: a ping under way may not be answered, and other answers come late.
 */
void	 ssh_rtt_void(struct ssh_rtt *);

/* The channel on which a request was sent is gone: no answer will come. */
void	 ssh_rtt_abandon(struct ssh_rtt *);

/*
 * An answer to the probe under way came at now_us. Answers to nothing are
 * ignored.
 */
void	 ssh_rtt_answer(struct ssh_rtt *, uint64_t);

/*
 * The peer took `took_us` to answer a message of SSH's own, which is no probe
 * and takes the peer as long as it likes: never less than a round trip.
 */
void	 ssh_rtt_exchange(struct ssh_rtt *ib, uint64_t took_us);

/* Returns the least round trip (us) by all of these, 0 if none is known. */
uint64_t ssh_rtt_least_us(const struct ssh_rtt *ib);

/* The cookie as a ping carries it, which is not what keystroke chaff says. */
#define SSH_RTT_PING_LEN	13
void	 ssh_rtt_compose(uint64_t, u_char[SSH_RTT_PING_LEN]);

/* SSH2_MSG_PONG, which OpenSSH has since 9.5 */
#define SSH_RTT_PONG	193

/* The body of a packet of type SSH_RTT_PONG came at now_us. */
void	 ssh_rtt_reply(struct ssh_rtt *ib, const struct sshbuf *body,
	     uint64_t now_us);

/*
 * A pong of len bytes came at now_us. Others' and late ones are ignored: the
 * cookie is not that of the probe under way.
 */
void	 ssh_rtt_pong(struct ssh_rtt *, const u_char *, size_t,
	    uint64_t);

#endif /* SSH_RTT_H */
