/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SFTP_FIBER_H
#define SFTP_FIBER_H

#include <stddef.h>

#include "openbsd-compat/sys-queue.h"

/*
 * Fibers are threads of which only one runs at any time. Each is a thread so
 * that it has a stack of its own. Fibers switch in sftp_fiber_yield() and
 * nowhere else, so shared data needs no locks. On a system without threads
 * sftp_fibers_new() returns NULL, and nothing else here may be called.
 */

/* A fiber. The caller's own struct begins with it: see sftp_fiber_config. */
struct sftp_fiber {
	TAILQ_ENTRY(sftp_fiber) entry;	/* of the list that it is on */
	struct sftp_thread *thread;
	int running;			/* 1: it is this one's turn */
	int local;			/* its value of *config.local */
};

TAILQ_HEAD(sftp_fiber_list, sftp_fiber);

struct sftp_fibers;			/* all fibers of one tree */

/* What the caller uses fibers for */
struct sftp_fiber_config {
	size_t size;	/* bytes of the struct that begins with sftp_fiber */
	void *ctx;	/* passed to the functions below */
	int *local;	/* a variable: each fiber has its own value of it */

	/* Initializes a new fiber, all bytes of which are 0. */
	void (*init)(struct sftp_fiber *f, void *ctx);

	/* Runs the fiber's job. The fiber is idle afterwards. */
	void (*run)(struct sftp_fiber *f, void *ctx);

	/*
	 * Called while no fiber is ready. Waits for an event, which may make
	 * fibers ready. Returns 1, or 0 if no event can come any more.
	 */
	int (*wait)(void *ctx);
};

/*
 * Makes the caller the first fiber. Returns all fibers, or NULL on a system
 * without threads. Other errors are fatal.
 */
struct sftp_fibers *sftp_fibers_new(const struct sftp_fiber_config *config);

/* Ends and frees all fibers. The first calls it, and the others are idle. */
void	 sftp_fibers_free(struct sftp_fibers *fs);

/*
 * Returns an idle fiber or a new one, or NULL if the system refuses another
 * thread. sftp_fiber_ready() starts its job.
 */
struct sftp_fiber *sftp_fiber_get(struct sftp_fibers *fs);

/* Returns the fiber that runs. */
struct sftp_fiber *sftp_fiber_current(const struct sftp_fibers *fs);

/* Lets a fiber run when its turn comes. It must be on no list. */
void	 sftp_fiber_ready(struct sftp_fibers *fs, struct sftp_fiber *f);

/* Makes all fibers on a list ready. The list is empty afterwards. */
void	 sftp_fiber_ready_all(struct sftp_fibers *fs,
	    struct sftp_fiber_list *list);

/*
 * Runs the fibers that are ready. Returns once the caller has been made ready
 * and its turn comes. It is fatal if no fiber is ready and no event can come.
 */
void	 sftp_fiber_yield(struct sftp_fibers *fs);

/* Puts the caller on a list, and yields until it is made ready. */
void	 sftp_fiber_wait(struct sftp_fibers *fs, struct sftp_fiber_list *list);

/* The same, in front of those that are on the list. */
void	 sftp_fiber_wait_first(struct sftp_fibers *fs,
	    struct sftp_fiber_list *list);

#endif /* SFTP_FIBER_H */
