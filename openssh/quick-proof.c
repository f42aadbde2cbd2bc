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

#include "dispatch.h"
#include "log.h"
#include "misc.h"
#include "packet.h"
#include "quick-login.h"
#include "quick-proof.h"

static int pending;		/* the server was asked, and has not answered */

void
quick_proof_asked(void)
{
	pending = quick_login_opened_early();
}

void
quick_proof_answered(void)
{
	pending = 0;
}

/*
 * Sends what waits, and reads what comes until end_s. Returns 1 if something
 * has come, else 0.
 */
static int
read_more(struct ssh *ssh, double end_s)
{
	struct pollfd pfd = { .fd = ssh_packet_get_connection_in(ssh),
	    .events = POLLIN };
	double left_s = end_s - monotime_double();

	return left_s > 0 && ssh_packet_write_wait(ssh) == 0 &&
	    poll(&pfd, 1, (int)(left_s * 1000) + 1) == 1 &&
	    ssh_packet_process_read(ssh, pfd.fd) == 0;
}

void
quick_proof_wait(struct ssh *ssh, volatile sig_atomic_t *quit)
{
	double end_s = monotime_double() + QUICK_PROOF_S;

	if (!pending)
		return;
	debug("QuickStart: waiting for the proof of new host keys");
	while (pending && !*quit) {
		if (!read_more(ssh, end_s) ||
		    ssh_dispatch_run(ssh, DISPATCH_NONBLOCK, quit) != 0)
			break;
	}
	pending = 0;
}
