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

#ifndef SEEN_H
#define SEEN_H

/* What sshtrace.bpf.c and events.c share. Counters only grow. */

struct seen_sock {
	__u64 last_ns;		/* of the last segment */
	__u64 watched_ns, starved_ns, blocked_ns;
	__u64 timeouts;		/* segments sent again after one */
	__u32 snd_wnd, rcv_wnd;	/* bytes, the largest ever */
};

struct seen_channel_key {
	__u32 pid, channel;
};

struct seen_channel {
	__u64 last_ns;
	__u64 window;		/* bytes */
};

#endif /* SEEN_H */
