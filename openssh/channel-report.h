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

#ifndef CHANNEL_REPORT_H
#define CHANNEL_REPORT_H

#include <sys/types.h>

#include <stdint.h>

/* How a channel fares, for the log, for ~# and for tracers. */

struct Channel;
struct channel_window;
struct channel_windows;
struct ssh;
struct sshbuf;
struct window_facts;

/*
 * Counts what was consumed of a channel, with the facts of its last decision.
 * To be called before the two that follow.
 */
void	 channel_report_count(struct channel_window *w,
	    const struct window_facts *facts);

/* Logs a credit (bytes) that is sent, and what it was decided on. */
void	 channel_report_credit(const struct Channel *c,
	    const struct channel_window *w, const struct window_facts *facts,
	    uint32_t credit);

/* Appends a line for ~# to buf, unless the channel's window is fixed. */
void	 channel_report_status(const struct Channel *c,
	    const struct channel_windows *ws, struct sshbuf *buf);

/*
 * Logs how a channel fared that consumed that many bytes. Needs nothing of the
 * connection, whose state is gone after a disconnect.
 */
void	 channel_report_end(struct channel_window *w,
	    struct channel_windows *ws, uint64_t consumed);

/* Logs which TCP buffers limited what the connection has sent. */
void	 channel_report_path(struct ssh *ssh,
	    const struct channel_windows *ws);

/* Both, for all channels that are left, when the process is to end. */
void	 channel_report_all(struct ssh *ssh, struct channel_windows *ws);

#endif /* CHANNEL_REPORT_H */
