/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SFTP_FINISH_H
#define SFTP_FINISH_H

struct sshbuf;

/*
 * The requests that follow the data of an upload: those that set size and
 * attributes, and a close. They are sent without waiting for the data's
 * replies.
 */
struct sftp_finish {
	u_int n;
	u_int id[3];
	u_int status[3];	/* SSH2_FX_*; OK until a reply comes */
};

/* Adds the request with an id, which is about to be sent. Returns the id. */
u_int	 sftp_finish_add(struct sftp_finish *rest, u_int id);

/*
 * Notes that a request was answered with a status (SSH2_FX_*). Returns 1 if it
 * is one of these, else 0.
 */
int	 sftp_finish_got(struct sftp_finish *rest, u_int id, u_int status);

/*
 * The same for an SSH2_FXP_STATUS whose status comes next in msg. Takes it from
 * there if the request is one of these. A reply with no status is fatal.
 */
int	 sftp_finish_take(struct sftp_finish *rest, u_int id,
	    struct sshbuf *msg);

/*
 * Logs which of them failed, once all are answered, with stock's messages.
 * Returns 0, or -1 if the last one, the close, failed.
 */
int	 sftp_finish_end(const struct sftp_finish *rest);

#endif /* SFTP_FINISH_H */
