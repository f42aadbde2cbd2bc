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

#ifndef SESSION_END_H
#define SESSION_END_H

#include <sys/types.h>

#include <signal.h>

struct Channel;
struct ssh;

/*
 * What of a session was lost, as ssh's exit status has to tell. "Output" is
 * what the peer sends, and goes to standard output and error.
 */

/*
 * Returns what to remember of `error` (an errno) from a read of `fd`, the input
 * of a channel: 0 if it is no error, else the errno. A terminal that has gone,
 * and a descriptor that is not open for reading, as nohup and daemons leave it,
 * end the input as an end of file does.
 */
int	 session_read_errno(int fd, int error);

/*
 * The same for a write to `fd`, the output of a channel. A reader that has gone
 * wants no more, and so does a terminal: neither is an error.
 */
int	 session_write_errno(int fd, int error);

/*
 * Returns what failed with the standard input or output of a session, in words
 * to be freed by the caller; NULL if nothing did.
 */
char	*session_failure(const struct Channel *c);

/*
 * Tells the ssh that shares the master's connection what failed with its
 * session, if anything did: appends a message of `type`, which is none that
 * it expects, to the output of its control channel. Any OpenSSH then prints the
 * text of that message, and ends with 255.
 */
void	 session_tell_failure(struct ssh *ssh, const struct Channel *c,
	    u_int type);

/*
 * The connection has ended before the channel of a session was closed. Writes
 * output that is left if all of it has come, until that is done, fails, or
 * *stop is not 0. Returns 1 if output was lost, else 0.
 */
int	 session_output_lost(const struct ssh *ssh, struct Channel *c,
	    const volatile sig_atomic_t *stop);

#endif /* SESSION_END_H */
