/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "progressmeter.h"
#include "xmalloc.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-fiber.h"
#include "sftp-incomplete.h"
#include "sftp-lanes.h"
#include "sftp-slots.h"
#include "sftp-tree.h"
#include "sftp-tree-state.h"

extern volatile sig_atomic_t interrupted;
extern int showprogress;

void
sftp_tree_init_worker(struct sftp_fiber *f, void *ctx)
{
	struct worker *w = (struct worker *)f;

	w->incomplete_id = -1;
	TAILQ_INIT(&w->replies);
}

/* Prints the last line of the file's progress meter. */
static void
report_done(const struct worker *w)
{
	off_t done = w->file_size;
	const char *name = strrchr(w->job.src, '/');

	start_progress_meter(name == NULL ? w->job.src : name + 1,
	    w->file_size, &done);
	stop_progress_meter();
}

/* Wakes the directory that waits for these jobs, if one does. */
static void
wake_parent(struct sftp_tree *tree, struct sftp_jobs *jobs)
{
	if (jobs->waiter != NULL)
		sftp_fiber_ready(tree->fibers, jobs->waiter);
	jobs->waiter = NULL;
}

void
sftp_tree_set_sent(struct sftp_tree *tree, struct worker *w)
{
	if (!w->sending)
		return;
	w->sending = 0;
	if (--w->jobs->sending == 0)
		wake_parent(tree, w->jobs);
}

/* Copies a file of a tree, again on the first lane if its own gets lost. */
static int
run_file(struct sftp_tree *tree, struct worker *w)
{
	const struct sftp_conn *conn = w->job.conn;
	int r, not_idempotent;

	w->not_idempotent = 0;
	r = w->job.run(&w->job);
	not_idempotent = w->not_idempotent;
	sftp_tree_unload(w);
	if (r == 0 || !sftp_tree_lost(tree, conn))
		return r;
	if (interrupted) {
		/* What was all sent may not have arrived. */
		if (!w->file_incomplete)
			sftp_incomplete_say(w->incomplete_id);
		return r;
	}
	logit("\"%s\": copying it again over another connection",
	    w->job.src);
	sftp_tree_release_file(tree, w, 0);
	w->job.conn = tree->servers[0].conn;
	if ((r = w->job.run(&w->job)) != 0 || !not_idempotent)
		return r;
	error("\"%s\": may be incomplete: the connection that was lost could "
	    "still change it", w->job.dst);
	return -1;
}

void
sftp_tree_run_job(struct sftp_fiber *fiber, void *ctx)
{
	struct sftp_tree *tree = ctx;
	struct worker *w = (struct worker *)fiber;
	int progress = showprogress, r;

	if (w->job.apart) {
		if (w->job.run(&w->job) != 0)
			w->jobs->failed = 1;
		goto out;
	}
	/* The meter shows one file. In parallel, print its last line only. */
	if (w->job.depth == 0)
		showprogress = 0;
	r = w->job.depth == 0 ? run_file(tree, w) : w->job.run(&w->job);
	if (r != 0)
		w->jobs->failed = 1;
	else if (progress && w->job.depth == 0 && w->file_size != 0)
		report_done(w);
	sftp_slots_end(&tree->slots, w->job.depth != 0, w->file_size);
	if (w->job.depth == 0)
		sftp_tree_release_file(tree, w, r != 0);
 out:
	sftp_tree_set_sent(tree, w);
	if (--w->jobs->running == 0)
		wake_parent(tree, w->jobs);
	free(w->job.src);
	free(w->job.dst);
}

/*
 * Runs a job in the caller's fiber. If it copies a file, it first waits until
 * no other job copies one. Returns 0, or -1 if the job failed.
 */
static int
run_in_caller(struct sftp_tree *tree, struct sftp_job *job)
{
	int r;

	if (job->depth != 0)
		return job->run(job);
	while (tree != NULL &&
	    (tree->slots.alone || tree->slots.file_jobs != 0))
		sftp_tree_wait_for_end(tree);
	if (tree == NULL)
		return sftp_tree_run_alone(job);
	tree->slots.alone = 1;
	r = job->run(job);
	tree->slots.alone = 0;
	sftp_tree_release_file(tree, current_worker(tree), r != 0);
	return r;
}

/*
 * Returns an idle worker for a directory if dir is 1, else for a file of `size`
 * bytes. Waits for a free slot and a thread. Returns NULL if the job has to run
 * in the caller's fiber.
 */
static struct worker *
get_worker(struct sftp_tree *tree, int dir, uint64_t size)
{
	enum sftp_start start;
	struct sftp_fiber *f;

	for (;;) {
		if (dir && !sftp_slots_may_start_dir(&tree->slots))
			return NULL;
		while (!dir && (start = sftp_slots_file_start(&tree->slots,
		    size)) != SFTP_START_NOW) {
			if (start == SFTP_START_ALONE)
				return NULL;
			sftp_tree_wait_for_end(tree);
		}
		if ((f = sftp_fiber_get(tree->fibers)) != NULL)
			return (struct worker *)f;
		sftp_slots_freeze(&tree->slots);
		if (dir || tree->slots.file_jobs == 0)
			return NULL;
		sftp_tree_wait_for_end(tree);
	}
}

/* Gives an idle worker a job. */
static void
start_worker(struct sftp_tree *tree, struct worker *w, struct sftp_jobs *jobs,
    const struct sftp_job *job)
{
	w->job = *job;
	w->jobs = jobs;
	sftp_fiber_ready(tree->fibers, &w->fiber);
	jobs->running++;
	jobs->sending++;
	w->sending = 1;
}

/* Starts a job in a fiber of its own. Returns 0, or -1 if it can have none. */
static int
run_in_fiber(struct sftp_tree *tree, struct sftp_jobs *jobs,
    const struct sftp_job *job)
{
	struct worker *w;
	uint64_t size = job->depth == 0 ? job->a.size : 0;

	if (tree == NULL)
		return -1;
	/* A file of unknown size may be large. */
	if (job->depth == 0 && (job->a.flags & SSH2_FILEXFER_ATTR_SIZE) == 0)
		return -1;
	if ((w = get_worker(tree, job->depth != 0, size)) == NULL)
		return -1;
	w->file_size = size;
	start_worker(tree, w, jobs, job);
	if (job->depth == 0)
		sftp_tree_load(tree, w);
	sftp_slots_begin(&tree->slots, job->depth != 0, size);
	return 0;
}

int
sftp_tree_run(struct sftp_tree *tree, struct sftp_jobs *jobs,
    const struct sftp_job *job)
{
	struct sftp_fiber *f;
	struct worker *w;

	if ((f = sftp_fiber_get(tree->fibers)) == NULL)
		return -1;
	w = (struct worker *)f;
	w->file_size = 0;
	start_worker(tree, w, jobs, job);
	w->job.apart = 1;
	w->job.src = job->src == NULL ? NULL : xstrdup(job->src);
	w->job.dst = NULL;
	return 0;
}

void
sftp_tree_start(struct sftp_tree *tree, struct sftp_jobs *jobs,
    const struct sftp_job *model, const char *src, const char *dst,
    const Attrib *a, int depth)
{
	struct sftp_job job = *model;

	job.src = xstrdup(src);
	job.dst = xstrdup(dst);
	job.a = *a;
	job.depth = depth;
	if (run_in_fiber(tree, jobs, &job) == 0)
		return;
	if (run_in_caller(tree, &job) != 0)
		jobs->failed = 1;
	free(job.src);
	free(job.dst);
}

/* Waits until jobs wake their waiter. */
static void
wait_jobs(struct sftp_tree *tree, struct sftp_jobs *jobs)
{
	jobs->waiter = sftp_fiber_current(tree->fibers);
	sftp_fiber_yield(tree->fibers);
}

void
sftp_tree_wait_in(struct sftp_tree *tree, struct sftp_fiber_list *list)
{
	sftp_fiber_wait(tree->fibers, list);
}

void
sftp_tree_wake(struct sftp_tree *tree, struct sftp_fiber_list *list)
{
	sftp_fiber_ready_all(tree->fibers, list);
}

int
sftp_tree_wait(struct sftp_tree *tree, struct sftp_jobs *jobs)
{
	while (jobs->running != 0)
		wait_jobs(tree, jobs);
	return jobs->failed ? -1 : 0;
}

void
sftp_tree_end_checks(struct sftp_tree *tree)
{
	tree->checks_end = 1;
	(void)sftp_tree_wait(tree, &tree->checks);
}

void
sftp_tree_wait_sent(struct sftp_tree *tree, struct sftp_jobs *jobs, int depth)
{
	while (jobs->sending != 0)
		wait_jobs(tree, jobs);
	/* A check makes a directory in the tree's own one, which dates that. */
	if (depth == 0)
		sftp_tree_end_checks(tree);
}

void
sftp_tree_dir_sent(struct sftp_tree *tree, int depth)
{
	struct worker *w;

	if (tree == NULL || depth == 0)
		return;
	/* A directory below that of the worker's job doesn't end the job. */
	w = current_worker(tree);
	if (w->job.depth == depth)
		sftp_tree_set_sent(tree, w);
}
