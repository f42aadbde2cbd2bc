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
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
#include "sftp-bottleneck.h"
#include "sftp-count.h"
#include "sftp-fiber.h"
#include "sftp-incomplete.h"
#include "sftp-poll.h"
#include "sftp-slots.h"
#include "sftp-tree.h"

extern volatile sig_atomic_t interrupted;
extern int showprogress;

static u_int files_max = SFTP_SLOTS_FILES;

/*
 * Bytes of address space for a job's stack and buffers. All jobs together take
 * at most half of RLIMIT_AS.
 */
#define JOB_SIZE	(2 * 1024 * 1024)

#define REPLY_HEAD	5	/* bytes before the content of a reply */
#define REPLY_STATUS	9	/* bytes of a status that are read */
#define REPLY_DATA	9	/* bytes before the data of a READ's reply */

struct message {
	struct sshbuf *m;
	const struct server *from;
	TAILQ_ENTRY(message) entry;
};

/* A job and its fiber; or the program's first one, which has no job */
struct worker {
	struct sftp_fiber fiber;	/* has to be the first */
	struct sftp_job job;
	struct sftp_jobs *jobs;
	int blocked;		/* until a reply comes */
	uint64_t size;		/* bytes, of a file */
	int unsent;		/* its job has requests to send */
	int open;		/* its file is incomplete */
	int incomplete;		/* number in sftp-incomplete.c, or -1 */
	int holds;		/* it has a file open here */
	int owns;		/* it writes to the file with dev and ino */
	dev_t dev;
	ino_t ino;
	TAILQ_HEAD(, message) inbox;
	TAILQ_ENTRY(worker) owner;
};

/* A request in flight */
struct sent {
	u_int id;
	struct worker *worker;	/* that waits for the reply, or NULL */
	size_t data_max;	/* bytes of data that were asked for */
	RB_ENTRY(sent) entry;
};

RB_HEAD(requests, sent);

/* A connection, or one of two between which jobs copy */
struct server {
	struct sftp_conn *conn;
	int in, out;		/* file descriptors */
	double asked;		/* time (s) of the first request; 0: answered */
	struct requests requests;
};

#define SERVERS		2

struct sftp_tree {
	void (*read)(struct sftp_conn *, struct sshbuf *);
	struct server servers[SERVERS];
	u_int nservers;
	uint64_t rtt_us;	/* longest round trip of a first request */
	struct sftp_slots slots;
	u_int holders;		/* workers that have a file open here */
	struct sent *last;	/* the request sent last */
	struct sftp_fibers *fibers;
	struct sftp_fiber_list waiting;	/* for another file's job to end */
	struct sftp_fiber_list opening;	/* for another file to be complete */
	TAILQ_HEAD(, worker) owners;	/* of files that are written to */
};

static int
sent_cmp(struct sent *a, struct sent *b)
{
	return a->id < b->id ? -1 : a->id > b->id;
}

RB_GENERATE_STATIC(requests, sent, entry, sent_cmp)

static void
init_worker(struct sftp_fiber *f, void *ctx)
{
	struct worker *w = (struct worker *)f;

	w->incomplete = -1;
	TAILQ_INIT(&w->inbox);
}

/* Returns the worker that runs. */
static struct worker *
now(const struct sftp_tree *tree)
{
	return (struct worker *)sftp_fiber_now(tree->fibers);
}

/* Wakes the jobs that wait for another to end. */
static void
wake_waiting(struct sftp_tree *tree)
{
	sftp_fiber_ready_all(tree->fibers, &tree->waiting);
}

static struct server *
server_of(struct sftp_tree *tree, const struct sftp_conn *conn)
{
	return &tree->servers[tree->servers[0].conn == conn ? 0 : 1];
}

/* Sets the limit on jobs by the time that the first request took. */
static void
see_rtt(struct sftp_tree *tree, struct server *s)
{
	if (s->asked == 0)
		return;
	tree->rtt_us = MAXIMUM(tree->rtt_us,
	    (monotime_double() - s->asked) * 1000000);
	sftp_slots_rtt(&tree->slots, tree->rtt_us);
	s->asked = 0;
}

/*
 * Bounds the memory of a reply, which may wait for its job: exits if there is
 * more data than requested, and drops a status's text, which nobody reads.
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

/* Returns the outstanding request of that id. If there is none, it is fatal. */
static struct sent *
find_request(struct server *s, u_int id)
{
	struct sent *sent, find = { .id = id };

	if ((sent = RB_FIND(requests, &s->requests, &find)) == NULL)
		fatal("Unexpected reply %u", id);
	return sent;
}

/* Reads a reply and hands it to the worker that sent the request. */
static void
deliver_from(struct sftp_tree *tree, struct server *s)
{
	struct message *msg = xcalloc(1, sizeof(*msg));
	struct sent *sent;
	struct worker *w;

	if ((msg->m = sshbuf_new()) == NULL)
		fatal_f("sshbuf_new failed");
	msg->from = s;
	tree->read(s->conn, msg->m);
	if (sshbuf_len(msg->m) < REPLY_HEAD)
		fatal("Received message too short %zu", sshbuf_len(msg->m));
	sent = find_request(s, PEEK_U32(sshbuf_ptr(msg->m) + 1));
	check_reply(msg, sent);
	see_rtt(tree, s);
	w = sent->worker;
	RB_REMOVE(requests, &s->requests, sent);
	free(sent);
	if (w == NULL) {
		sshbuf_free(msg->m);
		free(msg);
		return;
	}
	TAILQ_INSERT_TAIL(&w->inbox, msg, entry);
	if (w->blocked) {
		w->blocked = 0;
		sftp_fiber_ready(tree->fibers, &w->fiber);
	}
}

/* Waits for a reply and hands it over. Returns 0 if none is to come. */
static int
deliver(void *ctx)
{
	struct sftp_tree *tree = ctx;
	struct pollfd pfd[SERVERS] = { { .fd = -1 } };
	u_int i, due = 0;

	for (i = 0; i < tree->nservers; i++) {
		pfd[i].fd = tree->servers[i].in;
		pfd[i].events = POLLIN;
		pfd[i].revents = 0;
		if (RB_EMPTY(&tree->servers[i].requests))
			pfd[i].fd = -1;
		else
			due++;
	}
	sftp_bottleneck_now(SFTP_WAITS);
	while (due > 1 && poll(pfd, tree->nservers, -1) == -1) {
		if (errno != EINTR)
			fatal_f("poll: %s", strerror(errno));
	}
	sftp_bottleneck_now(SFTP_WORKS);
	for (i = 0; i < tree->nservers; i++) {
		if (pfd[i].fd != -1 && (due == 1 || pfd[i].revents != 0)) {
			deliver_from(tree, &tree->servers[i]);
			break;
		}
	}
	return due != 0;
}

/* Waits until the job of a file has ended. */
static void
wait_for_slot(struct sftp_tree *tree)
{
	sftp_fiber_wait(tree->fibers, &tree->waiting);
}

/* Prints the line that a file's meter ends with. */
static void
report_done(const struct worker *w)
{
	off_t done = w->size;
	const char *name = strrchr(w->job.src, '/');

	start_progress_meter(sftp_count_label(name == NULL ? w->job.src :
	    name + 1), w->size, &done);
	stop_progress_meter();
}

/* Wakes one job that waits to open a file. */
static void
wake_opening(struct sftp_tree *tree)
{
	struct sftp_fiber *f;

	if ((f = TAILQ_FIRST(&tree->opening)) == NULL)
		return;
	TAILQ_REMOVE(&tree->opening, f, entry);
	sftp_fiber_ready(tree->fibers, f);
}

/* Notes that a file is no longer incomplete: another one may be. */
static void
close_file(struct sftp_tree *tree, struct worker *w)
{
	if (!w->open)
		return;
	w->open = 0;
	tree->slots.open--;
	wake_opening(tree);
}

/* Wakes the directory that waits for these jobs. */
static void
wake_parent(struct sftp_tree *tree, struct sftp_jobs *jobs)
{
	if (jobs->waits != NULL)
		sftp_fiber_ready(tree->fibers, jobs->waits);
	jobs->waits = NULL;
}

/* Notes that a job sends no more requests. */
static void
job_sent(struct sftp_tree *tree, struct worker *w)
{
	if (!w->unsent)
		return;
	w->unsent = 0;
	if (--w->jobs->unsent == 0)
		wake_parent(tree, w->jobs);
}

/* Frees what the job of a file held, which has been copied or has failed. */
static void
file_ends(struct sftp_tree *tree, struct worker *w, int failed)
{
	/* Otherwise an error has named it. */
	if (failed && w->open && interrupted)
		sftp_incomplete_say(w->incomplete);
	close_file(tree, w);
	sftp_incomplete_end(w->incomplete);
	w->incomplete = -1;
	if (w->owns)
		TAILQ_REMOVE(&tree->owners, w, owner);
	tree->holders -= w->holds;
	w->owns = w->holds = 0;
	wake_waiting(tree);
}

static void
run_job(struct sftp_fiber *fiber, void *ctx)
{
	struct sftp_tree *tree = ctx;
	struct worker *w = (struct worker *)fiber;
	int progress = showprogress, r;

	/* There is one meter, and other jobs run: print a line at the end. */
	if (w->job.depth == 0)
		showprogress = 0;
	r = w->job.run(&w->job);
	if (w->job.depth == 0)
		sftp_count_next();
	if (r != 0)
		w->jobs->failed = 1;
	else if (progress && w->job.depth == 0 && w->size != 0)
		report_done(w);
	sftp_slots_end(&tree->slots, w->job.depth != 0, w->size);
	if (w->job.depth == 0)
		file_ends(tree, w, r != 0);
	job_sent(tree, w);
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
	s->in = in;
	s->out = out;
	s->asked = monotime_double();
	RB_INIT(&s->requests);
	sftp_slots_limit(&tree->slots, handles);
}

static struct sftp_tree *
tree_new(u_int handles, void (*read)(struct sftp_conn *, struct sshbuf *),
    struct sftp_conn *conn, int in, int out)
{
	struct sftp_fiber_use use = {
		.size = sizeof(struct worker), .local = &showprogress,
		.init = init_worker, .run = run_job, .wait = deliver
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
	tree->read = read;
	tree->slots = slots;
	sftp_tree_add(tree, handles, conn, in, out);
	TAILQ_INIT(&tree->waiting);
	TAILQ_INIT(&tree->opening);
	TAILQ_INIT(&tree->owners);
	use.ctx = tree;
	if ((tree->fibers = sftp_fibers_new(&use)) == NULL) {
		free(tree);
		return NULL;
	}
	return tree;
}

static void
tree_free(struct sftp_tree *tree)
{
	if (tree == NULL)
		return;
	while (deliver(tree))
		;
	sftp_fibers_free(tree->fibers);
	free(tree);
}

/*
 * Runs a job in the caller's fiber. While that copies a file, no other
 * job copies one.
 */
static int
run_here(struct sftp_tree *tree, struct sftp_job *job)
{
	int r;

	if (job->depth != 0)
		return job->run(job);
	while (tree != NULL && (tree->slots.alone || tree->slots.files != 0))
		wait_for_slot(tree);
	sftp_count_next();
	if (tree == NULL)
		return job->run(job);
	tree->slots.alone = 1;
	r = job->run(job);
	tree->slots.alone = 0;
	file_ends(tree, now(tree), r != 0);
	return r;
}

/*
 * Returns a worker for a job, or NULL if it has to run in the caller's fiber.
 * Waits for a free slot, and for a thread if there can be no more.
 */
static struct worker *
worker_for(struct sftp_tree *tree, int dir, uint64_t size)
{
	enum sftp_place place;
	struct sftp_fiber *f;

	for (;;) {
		if (dir && !sftp_slots_dir(&tree->slots))
			return NULL;
		while (!dir && (place = sftp_slots_file(&tree->slots, size)) !=
		    SFTP_PLACE_HERE) {
			if (place == SFTP_PLACE_ALONE)
				return NULL;
			wait_for_slot(tree);
		}
		if ((f = sftp_fiber_get(tree->fibers)) != NULL)
			return (struct worker *)f;
		sftp_slots_full(&tree->slots);
		if (dir || tree->slots.files == 0)
			return NULL;
		wait_for_slot(tree);
	}
}

/* Starts a job in a fiber of its own. Returns 0, or -1 if it can't have one. */
static int
run_parallel(struct sftp_tree *tree, struct sftp_jobs *jobs,
    const struct sftp_job *job)
{
	struct worker *w;
	uint64_t size = job->depth == 0 ? job->a.size : 0;

	if (tree == NULL)
		return -1;
	/* A file of unknown size may be large. */
	if (job->depth == 0 && (job->a.flags & SSH2_FILEXFER_ATTR_SIZE) == 0)
		return -1;
	if ((w = worker_for(tree, job->depth != 0, size)) == NULL)
		return -1;
	w->job = *job;
	w->jobs = jobs;
	w->size = size;
	sftp_fiber_ready(tree->fibers, &w->fiber);
	jobs->running++;
	jobs->unsent++;
	w->unsent = 1;
	sftp_slots_begin(&tree->slots, job->depth != 0, size);
	return 0;
}

/* Returns the bytes of data that a request asks for: a READ's last number. */
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
	struct server *s;

	if (tree == NULL)
		return;
	s = server_of(tree, conn);
	if (sshbuf_len(m) < REPLY_HEAD)
		fatal_f("message of %zu bytes", sshbuf_len(m));
	/* The server may take no more until its replies are read. */
	sftp_bottleneck_now(SFTP_WAITS);
	while (!RB_EMPTY(&s->requests) && sftp_poll_either(s->in, s->out)) {
		deliver_from(tree, s);
		sftp_bottleneck_now(SFTP_WAITS);
	}
	sftp_bottleneck_now(SFTP_WORKS);
	sent = xcalloc(1, sizeof(*sent));
	sent->id = PEEK_U32(sshbuf_ptr(m) + 1);
	sent->worker = now(tree);
	sent->data_max = data_of(m);
	if (RB_INSERT(requests, &s->requests, sent) != NULL)
		fatal_f("request %u is under way already", sent->id);
	tree->last = sent;
}

void
sftp_tree_forget(struct sftp_tree *tree)
{
	tree->last->worker = NULL;
}

void
sftp_tree_get(struct sftp_tree *tree, const struct sftp_conn *conn,
    struct sshbuf *m)
{
	struct worker *w = now(tree);
	const struct server *s = server_of(tree, conn);
	struct message *msg;
	int r;

	for (;;) {
		TAILQ_FOREACH(msg, &w->inbox, entry) {
			if (msg->from == s)
				break;
		}
		if (msg != NULL)
			break;
		w->blocked = 1;
		sftp_fiber_yield(tree->fibers);
	}
	TAILQ_REMOVE(&w->inbox, msg, entry);
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

	TAILQ_FOREACH(msg, &now(tree)->inbox, entry) {
		if (msg->from->conn == conn)
			return 1;
	}
	return 0;
}

void
sftp_tree_expect(struct sftp_tree *tree, u_int n)
{
	struct worker *w = now(tree);
	struct message *msg;
	u_int have;

	for (;;) {
		have = 0;
		TAILQ_FOREACH(msg, &w->inbox, entry)
			have++;
		if (have >= n)
			return;
		w->blocked = 1;
		sftp_fiber_yield(tree->fibers);
	}
}

void
sftp_tree_drop(struct sftp_tree *tree)
{
	struct message *msg, *next;

	if (tree == NULL)
		return;
	TAILQ_FOREACH_SAFE(msg, &now(tree)->inbox, entry, next) {
		sshbuf_free(msg->m);
		free(msg);
	}
	TAILQ_INIT(&now(tree)->inbox);
}

int
sftp_tree_begin(struct sftp_tree *tree, const char *path)
{
	if (tree == NULL)
		return 0;
	while (!sftp_slots_open(&tree->slots) && !interrupted) {
		sftp_fiber_wait(tree->fibers, &tree->opening);
	}
	if (interrupted) {
		wake_opening(tree);
		return -1;
	}
	tree->slots.open++;
	now(tree)->open = 1;
	now(tree)->incomplete = sftp_incomplete_begin(path);
	return 0;
}

void
sftp_tree_complete(struct sftp_tree *tree)
{
	if (tree == NULL)
		return;
	sftp_incomplete_sent(now(tree)->incomplete);
	close_file(tree, now(tree));
	/* A file in a directory's thread is not the whole of its job. */
	if (now(tree)->job.depth == 0)
		job_sent(tree, now(tree));
}

/*
 * If errno says that there are no descriptors left, waits until another job
 * that has some ends. Returns 0 if there is nothing to wait for.
 */
static int
wait_for_descriptors(struct sftp_tree *tree)
{
	int save_errno = errno;

	if ((errno != EMFILE && errno != ENFILE) || tree == NULL ||
	    tree->holders <= (u_int)now(tree)->holds)
		return 0;
	sftp_slots_full(&tree->slots);
	wait_for_slot(tree);
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
	if (fd != -1 && tree != NULL && !now(tree)->holds) {
		now(tree)->holds = 1;
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

/* Returns 1 if a job writes to that file. */
static int
owned(struct sftp_tree *tree, const struct stat *st)
{
	struct worker *w;

	TAILQ_FOREACH(w, &tree->owners, owner) {
		if (w->dev == st->st_dev && w->ino == st->st_ino)
			return 1;
	}
	return 0;
}

void
sftp_tree_own(struct sftp_tree *tree, int fd)
{
	struct worker *w;
	struct stat st;

	if (tree == NULL || fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
		return;
	while (owned(tree, &st))
		wait_for_slot(tree);
	w = now(tree);
	w->dev = st.st_dev;
	w->ino = st.st_ino;
	w->owns = 1;
	TAILQ_INSERT_TAIL(&tree->owners, w, owner);
}

int
sftp_tree_wait(struct sftp_tree *tree, struct sftp_jobs *jobs)
{
	while (jobs->running != 0) {
		jobs->waits = sftp_fiber_now(tree->fibers);
		sftp_fiber_yield(tree->fibers);
	}
	return jobs->failed ? -1 : 0;
}

void
sftp_tree_wait_sent(struct sftp_tree *tree, struct sftp_jobs *jobs)
{
	while (jobs->unsent != 0) {
		jobs->waits = sftp_fiber_now(tree->fibers);
		sftp_fiber_yield(tree->fibers);
	}
}

void
sftp_tree_dir_sent(struct sftp_tree *tree, int depth)
{
	/* One in another directory's thread is not the whole of its job. */
	if (tree != NULL && depth != 0 && now(tree)->job.depth == depth)
		job_sent(tree, now(tree));
}

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
