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

#ifndef EXTRA_LIMIT_H
#define EXTRA_LIMIT_H

#include <sys/types.h>

#include <stdint.h>

/* The most sessions of a connection of scp or sftp, with the first */
#define EXTRA_LIMIT_MAX		10

/*
 * The least RTT (us) at which there are sessions that nobody has asked for: a
 * window of 2 MiB carries 210 MB/s there.
 */
#define EXTRA_LIMIT_RTT_US	10000

/* Who decides whether there may be more sessions */
enum extra_limit_by {
	EXTRA_LIMIT_ASKED,	/* the user: -X sessions= with a number */
	EXTRA_LIMIT_AUTO,	/* ssh: -X sessions=auto */
	EXTRA_LIMIT_OPTION	/* CopySessions */
};

/* What decides it */
struct extra_limit_facts {
	enum extra_limit_by by;
	int	 option;	/* CopySessions; 0: auto */
	int	 is_ours;	/* 1: the server's windows follow the path */
	int	 is_openssh;	/* 1: the server calls itself OpenSSH */
	uint64_t rtt_us;	/* least RTT of the socket; 0: unknown */
};

/*
 * Returns the limit on sessions of the connection, with the first: 1 if there
 * are to be no others. Pure.
 */
u_int	 extra_limit(const struct extra_limit_facts *f);

#endif /* EXTRA_LIMIT_H */
