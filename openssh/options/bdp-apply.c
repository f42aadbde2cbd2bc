/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

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
	channel_windows_limit(ssh, options->channel_window_max);
	tcp_congestion_set(ssh_packet_get_connection_out(ssh),
	    options->tcp_congestion);
}
