/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/*
 * Packets leave nothing in memory, unless they are channel data. A peer's
 * EXT_INFO counts only when it may come.
 */

#include "includes.h"

#include <sys/types.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"
#include "../../plain_packet.h"

#include "sshbuf.h"
#include "ssherr.h"
#include "ssh2.h"
#include "packet.h"
#include "channels.h"
#include "channel-window.h"
#include "bdp-names.h"
#include "bdp-names.h"
#include "dispatch.h"
#include "kex.h"
#include "log.h"
#include "misc.h"
#include "tcp-path.h"
#include "conn.h"
#include "fake.h"
#include "fixture.h"
#include "memory.h"

void test_wipes(void);

#define SECRET_LEN	32

static struct conn conn;
static struct path_info path;
static u_char masked[SECRET_LEN], mask[SECRET_LEN];

static void
start(int server)
{
	fixture_open(&conn, &path, server, 0, LIMIT);
}

/* Makes a new secret, of which there is no copy elsewhere in memory. */
static void
put_secret(u_char *to)
{
	size_t i;

	arc4random_buf(to, SECRET_LEN);
	arc4random_buf(mask, sizeof(mask));
	for (i = 0; i < SECRET_LEN; i++)
		masked[i] = to[i] ^ mask[i];
}

static int
is_left(void)
{
	return memory_has(masked, mask, SECRET_LEN);
}

/* Sends a packet of this type with a secret at its end, and forgets it. */
static void
send_secret(u_char type, size_t more)
{
	static u_char body[40000 + SECRET_LEN];

	put_secret(body + more);
	ASSERT_INT_EQ(sshpkt_start(conn.ssh, type), 0);
	ASSERT_INT_EQ(sshpkt_put(conn.ssh, body, more + SECRET_LEN), 0);
	explicit_bzero(body, sizeof(body));
	ASSERT_INT_EQ(sshpkt_send(conn.ssh), 0);
	sshbuf_reset(ssh_packet_get_output(conn.ssh));
}

#ifdef __linux__
static void
sent(void)
{
	start(0);
	send_secret(SSH2_MSG_CHANNEL_REQUEST, 0);
	ASSERT_INT_EQ(is_left(), 0);
	send_secret(SSH2_MSG_USERAUTH_REQUEST, 30000);
	ASSERT_INT_EQ(is_left(), 0);
	send_secret(SSH2_MSG_CHANNEL_EXTENDED_DATA, 0);
	ASSERT_INT_EQ(is_left(), 0);
	send_secret(SSH2_MSG_CHANNEL_DATA, 0);
	ASSERT_INT_EQ(is_left(), 1);
	/* And that is gone with the next that is something else. */
	ASSERT_INT_EQ(sshpkt_start(conn.ssh, SSH2_MSG_CHANNEL_EOF), 0);
	ASSERT_INT_EQ(sshpkt_send(conn.ssh), 0);
	ASSERT_INT_EQ(is_left(), 0);
	conn_close(&conn);
}

/* A packet that was begun and not sent is not part of the next one. */
static void
begun(void)
{
	u_char body[SECRET_LEN];
	struct sshbuf *b = sshbuf_new();

	start(0);
	ASSERT_PTR_NE(b, NULL);
	put_secret(body);
	ASSERT_INT_EQ(sshpkt_start(conn.ssh, SSH2_MSG_CHANNEL_REQUEST), 0);
	ASSERT_INT_EQ(sshpkt_put(conn.ssh, body, sizeof(body)), 0);
	explicit_bzero(body, sizeof(body));
	ASSERT_INT_EQ(sshpkt_start(conn.ssh, SSH2_MSG_CHANNEL_DATA), 0);
	ASSERT_INT_EQ(is_left(), 0);
	ASSERT_INT_EQ(sshpkt_put_u32(conn.ssh, 1), 0);
	ASSERT_INT_EQ(sshpkt_send(conn.ssh), 0);
	ASSERT_U_INT_EQ(conn_sent(&conn, SSH2_MSG_CHANNEL_DATA, b), 1);
	ASSERT_SIZE_T_EQ(sshbuf_len(b), 4);
	sshbuf_free(b);
	conn_close(&conn);
}
#endif

/* A packet comes, without keys, and is read. */
static void
comes(u_char type, const u_char *body, size_t len)
{
	static u_char wire[40000];

	ASSERT_SIZE_T_LE(len + PLAIN_PACKET_MORE, sizeof(wire));
	len = plain_packet(wire, type, body, len);
	ASSERT_INT_EQ(ssh_packet_process_incoming(conn.ssh,
	    (const char *)wire, len), 0);
	explicit_bzero(wire, sizeof(wire));
}

#ifdef __linux__
/* What one has sent is read by the other. */
static void
passes(struct conn *from, u_char type)
{
	struct sshbuf *out = ssh_packet_get_output(from->ssh);
	u_char got;

	ASSERT_INT_EQ(ssh_packet_process_incoming(conn.ssh,
	    (const char *)sshbuf_ptr(out), sshbuf_len(out)), 0);
	sshbuf_reset(out);
	ASSERT_INT_EQ(ssh_packet_read_poll_seqnr(conn.ssh, &got, NULL), 0);
	ASSERT_U8_EQ(got, type);
}

static void
passes_secret(struct conn *from, u_char type)
{
	/* Further in than what is shorter and comes next */
	u_char body[200 + SECRET_LEN];

	memset(body, 0, sizeof(body));
	put_secret(body + 200);
	ASSERT_INT_EQ(sshpkt_start(from->ssh, type), 0);
	ASSERT_INT_EQ(sshpkt_put(from->ssh, body, sizeof(body)), 0);
	explicit_bzero(body, sizeof(body));
	ASSERT_INT_EQ(sshpkt_send(from->ssh), 0);
	passes(from, type);
}

static void
passes_eof(struct conn *from)
{
	ASSERT_INT_EQ(sshpkt_start(from->ssh, SSH2_MSG_CHANNEL_EOF), 0);
	ASSERT_INT_EQ(sshpkt_send(from->ssh), 0);
	passes(from, SSH2_MSG_CHANNEL_EOF);
}

#ifdef WITH_OPENSSL
# define CIPHER	"aes128-gcm@openssh.com"
#else
# define CIPHER	"chacha20-poly1305@openssh.com"
#endif

/* What comes is wiped as the next packet is read. */
static void
received(void)
{
	struct conn from;
	u_char got = 0;

	start(0);
	conn_open(&from, 1, 0, LIMIT);
	/* It has sent one: the next has the number 1. */
	comes(SSH2_MSG_CHANNEL_EOF, &got, sizeof(got));
	ASSERT_INT_EQ(ssh_packet_read_poll_seqnr(conn.ssh, &got, NULL), 0);
	conn_keys(&conn, MODE_IN, CIPHER);
	conn_keys(&from, MODE_OUT, CIPHER);
	passes_secret(&from, SSH2_MSG_CHANNEL_REQUEST);
	ASSERT_INT_EQ(is_left(), 1);
	passes_eof(&from);
	ASSERT_INT_EQ(is_left(), 0);
	/* Data is not, and then is with something else. */
	passes_secret(&from, SSH2_MSG_CHANNEL_DATA);
	ASSERT_INT_EQ(is_left(), 1);
	passes_eof(&from);
	passes_eof(&from);
	ASSERT_INT_EQ(is_left(), 0);
	conn_close(&from);
	conn_close(&conn);
}
#endif

/* EXT_INFO, as often as it says; the last one has our name in it. */
static u_int
flags_after(int server, int times)
{
	struct sshbuf *m = sshbuf_new(), *other = sshbuf_new(), *b;
	u_int flags;
	int i;

	ASSERT_PTR_NE(m, NULL);
	ASSERT_PTR_NE(other, NULL);
	ASSERT_INT_EQ(sshbuf_put_u32(m, 1), 0);
	ASSERT_INT_EQ(sshbuf_put_cstring(m, BDP_BOUNDED_INPUT), 0);
	ASSERT_INT_EQ(sshbuf_put_cstring(m, "0"), 0);
	ASSERT_INT_EQ(sshbuf_put_u32(other, 1), 0);
	ASSERT_INT_EQ(sshbuf_put_cstring(other, "elevation"), 0);
	ASSERT_INT_EQ(sshbuf_put_cstring(other, "0"), 0);
	start(server);
	ssh_dispatch_init(conn.ssh, &dispatch_protocol_error);
	for (i = 1; i <= times; i++) {
		ssh_dispatch_set(conn.ssh, SSH2_MSG_EXT_INFO,
		    &kex_input_ext_info);
		b = i == times ? m : other;
		comes(SSH2_MSG_EXT_INFO, sshbuf_ptr(b), sshbuf_len(b));
		ASSERT_INT_EQ(ssh_dispatch_run(conn.ssh, DISPATCH_NONBLOCK,
		    NULL), 0);
	}
	flags = conn.ssh->kex->flags;
	conn_close(&conn);
	sshbuf_free(m);
	sshbuf_free(other);
	return flags;
}

static void
ext_info(void)
{
	ASSERT_U_INT_NE(flags_after(0, 1) & KEX_HAS_BOUNDED_INPUT, 0);
	ASSERT_U_INT_NE(flags_after(1, 1) & KEX_HAS_BOUNDED_INPUT, 0);
#ifdef KEX_HAS_PING
	/* A client takes a second one, but not this of it. (9.2 takes all.) */
	ASSERT_U_INT_EQ(flags_after(0, 2) & KEX_HAS_BOUNDED_INPUT, 0);
#endif
}

/* What a channel reads ahead, of its output and of stderr */
static void
read_ahead(void)
{
	struct pollfd *pfd = NULL;
	u_int alloc = 0, n = 0;
	struct timespec timeout;
	Channel *c;
	size_t i, len;
	int zero;

	start(1);
	ASSERT_INT_NE((zero = open("/dev/zero", O_RDONLY)), -1);
	c = conn_channel(&conn, "session");
	c->rfd = c->efd = zero;
	c->extended_usage = CHAN_EXTENDED_READ;
	c->remote_window = LIMIT;
	c->delayed = 0;
	for (i = 0; i < 2; i++) {
		for (len = CHANNEL_READ_AHEAD - 1; len <= CHANNEL_READ_AHEAD;
		    len++) {
			fake_len(i ? c->extended : c->input, len);
			ptimeout_init(&timeout);
			channel_prepare_poll(conn.ssh, &pfd, &alloc, &n, 0,
			    &timeout);
			ASSERT_INT_EQ((c->io_want & (i ? SSH_CHAN_IO_EFD_R :
			    SSH_CHAN_IO_RFD)) != 0, len < CHANNEL_READ_AHEAD);
		}
	}
	c->rfd = c->efd = -1;
	close(zero);
	free(pfd);
	conn_close(&conn);
}

void
test_wipes(void)
{
#ifdef __linux__
	fixture_run("packets sent are wiped", sent);
	fixture_run("packets begun are wiped", begun);
	fixture_run("packets received are wiped", received);
#endif
	fixture_run("EXT_INFO, the first one", ext_info);
	fixture_run("what is read ahead, and of stderr", read_ahead);
	fake_reset();
}
