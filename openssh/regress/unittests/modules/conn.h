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

#ifndef CONN_H
#define CONN_H

/* A connection, for tests of what channels do with theirs. */

#define CONN_CHANNELS	8

struct conn {
	struct ssh *ssh;
	int net[2];			/* its socket, and the other end */
	struct channel_windows *ws;	/* of the channels that it makes */
	Channel *channels[CONN_CHANNELS];
};

/*
 * Opens a connection over a socket pair. It is logged in, and its ciphers leave
 * everything as plain text. flags (KEX_HAS_*) are the peer's; limit (bytes) is
 * ChannelWindowMax.
 */
void	 conn_open(struct conn *conn, int server, u_int flags, uint32_t limit);

/* From now on it sends (MODE_OUT) or receives (MODE_IN) by this cipher. */
void	 conn_keys(struct conn *conn, int mode, const char *cipher);

/* Frees the connection and the channels that it still has. */
void	 conn_close(struct conn *conn);

/* Returns a new open channel of a kind ("session") without descriptors. */
Channel	*conn_channel(struct conn *conn, char *ctype);

/* Frees a channel and its window. */
void	 conn_channel_free(struct conn *conn, Channel *c);

/*
 * len bytes come for the channel's output, or for what takes its extended data.
 * They take no memory: only sshbuf_len() knows of them (see fake.h).
 */
void	 conn_comes(Channel *c, struct sshbuf *buf, size_t len);

/* The consumer takes up to len bytes of buf. Returns how many it took. */
size_t	 conn_goes(Channel *c, struct sshbuf *buf, size_t len);

/* Does what channels.c does in a turn. Returns the credit given (bytes). */
u_int	 conn_turn(struct conn *conn, Channel *c);

/* Returns the ms after which the main loop looks at c, -1 for never. */
int	 conn_wakes_ms(const struct conn *conn, const Channel *c);

/*
 * Returns the number of messages of a type that were sent since the last call.
 * The last one's payload is put into buf, unless that is NULL.
 */
u_int	 conn_sent(struct conn *conn, u_char type, struct sshbuf *buf);

#endif /* CONN_H */
