/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef POLY1305_EVP_H
#define POLY1305_EVP_H

/*
 * Computes Poly1305 of bulk data with OpenSSL's vector instructions. Before
 * login, and for short packets, upstream's code is used.
 */

/* Makes poly1305_evp_auth() use OpenSSL from now on. */
void	 poly1305_evp_enable(void);

/*
 * Computes the tag of `len` bytes at `m` with a one-time key, as
 * poly1305_auth() does. Cannot fail: if OpenSSL fails, upstream's code is used.
 */
void	 poly1305_evp_auth(u_char tag[POLY1305_TAGLEN], const u_char *m,
	    size_t len, const u_char key[POLY1305_KEYLEN]);

#endif /* POLY1305_EVP_H */
