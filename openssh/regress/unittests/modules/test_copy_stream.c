/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/*
 * A stream's messages: how requests are framed, and replies that come in
 * pieces, out of order, or malformed. The other end of a socket is the server.
 */

#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "sshbuf.h"
#include "copy-stream.h"

void test_copy_stream(void);

static struct sftp_conn conn;
static struct stream *s;
static struct copy copy;
static struct item item;
static int server;		/* its end of the socket */
static struct handle handle = { (u_char *)"h", 1 };

/* What replies were taken */
static u_int taken, statuses, lost;
static u_char data[64];
static size_t data_len;

static void
begin(int primary)
{
	int sv[2];

	ASSERT_INT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	memset(&conn, 0, sizeof(conn));
	memset(&copy, 0, sizeof(copy));
	memset(&item, 0, sizeof(item));
	copy.most = copy.nstreams = 1;
	item.copy = &copy;
	conn.fd_in = conn.fd_out = sv[0];
	server = sv[1];
	conn.msg_id = 7;
	sftp_inflight_init(&conn.depth, 0, SFTP_INFLIGHT_BASE,
	    SFTP_INFLIGHT_MAX, 1);
	s = stream_new(&conn, 1, primary ? &copy : NULL);
	s->state = STREAM_UP;
	taken = statuses = lost = 0;
}

static void
end(void)
{
	if (s->state != STREAM_LOST)
		close(conn.fd_in);
	s->state = STREAM_LOST;
	stream_free(s);
	close(server);
}

static void
got(struct request *req, struct reply *reply)
{
	taken = taken * 10 + req->id;
	statuses = statuses * 10 + reply->status;
	lost += reply->lost;
	data_len = MINIMUM(reply->len, sizeof(data));
	if (reply->type == SSH2_FXP_DATA)
		memcpy(data, reply->data, data_len);
}

/* Asks for 3 bytes. */
static void
send_read(uint64_t offset)
{
	copy_send(s, &item, SSH2_FXP_READ, got, &(struct body){
	    .h = &handle, .offset = offset, .len = 3 });
}

static void
answer(const void *p, size_t len)
{
	ASSERT_INT_EQ(write(server, p, len) == (ssize_t)len, 1);
}

/* A STATUS for id, without text */
static void
status(u_char id, u_char code)
{
	const u_char m[] = { 0, 0, 0, 9, SSH2_FXP_STATUS, 0, 0, 0, id,
	    0, 0, 0, code };

	answer(m, sizeof(m));
}

static void
test_requests(void)
{
	const u_char open_msg[] = { 0, 0, 0, 18, SSH2_FXP_OPEN, 0, 0, 0, 7,
	    0, 0, 0, 1, 'f', 0, 0, 0, 1, 0, 0, 0, 0 };
	const u_char write_msg[] = { 0, 0, 0, 24, SSH2_FXP_WRITE, 0, 0, 0, 9,
	    0, 0, 0, 1, 'h', 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 2, 'l', 'l' };
	char path[] = "/tmp/copy-stream.XXXXXXXXXX";
	u_char m[100];
	int fd;

	TEST_START("copy-stream: each request gets its reply");
	begin(1);
	ASSERT_INT_NE(fd = mkstemp(path), -1);
	unlink(path);
	ASSERT_INT_EQ(write(fd, "    hell", 8), 8);
	copy_send(s, &item, SSH2_FXP_OPEN, got,
	    &(struct body){ .path = "f", .flags = SSH2_FXF_READ });
	/* Two bytes are left from there on, and it is told. */
	ASSERT_INT_EQ(copy_send_file(s, &item, got, &handle, 8, fd, 10), 0);
	ASSERT_INT_EQ(ftruncate(fd, 8), 0);
	ASSERT_INT_EQ(pwrite(fd, "ll", 2, 5), 2);
	ASSERT_INT_EQ(ftruncate(fd, 7), 0);
	ASSERT_INT_EQ(copy_send_file(s, &item, got, &handle, 5, fd, 10), 2);
	ASSERT_INT_EQ(item.inflight, 2);
	ASSERT_INT_EQ(stream_write(s), 0);
	ASSERT_INT_EQ(read(server, m, sizeof(m)) ==
	    sizeof(open_msg) + sizeof(write_msg), 1);
	ASSERT_MEM_EQ(m, open_msg, sizeof(open_msg));
	ASSERT_MEM_EQ(m + sizeof(open_msg), write_msg, sizeof(write_msg));
	ASSERT_U64_EQ(conn.depth.asked, 2 * SFTP_INFLIGHT_LEAST);
	status(9, 0);
	status(7, 2);
	ASSERT_INT_EQ(stream_read(s), 0);
	ASSERT_INT_EQ(taken, 97);
	ASSERT_INT_EQ(statuses, 2);
	ASSERT_INT_EQ(item.inflight, 0);
	ASSERT_U64_EQ(conn.depth.asked, 0);
	close(fd);
	end();
	TEST_DONE();
}

/* The reply to an OPEN has a handle of 256 + `more` bytes: is it taken? */
static int
takes_handle(int primary, u_char more)
{
	u_char m[4 + 9 + 257] = { 0, 0, 1, 9 + more, SSH2_FXP_HANDLE,
	    0, 0, 0, 7, 0, 0, 1, more };

	begin(primary);
	copy_send(s, &item, SSH2_FXP_OPEN, got, &(struct body){ .path = "f" });
	answer(m, 4 + 9 + 256 + more);
	(void)stream_read(s);
	ASSERT_INT_EQ(taken, 7);
	ASSERT_INT_EQ(lost, s->state == STREAM_LOST);
	end();
	return !lost;
}

static void
test_handles(void)
{
	TEST_START("copy-stream: handles");
	ASSERT_INT_EQ(takes_handle(0, 0), 1);
	ASSERT_INT_EQ(takes_handle(1, 1), 1);
	/* The protocol allows 256 bytes. */
	ASSERT_INT_EQ(takes_handle(0, 1), 0);
	TEST_DONE();
}

static void
test_pieces(void)
{
	const u_char m[] = { 0, 0, 0, 12, SSH2_FXP_DATA, 0, 0, 0, 7,
	    0, 0, 0, 3, 'a', 'b', 'c' };
	size_t i;

	TEST_START("copy-stream: a reply in pieces");
	begin(1);
	send_read(0);
	for (i = 0; i < sizeof(m); i++) {
		ASSERT_INT_EQ(taken, 0);
		answer(m + i, 1);
		ASSERT_INT_EQ(stream_read(s), 0);
	}
	ASSERT_INT_EQ(taken, 7);
	ASSERT_MEM_EQ(data, "abc", 3);
	end();
	TEST_DONE();
}

/* A reply that ends a further stream: all that is outstanding is lost. */
static void
bad(const u_char *m, size_t len)
{
	begin(0);
	send_read(0);
	send_read(3);
	answer(m, len);
	ASSERT_INT_EQ(stream_read(s), -1);
	ASSERT_INT_EQ(s->state, STREAM_LOST);
	ASSERT_INT_EQ(lost, 2);
	ASSERT_INT_EQ(item.inflight, 0);
	ASSERT_U64_EQ(conn.depth.asked, 0);
	end();
}

static void
test_bad(void)
{
	const u_char unknown[] = { 0, 0, 0, 9, SSH2_FXP_STATUS, 0, 0, 0, 9,
	    0, 0, 0, 0 };
	const u_char another[] = { 0, 0, 0, 10, SSH2_FXP_HANDLE, 0, 0, 0, 7,
	    0, 0, 0, 1, 'h' };
	const u_char more[] = { 0, 0, 0, 13, SSH2_FXP_DATA, 0, 0, 0, 7,
	    0, 0, 0, 4, 'a', 'b', 'c', 'd' };
	const u_char cut[] = { 0, 0, 0, 12, SSH2_FXP_DATA, 0, 0, 0, 7,
	    0, 0, 0, 4, 'a', 'b', 'c' };
	const u_char none[] = { 0, 0, 0, 0 };
	const u_char large[] = { 0, 4, 0, 1 };

	TEST_START("copy-stream: bad replies end the stream");
	bad(unknown, sizeof(unknown));
	bad(another, sizeof(another));
	bad(more, sizeof(more));
	bad(cut, sizeof(cut));
	bad(none, sizeof(none));
	bad(large, sizeof(large));
	TEST_DONE();
}

void
test_copy_stream(void)
{
	test_requests();
	test_handles();
	test_pieces();
	test_bad();
}
