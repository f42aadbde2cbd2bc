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

#ifndef SFTP_BOTTLENECK_H
#define SFTP_BOTTLENECK_H

#include <sys/types.h>

#include <stdint.h>

/*
 * What the copies of this process spent their time on, and so what limited
 * them. The process does one thing at a time, whatever the number of its
 * connections and jobs: whoever does something else says so.
 */

enum sftp_doing {
	SFTP_WORKS,		/* computes: none of what follows */
	SFTP_WAITS,		/* waits for the connection or the other end */
	SFTP_WAITS_FULL,	/* the same, with all requests in flight */
	SFTP_SLOWS,		/* waits because of -l */
	SFTP_FILES,		/* reads or writes a local file */
	SFTP_DOINGS
};

/* A copy begins. The copies of a tree's files may begin within the tree's. */
void	 sftp_bottleneck_begin(void);

/* A copy ends. */
void	 sftp_bottleneck_end(void);

/* Notes what the process does from now on. Returns what it did until now. */
enum sftp_doing sftp_bottleneck_now(enum sftp_doing doing);

/* If full is 1, the next SFTP_WAITS counts as SFTP_WAITS_FULL. */
void	 sftp_bottleneck_full(int full);

/* Counts len bytes that have been transferred. */
void	 sftp_bottleneck_bytes(size_t len);

/* Returns the bytes of sftp_bottleneck_bytes(), all together. */
uint64_t sftp_bottleneck_moved(void);

/*
 * Returns the total time (us) that copies waited for the connection, or the
 * other end, until now.
 */
uint64_t sftp_bottleneck_waited_us(void);

/*
 * Logs, with -v, what limited the copies, if any byte was transferred. Call it
 * after waitpid(2) for ssh, whose CPU time is not known before.
 */
void	 sftp_bottleneck_report(void);

/*
 * The arithmetic behind it. Pure: times are seconds of a clock that doesn't
 * step back.
 */

enum sftp_limited {
	SFTP_LIMITED_CPU, SFTP_LIMITED_CONNECTION, SFTP_LIMITED_REQUESTS,
	SFTP_LIMITED_RATE, SFTP_LIMITED_FILES, SFTP_LIMITED_SSH_CPU
};

struct sftp_times {
	u_int running;			/* copies that have begun */
	enum sftp_doing doing;
	double since_s;			/* when it began to do that */
	double spent_s[SFTP_DOINGS];	/* time while a copy ran */
	double cpu_s;			/* our CPU time while a copy ran */
	double ssh_cpu_s;		/* CPU time of ssh in all */
	uint64_t bytes;			/* transferred */
};

/*
 * ssh has one thread. If it was busy for this part of the time, its CPU was
 * the limit; the rest is wake-ups. In copies shorter than this (s) the login
 * takes a good part of ssh's CPU time, so nothing is concluded from it.
 */
#define SFTP_BOTTLENECK_SSH_CPU		0.85
#define SFTP_BOTTLENECK_SSH_MIN_S	1.0

/*
 * A copy begins at time now_s, when the process has used cpu_s of CPU time.
 * The time of copies that run in parallel counts once.
 */
void	 sftp_times_begin(struct sftp_times *t, double now_s, double cpu_s);

/* A copy ends at time now_s, when the process has used cpu_s of CPU time. */
void	 sftp_times_end(struct sftp_times *t, double now_s, double cpu_s);

/* Notes what is done from now_s on. Returns what was done until then. */
enum sftp_doing sftp_times_does(struct sftp_times *t, enum sftp_doing doing,
	    double now_s);

/* Returns what most of the time went to, over all copies that have ended. */
enum sftp_limited sftp_times_verdict(const struct sftp_times *t);

/*
 * Writes the verdict and the figures as one line into buf of len bytes,
 * truncated to fit.
 */
void	 sftp_times_text(const struct sftp_times *t, char *buf, size_t len);

#endif /* SFTP_BOTTLENECK_H */
