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

#ifndef EVENTS_H
#define EVENTS_H

/* What BPF sees between two looks at a connection. */

struct events;

struct events_seen {
	uint64_t watched_us;	/* up to the last segment that came */
	uint64_t starved_us;	/* of that: see verdict_starved() */
	uint64_t blocked_us;	/* of that: see verdict_blocked() */
	uint64_t snd_wnd;	/* bytes, the largest the peer ever gave */
	uint64_t rcv_wnd;	/* bytes, the largest it was given */
	uint64_t timeouts;	/* segments sent again after one */
};

/* NULL, and a reason, where the kernel has no BPF for us. */
struct events	*events_open(const char **);

/* Follows the socket with that cookie, until it is forgotten. */
void		 events_follow(struct events *, uint64_t);
void		 events_forget(struct events *, uint64_t);

/* What was seen of it ever. */
void		 events_take(struct events *, uint64_t, struct events_seen *);

/* Follows the channel windows of a process whose program has the probe. */
void		 events_watch(struct events *, pid_t);

/* The sum of its channels' windows (bytes), 0 unknown. */
uint64_t	 events_window(struct events *, pid_t);

#endif /* EVENTS_H */
