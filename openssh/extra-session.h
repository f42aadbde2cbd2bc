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


#ifndef EXTRA_SESSION_H
#define EXTRA_SESSION_H

/*
 * ssh's side of a private socket on which scp and sftp ask for more sessions of
 * the connection. sftp-session.h is the other side.
 *
 * Messages are framed as in mux.c: a length (4 bytes, of what follows), then a
 * type (4 bytes). From scp or sftp:
 *
 *	EXTRA_SESSION_OPEN	One more session, with the command or subsystem
 *				and the environment of the first. A byte
 *				follows, with two descriptors: what the session
 *				reads its input from, and what its output is
 *				written to. They are closed when it is refused,
 *				or ends.
 *	EXTRA_SESSION_REPORT	How do the sessions fare? ssh answers with
 *				EXTRA_SESSION_REPORT and three numbers (8 bytes
 *				each): the total time (us) that the peer's
 *				windows held the sessions up, added up; the
 *				least RTT (us; 0: unknown); the number of
 *				sessions that are open, with the first.
 *	EXTRA_SESSION_END	No more sessions. ssh tells the server so, and
 *				closes the socket.
 *
 * ssh closes the socket after any other message.
 */

#define EXTRA_SESSION_OPEN	1
#define EXTRA_SESSION_REPORT	2
#define EXTRA_SESSION_END	3

/* Numbers in a report */
#define EXTRA_SESSION_NUMBERS	3

/*
 * The variable that tells ssh which descriptor is the socket: its number, a
 * colon and its inode, so that no other descriptor is taken for it. What
 * follows says who decides whether there are sessions (extra-limit.h).
 */
#define EXTRA_SESSION_ENV	"SSH_SFTP_SESSIONS"
#define EXTRA_SESSION_ASKED	""		/* EXTRA_LIMIT_ASKED */
#define EXTRA_SESSION_AUTO	":auto"		/* EXTRA_LIMIT_AUTO */
#define EXTRA_SESSION_OPTION	":option"	/* EXTRA_LIMIT_OPTION */

struct ssh;
struct sshbuf;

/*
 * Takes the socket over that EXTRA_SESSION_ENV names, and unsets the variable;
 * takes that of quick-pair.h, too. Call it before closefrom(3): it returns the
 * lowest descriptor that ssh does not need.
 */
int	 extra_session_inherit(void);

/*
 * Starts to listen on the socket, for a connection whose first session is the
 * channel `id` (-1: none), with the command or subsystem `command`. Call it
 * only where no other sessions are expected, so not in a ControlMaster.
 * `option` is the value of CopySessions. Returns 1 if more sessions may be
 * opened, else 0. The socket is then closed. A server of this series has
 * windows that follow the path: there is no need for more.
 */
int	 extra_session_start(struct ssh *ssh, int id, struct sshbuf *command,
	    int subsystem, int option);

/* The first session has ended: ends the others. */
void	 extra_session_end(struct ssh *ssh);

#endif /* EXTRA_SESSION_H */
