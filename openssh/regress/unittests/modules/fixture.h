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

#ifndef FIXTURE_H
#define FIXTURE_H

/* What the tests of channels over a connection (conn.h) share. */

#define KIB		1024U
#define MIB		(1024U * 1024)
#define MS		1000ULL			/* us */
#define PACKET		CHAN_SES_PACKET_DEFAULT
#define BASE		((u_int)CHAN_SES_WINDOW_DEFAULT)
#define LIMIT		(128 * MIB)

/*
 * Opens conn, as conn_open() does, over a path of 100 ms that is described by
 * path from now on, at the time of 1000 s. All else is real.
 */
void	 fixture_open(struct conn *conn, struct path_info *path, int server,
	    u_int flags, uint32_t limit);

/* Runs test under its name in the output of the tests. */
void	 fixture_run(const char *name, void (*test)(void));

/* Runs test(0) and test(1) under one name. */
void	 fixture_run_both(const char *name, void (*test)(int));

/* Makes a TCP connection over the loopback interface, and gives both ends. */
void	 fixture_tcp(int *here, int *there);

/* What was logged since fixture_listen(). */
struct heard {
	char lines[4096];	/* each ends with a newline */
	LogLevel level;		/* of the last one */
};

/*
 * Notes the lines that are logged and have `what` in them, up to DEBUG2, until
 * fixture_listen_ends(). Starts with none.
 */
void	 fixture_listen(struct heard *heard, const char *what);
void	 fixture_listen_ends(void);

#endif /* FIXTURE_H */
