/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef FAKE_H
#define FAKE_H

/*
 * The machine as the windows' modules see it in a test: the linker sends these
 * calls to fake.c (--wrap, see bdp-unit.mk). Each is the real one until the
 * test sets the field that stands in for it.
 */

#define FAKE_LENS	32

struct fake {
	/* set by the test */
	uint64_t now_us;		/* of monotime_double(); 0 = real */
	uint64_t step_us;		/* by which each call moves it on */
	const struct path_info *path;	/* of tcp_path_read(); NULL: real */
	int without;			/* 1: as if built without TCP_INFO */
	int path_fails;			/* 1: it can't tell */
	int waiting;			/* bytes, of tcp_unsent() */
	int real_unsent;		/* 1: it asks the socket */
	const void *option;		/* of getsockopt(); NULL: real */
	int option_name;		/* the option that this is of */
	u_int option_len;		/* bytes of it */
	u_long request;			/* of ioctl(), which says `bytes`; */
	int bytes;			/* 0: real */
	uint64_t counters;		/* bytes that a new controller counts */
	const void *watched;		/* memory: is it wiped when freed? */
	size_t watched_len;		/* bytes */

	/* set by fake.c */
	u_int probes;			/* calls of tcp_path_read() */
	u_int bounds;			/* calls of tcp_unsent_bound() */
	int starts;			/* calls of poly1305_evp_enable() */
	const struct window_control *cw;	/* last asked for credit */
	uint32_t limit;			/* bytes, what the budget said last */
	uint32_t want;			/* bytes that it was asked for */
	uint32_t outstanding;		/* bytes that it was told are out */
	u_int freed;			/* calls of free() with memory */
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
