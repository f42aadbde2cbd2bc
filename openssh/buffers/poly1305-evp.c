/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <stdint.h>

#ifdef WITH_OPENSSL
# include <openssl/opensslv.h>
/* LibreSSL claims to be 2.0 */
# if OPENSSL_VERSION_NUMBER >= 0x30000000L
#  define POLY1305_EVP
#  include <openssl/evp.h>
# endif
#endif

#include "poly1305.h"
#include "poly1305-evp.h"

/* Shortest message (bytes) for which OpenSSL saves more than it costs. */
#define EVP_LEAST	1024

static int started;

#ifdef POLY1305_EVP

/*
 * Returns 0, or -1 if OpenSSL cannot, as with a FIPS provider. The context
 * wipes its key.
 */
static int
by_evp(u_char *tag, const u_char *m, size_t len, const u_char *key)
{
	static EVP_MAC_CTX *ctx;
	EVP_MAC *mac;
	size_t taglen;

	if (ctx == NULL) {
		if ((mac = EVP_MAC_fetch(NULL, "POLY1305", NULL)) == NULL)
			return -1;
		ctx = EVP_MAC_CTX_new(mac);
		EVP_MAC_free(mac);
		if (ctx == NULL)
			return -1;
	}
	if (!EVP_MAC_init(ctx, key, POLY1305_KEYLEN, NULL) ||
	    !EVP_MAC_update(ctx, m, len) ||
	    !EVP_MAC_final(ctx, tag, &taglen, POLY1305_TAGLEN) ||
	    taglen != POLY1305_TAGLEN)
		return -1;
	return 0;
}

#else

static int
by_evp(u_char *tag, const u_char *m, size_t len, const u_char *key)
{
	return -1;
}

#endif /* POLY1305_EVP */

void
poly1305_evp_enable(void)
{
	started = 1;
}

void
poly1305_evp_auth(u_char tag[POLY1305_TAGLEN], const u_char *m, size_t len,
    const u_char key[POLY1305_KEYLEN])
{
	if (started && len >= EVP_LEAST) {
		if (by_evp(tag, m, len, key) == 0)
			return;
		started = 0;
	}
	poly1305_auth(tag, m, len, key);
}
