/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#ifdef __GLIBC__
# include <malloc.h>
#endif
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__) || defined(__APPLE__)
# include <pthread.h>
# define HAVE_THREADS	1
#endif

#include "log.h"
#include "xmalloc.h"
#include "sftp-fiber.h"

#ifdef HAVE_THREADS

/*
 * Bytes of a fiber's stack. It has to hold 64 nested directories of 1 KiB each,
 * a log message of 4 KiB, and what the C library needs to format that message.
 */
#define STACK_SIZE	(256 * 1024)

struct sftp_thread {
	pthread_t thread;
	pthread_cond_t wake;
	struct sftp_fibers *fibers;
	int stop;		/* 1: it ends instead of running a job */
};

struct sftp_fibers {
	struct sftp_fiber_config config;
	struct sftp_fiber_list ready, idle;
	struct sftp_fiber *first;	/* the program's first thread */
	struct sftp_fiber *current;	/* the one that runs */
	pthread_mutex_t lock;	/* held by the fiber that runs */
	sigset_t signals;	/* blocked for it; the others block all */
};

/* Returns a fiber without a thread, or NULL if memory is short. */
static struct sftp_fiber *
fiber_alloc(struct sftp_fibers *fs)
{
	struct sftp_thread *t;
	struct sftp_fiber *f;

	if ((f = calloc(1, fs->config.size)) == NULL)
		return NULL;
	if ((t = calloc(1, sizeof(*t))) == NULL) {
		free(f);
		return NULL;
	}
	if (pthread_cond_init(&t->wake, NULL) != 0)
		fatal_f("pthread_cond_init failed");
	t->fibers = fs;
	f->thread = t;
	fs->config.init(f, fs->config.ctx);
	return f;
}

static void
fiber_free(struct sftp_fiber *f)
{
	pthread_cond_destroy(&f->thread->wake);
	free(f->thread);
	free(f);
}

/* Makes the next ready fiber the one that runs, and returns it. */
static struct sftp_fiber *
run_next(struct sftp_fibers *fs)
{
	struct sftp_fiber *f;

	while ((f = TAILQ_FIRST(&fs->ready)) == NULL) {
		if (!fs->config.wait(fs->config.ctx))
			fatal_f("all fibers wait, and no event can come");
	}
	TAILQ_REMOVE(&fs->ready, f, entry);
	fs->current = f;
	*fs->config.local = f->local;
	f->running = 1;
	pthread_cond_signal(&f->thread->wake);
	return f;
}

/*
 * Waits for the turn of f. Only the fiber that runs takes signals: a handler
 * that exits must not run in one thread while another one handles a lost
 * connection.
 */
static void
wait_turn(struct sftp_fibers *fs, struct sftp_fiber *f)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	while (!f->running)
		pthread_cond_wait(&f->thread->wake, &fs->lock);
	pthread_sigmask(SIG_SETMASK, &fs->signals, NULL);
}

void
sftp_fiber_yield(struct sftp_fibers *fs)
{
	struct sftp_fiber *f = fs->current;

	f->running = 0;
	f->local = *fs->config.local;
	if (run_next(fs) != f)
		wait_turn(fs, f);
}

static void *
fiber_main(void *arg)
{
	struct sftp_fiber *f = arg;
	struct sftp_fibers *fs = f->thread->fibers;

	pthread_mutex_lock(&fs->lock);
	wait_turn(fs, f);
	while (!f->thread->stop) {
		fs->config.run(f, fs->config.ctx);
		sftp_fiber_wait(fs, &fs->idle);
	}
	pthread_mutex_unlock(&fs->lock);
	return NULL;
}

/* Returns a fiber with a thread of its own, or NULL if there can be none. */
static struct sftp_fiber *
fiber_new(struct sftp_fibers *fs)
{
	struct sftp_fiber *f;
	pthread_attr_t attr;
	sigset_t all;
	int r;

	if ((f = fiber_alloc(fs)) == NULL)
		return NULL;
	/* The new thread inherits this mask and keeps it until its turn. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	if ((r = pthread_attr_init(&attr)) == 0) {
		(void)pthread_attr_setstacksize(&attr, STACK_SIZE);
		r = pthread_create(&f->thread->thread, &attr, fiber_main, f);
		pthread_attr_destroy(&attr);
	}
	pthread_sigmask(SIG_SETMASK, &fs->signals, NULL);
	if (r != 0) {
		debug_f("pthread_create: %s", strerror(r));
		fiber_free(f);
		return NULL;
	}
	return f;
}

/* Ends an idle fiber. */
static void
fiber_end(struct sftp_fibers *fs, struct sftp_fiber *f)
{
	f->thread->stop = 1;
	f->running = 1;
	pthread_cond_signal(&f->thread->wake);
	pthread_mutex_unlock(&fs->lock);
	pthread_join(f->thread->thread, NULL);
	pthread_mutex_lock(&fs->lock);
	fiber_free(f);
}

struct sftp_fibers *
sftp_fibers_new(const struct sftp_fiber_config *config)
{
	struct sftp_fibers *fs = xcalloc(1, sizeof(*fs));

#ifdef __GLIBC__
	/* One arena is enough. Each thread's own takes 64 MiB of addresses. */
	(void)mallopt(M_ARENA_MAX, 1);
#endif
	fs->config = *config;
	TAILQ_INIT(&fs->ready);
	TAILQ_INIT(&fs->idle);
	if ((fs->first = fiber_alloc(fs)) == NULL)
		fatal_f("out of memory");
	fs->current = fs->first;
	if (pthread_mutex_init(&fs->lock, NULL) != 0)
		fatal_f("pthread_mutex_init failed");
	pthread_mutex_lock(&fs->lock);
	pthread_sigmask(SIG_SETMASK, NULL, &fs->signals);
	return fs;
}

void
sftp_fibers_free(struct sftp_fibers *fs)
{
	struct sftp_fiber *f;

	while ((f = TAILQ_FIRST(&fs->idle)) != NULL) {
		TAILQ_REMOVE(&fs->idle, f, entry);
		fiber_end(fs, f);
	}
	pthread_mutex_unlock(&fs->lock);
	pthread_mutex_destroy(&fs->lock);
	fiber_free(fs->first);
	free(fs);
}

struct sftp_fiber *
sftp_fiber_get(struct sftp_fibers *fs)
{
	struct sftp_fiber *f;

	if ((f = TAILQ_FIRST(&fs->idle)) != NULL)
		TAILQ_REMOVE(&fs->idle, f, entry);
	else if ((f = fiber_new(fs)) == NULL)
		return NULL;
	f->local = *fs->config.local;
	return f;
}

struct sftp_fiber *
sftp_fiber_current(const struct sftp_fibers *fs)
{
	return fs->current;
}

void
sftp_fiber_ready(struct sftp_fibers *fs, struct sftp_fiber *f)
{
	TAILQ_INSERT_TAIL(&fs->ready, f, entry);
}

void
sftp_fiber_ready_all(struct sftp_fibers *fs, struct sftp_fiber_list *list)
{
	TAILQ_CONCAT(&fs->ready, list, entry);
}

void
sftp_fiber_wait(struct sftp_fibers *fs, struct sftp_fiber_list *list)
{
	TAILQ_INSERT_TAIL(list, fs->current, entry);
	sftp_fiber_yield(fs);
}

void
sftp_fiber_wait_first(struct sftp_fibers *fs, struct sftp_fiber_list *list)
{
	TAILQ_INSERT_HEAD(list, fs->current, entry);
	sftp_fiber_yield(fs);
}

#else	/* HAVE_THREADS */

struct sftp_fibers *
sftp_fibers_new(const struct sftp_fiber_config *config)
{
	return NULL;
}

void
sftp_fibers_free(struct sftp_fibers *fs)
{
}

struct sftp_fiber *
sftp_fiber_get(struct sftp_fibers *fs)
{
	return NULL;
}

struct sftp_fiber *
sftp_fiber_current(const struct sftp_fibers *fs)
{
	return NULL;
}

void
sftp_fiber_ready(struct sftp_fibers *fs, struct sftp_fiber *f)
{
}

void
sftp_fiber_ready_all(struct sftp_fibers *fs, struct sftp_fiber_list *list)
{
}

void
sftp_fiber_yield(struct sftp_fibers *fs)
{
}

void
sftp_fiber_wait(struct sftp_fibers *fs, struct sftp_fiber_list *list)
{
}

void
sftp_fiber_wait_first(struct sftp_fibers *fs, struct sftp_fiber_list *list)
{
}

#endif	/* HAVE_THREADS */
