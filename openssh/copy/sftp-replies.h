/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SFTP_REPLIES_H
#define SFTP_REPLIES_H

/*
 * The requests and replies of the jobs that copy a tree. Many jobs share a
 * connection, and replies come in any order. These functions hand each reply to
 * the job that sent its request. They are called by the job that runs, and
 * other jobs run while they wait. Errors of the connection, and replies to no
 * request, are fatal.
 */

struct sftp_conn;
struct sftp_tree;
struct sshbuf;

/*
 * Notes that the job is about to send the request `msg` on conn. Does nothing
 * if tree is NULL. Takes the replies that have come first, as a server may read
 * no request until its replies are read.
 */
void	 sftp_request_sending(struct sftp_tree *tree,
	    const struct sftp_conn *conn, const struct sshbuf *msg);

/*
 * Sends the request, if the connection is a lane (sftp-lanes.h). Returns 1, or
 * 0 if the caller has to send it.
 */
int	 sftp_request_send(struct sftp_tree *tree,
	    const struct sftp_conn *conn, const struct sshbuf *msg);

/* Notes that the reply to the request sent last is to be dropped. */
void	 sftp_reply_ignore(struct sftp_tree *tree);

/* Waits for the job's next reply from conn and copies it to `msg`. */
void	 sftp_reply_get(struct sftp_tree *tree, const struct sftp_conn *conn,
	    struct sshbuf *msg);

/*
 * Returns 1 if sftp_reply_get() would return a reply from conn at once, else 0.
 * Reads nothing.
 */
int	 sftp_reply_ready(const struct sftp_tree *tree,
	    const struct sftp_conn *conn);

/* Returns 1 if something has come from conn that was not read yet, else 0. */
int	 sftp_reply_unread(struct sftp_tree *tree,
	    const struct sftp_conn *conn);

/* Waits until n replies, from all servers, are there for the job. */
void	 sftp_replies_wait(struct sftp_tree *tree, u_int n);

/*
 * Drops the replies that are there for the job, from all servers. Does nothing
 * if tree is NULL.
 */
void	 sftp_replies_drop(struct sftp_tree *tree);

/*
 * Waits for one reply from any server and hands it over. ctx is the struct
 * sftp_tree. Returns 1, or 0 if no request is outstanding. It is the wait() of
 * struct sftp_fiber_config: only sftp-tree.c calls it.
 */
int	 sftp_replies_deliver(void *ctx);

#endif /* SFTP_REPLIES_H */
