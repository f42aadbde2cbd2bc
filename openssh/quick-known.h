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

#ifndef QUICK_KNOWN_H
#define QUICK_KNOWN_H

#include <sys/types.h>

struct sshbuf;

/*
 * The file in which ssh remembers logins. A line is a host and a user: the
 * host's name as a hashed known_hosts has it, flags in hexadecimal, and digests
 * of the user and of the login, salted with the hashed name.
 */
#define QUICK_KNOWN_FILE	"~/.ssh/quick_hosts"
#define QUICK_KNOWN_MAX		256	/* lines */
#define QUICK_LINE_MAX		256	/* bytes of a line, with its end */

struct quick_entry {
	char	host[64];	/* hashed name */
	char	user[48];	/* digest of the user's name */
	char	login[48];	/* digest of user, key and host key */
	u_int	flags;		/* QUICK_* */
};

struct quick_known {
	struct quick_entry entry[QUICK_KNOWN_MAX];	/* oldest first */
	size_t	num;
};

/*
 * Parses a line without its newline. Returns 0, or SSH_ERR_INVALID_FORMAT if
 * it is none of ours.
 */
int	 quick_entry_parse(const char *line, struct quick_entry *entry);

/* Appends an entry as a line. Returns 0 or an SSH_ERR_* code of sshbuf. */
int	 quick_entry_put(const struct quick_entry *entry, struct sshbuf *buf);

/*
 * Writes the digest of a user (key and hostkey are NULL), or of a login, into
 * digest, salted with a hashed name. key and hostkey are fingerprints. Returns
 * 0 or an SSH_ERR_* code.
 */
int	 quick_entry_digest(const char *hashed, const char *user,
	     const char *key, const char *hostkey, char *digest, size_t len);

/*
 * Sets a new entry's host and user, with a new salt. Returns 0 or an SSH_ERR_*
 * code.
 */
int	 quick_entry_new(struct quick_entry *entry, const char *host,
	     const char *user);

/* Returns the entry of a host (as known_hosts has it) and user, or NULL. */
struct quick_entry *quick_known_find(struct quick_known *known,
	     const char *host, const char *user);

/* Removes what find() returned. */
void	 quick_known_remove(struct quick_known *known,
	     struct quick_entry *entry);

/* Appends an entry. The oldest goes if there is no room. */
void	 quick_known_add(struct quick_known *known,
	     const struct quick_entry *entry);

/*
 * Reads all lines of a buffer. Returns 0, or SSH_ERR_INVALID_FORMAT and no
 * entry if a line or their number is not as we write it.
 */
int	 quick_known_parse(struct quick_known *known, const char *text,
	     size_t len);

/*
 * Reads a file, or nothing if there is none. Returns 0; SSH_ERR_INVALID_FORMAT
 * if it is damaged, which a new one may replace; SSH_ERR_KEY_BAD_PERMISSIONS if
 * it is not a regular file that only its owner, who is us, may use; or
 * SSH_ERR_SYSTEM_ERROR. There is no entry unless it returns 0.
 */
int	 quick_known_load(struct quick_known *known, const char *path);

/* Replaces a file, unless it returns an SSH_ERR_* code instead of 0. */
int	 quick_known_store(const struct quick_known *known, const char *path);

/* Removes all entries of a host from a file, silently. */
void	 quick_known_forget(const char *path, const char *host);

#endif /* QUICK_KNOWN_H */
