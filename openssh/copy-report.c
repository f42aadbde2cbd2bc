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
#ifdef __linux__
# include <linux/tcp.h>
#endif

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "openbsd-compat/sys-queue.h"

#include "bdp-options.h"
#include "channels.h"
#include "channel-sender.h"
#include "copy-login.h"
#include "copy-report.h"
#include "misc.h"
#include "packet.h"
#include "quick-pair.h"
#include "tcp-held.h"
#include "tcp-limit.h"
#include "tcp-path.h"
#include "xmalloc.h"

static struct tcp_held held;
static char *host;		/* as known_hosts has it */
static struct copy_login_files files;

static const struct bdp_options *options;
static int logged_in;

/* Tells scp that there is a login of its own, once both of these are set. */
static void
tell(struct ssh *ssh)
{
	if (options == NULL || !logged_in)
		return;
	if (copy_login_asks() || !copy_login_is_known(ssh, host, &files))
		quick_pair_say_asks();
	quick_pair_own(options->copy_connections,
	    ssh_packet_connection_is_on_socket(ssh));
}

/* The options apply. If a session is sent early, that is before the login. */
static void
applied(struct ssh *ssh, const struct bdp_options *o)
{
	options = o;
	tell(ssh);
}

void
copy_report_logged_in(struct ssh *ssh)
{
	logged_in = 1;
	tell(ssh);
}

#if defined(__linux__) && defined(TCP_INFO)
/* Returns the bytes that TCP's buffers allow in flight once they have grown. */
static uint64_t
room(const struct tcp_info *ti)
{
	static int initial, wmem_max;

	if (wmem_max == 0)
		tcp_path_kernel_sizes("tcp_wmem", &initial, &wmem_max);
	/* Half of a buffer is data. */
	return MINIMUM(ti->tcpi_snd_wnd, (uint64_t)wmem_max / 2);
}

/* A glance at the socket: takes a look, if it is time to. */
static void
glance(struct ssh *ssh, const struct tcp_info *ti, int blocked,
    uint64_t quiet_us, uint64_t now_us)
{
	struct tcp_held_look look = { 0 };
	int id;

	if (!tcp_held_is_due(&held, now_us) || !quick_pair_is_watched())
		return;
	look.at_us = now_us;
	look.rtt_us = ti->tcpi_rtt;
	look.min_rtt_us = ti->tcpi_min_rtt;
	look.acked = ti->tcpi_bytes_acked;
	look.received = ti->tcpi_bytes_received;
	look.quiet_us = quiet_us;
	look.buffers_us = ti->tcpi_rwnd_limited + ti->tcpi_sndbuf_limited;
	if ((id = channel_find_open(ssh)) != -1)
		look.window_us = channel_sender_held_us(
		    channel_by_id(ssh, id), now_us);
	look.resent = ti->tcpi_total_retrans;
	look.rcv_wnd = ti->tcpi_rcv_ssthresh;
	look.in_flight = (uint64_t)ti->tcpi_unacked * ti->tcpi_snd_mss;
	look.room = room(ti);
	look.blocked = blocked;
	look.filled = ti->tcpi_unacked >= ti->tcpi_snd_cwnd / 4 * 3;
	tcp_held_add(&held, &look);
	quick_pair_say_held(held.held_us, look.min_rtt_us, held.wide);
}
#endif

void
copy_report_start(const char *known_host, const struct copy_login_files *f)
{
	if (!quick_pair_is_there())
		return;
	free(host);
	host = xstrdup(known_host);
	files = *f;
	bdp_options_on_apply(applied);
#if defined(__linux__) && defined(TCP_INFO)
	tcp_limit_on_glance(glance);
#endif
}
