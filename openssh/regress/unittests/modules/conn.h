/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef CONN_H
#define CONN_H

/* A connection, for tests of what channels do with theirs. */

#define CONN_CHANNELS	8

struct conn {
	struct ssh *ssh;
	int net[2];			/* its socket, and the other end */
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

/*
 * Returns the number of messages of a type that were sent since the last call.
 * The last one's payload is put into buf, unless that is NULL.
 */
u_int	 conn_sent(struct conn *conn, u_char type, struct sshbuf *buf);

#endif /* CONN_H */
