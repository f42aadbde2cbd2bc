/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SFTP_REPLY_FORM_H
#define SFTP_REPLY_FORM_H

#include <sys/types.h>

struct sshbuf;

/*
 * What the reply to an sftp request looks like, before a job parses it: for it,
 * a bad message is fatal. A message begins with its type here. Pure.
 */

/*
 * Returns the type (SSH2_FXP_*) by which sftp_reply_is_formed() judges the
 * reply to a request, which has at least five bytes. To flush a file counts as
 * FSETSTAT: a status answers both. Other extensions have replies of their own.
 */
u_char	 sftp_reply_request(const struct sshbuf *m);

/*
 * Returns 1 if a message can be the reply to a request of that type, and has
 * the form that it must have, else 0.
 */
int	 sftp_reply_is_formed(u_char request, const struct sshbuf *msg);

/*
 * Returns the bytes of data that the reply to a request may have. A READ says
 * how many. Requests that a status answers have none. Any other reply may be as
 * long as a message: a job has only one such request outstanding.
 */
size_t	 sftp_reply_data_max(const struct sshbuf *m);

#endif /* SFTP_REPLY_FORM_H */
