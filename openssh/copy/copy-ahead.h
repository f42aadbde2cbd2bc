/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef COPY_AHEAD_H
#define COPY_AHEAD_H

#include <sys/types.h>

struct copy_ahead;
struct sftp_conn;
struct sshbuf;

/*
 * Requests that a program will make first of all. They are sent with INIT, and
 * so cost no round trip of their own. They change nothing at the server. When
 * the program makes one of them, it gets the reply to this one.
 */

/* Sends none (-X ahead=no). */
void	 copy_ahead_off(void);

/*
 * Notes a request of a type that has a path only, for the connection that
 * sftp_init() makes next. Paths that the server has to expand are left out.
 */
void	 copy_ahead_want(u_char type, const char *path);

/*
 * Composes the next request to be sent with INIT. Returns 1, or 0 if there is
 * none left.
 */
int	 copy_ahead_next(struct sftp_conn *conn, struct sshbuf *m);

/* Returns 1 if the request m need not be sent, as it was sent ahead, else 0. */
int	 copy_ahead_take(struct sftp_conn *conn, const struct sshbuf *m);

/* Puts a reply that came early into m. Returns 1, or 0 if there is none. */
int	 copy_ahead_give(struct sftp_conn *conn, struct sshbuf *m);

/*
 * Takes a reply that came. Returns 1 if it is to a request that was sent ahead,
 * and kept; 0 if m has to be handled now.
 */
int	 copy_ahead_keep(struct sftp_conn *conn, struct sshbuf *m);

/* Frees what is left; NULL is fine. */
void	 copy_ahead_free(struct copy_ahead *ahead);

#endif /* COPY_AHEAD_H */
