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

#include "includes.h"

#include <sys/types.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "misc.h"
#include "progressmeter.h"
#include "ssherr.h"
#include "xmalloc.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-bottleneck.h"
#include "sftp-conn.h"
#include "sftp-count.h"
#include "sftp-fiber.h"
#include "sftp-incomplete.h"
#include "sftp-replies.h"
#include "sftp-slots.h"
#include "sftp-tree.h"
#include "sftp-tree-state.h"

extern volatile sig_atomic_t interrupted;
extern int showprogress;

static u_int files_max = SFTP_SLOTS_FILES;

/*
 * Bytes of address space for a job's stack and buffers. All jobs together take
 * at most half of RLIMIT_AS.
 */
#define JOB_SIZE	(2 * 1024 * 1024)

static void
init_worker(struct sftp_fiber *f, void *ctx)
{
	struct worker *w = (struct worker *)f;

	w->incomplete_id = -1;
	TAILQ_INIT(&w->replies);
}

/* Wakes all jobs that wait for a file's job to end. */
static void
wake_end_waiters(struct sftp_tree *tree)
{
	sftp_fiber_ready_all(tree->fibers, &tree->end_waiters);
}

/* Waits until the job of a file has ended. */
static void
wait_for_end(struct sftp_tree *tree)
{
	sftp_fiber_wait(tree->fibers, &tree->end_waiters);
}

/* Prints the last line of the file's progress meter. */
static void
report_done(const struct worker *w)
{
	off_t done = w->file_size;
	const char *name = strrchr(w->job.src, '/');

	start_progress_meter(sftp_count_label(name == NULL ? w->job.src :
	    name + 1), w->file_size, &done);
	stop_progress_meter();
}

/* Wakes one job that waits to open a file. */
static void
wake_open_waiter(struct sftp_tree *tree)
{
	struct sftp_fiber *f;

	if ((f = TAILQ_FIRST(&tree->open_waiters)) == NULL)
		return;
	TAILQ_REMOVE(&tree->open_waiters, f, entry);
	sftp_fiber_ready(tree->fibers, f);
}

/* Notes that a file is no longer incomplete, so that another one may be. */
static void
set_complete(struct sftp_tree *tree, struct worker *w)
{
	if (!w->file_incomplete)
		return;
	w->file_incomplete = 0;
	tree->slots.incomplete--;
	wake_open_waiter(tree);
}

/* Wakes the directory that waits for these jobs, if one does. */
static void
wake_parent(struct sftp_tree *tree, struct sftp_jobs *jobs)
{
	if (jobs->waiter != NULL)
		sftp_fiber_ready(tree->fibers, jobs->waiter);
	jobs->waiter = NULL;
}

/* Notes that a job sends no more requests. */
static void
set_sent(struct sftp_tree *tree, struct worker *w)
{
	if (!w->sending)
		return;
	w->sending = 0;
	if (--w->jobs->sending == 0)
		wake_parent(tree, w->jobs);
}

/* Frees what a job held for its file. The file is copied, or it has failed. */
static void
release_file(struct sftp_tree *tree, struct worker *w, int failed)
{
	/* Without ^C an error message has named it. */
	if (failed && w->file_incomplete && interrupted)
		sftp_incomplete_say(w->incomplete_id);
	set_complete(tree, w);
	sftp_incomplete_end(w->incomplete_id);
	w->incomplete_id = -1;
	if (w->writes)
		TAILQ_REMOVE(&tree->writers, w, writer_entry);
	tree->descriptor_holders -= w->has_descriptor;
	w->writes = w->has_descriptor = 0;
	wake_end_waiters(tree);
}

/* Copies a file of a tree, again on the first lane if its own gets lost. */
static int
run_file(struct sftp_tree *tree, struct worker *w)
{
	int r = w->job.run(&w->job);

	sftp_tree_unload(w);
	if (r == 0 || interrupted || !sftp_tree_lost(tree, w->job.conn))
		return r;
	logit("\"%s\": copying it again over another connection", w->job.src);
	release_file(tree, w, 0);
	w->job.conn = tree->servers[0].conn;
	return w->job.run(&w->job);
}

/* Runs a worker's job, as the fibers' run(). */
static void
run_job(struct sftp_fiber *fiber, void *ctx)
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
	if (w->job.depth == 0)
		sftp_count_next();
	if (r != 0)
		w->jobs->failed = 1;
	else if (progress && w->job.depth == 0 && w->file_size != 0)
		report_done(w);
	sftp_slots_end(&tree->slots, w->job.depth != 0, w->file_size);
	if (w->job.depth == 0)
		release_file(tree, w, r != 0);
 out:
	set_sent(tree, w);
	if (--w->jobs->running == 0)
		wake_parent(tree, w->jobs);
	free(w->job.src);
	free(w->job.dst);
}

void
sftp_tree_add(struct sftp_tree *tree, u_int handles, struct sftp_conn *conn,
    int in, int out)
{
	struct server *s;

	if (tree == NULL)
		return;
	if (tree->nservers == SERVERS)
		fatal_f("more than %d connections", SERVERS);
	s = &tree->servers[tree->nservers++];
	s->conn = conn;
	s->fd_in = in;
	s->fd_out = out;
	s->first_sent_s = monotime_double();
	RB_INIT(&s->outstanding);
	TAILQ_INIT(&s->senders);
	sftp_slots_limit(&tree->slots, handles);
}

/* As sftp_tree_new(), without what the whole copy counts and measures. */
static struct sftp_tree *
tree_new(u_int handles,
    void (*read_reply)(struct sftp_conn *conn, struct sshbuf *msg),
    struct sftp_conn *conn, int in, int out)
{
	struct sftp_fiber_config config = {
		.size = sizeof(struct worker), .local = &showprogress,
		.init = init_worker, .run = run_job,
		.wait = sftp_replies_deliver
	};
	struct sftp_tree *tree;
	struct sftp_slots slots;
	struct rlimit rl;

	sftp_slots_init(&slots, files_max);
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0)
		sftp_slots_limit(&slots, rl.rlim_cur);
#ifdef RLIMIT_AS
	if (getrlimit(RLIMIT_AS, &rl) == 0)
		sftp_slots_limit(&slots, rl.rlim_cur / JOB_SIZE);
#endif
	sftp_slots_limit(&slots, handles);
	if (!sftp_slots_parallel(&slots))
		return NULL;
	tree = xcalloc(1, sizeof(*tree));
	tree->read_reply = read_reply;
	tree->slots = slots;
	sftp_tree_add(tree, handles, conn, in, out);
	TAILQ_INIT(&tree->end_waiters);
	TAILQ_INIT(&tree->open_waiters);
	TAILQ_INIT(&tree->writers);
	config.ctx = tree;
	if ((tree->fibers = sftp_fibers_new(&config)) == NULL) {
		free(tree);
		return NULL;
	}
	return tree;
}

/* Takes all outstanding replies, then frees the tree. */
static void
tree_free(struct sftp_tree *tree)
{
	if (tree == NULL)
		return;
	(void)sftp_tree_wait(tree, &tree->checks);
	tree->lanes_s = 0;
	while (sftp_replies_deliver(tree))
		;
	sftp_tree_leave_lanes(tree);
	sftp_fibers_free(tree->fibers);
	free(tree->check.src);
	free(tree);
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
		wait_for_end(tree);
	sftp_count_next();
	if (tree == NULL)
		return job->run(job);
	tree->slots.alone = 1;
	r = job->run(job);
	tree->slots.alone = 0;
	release_file(tree, current_worker(tree), r != 0);
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
			wait_for_end(tree);
		}
		if ((f = sftp_fiber_get(tree->fibers)) != NULL)
			return (struct worker *)f;
		sftp_slots_freeze(&tree->slots);
		if (dir || tree->slots.file_jobs == 0)
			return NULL;
		wait_for_end(tree);
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

int
sftp_tree_begin_file(struct sftp_tree *tree, const char *path)
{
	struct worker *w;

	if (tree == NULL)
		return 0;
	while (!sftp_slots_may_open(&tree->slots) && !interrupted)
		sftp_fiber_wait(tree->fibers, &tree->open_waiters);
	if (interrupted) {
		wake_open_waiter(tree);
		return -1;
	}
	tree->slots.incomplete++;
	w = current_worker(tree);
	w->file_incomplete = 1;
	w->incomplete_id = sftp_incomplete_begin(path);
	return 0;
}

void
sftp_tree_file_sent(struct sftp_tree *tree)
{
	struct worker *w;

	if (tree == NULL)
		return;
	w = current_worker(tree);
	sftp_incomplete_sent(w->incomplete_id);
	set_complete(tree, w);
	/* If a directory's worker copies the file, its job is not all sent. */
	if (w->job.depth == 0)
		set_sent(tree, w);
}

/*
 * If errno says that no descriptors are left, waits until the job of a file has
 * ended and returns 1. Returns 0 for any other errno, and if no other worker
 * has a descriptor. Keeps errno.
 */
static int
wait_for_descriptors(struct sftp_tree *tree)
{
	int save_errno = errno;
	u_int others;

	if ((errno != EMFILE && errno != ENFILE) || tree == NULL)
		return 0;
	others = tree->descriptor_holders -
	    current_worker(tree)->has_descriptor;
	if (others == 0)
		return 0;
	sftp_slots_freeze(&tree->slots);
	wait_for_end(tree);
	errno = save_errno;
	return 1;
}

int
sftp_tree_open(struct sftp_tree *tree, const char *path, int flags,
    mode_t mode)
{
	struct worker *w;
	int fd;

	do {
		fd = open(path, flags, mode);
	} while (fd == -1 && wait_for_descriptors(tree));
	if (fd == -1 || tree == NULL)
		return fd;
	w = current_worker(tree);
	if (!w->has_descriptor) {
		w->has_descriptor = 1;
		tree->descriptor_holders++;
	}
	return fd;
}

DIR *
sftp_tree_opendir(struct sftp_tree *tree, const char *path)
{
	DIR *dir;

	do {
		dir = opendir(path);
	} while (dir == NULL && wait_for_descriptors(tree));
	return dir;
}

/* Returns 1 if a worker writes to that file. */
static int
has_writer(struct sftp_tree *tree, const struct stat *st)
{
	struct worker *w;

	TAILQ_FOREACH(w, &tree->writers, writer_entry) {
		if (w->dev == st->st_dev && w->ino == st->st_ino)
			return 1;
	}
	return 0;
}

void
sftp_tree_claim(struct sftp_tree *tree, int fd)
{
	struct worker *w;
	struct stat st;

	if (tree == NULL || fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
		return;
	while (has_writer(tree, &st))
		wait_for_end(tree);
	w = current_worker(tree);
	w->dev = st.st_dev;
	w->ino = st.st_ino;
	w->writes = 1;
	TAILQ_INSERT_TAIL(&tree->writers, w, writer_entry);
}

int
sftp_tree_wait(struct sftp_tree *tree, struct sftp_jobs *jobs)
{
	while (jobs->running != 0) {
		jobs->waiter = sftp_fiber_current(tree->fibers);
		sftp_fiber_yield(tree->fibers);
	}
	return jobs->failed ? -1 : 0;
}

/*
 * Waits until lanes have been checked, if this is the fiber that copies the
 * tree's own directory: its attributes are set after that.
 */
static void
wait_checks(struct sftp_tree *tree)
{
	if (current_worker(tree)->job.run == NULL)
		(void)sftp_tree_wait(tree, &tree->checks);
}

void
sftp_tree_wait_sent(struct sftp_tree *tree, struct sftp_jobs *jobs)
{
	while (jobs->sending != 0) {
		jobs->waiter = sftp_fiber_current(tree->fibers);
		sftp_fiber_yield(tree->fibers);
	}
	wait_checks(tree);
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
		set_sent(tree, w);
}

void
sftp_tree_max_files(u_int files)
{
	files_max = files;
}

int
sftp_tree_is_parallel(void)
{
	return files_max > 1;
}

struct sftp_tree *
sftp_tree_new(u_int handles,
    void (*read_reply)(struct sftp_conn *conn, struct sshbuf *msg),
    struct sftp_conn *conn, int in, int out)
{
	sftp_bottleneck_begin();
	sftp_count_start();
	return tree_new(handles, read_reply, conn, in, out);
}

struct sftp_tree *
sftp_tree_of_parts(struct sftp_conn *conn,
    void (*read_reply)(struct sftp_conn *conn, struct sshbuf *msg))
{
	struct sftp_tree *tree = tree_new(sftp_conn_handles(conn), read_reply,
	    conn, sftp_lane(0)->fd_in, sftp_lane(0)->fd_out);

	if (tree != NULL) {
		sftp_tree_use_lanes(tree, conn, NULL, NULL);
		sftp_conn_set_tree(conn, tree);
	}
	return tree;
}

void
sftp_tree_of_parts_free(struct sftp_tree *tree)
{
	struct sftp_conn *conn;

	if (tree == NULL)
		return;
	conn = tree->servers[0].conn;
	tree_free(tree);
	sftp_conn_set_tree(conn, NULL);
}

void
sftp_tree_free(struct sftp_tree *tree)
{
	tree_free(tree);
	sftp_count_end();
	sftp_bottleneck_end();
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
