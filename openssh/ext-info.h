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

#ifndef EXT_INFO_H
#define EXT_INFO_H

#include <sys/types.h>

struct kex;
struct sshbuf;

/*
 * What the two ends tell each other of themselves in EXT_INFO, by the names of
 * bdp-names.h (PROTOCOL.channels).
 */

/* In kex->flags: the peer's input buffer does not grow with its credit. */
#define KEX_HAS_BOUNDED_INPUT	0x10000
/* In kex->flags: the server takes requests for the last channel. */
#define KEX_HAS_LAST_CHANNEL	0x20000

/*
 * Appends a name to the body of an EXT_INFO message: a count, and that number
 * of names with their values (RFC 8308, 2.3). Returns 0, SSH_ERR_INVALID_FORMAT
 * if there is no count, or an SSH_ERR_* code of sshbuf_put_cstring(). Logs an
 * error.
 */
int	 ext_info_announce(struct sshbuf *info, const char *name);

/*
 * Takes note of a name in the peer's EXT_INFO and its value of len bytes.
 * Returns 1 if the name is ours and 0 otherwise. A version that we don't know
 * counts as if the peer had said nothing.
 */
int	 ext_info_got(struct kex *kex, const char *name, const u_char *value,
	     size_t len);

#endif /* EXT_INFO_H */
