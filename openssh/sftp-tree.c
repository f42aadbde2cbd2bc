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
#ifdef __GLIBC__
# include <malloc.h>
#endif
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__) || defined(__APPLE__)
# include <pthread.h>
# define HAVE_THREADS	1
#endif

#include "openbsd-compat/sys-queue.h"
#include "openbsd-compat/sys-tree.h"

#include "log.h"
#include "misc.h"
#include "progressmeter.h"
#include "sshbuf.h"
#include "ssherr.h"
#include "xmalloc.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-count.h"
#include "sftp-tree.h"
#include "sftp-poll.h"
#include "sftp-slots.h"
#include "sftp-incomplete.h"
#include "sftp-bottleneck.h"

extern volatile sig_atomic_t interrupted;
extern int showprogress;

static u_int files_max = SFTP_SLOTS_FILES;

#ifdef HAVE_THREADS

/*
 * Bytes. 64 levels of directories, should all share one, take 1 KiB each, and a
 * log message 4 and what the C library needs to format it.
 */
#define STACK_SIZE	(256 * 1024)

/*
 * Bytes of address space for a job's stack and buffers. All jobs together take
 * at most half of RLIMIT_AS.
 */
#define JOB_SIZE	(2 * 1024 * 1024)

/* Bytes: the head of each reply, all that is read of a status, READ's answer */
#define REPLY_HEAD	5
#define REPLY_STATUS	9
#define REPLY_DATA	9

struct message {
	struct sshbuf *m;
	const struct end *from;
	TAILQ_ENTRY(message) entry;
};

/* A job and its thread; or the program's first thread, which has no job. */
struct fiber {
	struct sftp_job job;
	struct sftp_tree *tree;
	struct sftp_jobs *jobs;
	pthread_t thread;
	pthread_cond_t wake;
	int runs;		/* it is this one's turn */
	int blocked;		/* until a reply comes */
	int progress;		/* showprogress, while it runs */
	uint64_t size;		/* bytes, of a file */
	int unsent;		/* its job has requests to send */
	int open;		/* its file is incomplete */
	int torn;		/* number in sftp-incomplete.c, or -1 */
	int holds;		/* it has a file open here */
	int owns;		/* it writes to the file that these two are */
	dev_t dev;
	ino_t ino;
	TAILQ_HEAD(, message) inbox;
	TAILQ_ENTRY(fiber) entry;	/* of ready, waiting, opening or idle */
	TAILQ_ENTRY(fiber) owner;
};

TAILQ_HEAD(fibers, fiber);

/* A request that is under way, and whose it is. */
struct sent {
	u_int id;
	struct fiber *fiber;	/* NULL: nobody's */
	size_t data_max;	/* bytes of data that were asked for */
	RB_ENTRY(sent) entry;
};

RB_HEAD(requests, sent);

/* A connection, or one of two between which jobs copy */
struct end {
	struct sftp_conn *conn;
	int in, out;		/* file descriptors */
	double asked;		/* when the first request was sent, seconds */
	struct requests requests;
};

#define ENDS		2

struct sftp_tree {
	void (*read)(struct sftp_conn *, struct sshbuf *);
	struct end ends[ENDS];
	u_int nends;
	uint64_t rtt_us;	/* the longer one, of the first requests */
	struct sftp_slots room;
	u_int holders;		/* fibers that have a file open here */
	struct sent *last;	/* sent */
	struct fibers ready, idle;
	struct fibers waiting;	/* for another file's job to end */
	struct fibers opening;	/* for another file to be complete */
	TAILQ_HEAD(, fiber) owners;
	struct fiber first, *now;
	pthread_mutex_t lock;	/* held by who runs */
	sigset_t signals;	/* blocked for who runs; others block all */
};

static int
sent_cmp(struct sent *a, struct sent *b)
{
	return a->id < b->id ? -1 : a->id > b->id;
}

RB_GENERATE_STATIC(requests, sent, entry, sent_cmp)

static void
fiber_init(struct fiber *f, struct sftp_tree *tree)
{
	f->tree = tree;
	f->torn = -1;
	TAILQ_INIT(&f->inbox);
	if (pthread_cond_init(&f->wake, NULL) != 0)
		fatal_f("pthread_cond_init failed");
}

/* Wakes the jobs that wait for another to end. */
static void
wake_waiting(struct sftp_tree *tree)
{
	TAILQ_CONCAT(&tree->ready, &tree->waiting, entry);
}

static struct end *
end_of(struct sftp_tree *tree, const struct sftp_conn *conn)
{
	return &tree->ends[tree->ends[0].conn == conn ? 0 : 1];
}

/* How many jobs the round trip is worth */
static void
see_rtt(struct sftp_tree *tree, struct end *e)
{
	if (e->asked == 0)
		return;
	tree->rtt_us = MAXIMUM(tree->rtt_us,
	    (monotime_double() - e->asked) * 1000000);
	sftp_slots_rtt(&tree->room, tree->rtt_us);
	e->asked = 0;
}

/*
 * A reply may wait for its job. It takes no more memory than what was asked
 * for, and of a status nobody reads the text.
 */
static void
check_reply(struct message *msg, const struct sent *sent)
{
	const u_char *p = sshbuf_ptr(msg->m);
	size_t len = sshbuf_len(msg->m);
	struct sshbuf *m;
	int r;

	if (p[0] == SSH2_FXP_DATA && len > REPLY_DATA + sent->data_max)
		fatal("Received more data than asked for %zu > %zu",
		    len - REPLY_DATA, sent->data_max);
	if (p[0] != SSH2_FXP_STATUS || len <= REPLY_STATUS)
		return;
	if ((m = sshbuf_new()) == NULL)
		fatal_f("sshbuf_new failed");
	if ((r = sshbuf_put(m, p, REPLY_STATUS)) != 0)
		fatal_fr(r, "sshbuf_put");
	sshbuf_free(msg->m);
	msg->m = m;
}

/* Reads a message and hands it to whose request it answers. */
static void
deliver_from(struct sftp_tree *tree, struct end *e)
{
	struct message *msg = xcalloc(1, sizeof(*msg));
	struct sent *sent, find;
	struct fiber *f;

	if ((msg->m = sshbuf_new()) == NULL)
		fatal_f("sshbuf_new failed");
	msg->from = e;
	tree->read(e->conn, msg->m);
	if (sshbuf_len(msg->m) < REPLY_HEAD)
		fatal("Received message too short %zu", sshbuf_len(msg->m));
	find.id = PEEK_U32(sshbuf_ptr(msg->m) + 1);
	if ((sent = RB_FIND(requests, &e->requests, &find)) == NULL)
		fatal("Unexpected reply %u", find.id);
	check_reply(msg, sent);
	see_rtt(tree, e);
	f = sent->fiber;
	RB_REMOVE(requests, &e->requests, sent);
	free(sent);
	if (f == NULL) {
		sshbuf_free(msg->m);
		free(msg);
		return;
	}
	TAILQ_INSERT_TAIL(&f->inbox, msg, entry);
	if (f->blocked) {
		f->blocked = 0;
		TAILQ_INSERT_TAIL(&tree->ready, f, entry);
	}
}

/* Waits for a message. Returns 0 if none is to come. */
static int
deliver(struct sftp_tree *tree)
{
	struct pollfd pfd[ENDS];
	u_int i, due = 0;

	for (i = 0; i < tree->nends; i++) {
		pfd[i].fd = tree->ends[i].in;
		pfd[i].events = POLLIN;
		pfd[i].revents = 0;
		if (RB_EMPTY(&tree->ends[i].requests))
			pfd[i].fd = -1;
		else
			due++;
	}
	sftp_bottleneck_now(SFTP_WAITS);
	while (due > 1 && poll(pfd, tree->nends, -1) == -1) {
		if (errno != EINTR)
			fatal_f("poll: %s", strerror(errno));
	}
	sftp_bottleneck_now(SFTP_WORKS);
	for (i = 0; i < tree->nends; i++) {
		if (pfd[i].fd != -1 && (due == 1 || pfd[i].revents != 0)) {
			deliver_from(tree, &tree->ends[i]);
			break;
		}
	}
	return due != 0;
}

/* Lets the next one run that can. It is on no list then. */
static struct fiber *
pass_on(struct sftp_tree *tree)
{
	struct fiber *f;

	while ((f = TAILQ_FIRST(&tree->ready)) == NULL) {
		if (!deliver(tree))
			fatal_f("all wait, and nothing is under way");
	}
	TAILQ_REMOVE(&tree->ready, f, entry);
	tree->now = f;
	showprogress = f->progress;
	f->runs = 1;
	pthread_cond_signal(&f->wake);
	return f;
}

/*
 * Until it is f's turn. Signals are for who runs: a handler that ends the
 * program must not do so beside the code that finds the connection gone.
 */
static void
wait_turn(struct sftp_tree *tree, struct fiber *f)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	while (!f->runs)
		pthread_cond_wait(&f->wake, &tree->lock);
	pthread_sigmask(SIG_SETMASK, &tree->signals, NULL);
}

/* Lets others run until it is f's turn again. */
static void
give_way(struct sftp_tree *tree, struct fiber *f)
{
	f->runs = 0;
	f->progress = showprogress;
	if (pass_on(tree) != f)
		wait_turn(tree, f);
}

/* Until the job of a file has ended */
static void
wait_for_room(struct sftp_tree *tree)
{
	TAILQ_INSERT_TAIL(&tree->waiting, tree->now, entry);
	give_way(tree, tree->now);
}

/* As if its meter had run: a line, in one piece */
static void
say_done(const struct fiber *f)
{
	off_t done = f->size;
	const char *name = strrchr(f->job.src, '/');

	start_progress_meter(sftp_count_label(name == NULL ? f->job.src :
	    name + 1), f->size, &done);
	stop_progress_meter();
}

/* Wakes one job that waits to open a file. */
static void
wake_opening(struct sftp_tree *tree)
{
	struct fiber *f;

	if ((f = TAILQ_FIRST(&tree->opening)) == NULL)
		return;
	TAILQ_REMOVE(&tree->opening, f, entry);
	TAILQ_INSERT_TAIL(&tree->ready, f, entry);
}

/* Another file may be incomplete now. */
static void
close_file(struct sftp_tree *tree, struct fiber *f)
{
	if (!f->open)
		return;
	f->open = 0;
	tree->room.open--;
	wake_opening(tree);
}

/* Wakes the directory that waits for these jobs. */
static void
wake_parent(struct sftp_tree *tree, struct sftp_jobs *jobs)
{
	if (jobs->waits != NULL)
		TAILQ_INSERT_TAIL(&tree->ready, jobs->waits, entry);
	jobs->waits = NULL;
}

/* The job sends no more requests. */
static void
job_sent(struct sftp_tree *tree, struct fiber *f)
{
	if (!f->unsent)
		return;
	f->unsent = 0;
	if (--f->jobs->unsent == 0)
		wake_parent(tree, f->jobs);
}

/* A file has been copied, or has failed: what its job held is free again. */
static void
file_ends(struct sftp_tree *tree, struct fiber *f, int failed)
{
	/* Otherwise an error has named it. */
	if (failed && f->open && interrupted)
		sftp_incomplete_say(f->torn);
	close_file(tree, f);
	sftp_incomplete_end(f->torn);
	f->torn = -1;
	if (f->owns)
		TAILQ_REMOVE(&tree->owners, f, owner);
	tree->holders -= f->holds;
	f->owns = f->holds = 0;
	wake_waiting(tree);
}

static void
run_job(struct sftp_tree *tree, struct fiber *f)
{
	int progress = showprogress, r;

	/* There is one meter, and others are at work: say it at the end. */
	if (f->job.depth == 0)
		showprogress = 0;
	r = f->job.run(&f->job);
	if (f->job.depth == 0)
		sftp_count_next();
	if (r != 0)
		f->jobs->failed = 1;
	else if (progress && f->job.depth == 0 && f->size != 0)
		say_done(f);
	sftp_slots_end(&tree->room, f->job.depth != 0, f->size);
	if (f->job.depth == 0)
		file_ends(tree, f, r != 0);
	job_sent(tree, f);
	if (--f->jobs->running == 0)
		wake_parent(tree, f->jobs);
	free(f->job.src);
	free(f->job.dst);
}

static void *
fiber_main(void *arg)
{
	struct fiber *f = arg;
	struct sftp_tree *tree = f->tree;

	pthread_mutex_lock(&tree->lock);
	wait_turn(tree, f);
	while (f->job.run != NULL) {
		run_job(tree, f);
		TAILQ_INSERT_TAIL(&tree->idle, f, entry);
		give_way(tree, f);
	}
	pthread_mutex_unlock(&tree->lock);
	return NULL;
}

/* Returns NULL when there can be no more threads. */
static struct fiber *
fiber_new(struct sftp_tree *tree)
{
	struct fiber *f = calloc(1, sizeof(*f));
	pthread_attr_t attr;
	sigset_t all;
	int r;

	if (f == NULL)
		return NULL;
	fiber_init(f, tree);
	/* It starts with them blocked, until its turn. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	if ((r = pthread_attr_init(&attr)) == 0) {
		(void)pthread_attr_setstacksize(&attr, STACK_SIZE);
		r = pthread_create(&f->thread, &attr, fiber_main, f);
		pthread_attr_destroy(&attr);
	}
	pthread_sigmask(SIG_SETMASK, &tree->signals, NULL);
	if (r != 0) {
		debug_f("pthread_create: %s", strerror(r));
		pthread_cond_destroy(&f->wake);
		free(f);
		return NULL;
	}
	return f;
}

/* It gets no job, and ends. */
static void
fiber_free(struct sftp_tree *tree, struct fiber *f)
{
	f->job.run = NULL;
	f->runs = 1;
	pthread_cond_signal(&f->wake);
	pthread_mutex_unlock(&tree->lock);
	pthread_join(f->thread, NULL);
	pthread_mutex_lock(&tree->lock);
	pthread_cond_destroy(&f->wake);
	free(f);
}

void
sftp_tree_add(struct sftp_tree *tree, u_int handles, struct sftp_conn *conn,
    int in, int out)
{
	struct end *e;

	if (tree == NULL)
		return;
	if (tree->nends == ENDS)
		fatal_f("more than %d connections", ENDS);
	e = &tree->ends[tree->nends++];
	e->conn = conn;
	e->in = in;
	e->out = out;
	e->asked = monotime_double();
	RB_INIT(&e->requests);
	sftp_slots_limit(&tree->room, handles);
}

static struct sftp_tree *
tree_new(u_int handles, void (*read)(struct sftp_conn *, struct sshbuf *),
    struct sftp_conn *conn, int in, int out)
{
	struct sftp_tree *tree;
	struct sftp_slots room;
	struct rlimit rl;

	sftp_slots_init(&room, files_max);
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0)
		sftp_slots_limit(&room, rl.rlim_cur);
#ifdef RLIMIT_AS
	if (getrlimit(RLIMIT_AS, &rl) == 0)
		sftp_slots_limit(&room, rl.rlim_cur / JOB_SIZE);
#endif
	sftp_slots_limit(&room, handles);
	if (!sftp_slots_parallel(&room))
		return NULL;
#ifdef __GLIBC__
	/* One thread runs at a time; an arena each is 64 MiB of addresses. */
	(void)mallopt(M_ARENA_MAX, 1);
#endif
	tree = xcalloc(1, sizeof(*tree));
	tree->read = read;
	tree->room = room;
	sftp_tree_add(tree, handles, conn, in, out);
	TAILQ_INIT(&tree->ready);
	TAILQ_INIT(&tree->waiting);
	TAILQ_INIT(&tree->opening);
	TAILQ_INIT(&tree->idle);
	TAILQ_INIT(&tree->owners);
	fiber_init(&tree->first, tree);
	tree->now = &tree->first;
	if (pthread_mutex_init(&tree->lock, NULL) != 0)
		fatal_f("pthread_mutex_init failed");
	pthread_mutex_lock(&tree->lock);
	pthread_sigmask(SIG_SETMASK, NULL, &tree->signals);
	return tree;
}

static void
tree_free(struct sftp_tree *tree)
{
	struct fiber *f;

	if (tree == NULL)
		return;
	while (deliver(tree))
		;
	while ((f = TAILQ_FIRST(&tree->idle)) != NULL) {
		TAILQ_REMOVE(&tree->idle, f, entry);
		fiber_free(tree, f);
	}
	pthread_mutex_unlock(&tree->lock);
	pthread_mutex_destroy(&tree->lock);
	pthread_cond_destroy(&tree->first.wake);
	free(tree);
}

/* In the caller's thread; a large file with nothing in parallel. */
static int
run_here(struct sftp_tree *tree, struct sftp_job *job)
{
	int r;

	if (job->depth != 0)
		return job->run(job);
	while (tree != NULL && (tree->room.alone || tree->room.files != 0))
		wait_for_room(tree);
	sftp_count_next();
	if (tree == NULL)
		return job->run(job);
	tree->room.alone = 1;
	r = job->run(job);
	tree->room.alone = 0;
	file_ends(tree, tree->now, r != 0);
	return r;
}

/*
 * Returns a fiber for the job, or NULL if it has to be run in the caller's.
 * Waits while there is no room, or no thread to be had.
 */
static struct fiber *
fiber_for(struct sftp_tree *tree, int dir, uint64_t size)
{
	enum sftp_place place;
	struct fiber *f;

	for (;;) {
		if (dir && !sftp_slots_dir(&tree->room))
			return NULL;
		while (!dir && (place = sftp_slots_file(&tree->room, size)) !=
		    SFTP_PLACE_HERE) {
			if (place == SFTP_PLACE_ALONE)
				return NULL;
			wait_for_room(tree);
		}
		if ((f = TAILQ_FIRST(&tree->idle)) != NULL) {
			TAILQ_REMOVE(&tree->idle, f, entry);
			return f;
		}
		if ((f = fiber_new(tree)) != NULL)
			return f;
		sftp_slots_full(&tree->room);
		if (dir || tree->room.files == 0)
			return NULL;
		wait_for_room(tree);
	}
}

/* Returns 0 once the job has a thread of its own. */
static int
run_parallel(struct sftp_tree *tree, struct sftp_jobs *jobs,
    const struct sftp_job *job)
{
	struct fiber *f;
	uint64_t size = job->depth == 0 ? job->a.size : 0;

	if (tree == NULL)
		return -1;
	/* A file of unknown size may be large. */
	if (job->depth == 0 && (job->a.flags & SSH2_FILEXFER_ATTR_SIZE) == 0)
		return -1;
	if ((f = fiber_for(tree, job->depth != 0, size)) == NULL)
		return -1;
	f->job = *job;
	f->jobs = jobs;
	f->size = size;
	f->progress = showprogress;
	TAILQ_INSERT_TAIL(&tree->ready, f, entry);
	jobs->running++;
	jobs->unsent++;
	f->unsent = 1;
	sftp_slots_begin(&tree->room, job->depth != 0, size);
	return 0;
}

/* Bytes of data that the request asks for: the last number of a READ */
static size_t
data_of(const struct sshbuf *m)
{
	const u_char *p = sshbuf_ptr(m);

	if (p[0] != SSH2_FXP_READ || sshbuf_len(m) < REPLY_HEAD + 4)
		return 0;
	return PEEK_U32(p + sshbuf_len(m) - 4);
}

void
sftp_tree_sending(struct sftp_tree *tree, const struct sftp_conn *conn,
    const struct sshbuf *m)
{
	struct sent *sent;
	struct end *e;

	if (tree == NULL)
		return;
	e = end_of(tree, conn);
	if (sshbuf_len(m) < REPLY_HEAD)
		fatal_f("message of %zu bytes", sshbuf_len(m));
	/* The server may take no more until its replies are read. */
	sftp_bottleneck_now(SFTP_WAITS);
	while (!RB_EMPTY(&e->requests) && sftp_poll_either(e->in, e->out)) {
		deliver_from(tree, e);
		sftp_bottleneck_now(SFTP_WAITS);
	}
	sftp_bottleneck_now(SFTP_WORKS);
	sent = xcalloc(1, sizeof(*sent));
	sent->id = PEEK_U32(sshbuf_ptr(m) + 1);
	sent->fiber = tree->now;
	sent->data_max = data_of(m);
	if (RB_INSERT(requests, &e->requests, sent) != NULL)
		fatal_f("request %u is under way already", sent->id);
	tree->last = sent;
}

void
sftp_tree_forget(struct sftp_tree *tree)
{
	tree->last->fiber = NULL;
}

void
sftp_tree_get(struct sftp_tree *tree, const struct sftp_conn *conn,
    struct sshbuf *m)
{
	struct fiber *f = tree->now;
	const struct end *e = end_of(tree, conn);
	struct message *msg;
	int r;

	for (;;) {
		TAILQ_FOREACH(msg, &f->inbox, entry) {
			if (msg->from == e)
				break;
		}
		if (msg != NULL)
			break;
		f->blocked = 1;
		give_way(tree, f);
	}
	TAILQ_REMOVE(&f->inbox, msg, entry);
	sshbuf_reset(m);
	if ((r = sshbuf_putb(m, msg->m)) != 0)
		fatal_fr(r, "sshbuf_putb");
	sshbuf_free(msg->m);
	free(msg);
}

int
sftp_tree_ready(const struct sftp_tree *tree, const struct sftp_conn *conn)
{
	const struct message *msg;

	TAILQ_FOREACH(msg, &tree->now->inbox, entry) {
		if (msg->from->conn == conn)
			return 1;
	}
	return 0;
}

void
sftp_tree_expect(struct sftp_tree *tree, u_int n)
{
	struct fiber *f = tree->now;
	struct message *msg;
	u_int have;

	for (;;) {
		have = 0;
		TAILQ_FOREACH(msg, &f->inbox, entry)
			have++;
		if (have >= n)
			return;
		f->blocked = 1;
		give_way(tree, f);
	}
}

void
sftp_tree_drop(struct sftp_tree *tree)
{
	struct message *msg, *next;

	if (tree == NULL)
		return;
	TAILQ_FOREACH_SAFE(msg, &tree->now->inbox, entry, next) {
		sshbuf_free(msg->m);
		free(msg);
	}
	TAILQ_INIT(&tree->now->inbox);
}

int
sftp_tree_begin(struct sftp_tree *tree, const char *path)
{
	if (tree == NULL)
		return 0;
	while (!sftp_slots_open(&tree->room) && !interrupted) {
		TAILQ_INSERT_TAIL(&tree->opening, tree->now, entry);
		give_way(tree, tree->now);
	}
	if (interrupted) {
		wake_opening(tree);
		return -1;
	}
	tree->room.open++;
	tree->now->open = 1;
	tree->now->torn = sftp_incomplete_begin(path);
	return 0;
}

void
sftp_tree_complete(struct sftp_tree *tree)
{
	if (tree == NULL)
		return;
	sftp_incomplete_sent(tree->now->torn);
	close_file(tree, tree->now);
	/* A file in a directory's thread is not the whole of its job. */
	if (tree->now->job.depth == 0)
		job_sent(tree, tree->now);
}

/*
 * There were no descriptors. Waits for another job that has some to end.
 * Returns 0 if there is none.
 */
static int
wait_for_descriptors(struct sftp_tree *tree)
{
	int save_errno = errno;

	if ((errno != EMFILE && errno != ENFILE) || tree == NULL ||
	    tree->holders <= (u_int)tree->now->holds)
		return 0;
	sftp_slots_full(&tree->room);
	wait_for_room(tree);
	errno = save_errno;
	return 1;
}

int
sftp_tree_open(struct sftp_tree *tree, const char *path, int flags,
    mode_t mode)
{
	int fd;

	do {
		fd = open(path, flags, mode);
	} while (fd == -1 && wait_for_descriptors(tree));
	if (fd != -1 && tree != NULL && !tree->now->holds) {
		tree->now->holds = 1;
		tree->holders++;
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

/* Whether a job writes to that file */
static int
owned(struct sftp_tree *tree, const struct stat *st)
{
	struct fiber *f;

	TAILQ_FOREACH(f, &tree->owners, owner) {
		if (f->dev == st->st_dev && f->ino == st->st_ino)
			return 1;
	}
	return 0;
}

void
sftp_tree_own(struct sftp_tree *tree, int fd)
{
	struct fiber *f;
	struct stat st;

	if (tree == NULL || fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
		return;
	while (owned(tree, &st))
		wait_for_room(tree);
	f = tree->now;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->owns = 1;
	TAILQ_INSERT_TAIL(&tree->owners, f, owner);
}

int
sftp_tree_wait(struct sftp_tree *tree, struct sftp_jobs *jobs)
{
	while (jobs->running != 0) {
		jobs->waits = tree->now;
		give_way(tree, tree->now);
	}
	return jobs->failed ? -1 : 0;
}

void
sftp_tree_wait_sent(struct sftp_tree *tree, struct sftp_jobs *jobs)
{
	while (jobs->unsent != 0) {
		jobs->waits = tree->now;
		give_way(tree, tree->now);
	}
}

void
sftp_tree_dir_sent(struct sftp_tree *tree, int depth)
{
	/* One in another directory's thread is not the whole of its job. */
	if (tree != NULL && depth != 0 && tree->now->job.depth == depth)
		job_sent(tree, tree->now);
}

#else	/* HAVE_THREADS */

static int
run_parallel(struct sftp_tree *tree, struct sftp_jobs *jobs,
    const struct sftp_job *job)
{
	return -1;
}

static int
run_here(struct sftp_tree *tree, struct sftp_job *job)
{
	if (job->depth == 0)
		sftp_count_next();
	return job->run(job);
}

static struct sftp_tree *
tree_new(u_int handles, void (*read)(struct sftp_conn *, struct sshbuf *),
    struct sftp_conn *conn, int in, int out)
{
	return NULL;
}

static void
tree_free(struct sftp_tree *tree)
{
}

void
sftp_tree_add(struct sftp_tree *tree, u_int handles, struct sftp_conn *conn,
    int in, int out)
{
}

void
sftp_tree_sending(struct sftp_tree *tree, const struct sftp_conn *conn,
    const struct sshbuf *m)
{
}

void
sftp_tree_forget(struct sftp_tree *tree)
{
}

void
sftp_tree_get(struct sftp_tree *tree, const struct sftp_conn *conn,
    struct sshbuf *m)
{
}

int
sftp_tree_ready(const struct sftp_tree *tree, const struct sftp_conn *conn)
{
	return 0;
}

void
sftp_tree_expect(struct sftp_tree *tree, u_int n)
{
}

void
sftp_tree_drop(struct sftp_tree *tree)
{
}

int
sftp_tree_begin(struct sftp_tree *tree, const char *path)
{
	return 0;
}

void
sftp_tree_complete(struct sftp_tree *tree)
{
}

int
sftp_tree_open(struct sftp_tree *tree, const char *path, int flags,
    mode_t mode)
{
	return open(path, flags, mode);
}

DIR *
sftp_tree_opendir(struct sftp_tree *tree, const char *path)
{
	return opendir(path);
}

void
sftp_tree_own(struct sftp_tree *tree, int fd)
{
}

int
sftp_tree_wait(struct sftp_tree *tree, struct sftp_jobs *jobs)
{
	return jobs->failed ? -1 : 0;
}

void
sftp_tree_wait_sent(struct sftp_tree *tree, struct sftp_jobs *jobs)
{
}

void
sftp_tree_dir_sent(struct sftp_tree *tree, int depth)
{
}

#endif	/* HAVE_THREADS */

void
sftp_tree_files(u_int files)
{
	files_max = files;
}

struct sftp_tree *
sftp_tree_new(u_int handles, void (*read)(struct sftp_conn *, struct sshbuf *),
    struct sftp_conn *conn, int in, int out)
{
	sftp_bottleneck_begin();
	sftp_count_start();
	return tree_new(handles, read, conn, in, out);
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
	if (run_parallel(tree, jobs, &job) == 0)
		return;
	if (run_here(tree, &job) != 0)
		jobs->failed = 1;
	free(job.src);
	free(job.dst);
}
