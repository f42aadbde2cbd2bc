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

#ifndef SFTP_TREE_STATE_H
#define SFTP_TREE_STATE_H

#include <sys/types.h>

#include <stdint.h>

#include "openbsd-compat/sys-queue.h"
#include "openbsd-compat/sys-tree.h"

#include "sftp-fiber.h"
#include "sftp-slots.h"

/*
 * What sftp-tree.c and sftp-replies.c share. sftp-tree.c starts and ends jobs,
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
	int awaits_reply;	/* 1: it sleeps until a reply comes */
	int sending;		/* 1: its job has requests to send */
	int file_incomplete;	/* 1: it counts in slots.incomplete */
	int incomplete_id;	/* the file in sftp-incomplete.c; -1: none */
	int has_descriptor;	/* 1: it has a local file open */
	int writes;		/* 1: it writes to the local file dev, ino */
	dev_t dev;
	ino_t ino;
	TAILQ_HEAD(, reply) replies;	/* to be taken by its job */
	TAILQ_ENTRY(worker) writer_entry;
};

RB_HEAD(requests, request);

/* A server, and the connection to it */
struct server {
	struct sftp_conn *conn;
	int fd_in, fd_out;
	double first_sent_s;	/* time of the first request; 0: answered */
	struct requests outstanding;
};

#define SERVERS		2	/* most that a copy has, as with scp -3 */

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
};

/* Returns the worker that runs. */
static inline struct worker *
current_worker(const struct sftp_tree *tree)
{
	return (struct worker *)sftp_fiber_current(tree->fibers);
}

#endif /* SFTP_TREE_STATE_H */
