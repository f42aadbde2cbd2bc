/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <stdint.h>

#include "sshbuf.h"
#include "packet.h"
#include "channels.h"
#include "channel-pipe.h"
#include "channel-sender.h"
#include "poly1305.h"
#include "poly1305-evp.h"
#include "tcp-unsent.h"
#include "window-state.h"

/* Minimum size (bytes) of an early write, to be worth a system call. */
#define EARLY_LEAST	4096

void
channel_sender_turn(struct ssh *ssh, Channel *c)
{
	if (c->report == NULL)
		return;
	if ((c->sender & CHANNEL_SENDER_BEGUN) == 0) {
		c->sender |= CHANNEL_SENDER_BEGUN;
		poly1305_evp_enable();
		/* Let bulk data wait where a keystroke can overtake it. */
		if (ssh_packet_connection_is_on_socket(ssh))
			tcp_unsent_bound(ssh_packet_get_connection_out(ssh));
	}
	channel_pipe_output(c);
	channel_pipe_input(c);
}

/*
 * Linux calls a TCP socket writable (poll(2)) while at most two thirds of its
 * send buffer are in use, and while little waits unsent (TCP_NOTSENT_LOWAT). If
 * nothing waits unsent, the buffer is the limit, and its last third can take
 * more. Otherwise the path is the limit, and a keystroke could not overtake
 * what is written now.
 */
int
channel_sender_early(struct ssh *ssh)
{
	int unsent;

	if (ssh->windows == NULL || ssh->windows->path.source == NULL ||
	    sshbuf_len(ssh_packet_get_output(ssh)) < EARLY_LEAST)
		return 0;
	unsent = tcp_unsent(ssh_packet_get_connection_out(ssh));
	return unsent != -1 && unsent < EARLY_LEAST;
}
