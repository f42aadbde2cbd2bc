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

#ifndef POLY1305_EVP_H
#define POLY1305_EVP_H

/*
 * Poly1305 of bulk data by OpenSSL, which has it in the CPU's vector
 * instructions. Before login, and for short packets, it is upstream's.
 */

/* Lets OpenSSL compute it from now on. */
void	 poly1305_evp_start(void);

/*
 * Computes the tag of the len bytes at m with a key that is used once, as
 * poly1305_auth() does. Can't fail: if OpenSSL does, upstream's code is used.
 */
void	 poly1305_evp_auth(u_char tag[POLY1305_TAGLEN], const u_char *m,
	    size_t len, const u_char key[POLY1305_KEYLEN]);

#endif /* POLY1305_EVP_H */
