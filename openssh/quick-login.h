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

#ifndef QUICK_LOGIN_H
#define QUICK_LOGIN_H

#include <sys/types.h>

#include <stdint.h>

#include "quick-data.h"
#include "quick-gss.h"
#include "quick-kex.h"
#include "quick-pair.h"
#include "quick-ping.h"
#include "quick-start.h"

struct Channel;
struct quick_entry;
struct ssh;
struct sshkey;

/*
 * A login of ssh with QuickStart: what is remembered of the host, what was sent
 * early, and what to remember. A process has one. With the mode QUICK_START_NO
 * no function does anything.
 */

/*
 * Starts a login: reads what is remembered of a host, by its name in
 * known_hosts, and a user. mode is the option's value. hostfile is the user's
 * first file of known hosts, or NULL. If nothing can be remembered beside it,
 * the mode is QUICK_START_NO.
 */
void	 quick_login_start(int mode, const char *hostfile, const char *host,
	     const char *user);

/*
 * Returns 1 if the file had something of the host and the user when the login
 * started, else 0: then all messages are stock's.
 */
int	 quick_login_is_remembered(void);

/*
 * Returns what is remembered of the host and the user, for quick-kex.c to
 * change, or NULL with the mode QUICK_START_NO. Its host is "" if nothing is.
 */
struct quick_entry *quick_login_entry(void);

/*
 * Writes the entry. Returns 0, or an SSH_ERR_* code if the file has not it. If
 * another process kept the file, quick_login_end() tries again.
 */
int	 quick_login_save(void);

/*
 * Notes when a guess of this login went out that may be wrong, in Unix time; 0:
 * it was right. The entry is to be written, with the next change at the latest.
 */
void	 quick_login_guessed(uint64_t since);

/* Notes that it did not go out. since: as the file had it. */
void	 quick_login_not_guessed(uint64_t since);

/* Returns 1 if this login may begin with a signature, else 0. */
int	 quick_login_may_sign(const struct ssh *ssh);

/*
 * Returns 1 if a key is the one that logged in here last, in the same place
 * (in_agent, or in the file), and can sign without anybody's help, else 0.
 * is_private: it is a private key. alg is what it would sign with, or NULL.
 */
int	 quick_login_is_key(const struct ssh *ssh, const struct sshkey *key,
	     int in_agent, int is_private, const char *file, const char *alg);

/*
 * Notes that a signature goes out before the server was asked about the key,
 * and forgets the key until the login succeeds. Returns 1, or 0 if the file
 * still has the key, and the server is to be asked first.
 */
int	 quick_login_mark_early(void);

/* Notes that this signature could not be made. The rest of the login asks. */
void	 quick_login_cancel_early(void);

/* Returns 1 if a signature goes out, or went out, unasked; else 0. */
int	 quick_login_is_early(void);

/* Notes that a key is about to sign: how long that takes counts. */
void	 quick_login_sign_begin(void);

/*
 * Notes that a key has signed, with the algorithm alg. in_agent: it is in an
 * agent.
 */
void	 quick_login_sign_end(const struct ssh *ssh, const struct sshkey *key,
	     const char *alg, int in_agent);

/*
 * Notes that the server refused a request. If it took it for a part of what it
 * wants, `partly` is the method, else NULL. Frees the channel of a session that
 * was sent early, as the server doesn't know it.
 */
void	 quick_login_failed(struct ssh *ssh, const char *partly);

/*
 * Notes that the login succeeded with a method. Remembers it if the next one
 * may begin with the signature, else forgets it.
 */
void	 quick_login_done(struct ssh *ssh, const char *method);

/*
 * Returns 1 if a session's requests may go out right behind its opening, else
 * 0.
 */
int	 quick_login_may_open(const struct ssh *ssh);

/* Returns 1 if a session's requests did not wait for its number, else 0. */
int	 quick_login_opened_early(void);

/* Remembers of a session's channel (id), now confirmed, if its number is 0. */
void	 quick_login_confirmed(struct ssh *ssh, int id);

/*
 * Makes a session's channel ready for requests before it is confirmed, as
 * number 0 of the server's. If the server refuses it, or has given it another
 * number, ssh ends with status 255.
 */
void	 quick_login_presume_channel(struct ssh *ssh, struct Channel *c);

/* Notes the channel (id) whose session was sent before the login succeeded. */
void	 quick_login_session_sent(struct ssh *ssh, int id);

/*
 * Sends what scp or sftp has to say with the session of the channel (id) that
 * was just sent. A server whose sftp is remembered for it gets requests, too.
 */
void	 quick_login_send_data(struct ssh *ssh, int id);

/* Lets scp or sftp send its requests, if the server is remembered for it. */
void	 quick_login_offer(void);

/*
 * Remembers what scp or sftp has learned of the server, and what another
 * process kept ssh from writing.
 */
void	 quick_login_end(void);

/*
 * Returns the channel of that session, or -1 if there is none, or if it was
 * returned before.
 */
int	 quick_login_take_session(struct ssh *ssh);

/*
 * Sends the session behind a signature, if it may be sent before the login has
 * succeeded (ssh.c).
 */
void	 quick_session_send(struct ssh *ssh);

#endif /* QUICK_LOGIN_H */
