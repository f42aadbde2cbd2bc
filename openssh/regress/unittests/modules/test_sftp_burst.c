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

#include "bdp-names.h"
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

/* Takes the next request from out. Returns it behind its type and id. */
static struct sshbuf *
next(struct sshbuf *out, u_char type, u_int id)
{
	struct sshbuf *msg;
	u_int got_id;
	u_char got;

	ASSERT_INT_EQ(sshbuf_froms(out, &msg), 0);
	ASSERT_INT_EQ(sshbuf_get_u8(msg, &got), 0);
	ASSERT_INT_EQ(sshbuf_get_u32(msg, &got_id), 0);
	ASSERT_U8_EQ(got, type);
	ASSERT_U_INT_EQ(got_id, id);
	return msg;
}

static void
has_string(struct sshbuf *msg, const char *text, size_t len)
{
	const u_char *p;
	size_t n;

	ASSERT_INT_EQ(sshbuf_get_string_direct(msg, &p, &n), 0);
	ASSERT_SIZE_T_EQ(n, len);
	ASSERT_MEM_EQ(p, text, len);
}

static void
has_number(struct sshbuf *msg, u_int number)
{
	u_int n;

	ASSERT_INT_EQ(sshbuf_get_u32(msg, &n), 0);
	ASSERT_U_INT_EQ(n, number);
}

/* The end of a request: attributes of one kind */
static void
ends_with(struct sshbuf *msg, u_int flag, uint64_t size, u_int perm)
{
	Attrib a;

	ASSERT_INT_EQ(decode_attrib(msg, &a), 0);
	ASSERT_U_INT_EQ(a.flags, flag);
	if (flag == SSH2_FILEXFER_ATTR_SIZE)
		ASSERT_U64_EQ(a.size, size);
	if (flag == SSH2_FILEXFER_ATTR_PERMISSIONS)
		ASSERT_U_INT_EQ(a.perm, perm);
	ASSERT_SIZE_T_EQ(sshbuf_len(msg), 0);
	sshbuf_free(msg);
}

static void
is_empty(struct sshbuf *msg)
{
	ASSERT_SIZE_T_EQ(sshbuf_len(msg), 0);
	sshbuf_free(msg);
}

/* Behind n requests there is the one that ends the session, or none. */
static void
ends_session(const struct sftp_burst *b, struct sshbuf *out, u_int n, int end)
{
	struct sshbuf *msg;

	if (end) {
		msg = next(out, SSH2_FXP_EXTENDED, ID + n);
		has_string(msg, BDP_END_SESSION, strlen(BDP_END_SESSION));
		has_number(msg, n);
		is_empty(msg);
	}
	ASSERT_U_INT_EQ(b->outstanding, n + (end != 0));
	is_empty(out);
}

/* All that an upload's requests say */
static void
put_contents(const char *name, int end)
{
	Attrib mode = { .flags = SSH2_FILEXFER_ATTR_PERMISSIONS,
	    .perm = 0640 };
	Attrib later = { .flags = SSH2_FILEXFER_ATTR_PERMISSIONS,
	    .perm = 0600 };
	struct sftp_burst_put put = { .path = "path", .name = name,
	    .flags = SSH2_FXF_WRITE, .attrs = &mode,
	    .data = (const u_char *)"data", .len = 4, .truncate = 1,
	    .times = &later, .end = end };
	struct sshbuf *out = sshbuf_new(), *msg;
	struct sftp_burst b;

	ASSERT_PTR_NE(out, NULL);
	ASSERT_INT_EQ(sftp_burst_put(&b, ID, &put, out), 0);
	msg = next(out, name == NULL ? SSH2_FXP_OPEN : SSH2_FXP_EXTENDED, ID);
	if (name != NULL)
		has_string(msg, BDP_OPEN_FILE, strlen(BDP_OPEN_FILE));
	has_string(msg, "path", 4);
	if (name != NULL)
		has_string(msg, name, strlen(name));
	has_number(msg, SSH2_FXF_WRITE);
	ends_with(msg, SSH2_FILEXFER_ATTR_PERMISSIONS, 0, 0640);
	msg = next(out, SSH2_FXP_WRITE, ID + 1);
	has_string(msg, "\0\0\0", 4);
	has_number(msg, 0);
	has_number(msg, 0);
	has_string(msg, "data", 4);
	is_empty(msg);
	msg = next(out, SSH2_FXP_FSETSTAT, ID + 2);
	has_string(msg, "\0\0\0", 4);
	ends_with(msg, SSH2_FILEXFER_ATTR_SIZE, 4, 0);
	msg = next(out, SSH2_FXP_FSETSTAT, ID + 3);
	has_string(msg, "\0\0\0", 4);
	ends_with(msg, SSH2_FILEXFER_ATTR_PERMISSIONS, 0, 0600);
	msg = next(out, SSH2_FXP_CLOSE, ID + 4);
	has_string(msg, "\0\0\0", 4);
	is_empty(msg);
	ends_session(&b, out, 5, end);
}

/* And of a download whose size is not known */
static void
get_contents(int end)
{
	const size_t len[SFTP_BURST_ANY] = { 8, 16, 32 };
	struct sshbuf *out = sshbuf_new(), *msg;
	struct sftp_burst b;
	u_int i, offset = 0;

	ASSERT_PTR_NE(out, NULL);
	ASSERT_INT_EQ(sftp_burst_get_any(&b, ID, "path", len, end, out), 0);
	msg = next(out, SSH2_FXP_EXTENDED, ID);
	has_string(msg, BDP_OPEN_FILE, strlen(BDP_OPEN_FILE));
	has_string(msg, "path", 4);
	has_string(msg, "", 0);
	has_number(msg, SSH2_FXF_READ);
	ends_with(msg, 0, 0, 0);
	for (i = 0; i < SFTP_BURST_ANY; i++) {
		msg = next(out, SSH2_FXP_READ, ID + 1 + i);
		has_string(msg, "\0\0\0", 4);
		has_number(msg, 0);
		has_number(msg, offset);
		has_number(msg, len[i]);
		is_empty(msg);
		offset += len[i];
	}
	ends_session(&b, out, 4, end);
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
	TEST_START("burst: what its requests say");
	put_contents(NULL, 0);
	put_contents("name", 1);
	get_contents(0);
	get_contents(1);
	TEST_DONE();

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
