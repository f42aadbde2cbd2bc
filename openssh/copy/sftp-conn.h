/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SFTP_CONN_H
#define SFTP_CONN_H

#include <sys/types.h>

/*
 * What lanes need of sftp-client.c, whose struct sftp_conn nobody else sees. A
 * lane has an sftp_conn of its own, made from that of the first lane.
 */

struct sftp_conn;
struct sftp_inflight;
struct sftp_tree;
struct sshbuf;

/*
 * Returns a connection to the server of `first`, which is as far as `first` is:
 * its server has introduced itself with the same message. Messages come in on
 * the descriptor `in` and go out on `out`.
 */
struct sftp_conn *sftp_conn_new(const struct sftp_conn *first, int in,
	    int out);

/* Frees a connection of sftp_conn_new(). Its descriptors stay open. */
void	 sftp_conn_free(struct sftp_conn *conn);

/* Says which tree the connection's messages belong to; NULL: to none. */
void	 sftp_conn_set_tree(struct sftp_conn *conn, struct sftp_tree *tree);

/* Returns that tree, or NULL. */
struct sftp_tree *sftp_conn_tree(const struct sftp_conn *conn);

/* Returns the number of requests that may be in flight, and the like. */
struct sftp_inflight *sftp_conn_inflight(struct sftp_conn *conn);

/* Returns the id of the next request. */
u_int	 sftp_conn_id(struct sftp_conn *conn);

/* Sends a request, which is empty afterwards. Errors are fatal. */
void	 sftp_conn_send(struct sftp_conn *conn, struct sshbuf *msg);

/* Waits for the next reply. Errors are fatal. */
void	 sftp_conn_get(struct sftp_conn *conn, struct sshbuf *msg);

/* Returns the bytes that a request may read (out is 0) or write (1). */
u_int	 sftp_conn_buflen(const struct sftp_conn *conn, int out);

/* Returns the number of handles that the server allows; 0: it doesn't say. */
u_int	 sftp_conn_handles(const struct sftp_conn *conn);

/* Returns 1 if the server can compute digests of files. */
int	 sftp_conn_digests(const struct sftp_conn *conn);

/*
 * Notes that len bytes came in (out is 0) or went out (1) for a lane of the
 * connection `first`: updates the meter, and waits if there is a limit (-l).
 */
void	 sftp_conn_moved(struct sftp_conn *first, int out, size_t len);

#endif /* SFTP_CONN_H */
