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
#include "sftp-many.h"
#include "sftp-reply.h"
#include "sftp-room.h"
#include "sftp-torn.h"
#include "sftp-watch.h"

extern volatile sig_atomic_t interrupted;
extern int showprogress;

static u_int files_max = SFTP_ROOM_FILES;

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
	struct sftp_many *many;
	struct sftp_jobs *jobs;
	pthread_t thread;
	pthread_cond_t wake;
	int runs;		/* it is this one's turn */
	int blocked;		/* until a reply comes */
	int progress;		/* showprogress, while it runs */
	uint64_t size;		/* bytes, of a file */
	int unsent;		/* its job has requests to send */
	int open;		/* its file is incomplete */
	int torn;		/* number in sftp-torn.c, or -1 */
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

struct sftp_many {
	void (*read)(struct sftp_conn *, struct sshbuf *);
	struct end ends[ENDS];
	u_int nends;
	uint64_t rtt_us;	/* the longer one, of the first requests */
	struct sftp_room room;
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
fiber_init(struct fiber *f, struct sftp_many *many)
{
	f->many = many;
	f->torn = -1;
	TAILQ_INIT(&f->inbox);
	if (pthread_cond_init(&f->wake, NULL) != 0)
		fatal_f("pthread_cond_init failed");
}

/* Wakes the jobs that wait for another to end. */
static void
wake_waiting(struct sftp_many *many)
{
	TAILQ_CONCAT(&many->ready, &many->waiting, entry);
}

static struct end *
end_of(struct sftp_many *many, const struct sftp_conn *conn)
{
	return &many->ends[many->ends[0].conn == conn ? 0 : 1];
}

/* How many jobs the round trip is worth */
static void
see_rtt(struct sftp_many *many, struct end *e)
{
	if (e->asked == 0)
		return;
	many->rtt_us = MAXIMUM(many->rtt_us,
	    (monotime_double() - e->asked) * 1000000);
	sftp_room_rtt(&many->room, many->rtt_us);
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
deliver_from(struct sftp_many *many, struct end *e)
{
	struct message *msg = xcalloc(1, sizeof(*msg));
	struct sent *sent, find;
	struct fiber *f;

	if ((msg->m = sshbuf_new()) == NULL)
		fatal_f("sshbuf_new failed");
	msg->from = e;
	many->read(e->conn, msg->m);
	if (sshbuf_len(msg->m) < REPLY_HEAD)
		fatal("Received message too short %zu", sshbuf_len(msg->m));
	find.id = PEEK_U32(sshbuf_ptr(msg->m) + 1);
	if ((sent = RB_FIND(requests, &e->requests, &find)) == NULL)
		fatal("Unexpected reply %u", find.id);
	check_reply(msg, sent);
	see_rtt(many, e);
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
		TAILQ_INSERT_TAIL(&many->ready, f, entry);
	}
}

/* Waits for a message. Returns 0 if none is to come. */
static int
deliver(struct sftp_many *many)
{
	struct pollfd pfd[ENDS];
	u_int i, due = 0;

	for (i = 0; i < many->nends; i++) {
		pfd[i].fd = many->ends[i].in;
		pfd[i].events = POLLIN;
		pfd[i].revents = 0;
		if (RB_EMPTY(&many->ends[i].requests))
			pfd[i].fd = -1;
		else
			due++;
	}
	sftp_watch(SFTP_WAITS);
	while (due > 1 && poll(pfd, many->nends, -1) == -1) {
		if (errno != EINTR)
			fatal_f("poll: %s", strerror(errno));
	}
	sftp_watch(SFTP_WORKS);
	for (i = 0; i < many->nends; i++) {
		if (pfd[i].fd != -1 && (due == 1 || pfd[i].revents != 0)) {
			deliver_from(many, &many->ends[i]);
			break;
		}
	}
	return due != 0;
}

/* Lets the next one run that can. It is on no list then. */
static struct fiber *
pass_on(struct sftp_many *many)
{
	struct fiber *f;

	while ((f = TAILQ_FIRST(&many->ready)) == NULL) {
		if (!deliver(many))
			fatal_f("all wait, and nothing is under way");
	}
	TAILQ_REMOVE(&many->ready, f, entry);
	many->now = f;
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
wait_turn(struct sftp_many *many, struct fiber *f)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	while (!f->runs)
		pthread_cond_wait(&f->wake, &many->lock);
	pthread_sigmask(SIG_SETMASK, &many->signals, NULL);
}

/* Lets others run until it is f's turn again. */
static void
give_way(struct sftp_many *many, struct fiber *f)
{
	f->runs = 0;
	f->progress = showprogress;
	if (pass_on(many) != f)
		wait_turn(many, f);
}

/* Until the job of a file has ended */
static void
wait_for_room(struct sftp_many *many)
{
	TAILQ_INSERT_TAIL(&many->waiting, many->now, entry);
	give_way(many, many->now);
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
wake_opening(struct sftp_many *many)
{
	struct fiber *f;

	if ((f = TAILQ_FIRST(&many->opening)) == NULL)
		return;
	TAILQ_REMOVE(&many->opening, f, entry);
	TAILQ_INSERT_TAIL(&many->ready, f, entry);
}

/* Another file may be incomplete now. */
static void
close_file(struct sftp_many *many, struct fiber *f)
{
	if (!f->open)
		return;
	f->open = 0;
	many->room.open--;
	wake_opening(many);
}

/* Wakes the directory that waits for these jobs. */
static void
wake_parent(struct sftp_many *many, struct sftp_jobs *jobs)
{
	if (jobs->waits != NULL)
		TAILQ_INSERT_TAIL(&many->ready, jobs->waits, entry);
	jobs->waits = NULL;
}

/* The job sends no more requests. */
static void
job_sent(struct sftp_many *many, struct fiber *f)
{
	if (!f->unsent)
		return;
	f->unsent = 0;
	if (--f->jobs->unsent == 0)
		wake_parent(many, f->jobs);
}

/* A file has been copied, or has failed: what its job held is free again. */
static void
file_ends(struct sftp_many *many, struct fiber *f, int failed)
{
	/* Otherwise an error has named it. */
	if (failed && f->open && interrupted)
		sftp_torn_say(f->torn);
	close_file(many, f);
	sftp_torn_end(f->torn);
	f->torn = -1;
	if (f->owns)
		TAILQ_REMOVE(&many->owners, f, owner);
	many->holders -= f->holds;
	f->owns = f->holds = 0;
	wake_waiting(many);
}

static void
run_job(struct sftp_many *many, struct fiber *f)
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
	sftp_room_end(&many->room, f->job.depth != 0, f->size);
	if (f->job.depth == 0)
		file_ends(many, f, r != 0);
	job_sent(many, f);
	if (--f->jobs->running == 0)
		wake_parent(many, f->jobs);
	free(f->job.src);
	free(f->job.dst);
}

static void *
fiber_main(void *arg)
{
	struct fiber *f = arg;
	struct sftp_many *many = f->many;

	pthread_mutex_lock(&many->lock);
	wait_turn(many, f);
	while (f->job.run != NULL) {
		run_job(many, f);
		TAILQ_INSERT_TAIL(&many->idle, f, entry);
		give_way(many, f);
	}
	pthread_mutex_unlock(&many->lock);
	return NULL;
}

/* Returns NULL when there can be no more threads. */
static struct fiber *
fiber_new(struct sftp_many *many)
{
	struct fiber *f = calloc(1, sizeof(*f));
	pthread_attr_t attr;
	sigset_t all;
	int r;

	if (f == NULL)
		return NULL;
	fiber_init(f, many);
	/* It starts with them blocked, until its turn. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	if ((r = pthread_attr_init(&attr)) == 0) {
		(void)pthread_attr_setstacksize(&attr, STACK_SIZE);
		r = pthread_create(&f->thread, &attr, fiber_main, f);
		pthread_attr_destroy(&attr);
	}
	pthread_sigmask(SIG_SETMASK, &many->signals, NULL);
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
fiber_free(struct sftp_many *many, struct fiber *f)
{
	f->job.run = NULL;
	f->runs = 1;
	pthread_cond_signal(&f->wake);
	pthread_mutex_unlock(&many->lock);
	pthread_join(f->thread, NULL);
	pthread_mutex_lock(&many->lock);
	pthread_cond_destroy(&f->wake);
	free(f);
}

void
sftp_many_add(struct sftp_many *many, u_int handles, struct sftp_conn *conn,
    int in, int out)
{
	struct end *e;

	if (many == NULL)
		return;
	if (many->nends == ENDS)
		fatal_f("more than %d connections", ENDS);
	e = &many->ends[many->nends++];
	e->conn = conn;
	e->in = in;
	e->out = out;
	e->asked = monotime_double();
	RB_INIT(&e->requests);
	sftp_room_limit(&many->room, handles);
}

static struct sftp_many *
many_new(u_int handles, void (*read)(struct sftp_conn *, struct sshbuf *),
    struct sftp_conn *conn, int in, int out)
{
	struct sftp_many *many;
	struct sftp_room room;
	struct rlimit rl;

	sftp_room_init(&room, files_max);
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0)
		sftp_room_limit(&room, rl.rlim_cur);
#ifdef RLIMIT_AS
	if (getrlimit(RLIMIT_AS, &rl) == 0)
		sftp_room_limit(&room, rl.rlim_cur / JOB_SIZE);
#endif
	sftp_room_limit(&room, handles);
	if (!sftp_room_parallel(&room))
		return NULL;
#ifdef __GLIBC__
	/* One thread runs at a time; an arena each is 64 MiB of addresses. */
	(void)mallopt(M_ARENA_MAX, 1);
#endif
	many = xcalloc(1, sizeof(*many));
	many->read = read;
	many->room = room;
	sftp_many_add(many, handles, conn, in, out);
	TAILQ_INIT(&many->ready);
	TAILQ_INIT(&many->waiting);
	TAILQ_INIT(&many->opening);
	TAILQ_INIT(&many->idle);
	TAILQ_INIT(&many->owners);
	fiber_init(&many->first, many);
	many->now = &many->first;
	if (pthread_mutex_init(&many->lock, NULL) != 0)
		fatal_f("pthread_mutex_init failed");
	pthread_mutex_lock(&many->lock);
	pthread_sigmask(SIG_SETMASK, NULL, &many->signals);
	return many;
}

static void
many_free(struct sftp_many *many)
{
	struct fiber *f;

	if (many == NULL)
		return;
	while (deliver(many))
		;
	while ((f = TAILQ_FIRST(&many->idle)) != NULL) {
		TAILQ_REMOVE(&many->idle, f, entry);
		fiber_free(many, f);
	}
	pthread_mutex_unlock(&many->lock);
	pthread_mutex_destroy(&many->lock);
	pthread_cond_destroy(&many->first.wake);
	free(many);
}

/* In the caller's thread; a large file with nothing in parallel. */
static int
run_here(struct sftp_many *many, struct sftp_job *job)
{
	int r;

	if (job->depth != 0)
		return job->run(job);
	while (many != NULL && (many->room.alone || many->room.files != 0))
		wait_for_room(many);
	sftp_count_next();
	if (many == NULL)
		return job->run(job);
	many->room.alone = 1;
	r = job->run(job);
	many->room.alone = 0;
	file_ends(many, many->now, r != 0);
	return r;
}

/*
 * Returns a fiber for the job, or NULL if it has to be run in the caller's.
 * Waits while there is no room, or no thread to be had.
 */
static struct fiber *
fiber_for(struct sftp_many *many, int dir, uint64_t size)
{
	enum sftp_place place;
	struct fiber *f;

	for (;;) {
		if (dir && !sftp_room_dir(&many->room))
			return NULL;
		while (!dir && (place = sftp_room_file(&many->room, size)) !=
		    SFTP_PLACE_HERE) {
			if (place == SFTP_PLACE_ALONE)
				return NULL;
			wait_for_room(many);
		}
		if ((f = TAILQ_FIRST(&many->idle)) != NULL) {
			TAILQ_REMOVE(&many->idle, f, entry);
			return f;
		}
		if ((f = fiber_new(many)) != NULL)
			return f;
		sftp_room_full(&many->room);
		if (dir || many->room.files == 0)
			return NULL;
		wait_for_room(many);
	}
}

/* Returns 0 once the job has a thread of its own. */
static int
run_parallel(struct sftp_many *many, struct sftp_jobs *jobs,
    const struct sftp_job *job)
{
	struct fiber *f;
	uint64_t size = job->depth == 0 ? job->a.size : 0;

	if (many == NULL)
		return -1;
	/* A file of unknown size may be large. */
	if (job->depth == 0 && (job->a.flags & SSH2_FILEXFER_ATTR_SIZE) == 0)
		return -1;
	if ((f = fiber_for(many, job->depth != 0, size)) == NULL)
		return -1;
	f->job = *job;
	f->jobs = jobs;
	f->size = size;
	f->progress = showprogress;
	TAILQ_INSERT_TAIL(&many->ready, f, entry);
	jobs->running++;
	jobs->unsent++;
	f->unsent = 1;
	sftp_room_begin(&many->room, job->depth != 0, size);
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
sftp_many_sent(struct sftp_many *many, const struct sftp_conn *conn,
    const struct sshbuf *m)
{
	struct sent *sent;
	struct end *e;

	if (many == NULL)
		return;
	e = end_of(many, conn);
	if (sshbuf_len(m) < REPLY_HEAD)
		fatal_f("message of %zu bytes", sshbuf_len(m));
	/* The server may take no more until its replies are read. */
	sftp_watch(SFTP_WAITS);
	while (!RB_EMPTY(&e->requests) && sftp_reply_first(e->in, e->out)) {
		deliver_from(many, e);
		sftp_watch(SFTP_WAITS);
	}
	sftp_watch(SFTP_WORKS);
	sent = xcalloc(1, sizeof(*sent));
	sent->id = PEEK_U32(sshbuf_ptr(m) + 1);
	sent->fiber = many->now;
	sent->data_max = data_of(m);
	if (RB_INSERT(requests, &e->requests, sent) != NULL)
		fatal_f("request %u is under way already", sent->id);
	many->last = sent;
}

void
sftp_many_forget(struct sftp_many *many)
{
	many->last->fiber = NULL;
}

void
sftp_many_get(struct sftp_many *many, const struct sftp_conn *conn,
    struct sshbuf *m)
{
	struct fiber *f = many->now;
	const struct end *e = end_of(many, conn);
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
		give_way(many, f);
	}
	TAILQ_REMOVE(&f->inbox, msg, entry);
	sshbuf_reset(m);
	if ((r = sshbuf_putb(m, msg->m)) != 0)
		fatal_fr(r, "sshbuf_putb");
	sshbuf_free(msg->m);
	free(msg);
}

int
sftp_many_ready(const struct sftp_many *many, const struct sftp_conn *conn)
{
	const struct message *msg;

	TAILQ_FOREACH(msg, &many->now->inbox, entry) {
		if (msg->from->conn == conn)
			return 1;
	}
	return 0;
}

void
sftp_many_expect(struct sftp_many *many, u_int n)
{
	struct fiber *f = many->now;
	struct message *msg;
	u_int have;

	for (;;) {
		have = 0;
		TAILQ_FOREACH(msg, &f->inbox, entry)
			have++;
		if (have >= n)
			return;
		f->blocked = 1;
		give_way(many, f);
	}
}

void
sftp_many_drop(struct sftp_many *many)
{
	struct message *msg, *next;

	if (many == NULL)
		return;
	TAILQ_FOREACH_SAFE(msg, &many->now->inbox, entry, next) {
		sshbuf_free(msg->m);
		free(msg);
	}
	TAILQ_INIT(&many->now->inbox);
}

int
sftp_many_begin(struct sftp_many *many, const char *path)
{
	if (many == NULL)
		return 0;
	while (!sftp_room_open(&many->room) && !interrupted) {
		TAILQ_INSERT_TAIL(&many->opening, many->now, entry);
		give_way(many, many->now);
	}
	if (interrupted) {
		wake_opening(many);
		return -1;
	}
	many->room.open++;
	many->now->open = 1;
	many->now->torn = sftp_torn_begin(path);
	return 0;
}

void
sftp_many_complete(struct sftp_many *many)
{
	if (many == NULL)
		return;
	sftp_torn_sent(many->now->torn);
	close_file(many, many->now);
	/* A file in a directory's thread is not the whole of its job. */
	if (many->now->job.depth == 0)
		job_sent(many, many->now);
}

/*
 * There were no descriptors. Waits for another job that has some to end.
 * Returns 0 if there is none.
 */
static int
wait_for_descriptors(struct sftp_many *many)
{
	int save_errno = errno;

	if ((errno != EMFILE && errno != ENFILE) || many == NULL ||
	    many->holders <= (u_int)many->now->holds)
		return 0;
	sftp_room_full(&many->room);
	wait_for_room(many);
	errno = save_errno;
	return 1;
}

int
sftp_many_open(struct sftp_many *many, const char *path, int flags,
    mode_t mode)
{
	int fd;

	do {
		fd = open(path, flags, mode);
	} while (fd == -1 && wait_for_descriptors(many));
	if (fd != -1 && many != NULL && !many->now->holds) {
		many->now->holds = 1;
		many->holders++;
	}
	return fd;
}

DIR *
sftp_many_opendir(struct sftp_many *many, const char *path)
{
	DIR *dir;

	do {
		dir = opendir(path);
	} while (dir == NULL && wait_for_descriptors(many));
	return dir;
}

/* Whether a job writes to that file */
static int
owned(struct sftp_many *many, const struct stat *st)
{
	struct fiber *f;

	TAILQ_FOREACH(f, &many->owners, owner) {
		if (f->dev == st->st_dev && f->ino == st->st_ino)
			return 1;
	}
	return 0;
}

void
sftp_many_own(struct sftp_many *many, int fd)
{
	struct fiber *f;
	struct stat st;

	if (many == NULL || fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
		return;
	while (owned(many, &st))
		wait_for_room(many);
	f = many->now;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->owns = 1;
	TAILQ_INSERT_TAIL(&many->owners, f, owner);
}

int
sftp_many_wait(struct sftp_many *many, struct sftp_jobs *jobs)
{
	while (jobs->running != 0) {
		jobs->waits = many->now;
		give_way(many, many->now);
	}
	return jobs->failed ? -1 : 0;
}

void
sftp_many_wait_sent(struct sftp_many *many, struct sftp_jobs *jobs)
{
	while (jobs->unsent != 0) {
		jobs->waits = many->now;
		give_way(many, many->now);
	}
}

void
sftp_many_dir_sent(struct sftp_many *many, int depth)
{
	/* One in another directory's thread is not the whole of its job. */
	if (many != NULL && depth != 0 && many->now->job.depth == depth)
		job_sent(many, many->now);
}

#else	/* HAVE_THREADS */

static int
run_parallel(struct sftp_many *many, struct sftp_jobs *jobs,
    const struct sftp_job *job)
{
	return -1;
}

static int
run_here(struct sftp_many *many, struct sftp_job *job)
{
	if (job->depth == 0)
		sftp_count_next();
	return job->run(job);
}

static struct sftp_many *
many_new(u_int handles, void (*read)(struct sftp_conn *, struct sshbuf *),
    struct sftp_conn *conn, int in, int out)
{
	return NULL;
}

static void
many_free(struct sftp_many *many)
{
}

void
sftp_many_add(struct sftp_many *many, u_int handles, struct sftp_conn *conn,
    int in, int out)
{
}

void
sftp_many_sent(struct sftp_many *many, const struct sftp_conn *conn,
    const struct sshbuf *m)
{
}

void
sftp_many_forget(struct sftp_many *many)
{
}

void
sftp_many_get(struct sftp_many *many, const struct sftp_conn *conn,
    struct sshbuf *m)
{
}

int
sftp_many_ready(const struct sftp_many *many, const struct sftp_conn *conn)
{
	return 0;
}

void
sftp_many_expect(struct sftp_many *many, u_int n)
{
}

void
sftp_many_drop(struct sftp_many *many)
{
}

int
sftp_many_begin(struct sftp_many *many, const char *path)
{
	return 0;
}

void
sftp_many_complete(struct sftp_many *many)
{
}

int
sftp_many_open(struct sftp_many *many, const char *path, int flags,
    mode_t mode)
{
	return open(path, flags, mode);
}

DIR *
sftp_many_opendir(struct sftp_many *many, const char *path)
{
	return opendir(path);
}

void
sftp_many_own(struct sftp_many *many, int fd)
{
}

int
sftp_many_wait(struct sftp_many *many, struct sftp_jobs *jobs)
{
	return jobs->failed ? -1 : 0;
}

void
sftp_many_wait_sent(struct sftp_many *many, struct sftp_jobs *jobs)
{
}

void
sftp_many_dir_sent(struct sftp_many *many, int depth)
{
}

#endif	/* HAVE_THREADS */

void
sftp_many_files(u_int files)
{
	files_max = files;
}

struct sftp_many *
sftp_many_new(u_int handles, void (*read)(struct sftp_conn *, struct sshbuf *),
    struct sftp_conn *conn, int in, int out)
{
	sftp_watch_begin();
	sftp_count_start();
	return many_new(handles, read, conn, in, out);
}

void
sftp_many_free(struct sftp_many *many)
{
	many_free(many);
	sftp_count_end();
	sftp_watch_end();
}

void
sftp_many_start(struct sftp_many *many, struct sftp_jobs *jobs,
    const struct sftp_job *model, const char *src, const char *dst,
    const Attrib *a, int depth)
{
	struct sftp_job job = *model;

	job.src = xstrdup(src);
	job.dst = xstrdup(dst);
	job.a = *a;
	job.depth = depth;
	if (run_parallel(many, jobs, &job) == 0)
		return;
	if (run_here(many, &job) != 0)
		jobs->failed = 1;
	free(job.src);
	free(job.dst);
}
