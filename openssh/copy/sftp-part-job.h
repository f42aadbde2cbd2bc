/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SFTP_PART_JOB_H
#define SFTP_PART_JOB_H

#include <sys/types.h>

#include <stdint.h>

#include "openbsd-compat/sys-queue.h"

#include "sftp-fiber.h"
#include "sftp-mark.h"
#include "sftp-parts.h"
#include "sftp-tree.h"

struct sftp_conn;
struct sftp_parallel;

/* What a lane has opened. It stays open until the mark is cut. */
struct sftp_part_file {
	struct sftp_conn *conn;
	u_char *handle;
	size_t len;
	u_char *wrote;		/* bit i % 8 of byte i / 8: part i is there by
				 * this handle; NULL: nothing was written */
	u_int close_id;		/* of its CLOSE */
	u_int closed;		/* the answer to that, SSH2_FX_* */
	int same;		/* 1: it seemed to be the first lane's file, so
				 * parts were copied by it */
	TAILQ_ENTRY(sftp_part_file) entry;
};

TAILQ_HEAD(sftp_part_files, sftp_part_file);

/* A file whose parts are copied by several lanes: see sftp-parallel.c. */
struct sftp_parts_copy {
	const struct sftp_parallel *f;
	struct sftp_parts parts;
	struct sftp_jobs jobs;	/* one for each lane but the first */
	int stop;		/* 1: an error; what is left is not copied */
	u_char nonce[SFTP_MARK_NONCE];
	u_char *mark;		/* room for mark_len bytes */
	size_t mark_len;
	int longer;		/* 1: the target is longer by a mark */
	uint64_t begin;		/* bytes there before, without a gap */
	uint64_t marked;	/* bytes of the parts in the last mark */
	uint64_t kept;		/* the same, of those that are at the target */
	u_int marking;		/* outstanding marks */
	int first;		/* 1: the first lane copies, and marks */
	struct sftp_fiber_list unmarked;	/* lanes that wait for a mark */
	uint64_t partial;	/* bytes there, of parts that are not whole */
	uint64_t in_flight;	/* bytes, on all lanes */
	uint64_t bdp;		/* bytes, of all lanes together */
	u_int taken;		/* parts that lanes have taken, in all */
	u_int end_asked;	/* that, when what is behind a source was
				 * asked for last; 0: it was not */
	int ends;		/* 1: nothing is */
	struct sftp_part_files files;	/* of lanes that have nothing left */
	struct sftp_part_files unsure;	/* of those whose lane was lost, or
					 * that were closed */
	int left;		/* 1: after ^C, the mark is left there */
	int failed;		/* 1: an error that no stream would meet */
};

/*
 * Writes the mark to the target, and waits. Returns 0 or -1. The handle is of
 * an upload's target.
 */
int	 sftp_part_mark(struct sftp_parts_copy *c, struct sftp_conn *conn,
	    const u_char *handle, size_t handle_len);

/*
 * Copies parts over the job's lane until none is left, as a job's run(). Its
 * ctx is the struct sftp_parts_copy. Returns 0: what is not copied, c->parts
 * says.
 */
int	 sftp_part_job(struct sftp_job *job);

/*
 * Closes the handles of the lanes, all at once, and waits for the answers. A
 * server tells others of a file that was written to when it is closed: so this
 * comes after the mark was cut. All files are in c->unsure then. Of one whose
 * CLOSE vouches for what was written, "wrote" is NULL. Returns SSH2_FX_OK, or
 * the SSH2_FX_* status of a CLOSE that has failed.
 */
u_int	 sftp_part_close(struct sftp_parts_copy *c);

/* Moves the files of lanes that are lost to c->unsure. */
void	 sftp_part_lost(struct sftp_parts_copy *c);

/* Frees a file that is on no list. */
void	 sftp_part_free(struct sftp_part_file *file);

#endif /* SFTP_PART_JOB_H */
