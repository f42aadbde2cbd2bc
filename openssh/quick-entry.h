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

#ifndef QUICK_ENTRY_H
#define QUICK_ENTRY_H

#include <sys/types.h>

#include <stdint.h>

struct sshbuf;

/*
 * What ssh remembers of a host and a user, a line of a file: the host's name as
 * a hashed known_hosts has it, flags in hexadecimal, digests of the user and of
 * the login, the key exchange's name, a digest of what stood in our list up to
 * it, a time in hexadecimal, and a digest of the server's banner. Digests are
 * salted with the hashed name. "-" is nothing.
 */
#define QUICK_LINE_MAX		400	/* bytes of a line, with its end */
#define QUICK_KEX_RETRY_S	(24 * 3600)	/* until the next guess */

struct quick_entry {
	char	host[64];	/* hashed name */
	char	user[48];	/* digest of the user's name */
	char	login[48];	/* digest of user, key and host key, or "" */
	u_int	flags;		/* QUICK_* */
	char	kex[68];	/* key exchange that was negotiated, or "" */
	char	algs[48];	/* digest of our list up to it, or "" */
	char	banner[48];	/* digest of the server's banner, or "" */
	uint64_t since;		/* when a guess of kex went out that may have
				   been wrong, in Unix time; 0: none did */
};

/*
 * Parses a line without its newline. Returns 0, or SSH_ERR_INVALID_FORMAT if
 * it is none of ours.
 */
int	 quick_entry_parse(const char *line, struct quick_entry *entry);

/* Appends an entry as a line. Returns 0 or an SSH_ERR_* code of sshbuf. */
int	 quick_entry_put(const struct quick_entry *entry, struct sshbuf *buf);

/*
 * Writes the digest of a user or a banner (key and hostkey are NULL), or of a
 * login, into digest, salted with a hashed name. key and hostkey are
 * fingerprints. Returns 0 or an SSH_ERR_* code.
 */
int	 quick_entry_digest(const char *hashed, const char *user,
	     const char *key, const char *hostkey, char *digest, size_t len);

/*
 * Sets a new entry's host and user, with a new salt. Returns 0 or an SSH_ERR_*
 * code.
 */
int	 quick_entry_new(struct quick_entry *entry, const char *host,
	     const char *user);

/*
 * Sets what an entry remembers of a key exchange: its name, which algs, our
 * list of them, has, and the server's banner. Returns 0, or an SSH_ERR_* code
 * and nothing is remembered.
 */
int	 quick_entry_set_kex(struct quick_entry *entry, const char *name,
	     const char *algs, const char *banner);

/*
 * Returns 1 if the server will choose an entry's key exchange again, unless it
 * has changed, else 0: up to that one, algs is our list of last time.
 */
int	 quick_entry_leads_to(const struct quick_entry *entry,
	     const char *algs);

/*
 * Returns 1 if the first packet of an entry's key exchange may be sent unasked
 * at the time now (Unix time), else 0. algs is our list.
 */
int	 quick_entry_may_guess(const struct quick_entry *entry,
	     const char *algs, uint64_t now);

#endif /* QUICK_ENTRY_H */
