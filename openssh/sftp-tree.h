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

#ifndef SFTP_TREE_H
#define SFTP_TREE_H

#include <dirent.h>

struct sftp_conn;
struct sftp_fiber;
struct sshbuf;

/*
 * Copies the files of a tree in parallel over one sftp connection, each by the
 * code that copies one file. A job has a fiber (sftp-fiber.h): where it would
 * wait for a reply, another job runs. Jobs give way to each other in the
 * functions here and nowhere else.
 *
 * Where a system has no fibers, or a connection no struct sftp_tree, jobs run
 * one after the other.
 */

struct sftp_tree;		/* of a connection */

/* What to copy, a file or a directory */
struct sftp_job {
	struct sftp_conn *conn;
	struct sftp_conn *to;	/* the second server, if there are two */

	/* Copies it. Returns 0, or -1 after an error that it has logged. */
	int (*run)(struct sftp_job *);

	/* The flags of sftp_download_dir() and the like */
	int preserve, print, resume, fsync, follow, inplace;
	char *src, *dst;	/* paths */
	Attrib a;		/* attributes of src */
	int depth;		/* of a directory; 0: it is a file */
};

/* The jobs that one directory waits for. */
struct sftp_jobs {
	u_int running;		/* jobs that have not ended */
	u_int unsent;		/* running jobs that have requests to send */
	int failed;		/* 1: one of them has failed */
	struct sftp_fiber *waits;	/* for either of these to be 0 */
};

/*
 * Sets the number of files that may be incomplete at once, 1 to
 * SFTP_SLOTS_FILES. With 1, files are copied one after the other.
 */
void	 sftp_tree_files(u_int files);

/*
 * Begins the copy of a tree from or to conn, whose server can have `handles`
 * handles open. read() gets the connection's next message. Messages come in on
 * the descriptor `in` and go out on `out`. Returns NULL if files are to be
 * copied one after the other. All functions take NULL but sftp_tree_get(),
 * sftp_tree_ready(), sftp_tree_expect() and sftp_tree_forget().
 */
struct sftp_tree *sftp_tree_new(u_int handles, void (*read)(struct sftp_conn *,
	    struct sshbuf *), struct sftp_conn *conn, int in, int out);

/* Waits for all replies, and ends the copy. */
void	 sftp_tree_free(struct sftp_tree *tree);

/* Adds the second connection, for a copy between two servers. */
void	 sftp_tree_add(struct sftp_tree *tree, u_int handles,
	    struct sftp_conn *conn, int in, int out);

/*
 * Starts a job and adds it to `jobs`. The job copies src, whose attributes are
 * `a`, to dst. The model gives its other fields. depth is 0 for a file.
 * Waits for a free slot. The job may have ended when this returns.
 */
void	 sftp_tree_start(struct sftp_tree *tree, struct sftp_jobs *jobs,
	    const struct sftp_job *model, const char *src, const char *dst,
	    const Attrib *a, int depth);

/* Waits until all jobs have ended. Returns 0, or -1 if one failed. */
int	 sftp_tree_wait(struct sftp_tree *tree, struct sftp_jobs *jobs);

/* Waits until all jobs have sent their last request, or have failed. */
void	 sftp_tree_wait_sent(struct sftp_tree *tree, struct sftp_jobs *jobs);

/*
 * Notes that a directory at that depth has sent its last request. Replies may
 * still be due.
 */
void	 sftp_tree_dir_sent(struct sftp_tree *tree, int depth);

/*
 * Notes that the job that runs is about to send m on conn. Reads the replies
 * that are there first: a server that waits until they are read takes no more
 * requests.
 */
void	 sftp_tree_sending(struct sftp_tree *tree, const struct sftp_conn *conn,
	    const struct sshbuf *m);

/* Notes that nobody waits for the reply to the message sent last. */
void	 sftp_tree_forget(struct sftp_tree *tree);

/*
 * Gets the next reply from conn for the job that runs into m. Other jobs run
 * until it is there.
 */
void	 sftp_tree_get(struct sftp_tree *tree, const struct sftp_conn *conn,
	    struct sshbuf *m);

/* Returns 1 if a reply from conn is there to get. */
int	 sftp_tree_ready(const struct sftp_tree *tree,
	    const struct sftp_conn *conn);

/* Waits until n replies are there to get. */
void	 sftp_tree_expect(struct sftp_tree *tree, u_int n);

/* Drops the replies that are there to get. */
void	 sftp_tree_drop(struct sftp_tree *tree);

/*
 * Notes that the file at path will be incomplete, as the job that runs is about
 * to create it or to write to it. Waits while too many files are incomplete.
 * Returns 0, or -1 if the user interrupts: the file must not be touched then.
 */
int	 sftp_tree_begin(struct sftp_tree *tree, const char *path);

/*
 * Notes that all that makes the file complete has been sent. Replies may still
 * be due.
 */
void	 sftp_tree_complete(struct sftp_tree *tree);

/*
 * As open(2), but if there are no descriptors left it waits for another job to
 * end.
 */
int	 sftp_tree_open(struct sftp_tree *tree, const char *path, int flags,
	    mode_t mode);

/* As opendir(3), and waits like sftp_tree_open(). */
DIR	*sftp_tree_opendir(struct sftp_tree *tree, const char *path);

/*
 * Notes that the job that runs is about to write to fd. Waits while another job
 * writes to the same file by another name.
 */
void	 sftp_tree_own(struct sftp_tree *tree, int fd);

#endif /* SFTP_TREE_H */
