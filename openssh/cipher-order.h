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

#ifndef CIPHER_ORDER_H
#define CIPHER_ORDER_H

/*
 * The default order of ciphers: AES-GCM before ChaCha20-Poly1305 where the CPU
 * has instructions for it, and upstream's order elsewhere.
 */

/*
 * Returns 1 if the CPU has instructions for AES and for the hash of GCM, as
 * OpenSSL says in `settings`: a string of
 * OPENSSL_info(OPENSSL_INFO_CPU_SETTINGS) (OpenSSL 3.0, crypto/info.c), or
 * NULL if it doesn't say.
 */
int	 cipher_order_has_aes(const char *settings);

/* Returns a copy of a list of names, the AES-GCM ones first; to be freed. */
char	*cipher_order_gcm_first(const char *list);

/*
 * Puts a list of default ciphers into the order that suits this CPU. May free
 * *list and replace it.
 */
void	 cipher_order_default(char **list);

#endif /* CIPHER_ORDER_H */
