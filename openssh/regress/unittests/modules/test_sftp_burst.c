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

/*
 * The requests of a small file in one flight, and what becomes of replies that
 * are not what was hoped for.
 */

#include "includes.h"

#include <sys/types.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "sftp.h"
#include "sftp-burst.h"
#include "sftp-common.h"
#include "sshbuf.h"
#include "ssherr.h"

#define ID		7
#define PUTS		4	/* OPEN, WRITE, FSETSTAT, CLOSE */
#define GETS		4	/* OPEN, READ, READ, CLOSE */

void test_sftp_burst(void);

/* Counts the requests in out, with ids that follow each other. */
static void
count(struct sshbuf *out, u_int n, const char *types)
{
	struct sshbuf *msg;
	u_int i, id;
	u_char type;

	for (i = 0; i < n; i++) {
		ASSERT_INT_EQ(sshbuf_froms(out, &msg), 0);
		ASSERT_INT_EQ(sshbuf_get_u8(msg, &type), 0);
		ASSERT_INT_EQ(sshbuf_get_u32(msg, &id), 0);
		ASSERT_U8_EQ(type, types[i]);
		ASSERT_U_INT_EQ(id, ID + i);
		sshbuf_free(msg);
	}
	ASSERT_SIZE_T_EQ(sshbuf_len(out), 0);
}

/* Replies to a request. len: of the handle or data, or a status. */
static int
answer(struct sftp_burst *b, u_int id, u_char type, u_int len)
{
	static const u_char zeros[8];
	struct sshbuf *msg = sshbuf_new();
	int r;

	ASSERT_PTR_NE(msg, NULL);
	ASSERT_INT_EQ(sshbuf_put_u8(msg, type), 0);
	ASSERT_INT_EQ(sshbuf_put_u32(msg, id), 0);
	if (type == SSH2_FXP_STATUS)
		ASSERT_INT_EQ(sshbuf_put_u32(msg, len), 0);
	else
		ASSERT_INT_EQ(sshbuf_put_string(msg, zeros, len), 0);
	r = sftp_burst_reply(b, msg);
	sshbuf_free(msg);
	return r;
}

static void
begin_put(struct sftp_burst *b)
{
	struct sftp_burst_put put = { .path = "name", .data = "data",
	    .len = 4, .truncate = 1 };
	struct sshbuf *out = sshbuf_new();
	const char types[] = { SSH2_FXP_OPEN, SSH2_FXP_WRITE,
	    SSH2_FXP_FSETSTAT, SSH2_FXP_CLOSE };

	ASSERT_INT_EQ(sftp_burst_put(b, ID, &put, out), 0);
	count(out, PUTS, types);
	sshbuf_free(out);
}

static void
begin_get(struct sftp_burst *b, size_t size)
{
	const size_t len[] = { 8, 8 };
	struct sshbuf *out = sshbuf_new();
	const char types[] = { SSH2_FXP_OPEN, SSH2_FXP_READ, SSH2_FXP_READ,
	    SSH2_FXP_CLOSE };

	ASSERT_INT_EQ(sftp_burst_get(b, ID, "name", size, len, out), 0);
	count(out, GETS, types);
	sshbuf_free(out);
}

static void
test_put(void)
{
	struct sftp_burst b;
	u_int i, bad;

	TEST_START("burst: an upload, and each of its requests refused");
	for (bad = 0; bad <= PUTS; bad++) {
		begin_put(&b);
		ASSERT_INT_EQ(answer(&b, ID, SSH2_FXP_HANDLE, 4), 0);
		for (i = 1; i < PUTS; i++) {
			ASSERT_INT_EQ(sftp_burst_succeeded(&b), 0);
			ASSERT_INT_EQ(answer(&b, ID + i, SSH2_FXP_STATUS,
			    i == bad ? SSH2_FX_FAILURE : SSH2_FX_OK), 0);
		}
		ASSERT_INT_EQ(sftp_burst_succeeded(&b),
		    bad == 0 || bad == PUTS);
		ASSERT_INT_EQ(b.closed, bad != PUTS - 1);
		sftp_burst_end(&b);
	}
	TEST_DONE();

	TEST_START("burst: another handle, or none");
	for (bad = 0; bad < 2; bad++) {
		begin_put(&b);
		for (i = 1; i < PUTS; i++)
			ASSERT_INT_EQ(answer(&b, ID + i, SSH2_FXP_STATUS,
			    SSH2_FX_OK), 0);
		if (bad)
			ASSERT_INT_EQ(answer(&b, ID, SSH2_FXP_STATUS,
			    SSH2_FX_OK), 0);
		else
			ASSERT_INT_EQ(answer(&b, ID, SSH2_FXP_HANDLE, 5), 0);
		ASSERT_INT_EQ(sftp_burst_succeeded(&b), 0);
		sftp_burst_end(&b);
	}
	TEST_DONE();

	TEST_START("burst: replies to no request, or to one twice");
	begin_put(&b);
	ASSERT_INT_EQ(answer(&b, ID - 1, SSH2_FXP_STATUS, 0),
	    SSH_ERR_INVALID_FORMAT);
	ASSERT_INT_EQ(answer(&b, ID + PUTS, SSH2_FXP_STATUS, 0),
	    SSH_ERR_INVALID_FORMAT);
	ASSERT_INT_EQ(answer(&b, ID + 1, SSH2_FXP_STATUS, 0), 0);
	ASSERT_INT_EQ(answer(&b, ID + 1, SSH2_FXP_STATUS, 0),
	    SSH_ERR_INVALID_FORMAT);
	ASSERT_U_INT_EQ(b.outstanding, PUTS - 1);
	sftp_burst_end(&b);
	TEST_DONE();
}

/* A download of size bytes for which data bytes come (0: the end) */
static int
get(size_t size, u_int data, u_int after)
{
	struct sftp_burst b;
	struct sshbuf *msg = sshbuf_new();
	u_int i, kept;
	int r;

	begin_get(&b, size);
	ASSERT_INT_EQ(answer(&b, ID, SSH2_FXP_HANDLE, 4), 0);
	for (i = 1; i <= 2; i++) {
		u_int len = i == 1 ? data : after;

		ASSERT_INT_EQ(answer(&b, ID + i, len != 0 ? SSH2_FXP_DATA :
		    SSH2_FXP_STATUS, len != 0 ? len : SSH2_FX_EOF), 0);
	}
	ASSERT_INT_EQ(answer(&b, ID + 3, SSH2_FXP_STATUS, SSH2_FX_OK), 0);
	r = sftp_burst_succeeded(&b);
	for (kept = 0; sftp_burst_take(&b, msg); kept++)
		ASSERT_U_INT_EQ(PEEK_U32(sshbuf_ptr(msg) + 1), ID + 1 + kept);
	ASSERT_U_INT_EQ(kept, 2);
	sftp_burst_end(&b);
	sshbuf_free(msg);
	return r;
}

void
test_sftp_burst(void)
{
	test_put();

	TEST_START("burst: a download, and sources of another size");
	ASSERT_INT_EQ(get(8, 8, 0), 1);
	ASSERT_INT_EQ(get(0, 0, 0), 1);
	ASSERT_INT_EQ(get(8, 7, 0), 0);
	ASSERT_INT_EQ(get(8, 8, 1), 0);
	ASSERT_INT_EQ(get(8, 0, 0), 0);
	ASSERT_INT_EQ(get(0, 1, 0), 0);
	TEST_DONE();
}
