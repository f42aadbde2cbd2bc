/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sshbuf.h"
#include "ssherr.h"
#include "ssh2.h"
#include "packet.h"
#include "channels.h"
#include "cipher.h"
#include "kex.h"
#include "mac.h"
#include "misc.h"
#include "xmalloc.h"
#include "channel-window.h"
#include "fake.h"
#include "conn.h"

#define MAC_LEN	32			/* hmac-sha2-256 */

static void
check(int fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "conn.c: %s\n", what);
	abort();
}

static struct newkeys *
new_keys(const char *cipher)
{
	struct newkeys *keys = xcalloc(1, sizeof(*keys));
	struct sshenc *enc = &keys->enc;

	enc->name = xstrdup(cipher);
	enc->cipher = cipher_by_name(cipher);
	check(enc->cipher != NULL, "cipher");
	enc->block_size = cipher_blocksize(enc->cipher);
	enc->key_len = cipher_keylen(enc->cipher);
	enc->key = xcalloc(1, enc->key_len + 1);
	enc->iv_len = cipher_ivlen(enc->cipher);
	enc->iv = xcalloc(1, enc->iv_len + 1);
	keys->mac.name = xstrdup("hmac-sha2-256");
	check(mac_setup(&keys->mac, keys->mac.name) == 0, "mac_setup");
	keys->mac.key = xcalloc(1, keys->mac.key_len);
	keys->comp.name = xstrdup("none");
	return keys;
}

void
conn_keys(struct conn *conn, int mode, const char *cipher)
{
	conn->ssh->kex->newkeys[mode] = new_keys(cipher);
	check(ssh_set_newkeys(conn->ssh, mode) == 0, "ssh_set_newkeys");
}

/* Ends the key exchange that a new connection is in. */
static void
take_keys(struct ssh *ssh)
{
	ssh->kex->newkeys[MODE_OUT] = new_keys("none");
	check(sshpkt_start(ssh, SSH2_MSG_NEWKEYS) == 0 &&
	    sshpkt_send(ssh) == 0, "NEWKEYS");
	ssh->kex->done = 1;
	sshbuf_reset(ssh_packet_get_output(ssh));
}

void
conn_open(struct conn *conn, int server, u_int flags, uint32_t limit)
{
	memset(conn, 0, sizeof(*conn));
	check(socketpair(AF_UNIX, SOCK_STREAM, 0, conn->net) == 0, "sockets");
	conn->ssh = ssh_packet_set_connection(NULL, conn->net[0], conn->net[0]);
	check(conn->ssh != NULL, "connection");
	conn->ssh->kex->server = server;
	conn->ssh->kex->flags = flags;
	if (server)
		ssh_packet_set_server(conn->ssh);
	take_keys(conn->ssh);
	ssh_packet_set_authenticated(conn->ssh);
	channel_init_channels(conn->ssh);
	channel_windows_limit(conn->ssh, limit);
}

void
conn_close(struct conn *conn)
{
	u_int i;

	for (i = 0; i < CONN_CHANNELS; i++) {
		if (conn->channels[i] != NULL)
			conn_channel_free(conn, conn->channels[i]);
	}
	channel_free_all(conn->ssh);
	ssh_packet_close(conn->ssh);
	free(conn->ssh->chanctxt);
	free(conn->ssh);
	close(conn->net[1]);
}

Channel *
conn_channel(struct conn *conn, char *ctype)
{
	Channel *c = channel_new(conn->ssh, ctype, SSH_CHANNEL_OPEN, -1, -1, -1,
	    CHAN_SES_WINDOW_DEFAULT, CHAN_SES_PACKET_DEFAULT, 0, "test", 0);

	c->remote_id = c->self;
	c->have_remote_id = 1;
	c->remote_maxpacket = CHAN_SES_PACKET_DEFAULT;
	check(c->self < CONN_CHANNELS, "too many channels");
	conn->channels[c->self] = c;
	return c;
}

void
conn_channel_free(struct conn *conn, Channel *c)
{
	fake_len_ends(c->input);
	fake_len_ends(c->output);
	fake_len_ends(c->extended);
	conn->channels[c->self] = NULL;
	channel_free(conn->ssh, c);
}

void
conn_comes(Channel *c, struct sshbuf *buf, size_t len)
{
	c->local_window -= len;
	fake_len(buf, sshbuf_len(buf) + len);
}

size_t
conn_goes(Channel *c, struct sshbuf *buf, size_t len)
{
	len = MINIMUM(len, sshbuf_len(buf));
	c->local_consumed += len;
	fake_len(buf, sshbuf_len(buf) - len);
	return len;
}

u_int
conn_turn(struct conn *conn, Channel *c)
{
	u_int credit = channel_window_turn(conn->ssh, c);

	if (credit != 0) {
		c->local_window += credit;
		c->local_consumed = 0;
	}
	channel_probe_turn(conn->ssh, c);
#ifndef BDP_CORE
	channel_report_turn(conn->ssh, c, credit);
	channel_sender_turn(conn->ssh, c);
#endif
	return credit;
}

u_int
conn_sent(struct conn *conn, u_char type, struct sshbuf *buf)
{
	struct sshbuf *out = ssh_packet_get_output(conn->ssh);
	const u_char *p;
	u_int n = 0, len;

	while (sshbuf_len(out) != 0) {	/* RFC 4253, 6 */
		p = sshbuf_ptr(out);
		len = PEEK_U32(p);
		if (p[5] == type) {
			n++;
			if (buf != NULL) {
				sshbuf_reset(buf);
				check(sshbuf_put(buf, p + 6,
				    len - 2 - p[4]) == 0, "sshbuf_put");
			}
		}
		check(sshbuf_consume(out, 4 + len + MAC_LEN) == 0, "packet");
	}
	return n;
}
