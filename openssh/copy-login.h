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


#ifndef COPY_LOGIN_H
#define COPY_LOGIN_H

#include <sys/types.h>

struct ssh;
struct sshkey;

/*
 * In ssh: whether logins like this one would succeed without asking anybody,
 * as those of further connections of scp and sftp have to. A login that fails
 * counts: sshd and others block who fails often.
 */

/* Notes that somebody is asked for the passphrase of a key. */
void	 copy_login_asked(void);

/* Notes that a key, of an agent or not, has signed, and took so long (s). */
void	 copy_login_signed(const struct sshkey *key, int in_agent,
	    double took_s);

/* Notes a method that the server accepted, though it wants more. */
void	 copy_login_partly(const char *method);

/* Notes the method that logged in. */
void	 copy_login_done(const char *method);

/* Returns 1 if this login asked somebody, or may have, else 0. */
int	 copy_login_asks(void);

/* Where the keys of hosts are; the names are not copied */
struct copy_login_files {
	char	*const *user, *const *global;	/* names of files */
	u_int	 num_user, num_global;
	int	 elsewhere;	/* 1: they may be in no file */
};

/*
 * Returns 1 if the server's key is one of a host in the files, or may be known
 * otherwise, else 0: a login that insists on it would fail. As in ssh, the host
 * may be there without its port, and instead of its certificate's CA its key.
 */
int	 copy_login_is_known(struct ssh *ssh, const char *host,
	    const struct copy_login_files *files);

#endif /* COPY_LOGIN_H */
