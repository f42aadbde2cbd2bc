/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SESSION_END_H
#define SESSION_END_H

#include <sys/types.h>

#include <signal.h>

struct Channel;
struct ssh;

/*
 * Detects lost input or output of a session, for ssh's exit status. The output
 * is the data from the peer for standard output and standard error.
 */

/*
 * `error` is the errno of a read of `fd`, the input of a channel. Returns 0 if
 * the error counts as an end of file: a terminal or local program has gone, or
 * `fd` is not open for reading, as under nohup or in a daemon. Otherwise
 * returns `error`.
 */
int	 session_read_errno(int fd, int error);

/*
 * The same for a write to `fd`, the output of a channel. Returns 0 if the
 * reader or the terminal has gone, or if `fd` is not open for writing.
 */
int	 session_write_errno(int fd, int error);

/*
 * Returns a message on a failed standard input or output of a session, or NULL
 * if none failed. The caller frees the message.
 */
char	*session_failure(const struct Channel *c);

/*
 * For a master: reports a failure to the ssh whose session is `c`. Appends a
 * message of `type`, which that ssh does not expect, to its control channel.
 * Any OpenSSH then prints the text of this message and exits with 255.
 */
void	 session_report_failure(struct ssh *ssh, const struct Channel *c,
	    u_int type);

/*
 * Call this if the connection has ended before a session's channel was closed.
 * If all output has arrived, writes the part that is still unwritten, until a
 * write fails or *stop is not 0. Returns 1 if output was lost, else 0.
 */
int	 session_output_lost(const struct ssh *ssh, struct Channel *c,
	    const volatile sig_atomic_t *stop);

#endif /* SESSION_END_H */
