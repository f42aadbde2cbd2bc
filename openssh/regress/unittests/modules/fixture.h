/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

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

/*
 * Returns 1 if qemu's user mode makes the system calls of this program: it
 * gives four bytes of the TCP_INFO of fd, and does not know SIOCOUTQNSD.
 */
int	 fixture_is_emulated(int fd);

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
