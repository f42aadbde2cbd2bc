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
 * answer. For connections that have no TCP socket, or one that ends at a
 * forwarder, of which TCP_INFO knows the first hop at most. Pure.
 *
 * A probe is SSH2_MSG_PING (PROTOCOL, "ping@openssh.com") towards peers that
 * have it, else a channel request that the peer has to refuse (RFC 4254, 5.4).
 * SSH's own exchanges, such as the one that opens a channel, take no less than
 * a round trip.
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

struct sshbuf;

/* All zero to start with, but for the configuration. */
struct ssh_rtt {
	/* Configuration */
	int refused;		/* probes are requests, which can't get lost */

	/* State */
	int pending;		/* a probe is in flight */
	uint64_t cookie;	/* of that probe */
	uint64_t sent_us;	/* time at which it was sent */
	int spoiled;		/* its answer will tell nothing */
	uint64_t due_us;	/* time at which the next may be sent */
	uint64_t rtt_us;	/* smoothed by 1/4; 0: unknown */
	uint64_t least_us;	/* least of the probes; 0: none answered */
	uint64_t exchange_us;	/* least of other exchanges; 0: none yet */
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
 * Notes that the peer took took_us to answer a message of SSH's own, which is
 * no probe and takes the peer as long as it likes: no less than a round trip.
 */
void	 ssh_rtt_exchange(struct ssh_rtt *ib, uint64_t took_us);

/* Returns the least round trip (us) by all of these, 0 if none is known. */
uint64_t ssh_rtt_least_us(const struct ssh_rtt *ib);

/* Writes the ping that carries a cookie. */
void	 ssh_rtt_compose(uint64_t cookie, u_char ping[SSH_RTT_PING_LEN]);

/* Takes the body of a packet of type SSH_RTT_PONG that came at now_us. */
void	 ssh_rtt_reply(struct ssh_rtt *ib, const struct sshbuf *body,
	     uint64_t now_us);

/*
 * Takes the pong d of len bytes that came at now_us. Ignores those whose cookie
 * is not that of the probe in flight: late ones, and answers to others' pings.
 */
void	 ssh_rtt_pong(struct ssh_rtt *ib, const u_char *d, size_t len,
	    uint64_t now_us);

#endif /* SSH_RTT_H */
