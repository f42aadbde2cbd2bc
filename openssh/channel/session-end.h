/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SESSION_END_H
#define SESSION_END_H

#include <sys/types.h>

#include <signal.h>

struct Channel;
struct ssh;

/*
 * What of a session's input or output was lost, for ssh's exit status. "Output"
 * is what the peer sends, and goes to standard output and error.
 */

/*
 * Returns `error`, the errno of a read of `fd`, the input of a channel; or 0 if
 * it ends the input as an end of file does. A terminal or a local program that
 * has gone does, and so does a descriptor that is not open for reading, as
 * nohup and daemons leave it.
 */
int	 session_read_errno(int fd, int error);

/*
 * The same for a write to `fd`, the output of a channel. Returns 0 if the
 * reader or the terminal has gone, which wants no more, and if `fd` is not open
 * for writing.
 */
int	 session_write_errno(int fd, int error);

/*
 * Returns a message on what failed with the standard input or output of a
 * session, or NULL if nothing did. The caller frees it.
 */
char	*session_failure(const struct Channel *c);

/*
 * If something failed with the session of an ssh that shares the master's
 * connection, tells it: appends a message of `type`, which it does not expect,
 * to the output of its control channel. Any OpenSSH then prints the text of
 * that message and exits with 255.
 */
void	 session_tell_failure(struct ssh *ssh, const struct Channel *c,
	    u_int type);

/*
 * To be called if the connection has ended before the channel of a session was
 * closed. If all output has come, writes what is left of it, until that is done
 * or fails, or *stop is not 0. Returns 1 if output was lost, else 0.
 */
int	 session_output_lost(const struct ssh *ssh, struct Channel *c,
	    const volatile sig_atomic_t *stop);

#endif /* SESSION_END_H */
