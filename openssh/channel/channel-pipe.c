/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <fcntl.h>
#include <stdint.h>

#include "sshbuf.h"
#include "packet.h"
#include "channels.h"
#include "channel-pipe.h"
#include "window-state.h"

/*
 * Bytes; Linux gives a pipe 64 KiB. A user's pipes beyond 64 MiB in all get
 * less, so only some pipes are enlarged, and only to this.
 */
#define PIPE_SIZE	CHANNEL_READ_AHEAD

/* Many channels never carry this many bytes. */
#define PIPE_AFTER	(1024 * 1024)

static void
enlarge(int fd)
{
#ifdef F_SETPIPE_SZ
	int size;

	/* Not a pipe, or its owner has too many: keep its size */
	if ((size = fcntl(fd, F_GETPIPE_SZ)) != -1 && size < PIPE_SIZE)
		fcntl(fd, F_SETPIPE_SZ, PIPE_SIZE);
#endif
}

void
channel_pipe_output(Channel *c)
{
	if ((c->sender & CHANNEL_OUTPUT_ENLARGED) != 0 ||
	    c->window->control.now.consumed < PIPE_AFTER ||
	    sshbuf_len(c->output) == 0)
		return;
	c->sender |= CHANNEL_OUTPUT_ENLARGED;
	enlarge(c->wfd);
}

void
channel_pipe_input(Channel *c)
{
	if ((c->sender & CHANNEL_INPUT_ENLARGED) != 0 ||
	    c->report->send.bytes < PIPE_AFTER ||
	    c->window->control.now.consumed != 0)
		return;
	c->sender |= CHANNEL_INPUT_ENLARGED;
	enlarge(c->rfd);
}
