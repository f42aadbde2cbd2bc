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
struct sshbuf;

/*
 * Many files of one sftp connection at once, each copied by the code that
 * copies one: a job has a stack of its own, and where it would wait for a reply
 * another job runs. Jobs are threads for their stacks only. Exactly one runs
 * at any time, and gives way in the functions here and nowhere else, so that
 * nothing needs a lock.
 *
 * Where a system has no such threads, or a connection no struct sftp_tree,
 * jobs run one after the other.
 */

struct sftp_tree;		/* of a connection */

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
	u_int running;		/* jobs that have not ended */
	u_int unsent;		/* of these, have requests to send */
	int failed;
	struct fiber *waits;	/* for one of these two to be 0 */
};

/*
 * From now on at most `files` files are incomplete at once, 1 to
 * SFTP_SLOTS_FILES. With 1, files are copied one after the other.
 */
void	 sftp_tree_files(u_int files);

/*
 * Starts copies of a tree from or to conn, whose server can have that many
 * handles open. read() gets the connection's next message, which comes in on
 * one descriptor and goes out on the other. Returns NULL if files are to be
 * copied one after the other. All functions take NULL but sftp_tree_get(),
 * sftp_tree_ready(), sftp_tree_expect() and sftp_tree_forget().
 */
struct sftp_tree *sftp_tree_new(u_int handles, void (*read)(struct sftp_conn *,
	    struct sshbuf *), struct sftp_conn *conn, int in, int out);
void	 sftp_tree_free(struct sftp_tree *tree);

/* The same for the second connection, of copies between two servers. */
void	 sftp_tree_add(struct sftp_tree *tree, u_int handles,
	    struct sftp_conn *conn, int in, int out);

/*
 * Copies src, which has attributes a, to dst as the model says, now or while
 * the caller goes on. depth is a directory's, or 0 for a file. Waits while
 * there is no room.
 */
void	 sftp_tree_start(struct sftp_tree *tree, struct sftp_jobs *jobs,
	    const struct sftp_job *model, const char *src, const char *dst,
	    const Attrib *a, int depth);

/* Waits for all of them. Returns 0, or -1 if one failed. */
int	 sftp_tree_wait(struct sftp_tree *tree, struct sftp_jobs *jobs);

/* Waits until all of them have sent their last request, or failed. */
void	 sftp_tree_wait_sent(struct sftp_tree *tree, struct sftp_jobs *jobs);

/* A directory at that depth has sent its last request. Answers may be due. */
void	 sftp_tree_dir_sent(struct sftp_tree *tree, int depth);

/*
 * The job that runs is about to send m on conn. Replies that are there are
 * read first, for a server that waits until they are takes no more requests.
 */
void	 sftp_tree_sending(struct sftp_tree *tree, const struct sftp_conn *conn,
	    const struct sshbuf *m);

/* Nobody waits for the answer to the message that was sent last. */
void	 sftp_tree_forget(struct sftp_tree *tree);

/*
 * Gets the next message from conn for the job that runs into m. Other jobs run
 * until it is there.
 */
void	 sftp_tree_get(struct sftp_tree *tree, const struct sftp_conn *conn,
	    struct sshbuf *m);

/* Returns 1 if a message from conn is there to get. */
int	 sftp_tree_ready(const struct sftp_tree *tree,
	    const struct sftp_conn *conn);

/* Waits until n messages are there to get. */
void	 sftp_tree_expect(struct sftp_tree *tree, u_int n);

/* The messages that are there to get are not wanted any more. */
void	 sftp_tree_drop(struct sftp_tree *tree);

/*
 * path, which the job that runs is about to create or to write to, will be
 * incomplete. Waits while too many files are. Returns 0, or -1 if the user
 * interrupts: the file is not to be touched then.
 */
int	 sftp_tree_begin(struct sftp_tree *tree, const char *path);

/* All that makes it complete has been sent. Answers may be due. */
void	 sftp_tree_complete(struct sftp_tree *tree);

/*
 * open(2) and opendir(3), but they wait for another job to end where there are
 * no descriptors left. What they return and set is as there.
 */
int	 sftp_tree_open(struct sftp_tree *tree, const char *path, int flags,
	    mode_t mode);
DIR	*sftp_tree_opendir(struct sftp_tree *tree, const char *path);

/*
 * The job that runs is about to write to fd. Waits while another job writes to
 * the same file by another name.
 */
void	 sftp_tree_own(struct sftp_tree *tree, int fd);

#endif /* SFTP_TREE_H */
