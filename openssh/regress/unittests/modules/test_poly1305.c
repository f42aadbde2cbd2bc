/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/*
 * OpenSSL's Poly1305 gives the same tags as upstream's. Padding is different in
 * each packet, and none of it stays in memory.
 */

#include "includes.h"

#include <sys/types.h>

#include <stdlib.h>
#include <string.h>

#ifdef WITH_OPENSSL
# include <openssl/evp.h>
#endif

#include "../test_helper/test_helper.h"

#include "memory.h"
#include "packet-pad.h"
#include "poly1305.h"
#include "poly1305-evp.h"

void test_poly1305(void);

#define LONGEST	70000

static u_int evp_used;	/* times */
static int evp_lacks;	/* OpenSSL is without Poly1305 */

#if defined(WITH_OPENSSL) && OPENSSL_VERSION_NUMBER >= 0x30000000L
# define HAS_EVP	1
int __real_EVP_MAC_init(EVP_MAC_CTX *, const u_char *, size_t,
    const OSSL_PARAM[]);
int __wrap_EVP_MAC_init(EVP_MAC_CTX *, const u_char *, size_t,
    const OSSL_PARAM[]);

/* OpenSSL's, which the link puts this in front of (bdp-unit.mk) */
int
__wrap_EVP_MAC_init(EVP_MAC_CTX *ctx, const u_char *key, size_t len,
    const OSSL_PARAM params[])
{
	evp_used++;
	return evp_lacks ? 0 : __real_EVP_MAC_init(ctx, key, len, params);
}
#else
# define HAS_EVP	0
#endif

/* Returns how many of the messages are as long as OpenSSL is used for. */
static u_int
same_tags(void)
{
	u_int bulk = 0;
	u_char *m, key[POLY1305_KEYLEN];
	u_char want[POLY1305_TAGLEN], got[POLY1305_TAGLEN];
	size_t len;
	u_int i;

	m = malloc(LONGEST);
	ASSERT_PTR_NE(m, NULL);
	for (i = 0; i < 2000; i++) {
		len = i < 1200 ? i : arc4random_uniform(LONGEST);
		/* All ones carry most. */
		if (i % 10 == 0) {
			memset(m, 0xff, len);
			memset(key, 0xff, sizeof(key));
		} else {
			arc4random_buf(m, len);
			arc4random_buf(key, sizeof(key));
		}
		poly1305_auth(want, m, len, key);
		memset(got, 0, sizeof(got));
		poly1305_evp_auth(got, m, len, key);
		test_subtest_info("%zu bytes", len);
		ASSERT_MEM_EQ(got, want, sizeof(want));
		bulk += len >= 1024;
	}
	free(m);
	return bulk;
}

static void
by_openssl(void)
{
	u_int bulk;

	TEST_START("poly1305 before it is bulk: not by OpenSSL");
	evp_used = 0;
	ASSERT_U_INT_GT(same_tags(), 0);
	ASSERT_U_INT_EQ(evp_used, 0);
	TEST_DONE();
	TEST_START("poly1305 by OpenSSL, from 1024 bytes on");
	poly1305_evp_enable();
	bulk = same_tags();
	ASSERT_U_INT_EQ(evp_used, HAS_EVP ? bulk : 0);
	TEST_DONE();
	TEST_START("poly1305 without OpenSSL's: it is asked once");
	evp_used = 0;
	evp_lacks = 1;
	poly1305_evp_enable();
	(void)same_tags();
	ASSERT_U_INT_EQ(evp_used, HAS_EVP);
	evp_lacks = 0;
	(void)same_tags();
	ASSERT_U_INT_EQ(evp_used, HAS_EVP);
	TEST_DONE();
}

static void
padding(void)
{
	u_char last[16], pad[16], all = 0, *large;
	size_t len;
	u_int i;

	memset(last, 0, sizeof(last));
	for (i = 0; i < 5000; i++) {
		len = 8 + i % 9;
		memset(pad, 0, sizeof(pad));
		packet_pad(pad, len);
		ASSERT_MEM_NE(pad, last, 8);
		if (len < sizeof(pad))
			ASSERT_MEM_ZERO_EQ(pad + len, sizeof(pad) - len);
		all |= pad[len - 1];
		memcpy(last, pad, sizeof(last));
	}
	ASSERT_U8_EQ(all, 0xff);
	large = calloc(1, LONGEST);
	ASSERT_PTR_NE(large, NULL);
	packet_pad(large, LONGEST);
	memset(pad, 0, sizeof(pad));
	ASSERT_MEM_NE(large + LONGEST - sizeof(pad), pad, sizeof(pad));
	free(large);
}

#ifdef __linux__
/* What pads a packet has left our memory with it. */
static void
padding_is_gone(void)
{
	u_char pad[16], mask[16], masked[16];
	size_t i;
	u_int n;

	arc4random_buf(mask, sizeof(mask));
	for (n = 0; n < 3; n++) {
		packet_pad(pad, sizeof(pad));
		for (i = 0; i < sizeof(pad); i++)
			masked[i] = pad[i] ^ mask[i];
		explicit_bzero(pad, sizeof(pad));
		ASSERT_INT_EQ(memory_has(masked, mask, sizeof(masked)), 0);
	}
	/* That it would be found */
	memcpy(pad, mask, sizeof(pad));
	memset(mask, 0x5a, sizeof(mask));
	for (i = 0; i < sizeof(pad); i++)
		masked[i] = pad[i] ^ mask[i];
	ASSERT_INT_EQ(memory_has(masked, mask, sizeof(masked)), 1);
}
#endif

void
test_poly1305(void)
{
	by_openssl();
	TEST_START("padding is random, of any length");
	padding();
	TEST_DONE();
#ifdef __linux__
	TEST_START("padding that was used is gone from memory");
	padding_is_gone();
	TEST_DONE();
#endif
}
