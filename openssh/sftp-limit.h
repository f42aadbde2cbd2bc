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

#ifndef SFTP_LIMIT_H
#define SFTP_LIMIT_H

/*
 * What a transfer spent its time on, and so what limited it. Pure: whoever
 * transfers says what it does and when. Times are seconds, of a clock that
 * doesn't step back.
 */

enum sftp_doing {
	SFTP_WORKS,		/* none of what follows: it computes */
	SFTP_WAITS,		/* for the connection or the other end */
	SFTP_WAITS_FULL,	/* ditto, and may not ask for more meanwhile */
	SFTP_SLOWS,		/* as -l says */
	SFTP_FILES,		/* reads or writes a local file */
	SFTP_DOINGS
};

enum sftp_limited {
	SFTP_LIMITED_CPU, SFTP_LIMITED_CONNECTION, SFTP_LIMITED_REQUESTS,
	SFTP_LIMITED_RATE, SFTP_LIMITED_FILES, SFTP_LIMITED_SSH_CPU
};

struct sftp_limit {
	u_int running;			/* transfers that have begun */
	enum sftp_doing doing;
	double since_s;			/* that it does it */
	double spent_s[SFTP_DOINGS];	/* while a transfer ran */
	double cpu_s, ssh_cpu_s;	/* CPU time, ditto; ssh's in all */
	uint64_t bytes;			/* transferred */
};

/*
 * SSH is one thread. When it had the CPU for this part of the time, it was
 * what all waited for; the rest is its wake-ups. Not in less than this (s),
 * of which the login may be a good part.
 */
#define SFTP_LIMIT_SSH_CPU	0.85
#define SFTP_LIMIT_SSH_MIN_S	1.0

/*
 * A transfer begins or ends now, at so much CPU time of the process. Those
 * that are beside each other count once.
 */
void	 sftp_limit_begin(struct sftp_limit *, double, double);
void	 sftp_limit_end(struct sftp_limit *, double, double);

/* Does something else from now on. Returns what it did until now. */
enum sftp_doing sftp_limit_does(struct sftp_limit *, enum sftp_doing, double);

/* What most of the time went to, of all transfers that have ended */
enum sftp_limited sftp_limit_verdict(const struct sftp_limit *);

/* The same in a line, with the figures; truncated to fit the buffer. */
void	 sftp_limit_text(const struct sftp_limit *, char *, size_t);

#endif /* SFTP_LIMIT_H */
