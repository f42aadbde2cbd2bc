/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/* What the requests of lanes look like, and what is made of their replies. */

#include "includes.h"

#include <sys/types.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "sshbuf.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-conn.h"
#include "sftp-replies.h"
#include "sftp-requests.h"

#define REPLIES		4
#define FIRST_ID	7
#define PART		32768		/* bytes that one READ asks for */

void test_sftp_requests(void);

/* A connection whose replies are there before it is asked */
struct sftp_conn {
	u_int	 id;			/* of the next request */
	struct sshbuf *sent;		/* all requests, as strings */
	struct sshbuf *replies[REPLIES];
	u_int	 n, taken;		/* replies */
};

static struct sftp_conn conn;

u_int
sftp_conn_id(struct sftp_conn *c)
{
	return c->id++;
}

void
sftp_conn_send(struct sftp_conn *c, struct sshbuf *msg)
{
	ASSERT_INT_EQ(sshbuf_put_stringb(c->sent, msg), 0);
	sshbuf_reset(msg);
}

void
sftp_conn_get(struct sftp_conn *c, struct sshbuf *msg)
{
	ASSERT_U_INT_LT(c->taken, c->n);
	sshbuf_reset(msg);
	ASSERT_INT_EQ(sshbuf_putb(msg, c->replies[c->taken++]), 0);
}

static void
ends(void)
{
	u_int i;

	sshbuf_free(conn.sent);
	for (i = 0; i < conn.n; i++)
		sshbuf_free(conn.replies[i]);
	memset(&conn, 0, sizeof(conn));
}

/* Begins a connection on which nothing has been sent. */
static void
begin(void)
{
	ends();
	conn.id = FIRST_ID;
	conn.sent = sshbuf_new();
	ASSERT_PTR_NE(conn.sent, NULL);
}

/* Begins the reply to the request of that number; the first one is 0. */
static struct sshbuf *
reply(u_char type, u_int request)
{
	struct sshbuf *b = sshbuf_new();

	ASSERT_PTR_NE(b, NULL);
	ASSERT_U_INT_LT(conn.n, REPLIES);
	ASSERT_INT_EQ(sshbuf_put_u8(b, type), 0);
	ASSERT_INT_EQ(sshbuf_put_u32(b, FIRST_ID + request), 0);
	conn.replies[conn.n++] = b;
	return b;
}

static void
reply_status(u_int request, u_int status)
{
	struct sshbuf *b = reply(SSH2_FXP_STATUS, request);

	ASSERT_INT_EQ(sshbuf_put_u32(b, status), 0);
	ASSERT_INT_EQ(sshbuf_put_cstring(b, "words"), 0);
	ASSERT_INT_EQ(sshbuf_put_cstring(b, ""), 0);
}

static void
reply_string(u_char type, u_int request, const void *s, size_t len)
{
	ASSERT_INT_EQ(sshbuf_put_string(reply(type, request), s, len), 0);
}

static void
reply_attrs(u_int request, uint64_t size)
{
	struct sshbuf *b = reply(SSH2_FXP_ATTRS, request);

	ASSERT_INT_EQ(sshbuf_put_u32(b, SSH2_FILEXFER_ATTR_SIZE), 0);
	ASSERT_INT_EQ(sshbuf_put_u64(b, size), 0);
}

/*
 * Asserts that the next request that was sent has that type and number, and
 * begins with that string. Returns the rest of it.
 */
static struct sshbuf *
sent(u_char type, u_int request, const char *s)
{
	struct sshbuf *b;
	u_char got;
	u_int id;
	char *what;

	ASSERT_INT_EQ(sshbuf_froms(conn.sent, &b), 0);
	ASSERT_INT_EQ(sshbuf_get_u8(b, &got), 0);
	ASSERT_INT_EQ(got, type);
	ASSERT_INT_EQ(sshbuf_get_u32(b, &id), 0);
	ASSERT_U_INT_EQ(id, FIRST_ID + request);
	ASSERT_INT_EQ(sshbuf_get_cstring(b, &what, NULL), 0);
	ASSERT_STRING_EQ(what, s);
	free(what);
	return b;
}

/* Asserts that nothing else was in a request. */
static void
all_of(struct sshbuf *b)
{
	ASSERT_SIZE_T_EQ(sshbuf_len(b), 0);
	sshbuf_free(b);
}

static void
sent_read(u_int request, const char *handle, uint64_t offset, u_int len)
{
	struct sshbuf *b = sent(SSH2_FXP_READ, request, handle);
	uint64_t got_offset;
	u_int got_len;

	ASSERT_INT_EQ(sshbuf_get_u64(b, &got_offset), 0);
	ASSERT_U64_EQ(got_offset, offset);
	ASSERT_INT_EQ(sshbuf_get_u32(b, &got_len), 0);
	ASSERT_U_INT_EQ(got_len, len);
	all_of(b);
}

static void
sent_open(u_int request)
{
	struct sshbuf *b = sent(SSH2_FXP_OPEN, request, "path");
	u_int flags, attrs;

	ASSERT_INT_EQ(sshbuf_get_u32(b, &flags), 0);
	ASSERT_U_INT_EQ(flags, SSH2_FXF_READ);
	ASSERT_INT_EQ(sshbuf_get_u32(b, &attrs), 0);
	ASSERT_U_INT_EQ(attrs, 0);
	all_of(b);
}

static void
sent_attrs(u_char type, u_int request, const char *s, u_int flag, uint64_t v)
{
	struct sshbuf *b = sent(type, request, s);
	Attrib a;

	ASSERT_INT_EQ(decode_attrib(b, &a), 0);
	ASSERT_U_INT_EQ(a.flags, flag);
	ASSERT_U64_EQ(flag == SSH2_FILEXFER_ATTR_SIZE ? a.size : a.perm, v);
	all_of(b);
}

#define HANDLE	(const u_char *)"h", 1

static void
test_read(void)
{
	u_char data[PART + 100], got[PART + 100];
	size_t i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = i * 31;
	TEST_START("sftp requests: a read goes on where a reply was short");
	begin();
	reply_string(SSH2_FXP_DATA, 0, data, PART - 1);
	reply_string(SSH2_FXP_DATA, 1, data + PART - 1, 101);
	ASSERT_SIZE_T_EQ(sftp_request_read(&conn, HANDLE, 5, got, sizeof(got)),
	    sizeof(got));
	ASSERT_INT_EQ(memcmp(got, data, sizeof(got)), 0);
	sent_read(0, "h", 5, PART);
	sent_read(1, "h", 5 + PART - 1, 101);
	ASSERT_SIZE_T_EQ(sshbuf_len(conn.sent), 0);
	TEST_DONE();

	TEST_START("sftp requests: a read ends with the file");
	begin();
	reply_string(SSH2_FXP_DATA, 0, data, 3);
	reply_status(1, SSH2_FX_EOF);
	ASSERT_SIZE_T_EQ(sftp_request_read(&conn, HANDLE, 0, got, 8), 3);
	ASSERT_SIZE_T_EQ(sftp_request_read(&conn, HANDLE, 0, got, 0), 0);
	TEST_DONE();

	TEST_START("sftp requests: a read, and replies that are no data");
	begin();
	reply_string(SSH2_FXP_HANDLE, 0, data, 3);
	ASSERT_SIZE_T_EQ(sftp_request_read(&conn, HANDLE, 0, got, 8), 0);
	begin();
	reply_string(SSH2_FXP_DATA, 0, data, 0);
	ASSERT_SIZE_T_EQ(sftp_request_read(&conn, HANDLE, 0, got, 8), 0);
	begin();
	reply_string(SSH2_FXP_DATA, 0, data, 9);
	ASSERT_SIZE_T_EQ(sftp_request_read(&conn, HANDLE, 0, got, 8), 0);
	begin();
	ASSERT_INT_EQ(sshbuf_put_u32(reply(SSH2_FXP_DATA, 0), 3), 0);
	ASSERT_SIZE_T_EQ(sftp_request_read(&conn, HANDLE, 0, got, 8), 0);
	TEST_DONE();
}

static void
test_open(void)
{
	u_char *handle;
	size_t len;

	TEST_START("sftp requests: a file is opened, or refused");
	begin();
	reply_string(SSH2_FXP_HANDLE, 0, "abc", 3);
	handle = sftp_request_open(&conn, "path", SSH2_FXF_READ, &len);
	ASSERT_PTR_NE(handle, NULL);
	ASSERT_SIZE_T_EQ(len, 3);
	ASSERT_INT_EQ(memcmp(handle, "abc", 3), 0);
	free(handle);
	sent_open(0);
	begin();
	reply_status(0, SSH2_FX_PERMISSION_DENIED);
	ASSERT_PTR_EQ(sftp_request_open(&conn, "path", SSH2_FXF_READ, &len),
	    NULL);
	begin();
	reply_string(SSH2_FXP_DATA, 0, "abc", 3);
	ASSERT_PTR_EQ(sftp_request_open(&conn, "path", SSH2_FXF_READ, &len),
	    NULL);
	TEST_DONE();

	TEST_START("sftp requests: closed, and the reply is awaited or not");
	begin();
	ASSERT_U_INT_EQ(sftp_request_send_close(&conn, HANDLE), FIRST_ID);
	all_of(sent(SSH2_FXP_CLOSE, 0, "h"));
	begin();
	reply_status(0, SSH2_FX_FAILURE);
	ASSERT_U_INT_EQ(sftp_request_close_wait(&conn, HANDLE),
	    SSH2_FX_FAILURE);
	all_of(sent(SSH2_FXP_CLOSE, 0, "h"));
	begin();
	reply_attrs(0, 1);
	ASSERT_U_INT_EQ(sftp_request_close_wait(&conn, HANDLE),
	    SSH2_FX_BAD_MESSAGE);
	TEST_DONE();
}

static u_char seen[8];			/* by the look */

/*
 * Opens a file and looks at `want` of its bytes, or at its attributes if that
 * is 0.
 */
static struct sftp_request_look
open_look(int guess, size_t want, int opens)
{
	struct sftp_request_look look = { .data = want == 0 ? NULL : seen,
	    .len = want, .offset = 9, .got = 99 };
	u_char *handle;
	size_t len;

	handle = sftp_request_open_look(&conn, "path", SSH2_FXF_READ, &len,
	    guess, &look);
	ASSERT_INT_EQ(handle != NULL, opens);
	ASSERT_INT_EQ(look.opened_s != 0, 1);
	free(handle);
	sent_open(0);
	return look;
}

static void
test_look_later(void)
{
	struct sftp_request_look look;

	TEST_START("sftp requests: a look at a file that is open");
	begin();
	reply_string(SSH2_FXP_HANDLE, 0, "abcd", 4);
	reply_string(SSH2_FXP_DATA, 1, "1234", 4);
	look = open_look(0, 4, 1);
	ASSERT_SIZE_T_EQ(look.got, 4);
	ASSERT_INT_EQ(memcmp(seen, "1234", 4), 0);
	sent_read(1, "abcd", 9, 4);
	begin();
	reply_string(SSH2_FXP_HANDLE, 0, "abcd", 4);
	reply_attrs(1, 1234);
	look = open_look(0, 0, 1);
	ASSERT_SIZE_T_EQ(look.got, 1);
	ASSERT_U64_EQ(look.a.size, 1234);
	all_of(sent(SSH2_FXP_FSTAT, 1, "abcd"));
	begin();
	reply_status(0, SSH2_FX_NO_SUCH_FILE);
	(void)open_look(0, 4, 0);
	ASSERT_SIZE_T_EQ(sshbuf_len(conn.sent), 0);
	TEST_DONE();
}

#define FIRST	"\0\0\0\0", 4		/* what the guess is */

static void
test_look_at_once(void)
{
	struct sftp_request_look look;
	int i;

	TEST_START("sftp requests: a look at what is not yet open");
	for (i = 0; i < 2; i++) {	/* replies come in any order */
		begin();
		if (i == 0)
			reply_string(SSH2_FXP_HANDLE, 0, FIRST);
		reply_string(SSH2_FXP_DATA, 1, "123", 3);
		if (i == 1)
			reply_string(SSH2_FXP_HANDLE, 0, FIRST);
		look = open_look(1, 4, 1);
		ASSERT_SIZE_T_EQ(look.got, 3);
		ASSERT_INT_EQ(memcmp(seen, "123", 3), 0);
	}
	begin();
	reply_string(SSH2_FXP_HANDLE, 0, FIRST);
	reply_attrs(1, 1234);
	look = open_look(1, 0, 1);
	ASSERT_SIZE_T_EQ(look.got, 1);
	ASSERT_U64_EQ(look.a.size, 1234);
	begin();
	reply_string(SSH2_FXP_HANDLE, 0, FIRST);
	reply_status(1, SSH2_FX_FAILURE);
	look = open_look(1, 0, 1);
	ASSERT_SIZE_T_EQ(look.got, 0);
	begin();			/* more than was asked for */
	reply_string(SSH2_FXP_HANDLE, 0, FIRST);
	reply_string(SSH2_FXP_DATA, 1, "12345", 5);
	look = open_look(1, 4, 1);
	ASSERT_SIZE_T_EQ(look.got, 0);
	TEST_DONE();

	TEST_START("sftp requests: another look, if the handle was another");
	for (i = 0; i < 2; i++) {
		begin();
		reply_string(SSH2_FXP_HANDLE, 0, "\0\0\0\1", i == 0 ? 4 : 3);
		reply_status(1, SSH2_FX_FAILURE);
		reply_string(SSH2_FXP_DATA, 2, "1234", 4);
		look = open_look(1, 4, 1);
		ASSERT_SIZE_T_EQ(look.got, 4);
		ASSERT_U_INT_EQ(conn.taken, 3);
	}
	begin();			/* none of a file that isn't there */
	reply_status(0, SSH2_FX_NO_SUCH_FILE);
	reply_string(SSH2_FXP_DATA, 1, "1234", 4);
	(void)open_look(1, 4, 0);
	ASSERT_U_INT_EQ(conn.taken, 2);
	TEST_DONE();
}

static void
test_others(void)
{
	struct sshbuf *b;
	uint64_t offset;
	Attrib a;
	char *s;

	TEST_START("sftp requests: attributes");
	begin();
	reply_attrs(0, 77);
	ASSERT_INT_EQ(sftp_request_stat(&conn, "path", NULL, 0, &a), 0);
	ASSERT_U64_EQ(a.size, 77);
	all_of(sent(SSH2_FXP_STAT, 0, "path"));
	begin();
	reply_attrs(0, 77);
	ASSERT_INT_EQ(sftp_request_stat(&conn, NULL, HANDLE, &a), 0);
	all_of(sent(SSH2_FXP_FSTAT, 0, "h"));
	begin();
	reply_status(0, SSH2_FX_NO_SUCH_FILE);
	ASSERT_INT_EQ(sftp_request_stat(&conn, "path", NULL, 0, &a), -1);
	begin();
	ASSERT_INT_EQ(sshbuf_put_u32(reply(SSH2_FXP_ATTRS, 0),
	    SSH2_FILEXFER_ATTR_SIZE), 0);
	ASSERT_INT_EQ(sftp_request_stat(&conn, "path", NULL, 0, &a), -1);
	TEST_DONE();

	TEST_START("sftp requests: a size, and directories");
	begin();
	reply_status(0, SSH2_FX_OK);
	ASSERT_U_INT_EQ(sftp_request_size(&conn, HANDLE, 1ULL << 40),
	    SSH2_FX_OK);
	sent_attrs(SSH2_FXP_FSETSTAT, 0, "h", SSH2_FILEXFER_ATTR_SIZE,
	    1ULL << 40);
	begin();
	reply_status(0, SSH2_FX_OK);
	reply_status(1, SSH2_FX_FAILURE);
	ASSERT_U_INT_EQ(sftp_request_dir(&conn, "dir", 1), SSH2_FX_OK);
	sent_attrs(SSH2_FXP_MKDIR, 0, "dir", SSH2_FILEXFER_ATTR_PERMISSIONS,
	    0700);
	ASSERT_U_INT_EQ(sftp_request_dir(&conn, "dir", 0), SSH2_FX_FAILURE);
	all_of(sent(SSH2_FXP_RMDIR, 1, "dir"));
	TEST_DONE();

	TEST_START("sftp requests: data is written");
	begin();
	ASSERT_U_INT_EQ(sftp_request_send_write(&conn, HANDLE, 1ULL << 33,
	    (const u_char *)"data", 4), FIRST_ID);
	b = sent(SSH2_FXP_WRITE, 0, "h");
	ASSERT_INT_EQ(sshbuf_get_u64(b, &offset), 0);
	ASSERT_U64_EQ(offset, 1ULL << 33);
	ASSERT_INT_EQ(sshbuf_get_cstring(b, &s, NULL), 0);
	ASSERT_STRING_EQ(s, "data");
	free(s);
	all_of(b);
	TEST_DONE();
}

void
test_sftp_requests(void)
{
	test_read();
	test_open();
	test_look_later();
	test_look_at_once();
	test_others();
	ends();
}
