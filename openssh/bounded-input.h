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

#ifndef BOUNDED_INPUT_H
#define BOUNDED_INPUT_H

#include <sys/types.h>

struct kex;
struct sshbuf;

/* In kex->flags: the peer's input buffer does not grow with its credit. */
#define KEX_HAS_BOUNDED_INPUT	0x10000

/*
 * Appends our name (bdp-names.h) to the body of an EXT_INFO message: a count,
 * and that number of names with their values (RFC 8308, 2.3). Returns 0,
 * SSH_ERR_INVALID_FORMAT if there is no count, or an SSH_ERR_* code of
 * sshbuf_put_cstring(). Logs an error.
 */
int	 bounded_input_announce(struct sshbuf *info);

/*
 * Takes note of a name in the peer's EXT_INFO and its value of len bytes.
 * Returns 1 if the name is ours and 0 otherwise. A version that we don't know
 * counts as if the peer had said nothing.
 */
int	 bounded_input_got(struct kex *kex, const char *name,
	     const u_char *value, size_t len);

#endif /* BOUNDED_INPUT_H */
