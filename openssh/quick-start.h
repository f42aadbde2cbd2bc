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

#ifndef QUICK_START_H
#define QUICK_START_H

#include <sys/types.h>

struct sshkey;

/* Values of the option QuickStart */
#define QUICK_START_NO		0	/* as stock */
#define QUICK_START_YES		1	/* early where the peer says so */
#define QUICK_START_ALWAYS	2	/* the session to any OpenSSH, too */

/* What is remembered of a login, in quick_entry.flags */
#define QUICK_AGENT		0x01	/* an agent signed, without delay */
#define QUICK_FROM_ZERO		0x02	/* the first channel was number 0 */
#define QUICK_SFTP		0x04	/* sftp takes requests at once */
#define QUICK_WRONG		0x10	/* guesses that were wrong, but may be
					   right the next time: a count */
#define QUICK_WRONG_MAX		0x30

/* Most bytes of a session that may be sent before the login's answer */
#define QUICK_SESSION_MAX	(32 * 1024)

/* An agent that took longer (in seconds) may have asked somebody. */
#define QUICK_AGENT_S		0.3

/*
 * Returns 1 if the first packet of a key exchange is nothing but a share, which
 * depends on no answer, else 0. So it is not of DH group exchange or GSSAPI.
 */
int	 quick_start_is_share(const char *kex);

/*
 * Returns 1 if a server with this banner ("SSH-2.0-...") is known to read what
 * comes behind the client's banner in order, else 0: some others hang.
 */
int	 quick_start_reads_ahead(const char *banner);

/*
 * Returns 1 if a key can sign before the server was asked about it, else 0. It
 * needs no touch or PIN, is no certificate or RSA key, and is where it was
 * (in_agent: 1 in an agent, 0 in a file) when a login with these flags was
 * remembered.
 */
int	 quick_start_key(const struct sshkey *key, int in_agent, u_int flags);

/*
 * Returns 1 if a session's requests may be sent right behind its opening to a
 * peer with these kex->flags and ssh->compat, else 0. logged_in: the login has
 * succeeded. from_zero: the peer numbered its channels from 0 before.
 */
int	 quick_start_session(int mode, u_int kex_flags, u_int compat,
	     int logged_in, int from_zero);

/*
 * Returns an upper limit of the bytes that a session's messages take: a
 * command of command_len bytes, the variables of env whose names match one of
 * the send_num patterns, and set_num variables (NAME=VALUE).
 */
size_t	 quick_start_session_bytes(size_t command_len, char **env,
	     char **send_env, size_t send_num, char **set_env, size_t set_num);

#endif /* QUICK_START_H */
