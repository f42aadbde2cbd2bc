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


#ifndef SFTP_SESSION_H
#define SFTP_SESSION_H

#include <sys/types.h>

#include <stdint.h>

/*
 * More sftp sessions of one connection: what scp and sftp ask of the ssh that
 * they started, over a socket of their own. extra-session.h is the other side.
 * A program that is no ssh of ours gets the socket, too, and ignores it: there
 * is then no answer, and one session.
 *
 * Around fork(2), once for each ssh:
 *
 *	sftp_session_prepare();
 *	if (fork() == 0) {
 *		sftp_session_child();
 *		exec(...)
 *	}
 *	sftp_session_started(fdin);
 */

/* The socket to one ssh */
struct sftp_sessions;

/* What ssh tells of its sessions */
struct sftp_session_report {
	/*
	 * Total time (us) that the peer's windows held the sessions up, added
	 * up over the sessions that are open
	 */
	uint64_t held_us;
	uint64_t rtt_us;	/* least RTT of the connection; 0: unknown */
	uint64_t sessions;	/* open, with the first */
};

/*
 * Allows `max` sessions of a connection, with the first, at most
 * EXTRA_LIMIT_MAX; 1 unless it is called.
 * With 1 there is no socket at all, as in stock. `by` is an EXTRA_SESSION_*
 * string that tells ssh who decides whether there are any (extra-session.h). It
 * is not copied. Call it before sftp_session_prepare().
 */
void	 sftp_session_limit(u_int max, const char *by);

/* Returns the limit on sessions. */
u_int	 sftp_session_max(void);

/* Makes the socket for the ssh that is started next. Ignores errors. */
void	 sftp_session_prepare(void);

/* In the child, before exec: hands the socket over. */
void	 sftp_session_child(void);

/*
 * In the parent: ssh has been started, and `fdin` is what its first session is
 * read from.
 */
void	 sftp_session_started(int fdin);

/*
 * Returns the socket to the ssh whose first session is read from `fdin`, or
 * NULL: there is none.
 */
struct sftp_sessions *sftp_session_of(int fdin);

/* Returns 1 if ssh has closed the socket, as it opens no sessions; else 0. */
int	 sftp_session_is_closed(const struct sftp_sessions *s);

/*
 * Asks for one more session. Returns 0 and the descriptors to read from and to
 * write to, which the caller closes, or -1. The session may still be refused:
 * then `fdin` is at its end before an answer to SSH2_FXP_INIT has come.
 */
int	 sftp_session_open(struct sftp_sessions *s, int *fdin, int *fdout);

/*
 * Asks how the sessions fare, and never waits. Returns 1 if the answer to an
 * earlier call has come, and stores it in *report; 0 if not; -1 if none will
 * come, as ssh has closed the socket.
 */
int	 sftp_session_report(struct sftp_sessions *s,
	    struct sftp_session_report *report);

/*
 * No more sessions will be asked for: ssh tells the server so. Closes the
 * socket and frees s, which may be NULL.
 */
void	 sftp_session_end(struct sftp_sessions *s);

#endif /* SFTP_SESSION_H */
