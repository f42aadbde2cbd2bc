/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/*
 * A peer over whole conversations: it opens channels and confirms ours with any
 * window and maximum packet, sends data, adjusts, EXT_INFO, pongs and replies
 * in any order and of any contents, reads or lags, and renews keys. All goes
 * through the real packet layer, to channels of both kinds of end. The sources
 * and readers are as odd: endless, silent, full, gone. The main loop is that of
 * serverloop.c.
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

#include "../plain_packet.h"
#include "sshbuf.h"
#include "ssherr.h"
#include "ssh2.h"
#include "packet.h"
#include "dispatch.h"
#include "channels.h"
#include "channel-window.h"
#include "cipher.h"
#include "compat.h"
#include "kex.h"
#include "log.h"
#include "misc.h"
#include "xmalloc.h"
#include "bounds.h"
#include "input.h"

#define NCHANNELS	4		/* open at a time */
#define PAYLOAD_MAX	40000		/* a little more than a packet may be */
#define TURNS		40		/* of the main loop, for an input */
#define CPU_S		10		/* seconds, for an input */
#define MEMORY		(64 * 1024 * 1024)	/* bytes */
#define WINDOWS_MAX	(8 * 1024 * 1024)	/* bytes, a connection's */
/* What a turn leaves to send: all that is read ahead fits a large packet. */
#define OUTPUT_MAX	(NCHANNELS * 4 * CHANNEL_READ_AHEAD)

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);
int LLVMFuzzerInitialize(int *, char ***);

static jmp_buf ended;		/* where fatal() and disconnects lead */

static u_int turns;		/* of the main loop that are left */

/* The far ends of the channels' sources and readers, by channel; or -1 */
static int far[NCHANNELS][2];
static u_int nfar;

/* That of libssh.a would end the process. */
void
cleanup_exit(int i)
{
	longjmp(ended, 1);
}

/* Opens a source or reader of a channel's data. Keeps its other end. */
static int
endpoint(u_int what, int *other)
{
	int fds[2];

	*other = -1;
	switch (what % 8) {
	case 0:
		return open("/dev/zero", O_RDWR);	/* endless */
	case 1:
		return open("/dev/null", O_RDWR);	/* has ended */
	case 2:
		return open("/dev/full", O_RDWR);	/* takes nothing */
	case 3:
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == -1)
			abort();
		close(fds[1]);				/* has gone */
		return fds[0];
	default:
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == -1)
			abort();
		set_nonblock(fds[1]);
		*other = fds[1];
		return fds[0];
	}
}

static char *
channel_kind(u_int what)
{
	static char *kinds[] = {
		"session", "direct-tcpip", "forwarded-tcpip", "x11"
	};

	return kinds[what % 4];
}

/* Makes a channel that we have asked the peer to open. */
static Channel *
new_channel(struct ssh *ssh, int type)
{
	u_int what = input_byte(), ends = input_byte();
	int rfd, wfd, efd = -1, usage = CHAN_EXTENDED_IGNORE;

	if (nfar == NCHANNELS)
		return NULL;
	rfd = endpoint(ends, &far[nfar][0]);
	wfd = endpoint(ends >> 3, &far[nfar][1]);
	if (what & 0x10) {
		usage = what & 0x20 ? CHAN_EXTENDED_READ : CHAN_EXTENDED_WRITE;
		efd = open(what & 0x40 ? "/dev/zero" : "/dev/null", O_RDWR);
	}
	nfar++;
	return channel_new(ssh, channel_kind(what), type, rfd, wfd, efd,
	    CHAN_SES_WINDOW_DEFAULT, CHAN_SES_PACKET_DEFAULT, usage, "fuzz",
	    1);
}

/* As server_input_channel_open() */
static int
input_channel_open(int type, u_int32_t seq, struct ssh *ssh)
{
	Channel *c;
	char *kind;
	u_int id, window, maxpacket;
	int r;

	if ((r = sshpkt_get_cstring(ssh, &kind, NULL)) != 0)
		sshpkt_fatal(ssh, r, "open");
	free(kind);
	if ((r = sshpkt_get_u32(ssh, &id)) != 0 ||
	    (r = sshpkt_get_u32(ssh, &window)) != 0 ||
	    (r = sshpkt_get_u32(ssh, &maxpacket)) != 0)
		sshpkt_fatal(ssh, r, "open");
	if ((c = new_channel(ssh, SSH_CHANNEL_OPEN)) == NULL)
		return 0;
	c->remote_id = id;
	c->have_remote_id = 1;
	c->remote_window = window;
	c->remote_maxpacket = maxpacket;
	return 0;
}

/* As client_input_channel_req(): nobody knows the request */
static int
input_channel_request(int type, u_int32_t seq, struct ssh *ssh)
{
	Channel *c;
	u_int id;
	u_char reply;
	int r;

	if ((r = sshpkt_get_u32(ssh, &id)) != 0 ||
	    (r = sshpkt_get_cstring(ssh, NULL, NULL)) != 0 ||
	    (r = sshpkt_get_u8(ssh, &reply)) != 0)
		sshpkt_fatal(ssh, r, "request");
	if ((c = channel_lookup(ssh, id)) == NULL || !reply ||
	    (c->flags & CHAN_CLOSE_SENT) || !c->have_remote_id)
		return 0;
	if ((r = sshpkt_start(ssh, SSH2_MSG_CHANNEL_FAILURE)) != 0 ||
	    (r = sshpkt_put_u32(ssh, c->remote_id)) != 0 ||
	    (r = sshpkt_send(ssh)) != 0)
		sshpkt_fatal(ssh, r, "request");
	return 0;
}

static const struct {
	u_char type;
	dispatch_fn *fn;	/* NULL: packet.c's own */
} types[] = {
	{ SSH2_MSG_EXT_INFO, kex_input_ext_info },
	{ SSH2_MSG_PING, NULL },
	{ SSH2_MSG_PONG, NULL },
	{ SSH2_MSG_IGNORE, NULL },
	{ SSH2_MSG_CHANNEL_OPEN, input_channel_open },
	{ SSH2_MSG_CHANNEL_OPEN_CONFIRMATION, channel_input_open_confirmation },
	{ SSH2_MSG_CHANNEL_OPEN_FAILURE, channel_input_open_failure },
	{ SSH2_MSG_CHANNEL_REQUEST, input_channel_request },
	{ SSH2_MSG_CHANNEL_WINDOW_ADJUST, channel_input_window_adjust },
	{ SSH2_MSG_CHANNEL_DATA, channel_input_data },
	{ SSH2_MSG_CHANNEL_EXTENDED_DATA, channel_input_extended_data },
	{ SSH2_MSG_CHANNEL_SUCCESS, channel_input_status_confirm },
	{ SSH2_MSG_CHANNEL_FAILURE, channel_input_status_confirm },
	{ SSH2_MSG_CHANNEL_EOF, channel_input_ieof },
	{ SSH2_MSG_CHANNEL_CLOSE, channel_input_oclose }
};
#define NTYPES	(sizeof(types) / sizeof(types[0]))

/*
 * What we send is encrypted, with one key for ever; nobody reads it. Before
 * there are keys all would wait for them.
 */
static void
new_keys(struct ssh *ssh)
{
	struct newkeys *keys = xcalloc(1, sizeof(*keys));
	struct sshenc *enc = &keys->enc;
	int r;

	enc->name = xstrdup("aes128-gcm@openssh.com");
	enc->cipher = cipher_by_name(enc->name);
	enc->key_len = cipher_keylen(enc->cipher);
	enc->iv_len = cipher_ivlen(enc->cipher);
	enc->block_size = cipher_blocksize(enc->cipher);
	enc->key = xcalloc(1, enc->key_len);
	enc->iv = xcalloc(1, enc->iv_len);
	ssh->kex->newkeys[MODE_OUT] = keys;
	if ((r = sshpkt_start(ssh, SSH2_MSG_NEWKEYS)) != 0 ||
	    (r = sshpkt_send(ssh)) != 0)
		finding("new keys: %s", ssh_err(r));
}

/* Keys are renewed, and then they are new: channel data waits in between. */
static void
rekey(struct ssh *ssh)
{
	int r;

	if (ssh_packet_is_rekeying(ssh))
		new_keys(ssh);
	else if ((r = sshpkt_start(ssh, SSH2_MSG_KEXINIT)) != 0 ||
	    (r = sshpkt_send(ssh)) != 0)
		finding("rekey: %s", ssh_err(r));
}

static struct ssh *
connection(int fd, u_int how)
{
	struct ssh *ssh;
	u_int i;

	if ((ssh = ssh_packet_set_connection(NULL, fd, fd)) == NULL)
		abort();
	ssh->kex->done = 1;
	ssh->kex->server = how & 1;
	ssh->kex->flags = how & 2 ? KEX_HAS_PING : 0;
	if (how & 1)
		ssh_packet_set_server(ssh);
	ssh_packet_set_authenticated(ssh);
	ssh_dispatch_init(ssh, &dispatch_protocol_error);
	for (i = 0; i < NTYPES; i++) {
		if (types[i].fn != NULL)
			ssh_dispatch_set(ssh, types[i].type, types[i].fn);
	}
	new_keys(ssh);
	channel_init_channels(ssh);
	channel_windows_limit(ssh, how & 4 ? WINDOWS_MAX : 0);
	return ssh;
}

/* The peer sends a packet, without keys. */
static void
packet(struct ssh *ssh, u_char type, const u_char *payload, size_t len)
{
	static u_char wire[PAYLOAD_MAX + PLAIN_PACKET_MORE];

	len = plain_packet(wire, type, payload, len);
	if (ssh_packet_process_incoming(ssh, (const char *)wire, len) != 0)
		longjmp(ended, 1);
	ssh_dispatch_run_fatal(ssh, DISPATCH_NONBLOCK, NULL);
}

/* Sends a message of a type with n words: a, b and c. */
static void
words(struct ssh *ssh, u_char type, u_int n, u_int a, u_int b, u_int c)
{
	u_char payload[12];

	POKE_U32(payload, a);
	POKE_U32(payload + 4, b);
	POKE_U32(payload + 8, c);
	packet(ssh, type, payload, n * 4);
}

/* The peer opens a channel, or confirms one that we have asked for. */
static void
open_by_peer(struct ssh *ssh)
{
	static const u_char kind[] = { 0, 0, 0, 1, 'k' };
	u_char payload[sizeof(kind) + 12];

	memcpy(payload, kind, sizeof(kind));
	POKE_U32(payload + 5, input_byte());
	POKE_U32(payload + 9, input_number());
	POKE_U32(payload + 13, input_number());
	packet(ssh, SSH2_MSG_CHANNEL_OPEN, payload, sizeof(payload));
}

static void
open_by_us(struct ssh *ssh)
{
	Channel *c = new_channel(ssh, SSH_CHANNEL_OPENING);
	u_char payload[16];

	if (c == NULL)
		return;
	POKE_U32(payload, c->self);
	POKE_U32(payload + 4, input_byte());
	POKE_U32(payload + 8, input_number());
	POKE_U32(payload + 12, input_number());
	packet(ssh, SSH2_MSG_CHANNEL_OPEN_CONFIRMATION, payload,
	    sizeof(payload));
}

/* Data that a sender with credit would send: too long to be fuzz of its own */
static void
data(struct ssh *ssh, int extended)
{
	static u_char payload[PAYLOAD_MAX];
	size_t len = input_byte() * 140, at = 4;

	POKE_U32(payload, input_byte() % NCHANNELS);
	if (extended) {
		POKE_U32(payload + at, SSH2_EXTENDED_DATA_STDERR);
		at += 4;
	}
	POKE_U32(payload + at, len);
	packet(ssh, extended ? SSH2_MSG_CHANNEL_EXTENDED_DATA :
	    SSH2_MSG_CHANNEL_DATA, payload, at + 4 + len);
}

/* No channel holds more than the peer's credit, or reads too far ahead. */
static void
check_channels(struct ssh *ssh, size_t output)
{
	Channel *c;
	size_t held;
	u_int i;

	for (i = 0; i < NCHANNELS; i++) {
		if ((c = channel_by_id(ssh, i)) == NULL)
			continue;
		held = sshbuf_len(c->output);
		if (c->extended_usage == CHAN_EXTENDED_WRITE)
			held += sshbuf_len(c->extended);
		/* A tenth more is let pass, and the packet that is too much. */
		if (held > c->local_window_max / 10 * 11 +
		    2 * CHAN_SES_PACKET_DEFAULT)
			finding("channel %u holds %zu bytes, window %u", i,
			    held, c->local_window_max);
		if (sshbuf_len(c->input) > 2 * CHANNEL_READ_AHEAD ||
		    (c->extended_usage == CHAN_EXTENDED_READ &&
		    sshbuf_len(c->extended) > 2 * CHANNEL_READ_AHEAD))
			finding("channel %u has read %zu bytes ahead", i,
			    sshbuf_len(c->input));
	}
	if (sshbuf_len(ssh_packet_get_output(ssh)) > output + OUTPUT_MAX)
		finding("a turn leaves %zu bytes to send, %zu before",
		    sshbuf_len(ssh_packet_get_output(ssh)), output);
	bounds_check();
}

/* As server_loop2(). The peer reads all of what was sent, or nothing. */
static void
turn(struct ssh *ssh, int reads)
{
	static struct pollfd *pfd;
	static u_int npfd_alloc, npfd;
	struct timespec timeout;
	size_t output;

	if (turns == 0)
		return;
	turns--;
	if (reads)
		sshbuf_reset(ssh_packet_get_output(ssh));
	output = sshbuf_len(ssh_packet_get_output(ssh));
	if (!ssh_packet_is_rekeying(ssh) &&
	    ssh_packet_not_very_much_data_to_write(ssh))
		channel_output_poll(ssh);
	ptimeout_init(&timeout);
	channel_prepare_poll(ssh, &pfd, &npfd_alloc, &npfd, 0, &timeout);
	if (poll(pfd, npfd, 0) != -1)
		channel_after_poll(ssh, pfd, npfd);
	check_channels(ssh, output);
}

/* A source has something to send, a reader takes something, or they leave. */
static void
far_end(u_int what)
{
	static char buf[64 * 1024];
	u_int which = input_byte();
	int *fd = &far[which % NCHANNELS][which >> 4 & 1];
	size_t len = input_byte() << 8;

	if (*fd == -1)
		return;
	if (what == 0)
		(void)!write(*fd, buf, len);
	else if (what == 1)
		(void)!read(*fd, buf, len);
	else {
		close(*fd);
		*fd = -1;
	}
}

static void
step(struct ssh *ssh)
{
	const uint8_t *payload;
	u_int what = input_byte();
	size_t n;

	switch (what % 16) {
	case 0:
		open_by_peer(ssh);
		break;
	case 1:
		open_by_us(ssh);
		break;
	case 2:
	case 3:
		data(ssh, what & 1);
		break;
	case 4:
		words(ssh, SSH2_MSG_CHANNEL_WINDOW_ADJUST, 2,
		    input_byte() % NCHANNELS, input_number(), 0);
		break;
	case 5:
		words(ssh, SSH2_MSG_CHANNEL_EOF + (what >> 4 & 1), 1,
		    input_byte() % NCHANNELS, 0, 0);
		break;
	case 6:
		words(ssh, SSH2_MSG_CHANNEL_SUCCESS + (what >> 4 & 1), 1,
		    input_byte() % NCHANNELS, 0, 0);
		break;
	case 7:
	case 8:
	case 9:
		far_end(what % 16 - 7);
		break;
	case 10:
		rekey(ssh);
		break;
	case 11:
		payload = input_string(&n);
		packet(ssh, types[(what >> 4) % NTYPES].type, payload, n);
		break;
	default:
		turn(ssh, what & 1);
		break;
	}
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	log_init("fuzz_wire", SYSLOG_LEVEL_QUIET, SYSLOG_FACILITY_USER, 1);
	return 0;
}

static void
converse(struct ssh *ssh)
{
	while (input_len() > 0)
		step(ssh);
	turn(ssh, 1);
	turn(ssh, 1);
}

int
LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct ssh *volatile ssh = NULL;
	int net[2];
	u_int i;

	bounds_start(CPU_S, MEMORY);
	input_set(input, len);
	turns = TURNS;
	nfar = 0;
	memset(far, -1, sizeof(far));
	/* A disconnect writes what waits, and nobody reads it: that fails. */
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, net) == -1 ||
	    shutdown(net[1], SHUT_RD) == -1)
		abort();
	if (setjmp(ended) == 0) {
		ssh = connection(net[0], input_byte());
		converse(ssh);
	}
	if (ssh != NULL && setjmp(ended) == 0) {
		channel_free_all(ssh);
		if (ssh->state != NULL)		/* a disconnect closed it */
			ssh_packet_close(ssh);
		free(ssh->chanctxt);
		free(ssh);
	}
	for (i = 0; i < nfar; i++) {
		if (far[i][0] != -1)
			close(far[i][0]);
		if (far[i][1] != -1)
			close(far[i][1]);
	}
	close(net[0]);
	close(net[1]);
	bounds_end(1);
	return 0;
}
