/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "misc.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-fiber.h"
#include "sftp-incomplete.h"
#include "sftp-slots.h"
#include "sftp-tree.h"
#include "sftp-tree-state.h"
#include "xmalloc.h"

extern volatile sig_atomic_t interrupted;

/* Wakes all jobs that wait for a file's job to end. */
static void
wake_end_waiters(struct sftp_tree *tree)
{
	sftp_fiber_ready_all(tree->fibers, &tree->end_waiters);
}

void
sftp_tree_wait_for_end(struct sftp_tree *tree)
{
	sftp_fiber_wait(tree->fibers, &tree->end_waiters);
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

void
sftp_tree_release_file(struct sftp_tree *tree, struct worker *w, int failed)
{
	/* Without ^C an error message has named it. */
	if (failed && w->file_incomplete && interrupted)
		sftp_incomplete_say(w->incomplete_id);
	set_complete(tree, w);
	sftp_incomplete_end(w->incomplete_id);
	w->incomplete_id = -1;
	w->unfinished = 0;
	free(w->path);
	w->path = NULL;
	if (w->writes)
		TAILQ_REMOVE(&tree->writers, w, writer_entry);
	tree->descriptor_holders -= w->has_descriptor;
	w->writes = w->has_descriptor = 0;
	wake_end_waiters(tree);
}

/* Of trees whose files are copied one after the other */
static struct {
	int copies;	/* 1: one of their files is copied */
	int id;		/* its number in sftp-incomplete.h; -1: none */
	int unfinished;	/* 1: it stays incomplete */
	char *path;	/* of the file that has begun last, or NULL */
} alone = { 0, -1, 0, NULL };

int
sftp_tree_run_alone(struct sftp_job *job)
{
	int r;

	alone.copies = 1;
	r = job->run(job);
	if (r != 0 && interrupted)
		sftp_incomplete_say(alone.id);
	sftp_incomplete_end(alone.id);
	alone.id = -1;
	alone.copies = 0;
	return r;
}

int
sftp_tree_begin_file(struct sftp_tree *tree, const char *path)
{
	struct worker *w;

	if (tree == NULL) {
		alone.unfinished = 0;
		free(alone.path);
		alone.path = xstrdup(path);
		if (alone.copies && alone.id == -1)
			alone.id = sftp_incomplete_begin(path);
		return 0;
	}
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
	free(w->path);
	w->path = xstrdup(path);
	return 0;
}

const char *
sftp_tree_path(const struct sftp_tree *tree)
{
	return tree == NULL ? alone.path : current_worker(tree)->path;
}

void
sftp_tree_not_idempotent(struct sftp_tree *tree)
{
	struct worker *w;

	if (tree == NULL)
		return;
	w = current_worker(tree);
	/* To a lane that is lost, nothing is sent. */
	if (!sftp_tree_lost(tree, w->job.conn))
		w->not_idempotent = 1;
}

void
sftp_tree_file_sent(struct sftp_tree *tree)
{
	struct worker *w;

	if (tree == NULL) {
		if (!alone.unfinished)
			sftp_incomplete_sent(alone.id);
		return;
	}
	w = current_worker(tree);
	if (w->unfinished)
		return;
	sftp_incomplete_sent(w->incomplete_id);
	set_complete(tree, w);
	/* If a directory's worker copies the file, its job is not all sent. */
	if (w->job.depth == 0)
		sftp_tree_set_sent(tree, w);
}

void
sftp_tree_unfinished(struct sftp_tree *tree)
{
	if (tree == NULL)
		alone.unfinished = 1;
	else
		current_worker(tree)->unfinished = 1;
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
	sftp_tree_wait_for_end(tree);
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
		sftp_tree_wait_for_end(tree);
	w = current_worker(tree);
	w->dev = st.st_dev;
	w->ino = st.st_ino;
	w->writes = 1;
	TAILQ_INSERT_TAIL(&tree->writers, w, writer_entry);
}
