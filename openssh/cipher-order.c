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

#include <stdlib.h>
#include <string.h>

#ifdef WITH_OPENSSL
#include <openssl/crypto.h>
#endif

#include "xmalloc.h"
#include "cipher-order.h"

/* Bits of CPUID leaf 1, with EDX below and ECX above (OPENSSL_ia32cap(3)) */
#define IA32_PCLMULQDQ	(1ULL << 33)
#define IA32_AESNI	(1ULL << 57)

/* OpenSSL's own (arm_arch.h), from HWCAP_AES and HWCAP_PMULL */
#define ARMV8_AES	(1ULL << 2)
#define ARMV8_PMULL	(1ULL << 5)

int
cipher_order_has_aes(const char *settings)
{
	static const struct {
		const char *name;
		unsigned long long bits;
	} cpus[] = {
		{ "OPENSSL_ia32cap=", IA32_AESNI | IA32_PCLMULQDQ },
		{ "OPENSSL_armcap=", ARMV8_AES | ARMV8_PMULL },
	};
	unsigned long long caps;
	size_t i, len;

	if (settings == NULL)
		return 0;
	for (i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++) {
		len = strlen(cpus[i].name);
		if (strncmp(settings, cpus[i].name, len) != 0)
			continue;
		caps = strtoull(settings + len, NULL, 0);
		return (caps & cpus[i].bits) == cpus[i].bits;
	}
	return 0;
}

char *
cipher_order_gcm_first(const char *list)
{
	size_t size = strlen(list) + 1;
	char *ordered = xcalloc(1, size), *name, *copy, *rest;
	int gcm;

	for (gcm = 1; gcm >= 0; gcm--) {
		rest = copy = xstrdup(list);
		while ((name = strsep(&rest, ",")) != NULL) {
			if ((strstr(name, "-gcm@") != NULL) != gcm)
				continue;
			if (*ordered != '\0')
				strlcat(ordered, ",", size);
			strlcat(ordered, name, size);
		}
		free(copy);
	}
	return ordered;
}

void
cipher_order_default(char **list)
{
	const char *settings = NULL;
	char *ordered;

#ifdef OPENSSL_INFO_CPU_SETTINGS
	settings = OPENSSL_info(OPENSSL_INFO_CPU_SETTINGS);
#endif
	if (*list == NULL || !cipher_order_has_aes(settings))
		return;
	ordered = cipher_order_gcm_first(*list);
	free(*list);
	*list = ordered;
}
