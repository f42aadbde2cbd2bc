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

#ifndef CONNS_H
#define CONNS_H

#include "verdict.h"

/* Connections: who has them, and how each did in the last interval. */

struct conns;

struct conn_row {
	char	 local[64], remote[64];	/* address and port */
	char	 remedy[384];		/* verdict_remedy() */
	pid_t	 pid;			/* that works for it, 0 unknown */
	uint64_t rate;			/* bytes a second, the larger one */
	uint64_t cwnd;			/* bytes */
	uint64_t notsent;		/* bytes */
	uint64_t retransmits;		/* segments */
	uint64_t timeouts;		/* those sent after one, if BPF looks */
	uint64_t rwnd_us, sndbuf_us;	/* as TCP counts them */
	enum verdict verdict;
	struct verdict_in in;
};

/* What has been since the start */
struct conns_total {
	unsigned int n;			/* connections */
	uint64_t bytes;
	uint64_t time_us[VERDICT_MAX];
	char	 remedy[VERDICT_MAX][384];	/* of the last connection */
};

struct events;

/*
 * With a port only connections that have it at an end; with a process those
 * of it and of its children. events may be NULL. Returns NULL with errno.
 */
struct conns	*conns_new(int, pid_t, struct events *);

/* Looks at all of them. Returns 0, or -1 with errno. */
int		 conns_look(struct conns *, uint64_t);

/*
 * Ends the interval at the last look: calls a function with each that there
 * was in it.
 */
void		 conns_end_interval(struct conns *,
		    void (*)(const struct conn_row *, void *), void *);

const struct conns_total *conns_total(const struct conns *);

#endif /* CONNS_H */
