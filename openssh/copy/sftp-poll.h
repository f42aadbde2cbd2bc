/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SFTP_POLL_H
#define SFTP_POLL_H

/*
 * Whether a read or a write of a connection would have to wait. An error, or
 * the end of the connection, counts as ready: the read or write finds it.
 */

/* Returns 1 if a reply can be read from fd without waiting. */
int	 sftp_poll_reply(int fd);

/*
 * Returns 1 if a request can be sent to fd without waiting. A server that waits
 * for us to read takes no more requests: then reading has to go first.
 */
int	 sftp_poll_send(int fd);

/*
 * Waits until a reply can be read from `in` or a request be sent to `out`.
 * Returns 1 if a reply can be read, else 0. An error of poll(2) is fatal.
 */
int	 sftp_poll_either(int in, int out);

#endif /* SFTP_POLL_H */
