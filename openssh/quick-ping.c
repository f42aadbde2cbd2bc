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

#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>

#include "compat.h"
#include "kex.h"
#include "log.h"
#include "packet.h"
#include "quick-ping.h"
#include "ssh2.h"
#include "sshbuf.h"
#include "ssherr.h"

#ifndef SSH2_MSG_PING		/* older than 9.5 */
# define SSH2_MSG_PING	192
# define KEX_HAS_PING	0
#endif

static int sent;

size_t
quick_ping_bytes(const char *banner, u_int kex_flags, u_int compat,
    int segment)
{
	u_int major, minor;

	if ((kex_flags & KEX_HAS_PING) == 0 ||
	    (compat & SSH_NEW_OPENSSH) == 0 ||
	    sscanf(banner, "SSH-2.0-OpenSSH_%u.%u", &major, &minor) != 2 ||
	    major > 10 || (major == 10 && minor > 0))
		return 0;
	/* With segments as large as a loopback's, a round trip is nothing. */
	return segment > 0 && segment <= QUICK_PING_MAX ? segment : 0;
}

/* Returns the bytes that TCP sends in a segment. */
static int
segment_bytes(struct ssh *ssh)
{
#ifdef TCP_MAXSEG
	int bytes;
	socklen_t len = sizeof(bytes);

	if (ssh_packet_connection_is_on_socket(ssh) &&
	    getsockopt(ssh_packet_get_connection_in(ssh), IPPROTO_TCP,
	    TCP_MAXSEG, &bytes, &len) == 0)
		return bytes;
#endif
	return QUICK_PING_SEGMENT;
}

void
quick_ping_send(struct ssh *ssh)
{
	char *banner, *data;
	size_t len;
	int r;

	if ((banner = sshbuf_dup_string(ssh->kex->server_version)) == NULL)
		return;
	len = quick_ping_bytes(banner, ssh->kex->flags, ssh->compat,
	    segment_bytes(ssh));
	free(banner);
	if (len == 0 || (data = calloc(1, len)) == NULL)
		return;
	if ((r = sshpkt_start(ssh, SSH2_MSG_PING)) != 0 ||
	    (r = sshpkt_put_string(ssh, data, len)) != 0 ||
	    (r = sshpkt_send(ssh)) != 0)
		fatal_fr(r, "ping");
	free(data);
	debug("QuickStart: %zu bytes of a ping push the login's answer out",
	    len);
	sent = 1;
}

int
quick_ping_saved(void)
{
	return sent;
}
