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

#ifndef SFTP_FIBER_H
#define SFTP_FIBER_H

#include <stddef.h>

#include "openbsd-compat/sys-queue.h"

/*
 * Fibers are threads that run one at a time. They are threads only so that each
 * has a stack. They switch in sftp_fiber_yield() and nowhere else, so shared
 * data needs no locks. A system without threads has none: then
 * sftp_fibers_new() returns NULL, and nothing else here is to be called.
 */

/* How a struct of the user of fibers begins: see sftp_fiber_use */
struct sftp_fiber {
	TAILQ_ENTRY(sftp_fiber) entry;	/* of the list that it is on */
	struct sftp_thread *thread;
	int runs;			/* it is this one's turn */
	int local;			/* value of use.local, while it waits */
};

TAILQ_HEAD(sftp_fiber_list, sftp_fiber);

struct sftp_fibers;

/* What fibers are used for */
struct sftp_fiber_use {
	size_t size;	/* bytes, of a struct that begins with sftp_fiber */
	void *ctx;	/* passed to the functions below */
	int *local;	/* a variable of which each fiber has its own value */

	/* Prepares a new fiber, which is zero. */
	void (*init)(struct sftp_fiber *f, void *ctx);

	/* Does the job of a fiber, which is idle afterwards. */
	void (*run)(struct sftp_fiber *f, void *ctx);

	/*
	 * Called while no fiber is ready. Waits for something to happen, which
	 * may make some ready. Returns 0 if nothing is to happen any more.
	 */
	int (*wait)(void *ctx);
};

/*
 * Makes the caller the first fiber. Returns NULL where there are no threads.
 * Failures are fatal.
 */
struct sftp_fibers *sftp_fibers_new(const struct sftp_fiber_use *use);

/* Ends the idle fibers and frees all. Only the first one may be in use. */
void	 sftp_fibers_free(struct sftp_fibers *fs);

/*
 * Returns an idle fiber, or a new one, for a job: sftp_fiber_ready() starts it.
 * Returns NULL if there can be no more threads.
 */
struct sftp_fiber *sftp_fiber_get(struct sftp_fibers *fs);

/* Returns the fiber that runs. */
struct sftp_fiber *sftp_fiber_now(const struct sftp_fibers *fs);

/* Lets a fiber run once it is its turn. It must be on no list. */
void	 sftp_fiber_ready(struct sftp_fibers *fs, struct sftp_fiber *f);

/* The same for all on a list, which is empty afterwards. */
void	 sftp_fiber_ready_all(struct sftp_fibers *fs,
	    struct sftp_fiber_list *list);

/*
 * Lets others run. Returns once the caller has been made ready and it is its
 * turn. Fatal if it would wait for ever.
 */
void	 sftp_fiber_yield(struct sftp_fibers *fs);

/* Puts the caller on a list and lets others run, until it is made ready. */
void	 sftp_fiber_wait(struct sftp_fibers *fs, struct sftp_fiber_list *list);

#endif /* SFTP_FIBER_H */
