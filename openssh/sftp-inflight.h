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

#ifndef SFTP_INFLIGHT_H
#define SFTP_INFLIGHT_H

#include "window-control.h"

/*
 * How many requests of one sftp session may be under way. Requests are credit
 * for the other end's data, so the controller of a channel's window says how
 * many bytes to have asked for. The round trip time is what it took to open
 * the file: nothing else is under way then. Pure; times are in seconds
 * (monotime_double()).
 */
struct sftp_inflight {
	u_int fixed;		/* requests, if the user said; else 0 */
	uint64_t rtt_us;	/* round trip time; 0 = unknown */
	uint64_t asked;		/* bytes, by all files, and not yet written */
	uint64_t peak;		/* bytes, the most that could be asked for */
	struct window_control cw;
};

/* Bytes: what stock clients have under way, and the most. */
#define SFTP_INFLIGHT_BASE	(64 * 255 * 1024)
#define SFTP_INFLIGHT_MAX	(256 * 1024 * 1024)

/* Bytes that a request counts at least: it takes memory, too. */
#define SFTP_INFLIGHT_LEAST	4096

/* Start now, with so many requests, or with 0 by what the path takes. */
void	 sftp_inflight_init(struct sftp_inflight *, u_int, double);

/* A file was asked for at one time, and open at the other. */
void	 sftp_inflight_opened(struct sftp_inflight *, double, double);

/* The answer to a request, with that many bytes of data, came now. */
void	 sftp_inflight_got(struct sftp_inflight *, size_t, double);

/* Returns how many requests of that size may be in flight; never 0. */
u_int	 sftp_inflight_max(const struct sftp_inflight *, size_t);

/*
 * A request for len bytes is sent; its answer has been written, or is not
 * wanted. All files of a connection are counted together.
 */
void	 sftp_inflight_ask(struct sftp_inflight *d, size_t len);
void	 sftp_inflight_end(struct sftp_inflight *d, size_t len);

/*
 * Returns 1 if one more request for len bytes may be sent. One file that keeps
 * to sftp_inflight_max() always may.
 */
int	 sftp_inflight_room(struct sftp_inflight *d, size_t len);

/*
 * Whether it is their number, and not the path, that keeps so many requests of
 * so many bytes from being more: there may be no more, and most of their data
 * comes within a round trip.
 */
int	 sftp_inflight_full(const struct sftp_inflight *, u_int, size_t);

#endif /* SFTP_INFLIGHT_H */
