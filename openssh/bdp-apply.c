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
 * This is not in bdp-options.c, as every program that reads a configuration has
 * that: ssh-keysign and the sshd that listens have no use for channels.
 */

#include "includes.h"

#include <sys/types.h>

#include "openbsd-compat/sys-queue.h"

#include "bdp-options.h"
#include "channels.h"
#include "packet.h"

void
bdp_options_apply(struct ssh *ssh, struct bdp_options *options)
{
	bdp_options_fill(options);
	channel_set_window_max(ssh, options->channel_window_max);
	tcp_congestion_set(ssh_packet_get_connection_out(ssh),
	    options->tcp_congestion);
}
