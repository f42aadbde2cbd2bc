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

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "openbsd-compat/sys-queue.h"

#include "channels.h"
#include "log.h"
#include "misc.h"
#include "packet.h"
#include "quick-data.h"
#include "ssh2.h"
#include "sshbuf.h"
#include "ssherr.h"

static struct sshbuf *data;	/* sent, but not taken yet; or NULL */
static int channel = -1;	/* whose window has to be settled */
static u_int debt;		/* bytes to take off its window */

/* Reads what is there, at most max bytes. Returns the bytes read, or 0. */
static size_t
read_now(int fd, u_char *p, size_t max)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	size_t len = 0;
	ssize_t n;

	while (len < max && poll(&pfd, 1, 0) == 1 &&
	    (pfd.revents & POLLIN) != 0 &&
	    (n = read(fd, p + len, max - len)) > 0)
		len += n;
	return len;
}

void
quick_data_send(struct ssh *ssh, Channel *c)
{
	u_char buf[QUICK_DATA_MAX];
	size_t len, at, n;
	int r;

	/* What waits to be sent again is in front of it. */
	if (data != NULL || sshbuf_len(c->input) != 0 ||
	    (len = read_now(c->rfd, buf, sizeof(buf))) == 0)
		return;
	if ((data = sshbuf_new()) == NULL)
		fatal_f("sshbuf_new");
	if ((r = sshbuf_put(data, buf, len)) != 0)
		fatal_fr(r, "keep data");
	for (at = 0; at < len; at += n) {
		n = MINIMUM(len - at, QUICK_DATA_PACKET);
		if ((r = sshpkt_start(ssh, SSH2_MSG_CHANNEL_DATA)) != 0 ||
		    (r = sshpkt_put_u32(ssh, c->remote_id)) != 0 ||
		    (r = sshpkt_put_string(ssh, buf + at, n)) != 0 ||
		    (r = sshpkt_send(ssh)) != 0)
			fatal_fr(r, "send data");
	}
	channel = c->self;
	debt = len;
	debug("QuickStart: %zu bytes sent with the session", len);
	explicit_bzero(buf, len);
}

void
quick_data_refused(void)
{
	channel = -1;
	debt = 0;
}

void
quick_data_taken(void)
{
	if (channel == -1)
		return;
	sshbuf_free(data);
	data = NULL;
}

void
quick_data_again(Channel *c)
{
	int r;

	if (data == NULL || channel != -1)
		return;
	if ((r = sshbuf_putb(c->input, data)) != 0)
		fatal_fr(r, "channel %d", c->self);
	debug("QuickStart: %zu bytes of input are sent again",
	    sshbuf_len(data));
	sshbuf_free(data);
	data = NULL;
}

void
quick_data_settle(Channel *c)
{
	u_int n;

	if (debt == 0 || c->self != channel)
		return;
	n = MINIMUM(debt, c->remote_window);
	c->remote_window -= n;
	debt -= n;
}
