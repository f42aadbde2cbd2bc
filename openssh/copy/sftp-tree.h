/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SFTP_TREE_H
#define SFTP_TREE_H

#include <dirent.h>

#include "sftp-replies.h"

struct sftp_conn;
struct sftp_fiber;
struct sftp_fiber_list;
struct sshbuf;

/*
 * Copies the files of a tree in parallel over one sftp connection. A job copies
 * one file or one directory, by the code that copies it alone, and has a fiber
 * (sftp-fiber.h) of its own. Where it would wait, another job runs. Jobs
 * switch in the functions here and in sftp-replies.h, and nowhere else.
 *
 * Jobs run one after the other if tree is NULL: where a system has no threads,
 * a server has too few handles, or the user wants it (`-X files=1`).
 */

struct sftp_tree;		/* the copy of one tree */

/* A job: what to copy, and how */
struct sftp_job {
	struct sftp_conn *conn;	/* the server, or the source of scp -3 */
	struct sftp_conn *to;	/* the target of scp -3, else NULL */

	/* Copies it. Returns 0, or -1 after an error that it has logged. */
	int (*run)(struct sftp_job *job);

	/* The flags of sftp_download_dir() and the like */
	int preserve, print, resume, fsync, follow, inplace;
	char *src, *dst;	/* paths */
	Attrib a;		/* attributes of src */
	int depth;		/* levels above a directory; 0: it is a file */
	int apart;		/* 1: none of these: see sftp_tree_run() */
	void *ctx;		/* for run() of such a job */
};

/* The jobs that one directory waits for */
struct sftp_jobs {
	u_int running;		/* jobs that have not ended */
	u_int sending;		/* running jobs that have requests to send */
	int failed;		/* 1: one of them has failed */
	struct sftp_fiber *waiter;	/* waits for one of these to reach 0 */
};

/*
 * Sets the number of files that may be incomplete at once, 1 to
 * SFTP_SLOTS_FILES, for the trees that are copied from now on. With 1, files
 * are copied one after the other.
 */
void	 sftp_tree_max_files(u_int files);

/* Returns 1 if that number is larger than 1, else 0. */
int	 sftp_tree_is_parallel(void);

/*
 * Begins the copy of a tree from or to the server on conn, which allows
 * `handles` open handles. Messages come in on the descriptor `in` and go out on
 * `out`. read_reply() waits for conn's next message and puts it into `msg`.
 * Returns the tree, or NULL if its files are to be copied one after the other.
 * The functions below take NULL, too.
 */
struct sftp_tree *sftp_tree_new(u_int handles,
	    void (*read_reply)(struct sftp_conn *conn, struct sshbuf *msg),
	    struct sftp_conn *conn, int in, int out);

/* Waits for all outstanding replies, and ends the copy. */
void	 sftp_tree_free(struct sftp_tree *tree);

/*
 * Adds the target's connection to a copy between two servers. The arguments are
 * those of sftp_tree_new(). A third connection is fatal.
 */
void	 sftp_tree_add(struct sftp_tree *tree, u_int handles,
	    struct sftp_conn *conn, int in, int out);

/*
 * Starts a job and adds it to `jobs`. The job copies src, whose attributes are
 * `a`, to dst. `model` gives its other fields. depth is 0 for a file. Waits for
 * a free slot. If the job needs this fiber, it has ended when this returns. Its
 * failure is noted in jobs->failed.
 */
void	 sftp_tree_start(struct sftp_tree *tree, struct sftp_jobs *jobs,
	    const struct sftp_job *model, const char *src, const char *dst,
	    const Attrib *a, int depth);

/* Waits until all jobs have ended. Returns 0, or -1 if one failed. */
int	 sftp_tree_wait(struct sftp_tree *tree, struct sftp_jobs *jobs);

/*
 * Waits until all jobs of a directory have sent their last request or have
 * ended. Replies may be outstanding then. If depth is 0, it is the tree's own
 * directory, and waits for the checks of lanes, too: no other starts.
 */
void	 sftp_tree_wait_sent(struct sftp_tree *tree, struct sftp_jobs *jobs,
	    int depth);

/*
 * Notes that a directory at that depth has sent its last request. Replies may
 * be outstanding.
 */
void	 sftp_tree_dir_sent(struct sftp_tree *tree, int depth);

/*
 * Notes that the file at path will be incomplete, as the job that runs is about
 * to create it or to write to it. Waits while too many files are incomplete.
 * Returns 0, or -1 if the user interrupts: the file must not be touched then.
 */
int	 sftp_tree_begin_file(struct sftp_tree *tree, const char *path);

/*
 * Returns the path that the job that runs has given to sftp_tree_begin_file()
 * last, or NULL. tree may be NULL.
 */
const char *sftp_tree_path(const struct sftp_tree *tree);

/*
 * Notes that the job that runs asks the server to truncate its target, or to
 * append to it. The server of a lane that is lost may still do so when the file
 * has been copied over another. tree may be NULL.
 */
void	 sftp_tree_not_idempotent(struct sftp_tree *tree);

/*
 * Notes that all that makes that file complete has been sent. Replies may be
 * outstanding.
 */
void	 sftp_tree_file_sent(struct sftp_tree *tree);

/*
 * Notes that the file stays incomplete, so that sftp_tree_file_sent() says
 * nothing. tree may be NULL.
 */
void	 sftp_tree_unfinished(struct sftp_tree *tree);

/*
 * As open(2). If no descriptors are left (EMFILE, ENFILE), it waits for another
 * job to end and tries again. Returns a descriptor, or -1 with errno set.
 */
int	 sftp_tree_open(struct sftp_tree *tree, const char *path, int flags,
	    mode_t mode);

/*
 * As opendir(3), and waits like sftp_tree_open(). Returns NULL with errno set.
 */
DIR	*sftp_tree_opendir(struct sftp_tree *tree, const char *path);

/*
 * Notes that the job that runs is about to write to the local file fd. Waits
 * while another job writes to the same file by another name. Ignores what is no
 * regular file.
 */
void	 sftp_tree_claim(struct sftp_tree *tree, int fd);

/*
 * The rest is of lanes (sftp-lanes.h, sftp-tree-lanes.c).
 *
 * Spreads the files of an upload, or else a download, over the lanes of conn,
 * its first connection, if there may be any. `path` is that of the tree at the
 * server: a lane has to see the same files there (sftp-lane-check.h). If it is
 * NULL, files stay on the first lane.
 */
void	 sftp_tree_use_lanes(struct sftp_tree *tree, struct sftp_conn *conn,
	    const char *path, int upload);

/* Notes whether the files of a lane are those of the first one. */
void	 sftp_tree_same(struct sftp_tree *tree, const struct sftp_conn *conn,
	    int same);

/* Returns 1 if the lane with that connection is lost, else 0. */
int	 sftp_tree_lost(const struct sftp_tree *tree,
	    const struct sftp_conn *conn);

/*
 * Returns a tree for one file that is uploaded, or else downloaded, in parts.
 * It is NULL if the file is to be copied in one stream. conn is the first lane,
 * and gets the tree. read_reply() is that of sftp_tree_new().
 */
struct sftp_tree *sftp_tree_of_parts(struct sftp_conn *conn, int upload,
	    void (*read_reply)(struct sftp_conn *conn, struct sshbuf *msg));

/* Ends it, unless it is NULL. */
void	 sftp_tree_of_parts_free(struct sftp_tree *tree);

/*
 * Runs a job beside all others and adds it to `jobs`. No limit counts it: it
 * copies a part of a file, or checks a lane. Returns 0, or -1 if it can have no
 * thread.
 */
int	 sftp_tree_run(struct sftp_tree *tree, struct sftp_jobs *jobs,
	    const struct sftp_job *job);

/* Puts the job that runs on a list. Waits until sftp_tree_wake(). */
void	 sftp_tree_wait_in(struct sftp_tree *tree,
	    struct sftp_fiber_list *list);

/* Wakes all jobs on a list. */
void	 sftp_tree_wake(struct sftp_tree *tree, struct sftp_fiber_list *list);

/*
 * Calls opened() with each lane that is open or opens from now on, but the
 * first, until it is set to NULL. It may also call it with NULL, as often as it
 * likes, once a lane begins to open.
 */
void	 sftp_tree_on_lane(struct sftp_tree *tree, void (*opened)(struct
	    sftp_tree *tree, struct sftp_conn *conn, void *ctx), void *ctx);

/*
 * Begins to watch *stop, which is 1 after an error in a file that is copied in
 * parts, or ends that if it is NULL. After an error or ^C, further lanes have a
 * few seconds to answer what is outstanding. Those that do not are lost.
 */
void	 sftp_tree_stops(struct sftp_tree *tree, const int *stop);

/* Returns the number of lanes that are open in this copy. */
u_int	 sftp_tree_lanes(const struct sftp_tree *tree);

#endif /* SFTP_TREE_H */
