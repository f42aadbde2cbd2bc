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
 * What a peer may send to the window code: EXT_INFO, pongs, replies to
 * requests, adjusts, data, in any order and of any contents, through the real
 * packet layer (without keys) to channels that are open on both kinds of end.
 */

#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sshbuf.h"
#include "ssherr.h"
#include "ssh2.h"
#include "packet.h"
#include "dispatch.h"
#include "channels.h"
#include "compat.h"
#include "kex.h"
#include "log.h"
#include "misc.h"

#define NCHANNELS	3
#define PAYLOAD_MAX	40000		/* a little more than a packet may be */

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);
int LLVMFuzzerInitialize(int *, char ***);

static jmp_buf ended;		/* where fatal() and disconnects lead */

/* That of libssh.a would end the process. */
void
cleanup_exit(int i)
{
	longjmp(ended, 1);
}

static const u_char types[] = {
	SSH2_MSG_EXT_INFO, SSH2_MSG_PING, SSH2_MSG_PONG,
	SSH2_MSG_CHANNEL_WINDOW_ADJUST, SSH2_MSG_CHANNEL_DATA,
	SSH2_MSG_CHANNEL_EXTENDED_DATA, SSH2_MSG_CHANNEL_SUCCESS,
	SSH2_MSG_CHANNEL_FAILURE, SSH2_MSG_CHANNEL_EOF,
	SSH2_MSG_CHANNEL_CLOSE, SSH2_MSG_IGNORE
};

static void
set_dispatch(struct ssh *ssh)
{
	ssh_dispatch_init(ssh, &dispatch_protocol_error);
	ssh_dispatch_set(ssh, SSH2_MSG_EXT_INFO, &kex_input_ext_info);
	ssh_dispatch_set(ssh, SSH2_MSG_CHANNEL_WINDOW_ADJUST,
	    &channel_input_window_adjust);
	ssh_dispatch_set(ssh, SSH2_MSG_CHANNEL_DATA, &channel_input_data);
	ssh_dispatch_set(ssh, SSH2_MSG_CHANNEL_EXTENDED_DATA,
	    &channel_input_extended_data);
	ssh_dispatch_set(ssh, SSH2_MSG_CHANNEL_SUCCESS,
	    &channel_input_status_confirm);
	ssh_dispatch_set(ssh, SSH2_MSG_CHANNEL_FAILURE,
	    &channel_input_status_confirm);
	ssh_dispatch_set(ssh, SSH2_MSG_CHANNEL_EOF, &channel_input_ieof);
	ssh_dispatch_set(ssh, SSH2_MSG_CHANNEL_CLOSE, &channel_input_oclose);
}

static struct ssh *
connection(int fd, u_int how)
{
	struct ssh *ssh;
	Channel *c;
	u_int i;

	if ((ssh = ssh_packet_set_connection(NULL, fd, fd)) == NULL)
		abort();
	ssh->kex->server = how & 1;
	ssh->kex->flags = how & 2 ? KEX_HAS_PING : 0;
	if (how & 1)
		ssh_packet_set_server(ssh);
	ssh_packet_set_authenticated(ssh);
	set_dispatch(ssh);
	channel_init_channels(ssh);
	channel_set_window_max(ssh, how & 4 ? 8 * 1024 * 1024 : 0x40000000);
	for (i = 0; i < NCHANNELS; i++) {
		c = channel_new(ssh, i == 0 ? "session" : "direct-tcpip",
		    SSH_CHANNEL_OPEN, -1, open("/dev/null", O_WRONLY), -1,
		    CHAN_SES_WINDOW_DEFAULT, CHAN_SES_PACKET_DEFAULT, 0,
		    "fuzz", 1);
		c->remote_id = i;
		c->have_remote_id = 1;
		c->remote_maxpacket = CHAN_SES_PACKET_DEFAULT;
	}
	return ssh;
}

/* A packet as it is on the wire before there are keys: RFC 4253, 6 */
static void
packet(struct ssh *ssh, u_char type, const u_char *payload, size_t len)
{
	static u_char wire[PAYLOAD_MAX + 32];
	size_t pad = 8 - (4 + 1 + 1 + len) % 8;

	if (pad < 4)
		pad += 8;
	POKE_U32(wire, 1 + 1 + len + pad);
	wire[4] = pad;
	wire[5] = type;
	memcpy(wire + 6, payload, len);
	memset(wire + 6 + len, 0, pad);
	if (ssh_packet_process_incoming(ssh, (const char *)wire,
	    6 + len + pad) != 0)
		longjmp(ended, 1);
	ssh_dispatch_run_fatal(ssh, DISPATCH_NONBLOCK, NULL);
}

/* Data that a sender with credit would send: too long to be fuzz of its own */
static void
data(struct ssh *ssh, u_int id, size_t len)
{
	static u_char payload[PAYLOAD_MAX];

	POKE_U32(payload, id);
	POKE_U32(payload + 4, len);
	packet(ssh, SSH2_MSG_CHANNEL_DATA, payload, 8 + len);
}

static void
turn(struct ssh *ssh)
{
	static struct pollfd *pfd;
	static u_int npfd_alloc, npfd;
	struct timespec timeout;

	ptimeout_init(&timeout);
	channel_prepare_poll(ssh, &pfd, &npfd_alloc, &npfd, 0, &timeout);
	if (poll(pfd, npfd, 0) != -1)
		channel_after_poll(ssh, pfd, npfd);
	sshbuf_reset(ssh_packet_get_output(ssh));
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	log_init("fuzz_wire", SYSLOG_LEVEL_QUIET, SYSLOG_FACILITY_USER, 1);
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *in, size_t len)
{
	struct ssh *volatile ssh = NULL;
	const uint8_t *volatile p = in;
	const uint8_t *end = in + len;
	int net[2];
	size_t n;
	u_int what;

	if (len < 2 || socketpair(AF_UNIX, SOCK_STREAM, 0, net) == -1)
		return 0;
	if (setjmp(ended) == 0) {
		ssh = connection(net[0], *p++);
		turn(ssh);
		while (end - p >= 2) {
			what = *p++;
			n = *p++;
			if (what >= 128) {
				data(ssh, what % NCHANNELS, n * 140);
			} else if (what >= 96) {
				turn(ssh);
			} else {
				n = MINIMUM(n, (size_t)(end - p));
				packet(ssh, types[what % sizeof(types)], p, n);
				p += n;
			}
		}
		turn(ssh);
	}
	if (ssh != NULL && setjmp(ended) == 0) {
		channel_free_all(ssh);
		if (ssh->state != NULL)		/* a disconnect closed it */
			ssh_packet_close(ssh);
		free(ssh->chanctxt);
		free(ssh);
	}
	close(net[0]);
	close(net[1]);
	return 0;
}
