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

#include <fcntl.h>
#include <stdint.h>

#include "sshbuf.h"
#include "packet.h"
#include "channels.h"
#include "window-state.h"
#include "channel-pipe.h"

/*
 * Bytes; Linux gives a pipe 64 KiB. A user has 64 MiB of pipes, beyond which
 * his next ones get less, so this is not done for every pipe, nor with more.
 */
#define PIPE_SIZE	CHANNEL_READ_AHEAD

static void
enlarge(int fd)
{
#ifdef F_SETPIPE_SZ
	int size;

	/* Not a pipe, or its owner has too many: it stays as it is */
	if ((size = fcntl(fd, F_GETPIPE_SZ)) != -1 && size < PIPE_SIZE)
		fcntl(fd, F_SETPIPE_SZ, PIPE_SIZE);
#endif
}

void
channel_pipe_output(const Channel *c, struct channel_window *w)
{
	if (w->output_enlarged || window_consumed(w) < WINDOW_MUCH ||
	    sshbuf_len(c->output) == 0)
		return;
	w->output_enlarged = 1;
	enlarge(c->wfd);
}

void
channel_pipe_input(const Channel *c, struct channel_window *w)
{
	if (w->input_enlarged || w->send.bytes < WINDOW_MUCH ||
	    window_consumed(w) != 0)
		return;
	w->input_enlarged = 1;
	enlarge(c->rfd);
}
