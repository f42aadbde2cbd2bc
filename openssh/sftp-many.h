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

#ifndef SFTP_MANY_H
#define SFTP_MANY_H

struct sftp_conn;
struct sshbuf;

/*
 * Many files of one sftp connection at once, each copied by the code that
 * copies one: a job has a stack of its own, and where it would wait for a reply
 * another job runs. Jobs are threads for their stacks only. Exactly one runs
 * at any time, and gives way in sftp_many_get() and nowhere else, so that
 * nothing needs a lock.
 *
 * Where a system has no such threads, or a connection no struct sftp_many,
 * jobs run one after the other.
 */

/* Jobs at once, if the RTT is long; a tenth of them may be directories. */
#define SFTP_MANY_MAX	1024
#define SFTP_MANY_DIRS	10

/* Bytes: files up to FILE join others, which are BYTES at most together. */
#define SFTP_MANY_FILE	(16 * 1024 * 1024)
#define SFTP_MANY_BYTES	(64 * 1024 * 1024)

struct sftp_many;		/* of a connection */

/* What to copy, a file or a directory; the flags are sftp-client.c's. */
struct sftp_job {
	struct sftp_conn *conn;
	struct sftp_conn *to;	/* if it is from one server to another */
	int (*run)(struct sftp_job *);		/* 0, or -1 and it said why */
	int preserve, print, resume, fsync, follow, inplace;
	char *src, *dst;
	Attrib a;
	int depth;		/* of a directory; 0: it is a file */
};

/* The jobs that one directory waits for. */
struct sftp_jobs {
	u_int running;
	int failed;
	struct fiber *waits;	/* for the last one to end */
};

/*
 * Starts with room for so many jobs at once, as the server or this process can
 * have files open. read() gets the next message of the connection, which is on
 * these two descriptors.
 */
struct sftp_many *sftp_many_new(u_int, void (*read)(struct sftp_conn *,
	    struct sshbuf *), struct sftp_conn *, int, int);
void	 sftp_many_free(struct sftp_many *);

/* The other connection, when files are copied from one server to another */
void	 sftp_many_add(struct sftp_many *, u_int, struct sftp_conn *, int, int);

/*
 * Copies src to dst as the job says that is the model, now or while the caller
 * goes on. Waits while there is no room.
 */
void	 sftp_many_start(struct sftp_many *, struct sftp_jobs *,
	    const struct sftp_job *, const char *, const char *,
	    const Attrib *, int);

/* Waits for all of them. Returns 0, or -1 if one failed. */
int	 sftp_many_wait(struct sftp_many *, struct sftp_jobs *);

/*
 * A message is about to be sent, on that connection, by the job that runs.
 * Replies that are there are read first.
 */
void	 sftp_many_sent(struct sftp_many *, const struct sftp_conn *,
	    const struct sshbuf *);

/* Nobody waits for the answer to the message that was sent last. */
void	 sftp_many_forget(struct sftp_many *);

/*
 * The next message from that connection for the job that runs; others run until
 * it is there.
 */
void	 sftp_many_get(struct sftp_many *, const struct sftp_conn *,
	    struct sshbuf *);

#endif /* SFTP_MANY_H */
