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

#ifndef QUICK_KEY_H
#define QUICK_KEY_H

#include <sys/types.h>

struct ssh;
struct sshkey;

/* A user's key, as QuickStart remembers it. */

/*
 * Returns a text of its own for a key, with the algorithm `alg` that it signs
 * with, to be freed; NULL if there is none.
 */
char	*quick_key_text(const struct sshkey *key, const char *alg);

/*
 * Writes into digest, of len bytes, that of a login of a user with a key of
 * that text, to the host whose key is verified and whose hashed name is
 * `hashed`. Returns 0 or an SSH_ERR_* code.
 */
int	 quick_key_digest(const struct ssh *ssh, const char *hashed,
	    const char *user, const char *text, char *digest, size_t len);

/*
 * Returns 1 if a file, which only the user may read, has the private half of a
 * key without a passphrase, else 0.
 */
int	 quick_key_is_in_file(const struct sshkey *key, const char *file);

#endif /* QUICK_KEY_H */
