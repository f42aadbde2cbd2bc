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

#include "includes.h"

#include <sys/types.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef WITH_OPENSSL
#include <openssl/crypto.h>
#endif

#include "../test_helper/test_helper.h"

#include "cipher-order.h"

#define CHACHA	"chacha20-poly1305@openssh.com"
#define GCM128	"aes128-gcm@openssh.com"
#define GCM256	"aes256-gcm@openssh.com"

void test_cipher_order(void);

static void
settings(void)
{
	static const struct {
		const char *settings;
		int aes;
	} tests[] = {
		{ NULL, 0 },
		{ "", 0 },
		{ "N/A", 0 },
		/* what OpenSSL says on some CPUs, and with bits turned off */
		{ "OPENSSL_ia32cap=0xfffa3203078bffff:0x405fc6f1bf07ab", 1 },
		{ "OPENSSL_ia32cap=0xfdfa3203078bffff:0x405fc6f1bf07ab", 0 },
		{ "OPENSSL_ia32cap=0xfffa3201078bffff:0x405fc6f1bf07ab", 0 },
		{ "OPENSSL_ia32cap=0xfdfa3201078bffff:0x0 env:~0x2000002"
		    "00000000", 0 },
		{ "OPENSSL_ia32cap=0x200000200000000:0x0:0x0:0x0", 1 },
		{ "OPENSSL_armcap=0x7d", 1 },
		{ "OPENSSL_armcap=0x3d env:0x3d", 1 },
		{ "OPENSSL_armcap=0x5d", 0 },
		{ "OPENSSL_armcap=0x39", 0 },
		{ "OPENSSL_armcap=0x1", 0 },
		{ "OPENSSL_armcap=", 0 },
		{ "OPENSSL_ppccap=0xffffffff", 0 },
	};
	size_t i;

	TEST_START("cipher order: what the CPU has");
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		test_subtest_info("%s", tests[i].settings ?
		    tests[i].settings : "NULL");
		ASSERT_INT_EQ(cipher_order_has_aes(tests[i].settings),
		    tests[i].aes);
	}
	TEST_DONE();
}

static void
order(void)
{
	static const char *tests[][2] = {
		{ "", "" },
		{ CHACHA, CHACHA },
		{ GCM256, GCM256 },
		{ CHACHA "," GCM128, GCM128 "," CHACHA },
		{ GCM256 "," CHACHA "," GCM128,
		    GCM256 "," GCM128 "," CHACHA },
		/* 10.0, and 9.2 */
		{ CHACHA "," GCM128 "," GCM256 ",aes128-ctr,aes256-ctr",
		    GCM128 "," GCM256 "," CHACHA ",aes128-ctr,aes256-ctr" },
		{ CHACHA ",aes128-ctr,aes256-ctr," GCM128 "," GCM256,
		    GCM128 "," GCM256 "," CHACHA ",aes128-ctr,aes256-ctr" },
	};
	char *got;
	size_t i;

	TEST_START("cipher order: AES-GCM first, the rest as it was");
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		test_subtest_info("%s", tests[i][0]);
		got = cipher_order_gcm_first(tests[i][0]);
		ASSERT_STRING_EQ(got, tests[i][1]);
		free(got);
	}
	TEST_DONE();
}

/* The default is ordered if this CPU has AES, and no list stays none. */
static void
ours(void)
{
	const char *cpu = NULL, *expected = CHACHA "," GCM128;
	char *list = NULL;
	size_t before, i;

	TEST_START("cipher order: the default, on this CPU");
	cipher_order_default(&list);
	ASSERT_PTR_EQ(list, NULL);
#ifdef OPENSSL_INFO_CPU_SETTINGS
	cpu = OPENSSL_info(OPENSSL_INFO_CPU_SETTINGS);
#endif
	if (cipher_order_has_aes(cpu))
		expected = GCM128 "," CHACHA;
	before = mallinfo2().uordblks;
	for (i = 0; i < 100; i++) {
		list = strdup(CHACHA "," GCM128);
		cipher_order_default(&list);
		ASSERT_STRING_EQ(list, expected);
		free(list);
	}
	ASSERT_SIZE_T_LT(mallinfo2().uordblks, before + 100 * 16);
	TEST_DONE();
}

void
test_cipher_order(void)
{
	ours();
	settings();
	order();
}
