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

#ifndef FAKE_H
#define FAKE_H

/*
 * The machine as the windows' modules see it in a test: the linker sends these
 * calls to fake.c (--wrap, see bdp-unit.mk). Each is the real one until the
 * test sets the field that stands in for it.
 */

#define FAKE_LENS	32

struct late_look;

struct fake {
	/* set by the test */
	uint64_t now_us;		/* of monotime_double(); 0 = real */
	uint64_t step_us;		/* by which each call moves it on */
	const struct path_info *path;	/* of tcp_path_probe(); NULL: real */
	int path_errno;			/* its errno; 0 = it succeeds */
	const struct late_look *look;	/* of tcp_path_look(); NULL: real */
	u_int waiting;			/* bytes, of tcp_path_waiting() */
	const void *option;		/* of getsockopt(); NULL: real */
	int option_name;		/* the option that this is of */
	u_int option_len;		/* bytes of it */
	u_long request;			/* of ioctl(), which says `bytes`; */
	int bytes;			/* 0: real */
	uint64_t sent;			/* bytes more, ssh_packet_get_bytes() */
	uint64_t counters;		/* bytes that a new controller counts */
	const void *watched;		/* memory: is it wiped when freed? */
	size_t watched_len;		/* bytes */

	/* set by fake.c */
	u_int probes;			/* calls of tcp_path_probe() */
	u_int looks;			/* calls of tcp_path_look() */
	u_int nodelays;			/* calls of set_nodelay() */
	u_int fills;			/* calls of tcp_path_fill_segments() */
	int fill;			/* its last argument */
	u_int bounds;			/* calls of tcp_path_bound_unsent() */
	u_int unsent;			/* its last argument, bytes */
	int starts;			/* calls of poly1305_evp_start() */
	const struct window_control *cw;	/* last asked for credit */
	uint32_t limit;			/* bytes, what the budget said last */
	uint32_t want;			/* bytes that it was asked for */
	uint32_t outstanding;		/* bytes that it was told are out */
	u_int shrinks;			/* sshbufs that gave memory back */
	int watched_freed;		/* the watched memory was freed */
	int watched_wiped;		/* it was all zero when freed */

	/* lengths (bytes) that sshbuf_len() is to say of some buffers */
	struct fake_len {
		const struct sshbuf *buf;
		size_t len;
	} lens[FAKE_LENS];
};

extern struct fake fake;

/* Makes everything real again. */
void	 fake_reset(void);

/* Makes sshbuf_len() of buf return len, whatever buf has. */
void	 fake_len(const struct sshbuf *buf, size_t len);

/* Ends that for buf: call it before the buffer is freed. */
void	 fake_len_ends(const struct sshbuf *buf);

#endif /* FAKE_H */
