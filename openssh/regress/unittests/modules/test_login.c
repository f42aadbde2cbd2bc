/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/* To whom ssh sends requests before the replies to earlier ones */

#include "includes.h"

#include <sys/types.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "ssh2.h"
#include "packet.h"
#include "channels.h"
#include "kex.h"
#include "last-channel.h"
#include "log.h"
#include "login-pipeline.h"
#include "tcp-path.h"
#include "conn.h"
#include "fake.h"
#include "fixture.h"

void test_login(void);

static void
peers(void)
{
	static const struct {
		const char *banner;
		int known;
	} t[] = {
		{ "SSH-2.0-OpenSSH_10.0", 1 },
		{ "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3", 1 },
		{ "SSH-2.0-OpenSSH_for_Windows_9.5", 1 },
		{ "SSH-2.0-dropbear_2022.83", 1 },
		{ "SSH-2.0-dropbear", 1 },
		{ "SSH-2.0-Go", 0 },
		{ "SSH-2.0-libssh_0.10.6", 0 },
		{ "SSH-2.0-paramiko_3.4.0", 1 },
		{ "SSH-2.0-AsyncSSH_2.14.2", 0 },
		{ "SSH-2.0-tinyssh_20240101-1abcdef2", 1 },
		{ "", 0 },
		{ "SSH-2.0-", 0 },
		{ "OpenSSH_10.0", 0 },
		{ "SSH-1.99-OpenSSH_3.9p1", 0 },
		{ "SSH-2.0-OpenSSH", 0 },
		{ "SSH-2.0-OpenSSHX", 0 },
		{ "SSH-2.0-openssh_10.0", 0 },
		{ "SSH-2.0-Sun_SSH_OpenSSH_9", 0 },
		{ "SSH-2.0-Gopher", 0 },
		{ "SSH-2.0-Go ", 0 },
		{ "SSH-2.0-Dropbear_2022.83", 0 },
		{ "SSH-2.0-paramiko", 0 },
		{ "SSH-2.0-mod_sftp", 0 },
		{ "SSH-2.0-Cisco-1.25", 0 },
		{ "SSH-2.0-WS_FTP", 0 },
	};
	size_t i;

	TEST_START("login: pipelined to known software only");
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		test_subtest_info("\"%s\"", t[i].banner);
		ASSERT_INT_EQ(login_pipeline_peer(t[i].banner), t[i].known);
	}
	TEST_DONE();

	TEST_START("login: a method without credentials is GSSAPI's only");
	ASSERT_INT_EQ(login_pipeline_lacks_credentials("publickey"), 0);
	ASSERT_INT_EQ(login_pipeline_lacks_credentials("none"), 0);
	TEST_DONE();
}

static void
may(void)
{
	struct path_info path;
	struct conn conn;
	struct kex *kex;

	TEST_START("last channel: only if the server has announced it");
	fixture_open(&conn, &path, 0, 0, LIMIT);
	ASSERT_INT_EQ(last_channel_may(conn.ssh), 0);
	conn.ssh->kex->flags = ~KEX_HAS_LAST_CHANNEL;
	ASSERT_INT_EQ(last_channel_may(conn.ssh), 0);
	conn.ssh->kex->flags = KEX_HAS_LAST_CHANNEL;
	ASSERT_INT_EQ(last_channel_may(conn.ssh), 1);
	kex = conn.ssh->kex;
	conn.ssh->kex = NULL;
	ASSERT_INT_EQ(last_channel_may(conn.ssh), 0);
	conn.ssh->kex = kex;
	conn_close(&conn);
	TEST_DONE();
}

/* The client: requests of a channel whose number it does not know yet */
static void
client(void)
{
	struct path_info path;
	struct conn conn;
	Channel *c;

	TEST_START("last channel: a client uses it until its requests end");
	fixture_open(&conn, &path, 0, KEX_HAS_LAST_CHANNEL, LIMIT);
	c = conn_channel(&conn, "session");
	c->have_remote_id = 0;
	last_channel_begin(conn.ssh, c);
	ASSERT_U64_EQ(conn.ssh->inband.sent_us, 0);	/* no ping, no probe */
	ASSERT_INT_EQ(c->have_remote_id, 1);
	ASSERT_U_INT_EQ(c->remote_id, LAST_CHANNEL_ID);
	last_channel_end(c);
	ASSERT_INT_EQ(c->have_remote_id, 0);
	conn_close(&conn);
	TEST_DONE();
#ifdef KEX_HAS_PING
	TEST_START("last channel: the round trip is asked for before");
	fixture_open(&conn, &path, 0, KEX_HAS_LAST_CHANNEL|KEX_HAS_PING,
	    LIMIT);
	c = conn_channel(&conn, "session");
	c->have_remote_id = 0;
	last_channel_begin(conn.ssh, c);
	ASSERT_U_INT_EQ(conn_sent(&conn, SSH2_MSG_PING, NULL), 1);
	last_channel_end(c);
	conn_turn(&conn, c);
	ASSERT_U_INT_EQ(conn_sent(&conn, SSH2_MSG_PING, NULL), 0);
	conn_close(&conn);
	TEST_DONE();
#endif
}

/* The server: which session such a request is for */
static void
server(void)
{
	struct path_info path;
	struct conn conn;
	struct heard heard;
	Channel *c, *other;

	TEST_START("last channel: the session that was opened last");
	fixture_open(&conn, &path, 1, 0, LIMIT);
	ASSERT_U_INT_EQ(last_channel_id(conn.ssh), LAST_CHANNEL_ID);
	other = conn_channel(&conn, "session");
	last_channel_opened(other, "session");
	c = conn_channel(&conn, "session");
	c->remote_id = 70;
	last_channel_opened(c, "session");
	ASSERT_U_INT_EQ(last_channel_id(conn.ssh), (u_int)c->self);
	TEST_DONE();

	TEST_START("last channel: none if the session has gone");
	/* A session of another number has the place of the one that went. */
	c->remote_id = 71;
	ASSERT_U_INT_EQ(last_channel_id(conn.ssh), LAST_CHANNEL_ID);
	c->remote_id = 70;
	c->have_remote_id = 0;
	ASSERT_U_INT_EQ(last_channel_id(conn.ssh), LAST_CHANNEL_ID);
	c->have_remote_id = 1;
	c->ctype = "direct-tcpip";
	ASSERT_U_INT_EQ(last_channel_id(conn.ssh), LAST_CHANNEL_ID);
	c->ctype = "session";
	ASSERT_U_INT_EQ(last_channel_id(conn.ssh), (u_int)c->self);
	conn_channel_free(&conn, c);
	fixture_listen(&heard, "bad id");
	ASSERT_U_INT_EQ(last_channel_id(conn.ssh), LAST_CHANNEL_ID);
	fixture_listen_ends();
	TEST_DONE();

	TEST_START("last channel: none after an opening that made no session");
	last_channel_opened(other, "session");
	ASSERT_U_INT_EQ(last_channel_id(conn.ssh), (u_int)other->self);
	last_channel_opened(other, "direct-tcpip");
	ASSERT_U_INT_EQ(last_channel_id(conn.ssh), LAST_CHANNEL_ID);
	last_channel_opened(other, "session");
	last_channel_opened(NULL, "session");
	ASSERT_U_INT_EQ(last_channel_id(conn.ssh), LAST_CHANNEL_ID);
	conn_close(&conn);
	TEST_DONE();
}

void
test_login(void)
{
	peers();
	may();
	client();
	server();
	fake_reset();
}
