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

/* Which requests sftp-server processes in one turn */

#include "includes.h"

#include <sys/types.h>

#include <stdlib.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "bdp-names.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-turn.h"
#include "sshbuf.h"

#define NOW_S		1000.0
#define HAD		(3 * SFTP_MAX_MSG_LENGTH)

void test_sftp_turn(void);

/* A request of a type; an extended one has a name. */
static struct sshbuf *
request(u_char type, const char *name)
{
	struct sshbuf *b, *m;

	b = sshbuf_new();
	m = sshbuf_new();
	ASSERT_PTR_NE(b, NULL);
	ASSERT_PTR_NE(m, NULL);
	ASSERT_INT_EQ(sshbuf_put_u8(m, type), 0);
	ASSERT_INT_EQ(sshbuf_put_u32(m, 7), 0);
	if (name != NULL)
		ASSERT_INT_EQ(sshbuf_put_cstring(m, name), 0);
	ASSERT_INT_EQ(sshbuf_put_stringb(b, m), 0);
	sshbuf_free(m);
	return b;
}

static void
begin(struct sftp_turn *t, enum sftp_turn_kind kind)
{
	memset(t, 0xff, sizeof(*t));
	sftp_turn_begin(t, kind, HAD, NOW_S);
}

/* Returns whether a turn goes on with that request behind its first one. */
static int
goes_on(enum sftp_turn_kind kind, u_char type, const char *name)
{
	struct sshbuf *b = request(type, name);
	struct sftp_turn t;
	int ret;

	begin(&t, kind);
	ret = sftp_turn_goes_on(&t, b, HAD, NOW_S);
	sshbuf_free(b);
	return ret;
}

static const struct {
	u_char type;
	const char *name;
	int early;
} requests[] = {
	{ SSH2_FXP_OPEN, NULL, 1 },
	{ SSH2_FXP_CLOSE, NULL, 1 },
	{ SSH2_FXP_READ, NULL, 1 },
	{ SSH2_FXP_WRITE, NULL, 1 },
	{ SSH2_FXP_LSTAT, NULL, 1 },
	{ SSH2_FXP_STAT, NULL, 1 },
	{ SSH2_FXP_FSETSTAT, NULL, 1 },
	{ SSH2_FXP_REALPATH, NULL, 1 },
	{ SSH2_FXP_EXTENDED, "limits@openssh.com", 1 },
	{ SSH2_FXP_EXTENDED, BDP_OPEN_FILE, 1 },
	{ SSH2_FXP_EXTENDED, BDP_END_SESSION, 1 },
	{ SSH2_FXP_MKDIR, NULL, 0 },
	{ SSH2_FXP_REMOVE, NULL, 0 },
	{ SSH2_FXP_READDIR, NULL, 0 },
	{ SSH2_FXP_EXTENDED, NULL, 0 },
	{ SSH2_FXP_EXTENDED, "", 0 },
	{ SSH2_FXP_EXTENDED, "limits@openssh.co", 0 },
	{ SSH2_FXP_EXTENDED, "limits@openssh.comm", 0 },
	{ SSH2_FXP_EXTENDED, "copy-data", 0 },
	{ SSH2_FXP_EXTENDED, "check-file-handle", 0 },
	{ SSH2_FXP_EXTENDED, "fsync@openssh.com", 0 },
	{ 255, NULL, 0 }
};

static void
test_requests(void)
{
	u_int i;

	for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		TEST_START("sftp turn: what comes with INIT");
		test_subtest_info("%u %s", requests[i].type,
		    requests[i].name != NULL ? requests[i].name : "");
		ASSERT_INT_EQ(goes_on(SFTP_TURN_FIRST, requests[i].type,
		    requests[i].name), requests[i].early);
		ASSERT_INT_EQ(goes_on(SFTP_TURN_BEHIND, requests[i].type,
		    requests[i].name), 1);
		ASSERT_INT_EQ(goes_on(SFTP_TURN_ONE, requests[i].type,
		    requests[i].name), 0);
		TEST_DONE();
	}
}

/* A name is as long as the message says that it is, or the message ends. */
static void
test_cut_name(void)
{
	struct sshbuf *b = request(SSH2_FXP_EXTENDED, "limits@openssh.com");
	struct sftp_turn t;

	TEST_START("sftp turn: a name that ends too soon");
	while (sshbuf_len(b) > 5) {
		ASSERT_INT_EQ(sshbuf_consume_end(b, 1), 0);
		begin(&t, SFTP_TURN_FIRST);
		ASSERT_INT_EQ(sftp_turn_goes_on(&t, b, HAD, NOW_S), 0);
	}
	sshbuf_free(b);
	TEST_DONE();
}

static void
test_bounds(void)
{
	struct sshbuf *b = request(SSH2_FXP_STAT, NULL);
	struct sftp_turn t;
	u_int n;

	TEST_START("sftp turn: replies");
	begin(&t, SFTP_TURN_FIRST);
	ASSERT_INT_EQ(sftp_turn_goes_on(&t, b,
	    HAD + SFTP_MAX_MSG_LENGTH - 1, NOW_S), 1);
	ASSERT_INT_EQ(sftp_turn_goes_on(&t, b,
	    HAD + SFTP_MAX_MSG_LENGTH, NOW_S), 0);
	begin(&t, SFTP_TURN_BEHIND);
	ASSERT_INT_EQ(sftp_turn_goes_on(&t, b,
	    HAD + SFTP_MAX_MSG_LENGTH, NOW_S), 0);
	TEST_DONE();

	TEST_START("sftp turn: requests with INIT");
	begin(&t, SFTP_TURN_FIRST);
	for (n = 1; sftp_turn_goes_on(&t, b, HAD, NOW_S + 100); n++)
		ASSERT_U_INT_LT(n, 1000);
	ASSERT_U_INT_EQ(n, SFTP_TURN_FIRST_MAX);
	TEST_DONE();

	TEST_START("sftp turn: time");
	begin(&t, SFTP_TURN_BEHIND);
	for (n = 0; n < 1000; n++)
		ASSERT_INT_EQ(sftp_turn_goes_on(&t, b, HAD,
		    NOW_S + SFTP_TURN_S * 0.99), 1);
	ASSERT_INT_EQ(sftp_turn_goes_on(&t, b, HAD,
	    NOW_S + SFTP_TURN_S * 1.01), 0);
	TEST_DONE();
	sshbuf_free(b);
}

void
test_sftp_turn(void)
{
	test_requests();
	test_cut_name();
	test_bounds();
}
