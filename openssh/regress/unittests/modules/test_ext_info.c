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

/* What the two ends tell each other of themselves in EXT_INFO */

#include "includes.h"

#include <sys/types.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "packet.h"
#include "channels.h"
#include "bdp-names.h"
#include "ext-info.h"
#include "kex.h"
#include "log.h"
#include "ssherr.h"
#include "sshbuf.h"
#include "tcp-path.h"
#include "conn.h"
#include "fixture.h"

void test_ext_info(void);

static const struct {
	const char *name;
	u_int flag;
} names[] = {
	{ BDP_BOUNDED_INPUT,	KEX_HAS_BOUNDED_INPUT },
	{ BDP_LAST_CHANNEL,	KEX_HAS_LAST_CHANNEL },
};
#define NAMES	(sizeof(names) / sizeof(names[0]))

static void
check_string(struct sshbuf *info, const char *want)
{
	char *s;

	ASSERT_INT_EQ(sshbuf_get_cstring(info, &s, NULL), 0);
	ASSERT_STRING_EQ(s, want);
	free(s);
}

static void
announce(void)
{
	struct sshbuf *info = sshbuf_new();
	struct heard heard;
	uint32_t n;
	size_t i;

	TEST_START("EXT_INFO: each name is one entry more");
	ASSERT_INT_EQ(sshbuf_put_u32(info, 1), 0);
	ASSERT_INT_EQ(sshbuf_put_cstring(info, "elevation"), 0);
	ASSERT_INT_EQ(sshbuf_put_cstring(info, "1"), 0);
	for (i = 0; i < NAMES; i++)
		ASSERT_INT_EQ(ext_info_announce(info, names[i].name), 0);
	ASSERT_INT_EQ(sshbuf_get_u32(info, &n), 0);
	ASSERT_U32_EQ(n, 1 + NAMES);
	check_string(info, "elevation");
	check_string(info, "1");
	for (i = 0; i < NAMES; i++) {
		check_string(info, names[i].name);
		check_string(info, "0");
	}
	ASSERT_SIZE_T_EQ(sshbuf_len(info), 0);
	TEST_DONE();

	TEST_START("EXT_INFO: a message without a count is an error");
	ASSERT_INT_EQ(sshbuf_put(info, "123", 3), 0);
	fixture_listen(&heard, "compose");
	ASSERT_INT_EQ(ext_info_announce(info, "name"),
	    SSH_ERR_INVALID_FORMAT);
	fixture_listen_ends();
	ASSERT_INT_EQ(heard.level, SYSLOG_LEVEL_ERROR);
	ASSERT_SIZE_T_EQ(sshbuf_len(info), 3);
	sshbuf_free(info);
	TEST_DONE();
}

/* Returns the flags after a peer has sent a name, which is ours or not. */
static u_int
got(const char *name, const char *value, size_t len, int ours)
{
	struct kex kex;

	memset(&kex, 0, sizeof(kex));
	ASSERT_INT_EQ(ext_info_got(&kex, name, (const u_char *)value, len),
	    ours);
	return kex.flags;
}

static void
receive(void)
{
	struct kex kex;
	size_t i;

	TEST_START("EXT_INFO: each name sets its flag");
	memset(&kex, 0, sizeof(kex));
	for (i = 0; i < NAMES; i++) {
		test_subtest_info("%s", names[i].name);
		ASSERT_U_INT_EQ(got(names[i].name, "0", 1, 1), names[i].flag);
		ASSERT_INT_EQ(ext_info_got(&kex, names[i].name,
		    (const u_char *)"0", 1), 1);
	}
	ASSERT_U_INT_EQ(kex.flags,
	    KEX_HAS_BOUNDED_INPUT | KEX_HAS_LAST_CHANNEL);
	TEST_DONE();

	TEST_START("EXT_INFO: an unknown version sets no flag");
	for (i = 0; i < NAMES; i++) {
		test_subtest_info("%s", names[i].name);
		ASSERT_U_INT_EQ(got(names[i].name, "1", 1, 1), 0);
		ASSERT_U_INT_EQ(got(names[i].name, "00", 2, 1), 0);
		ASSERT_U_INT_EQ(got(names[i].name, "0", 0, 1), 0);
	}
	TEST_DONE();

	TEST_START("EXT_INFO: other names are left to the caller");
	ASSERT_U_INT_EQ(got("elevation", "0", 1, 0), 0);
	ASSERT_U_INT_EQ(got("", "0", 1, 0), 0);
	ASSERT_U_INT_EQ(got(BDP_LAST_CHANNEL "x", "0", 1, 0), 0);
	TEST_DONE();
}

void
test_ext_info(void)
{
	announce();
	receive();
}
