/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SFTP_TREE_STATE_H
#define SFTP_TREE_STATE_H

#include <sys/types.h>

#include <stdint.h>

#include "openbsd-compat/sys-queue.h"
#include "openbsd-compat/sys-tree.h"

#include "sftp-fiber.h"
#include "sftp-lanes.h"
#include "sftp-slots.h"

/*
 * What sftp-tree.c and the modules below share. sftp-tree-jobs.c starts and
 * ends jobs, sftp-tree-file.c has what a job holds for its file, and
 * sftp-replies.c carries their messages. Nobody else includes this header.
 */

struct reply;			/* see sftp-replies.c */
struct request;			/* see sftp-replies.c */

/*
 * A fiber and the job that it runs. The worker of the program's first fiber has
 * no job.
 */
struct worker {
	struct sftp_fiber fiber;	/* must be the first field */
	struct sftp_job job;
	struct sftp_jobs *jobs;	/* the jobs that it is one of */
	uint64_t file_size;	/* bytes; 0 for a directory */
	struct server *server;	/* whose load the file counts in, or NULL */
	int awaits_reply;	/* 1: it sleeps until a reply comes */
	int sending;		/* 1: its job has requests to send */
	int file_incomplete;	/* 1: it counts in slots.incomplete */
	int incomplete_id;	/* the file in sftp-incomplete.c; -1: none */
	int unfinished;		/* 1: it stays incomplete */
	char *path;		/* of its file, once that has begun, or NULL */
	int not_idempotent;	/* 1: a request of the job, executed late,
				 * damages the file */
	int has_descriptor;	/* 1: it has a local file open */
	int writes;		/* 1: it writes to the local file dev, ino */
	dev_t dev;
	ino_t ino;
	TAILQ_HEAD(, reply) replies;	/* to be taken by its job */
	TAILQ_ENTRY(worker) writer_entry;
};

RB_HEAD(requests, request);

struct sftp_lane;

/* A server, and the connection to it */
struct server {
	struct sftp_conn *conn;
	int fd_in, fd_out;
	double first_sent_s;	/* time of the first request; 0: answered */
	struct requests outstanding;

	/* What follows is of lanes (sftp-lanes.h). */
	struct sftp_lane *lane;	/* NULL: the connection has no other lanes */
	struct sftp_fiber_list senders;	/* until all that waits is sent */
	uint64_t load;		/* bytes of the files that it copies now */
	int same;		/* 1: it has the files of the first lane;
				 * -1: it has not, or is being checked;
				 * 0: unknown */
};

#define SERVERS		SFTP_LANES	/* most that a copy has */

struct sftp_tree {
	void (*read_reply)(struct sftp_conn *conn, struct sshbuf *msg);
	struct server servers[SERVERS];
	u_int nservers;
	uint64_t rtt_us;	/* longest round trip of a first request */
	struct sftp_slots slots;
	u_int descriptor_holders;	/* workers with a local file open */
	struct request *last_request;	/* the one sent last */
	struct sftp_fibers *fibers;
	struct sftp_fiber_list end_waiters;	/* until a file's job ends */
	struct sftp_fiber_list open_waiters;	/* until a file is complete */
	TAILQ_HEAD(, worker) writers;	/* workers that write to a file */
	double began_s;		/* when the copy began */
	double lanes_s;		/* when lanes may be opened */
	u_int lanes_next;	/* the lane that is looked at first */
	uint64_t heard;		/* how often something came from any lane */
	/* Called with each lane that opens while a file is copied in parts. */
	void (*lane_opened)(struct sftp_tree *tree, struct sftp_conn *conn,
	    void *ctx);
	void *lane_ctx;
	const int *stop;	/* see sftp_tree_stops() */
	double give_up_s;	/* when lanes are given up; 0: not at all */
	struct sftp_job check;	/* says whether a lane has the same files */
	struct sftp_jobs checks;
	int checks_end;		/* 1: no further check starts */
};

/*
 * sftp-tree-jobs.c: what fibers call. Sets up a worker; runs its job, where ctx
 * is the tree.
 */
void	 sftp_tree_init_worker(struct sftp_fiber *f, void *ctx);
void	 sftp_tree_run_job(struct sftp_fiber *fiber, void *ctx);

/* Notes that a job sends no more requests. */
void	 sftp_tree_set_sent(struct sftp_tree *tree, struct worker *w);

/* Waits for the checks of lanes that are under way. No others start. */
void	 sftp_tree_end_checks(struct sftp_tree *tree);

/*
 * sftp-tree-file.c: runs the job of a file of a tree that is copied without a
 * struct sftp_tree. Returns 0, or -1 if it failed. After ^C it names the file
 * if that is incomplete.
 */
int	 sftp_tree_run_alone(struct sftp_job *job);

/*
 * sftp-tree-file.c: frees what a job held for its file, which is copied, or has
 * failed.
 */
void	 sftp_tree_release_file(struct sftp_tree *tree, struct worker *w,
	    int failed);

/* Waits until the job of a file has ended. */
void	 sftp_tree_wait_for_end(struct sftp_tree *tree);

/*
 * sftp-tree-lanes.c: gives a file's job a lane, and takes it into account
 * there; notes that the job has ended; takes lanes that have opened into the
 * copy.
 * sftp_tree_sync() returns the time (ms) after which to call it again, or -1.
 */
void	 sftp_tree_load(struct sftp_tree *tree, struct worker *w);
void	 sftp_tree_unload(struct worker *w);
int	 sftp_tree_sync(struct sftp_tree *tree);

/* The tree ends: the lanes no longer belong to it. */
void	 sftp_tree_leave_lanes(struct sftp_tree *tree);

/* sftp-lane-poll.c: sftp_replies_deliver() for a copy with lanes */
int	 sftp_lanes_deliver(struct sftp_tree *tree);

/* sftp-replies.c: hands a message from s over. The message is freed. */
void	 sftp_reply_hand_over(struct sftp_tree *tree, struct server *s,
	    struct sshbuf *msg);

/*
 * Returns 1 if a message from s is a reply to one of its requests, and has the
 * form and the length that it must have, else 0.
 */
int	 sftp_reply_is_good(struct server *s, const struct sshbuf *msg);

/*
 * Answers the outstanding requests to a lane that is lost, with the status
 * SSH2_FX_CONNECTION_LOST. Returns 1 if there was one, else 0.
 */
int	 sftp_replies_lost(struct sftp_tree *tree, struct server *s);

/* Returns the worker that runs. */
static inline struct worker *
current_worker(const struct sftp_tree *tree)
{
	return (struct worker *)sftp_fiber_current(tree->fibers);
}

#endif /* SFTP_TREE_STATE_H */
