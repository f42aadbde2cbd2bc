/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/resource.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "progressmeter.h"
#include "sshbuf.h"
#include "copy-stream.h"
#include "sftp-client.h"

#define FILES_MAX	128		/* open files */
#define FILES_UNKNOWN	16		/* if a server has no limits */
#define SHARE		2		/* use 1/n of descriptors and handles */
#define UNSENT_MAX	(32 * 1024)	/* unsent bytes: compose no more */
#define CROSS_MAX	(512 * 1024)	/* bytes that wait for a target (-3) */
#define ENDED_MAX	4096		/* ended items that are not reported */
#define TICK_MS		500		/* to see ^C just before poll(2) */

static u_int files_max = FILES_MAX;	/* -X files= */
int copy_resume;
static const char *ignored;	/* an option of an earlier version, or NULL */

/* Options with a number from 1 to most. Old ones accept any value. */
static const struct {
	const char *name;
	u_int *number;
	u_int most;
	int is_old;
} options[] = {
	{ "files=", &files_max, FILES_MAX, 0 },
	{ "streams=", &copy_streams, COPY_STREAMS_MAX, 0 },
	{ "connections=", &copy_streams, COPY_STREAMS_MAX, 1 },
	{ "sessions=", NULL, 0, 1 },
	{ "pace=", NULL, 0, 1 },
};

void
copy_conn_init(struct sftp_conn *conn, u_int num_requests)
{
	uint64_t len = MAXIMUM(SFTP_INFLIGHT_LEAST, MAXIMUM(
	    conn->upload_buflen, conn->download_buflen));

	sftp_inflight_init(&conn->depth, num_requests, MINIMUM(len *
	    SFTP_INFLIGHT_STOCK, SFTP_INFLIGHT_BASE), SFTP_INFLIGHT_MAX /
	    copy_streams, monotime_double());
	if (ignored != NULL)
		debug("-X %s is ignored", ignored);
	conn->more = copy_more_new();
}

void
copy_conn_free(struct sftp_conn *conn)
{
	if (conn == NULL)
		return;
	copy_more_free(conn->more);
	copy_ahead_free(conn->ahead);
}

/* Returns the number of files that may be open at once at a server. */
static u_int
open_limit(const struct sftp_conn *conn, u_int most)
{
	if ((conn->exts & SFTP_EXT_LIMITS) == 0)
		return MINIMUM(most, FILES_UNKNOWN);
	if (conn->handles == 0 || conn->handles / SHARE >= most)
		return most;
	return MAXIMUM(conn->handles / SHARE, 1);
}

/* Returns half of the descriptors that are left, at least 1. */
static u_int
descriptors(void)
{
	struct rlimit rl;
	u_int fd, free = 0;

	if (getrlimit(RLIMIT_NOFILE, &rl) == -1)
		return FILES_MAX;
	/* The parent process may have left any of them open. */
	for (fd = 0; fd < rl.rlim_cur && free < SHARE * FILES_MAX; fd++)
		free += fcntl(fd, F_GETFD) == -1;
	return MAXIMUM(free / SHARE, 1);
}

/*
 * Starts the next item if allowed, unless unrequested data fills the path of a
 * stream. Directories, which wait for what is in them, leave room for it.
 * Returns 1 if the item was started and not deferred at once.
 */
static int
start_next(struct copy *copy, const struct stream *s)
{
	struct item *item;

	if (copy->stopping || copy->open >= copy->open_max ||
	    s->unrequested >= sftp_inflight_depth(&s->conn->depth) ||
	    !sftp_inflight_room(&copy->streams[0]->conn->depth, 0) ||
	    (item = copy_item_first_pending(copy)) == NULL ||
	    item->refusals >= COPY_ALONE_AFTER || (item->ops->child != NULL &&
	    copy->dirs >= MAXIMUM(copy->open_max * item->depth /
	    (item->depth + 1), 1)) ||
	    (copy->unreported >= ENDED_MAX && item != copy_item_front(copy)))
		return 0;
	copy_item_start(item);
	return item->state != ITEM_PENDING;
}

/* Sends one request of any item over a stream. Returns 1 if it did. */
static int
send_one(struct copy *copy, struct stream *s)
{
	struct item *item, *next;

	TAILQ_FOREACH_SAFE(item, &copy->sending, entry, next) {
		if (item->ops->send(item, s))
			return 1;
	}
	return 0;
}

/* Sends while below the limits and an item has something to send. */
static void
pump(struct copy *copy, struct stream *s)
{
	if (s->state == STREAM_LOST)
		return;
	do {
		while (s->state == STREAM_UP && sshbuf_len(s->out) <
		    UNSENT_MAX && (start_next(copy, s) || send_one(copy, s)))
			;
		if (sshbuf_len(s->out) == 0 || stream_write(s) == -1)
			break;
	} while (sshbuf_len(s->out) == 0);
}

/* Returns 1 if a stream has something to send, or a reply is due. */
static int
is_busy(const struct copy *copy)
{
	const struct stream *s;
	u_int i;

	for (i = 0; i < copy->nstreams; i++) {
		s = copy->streams[i];
		if ((s->copy != NULL || s->state == STREAM_UP) &&
		    (s->outstanding != 0 || sshbuf_len(s->out) != 0))
			return 1;
	}
	return 0;
}

/* Waits until a stream can be read or written, and does so. */
static void
wait_and_move(struct copy *copy)
{
	struct pollfd pfd[2 * COPY_STREAMS_MAX];
	struct stream *s;
	double gap_s;
	u_int i;
	/* Accept no reply of a source if its data cannot be passed on. */
	int is_held = copy->kind == COPY_CROSS &&
	    sshbuf_len(copy->streams[1]->out) > CROSS_MAX;

	for (i = 0; i < copy->nstreams; i++) {
		s = copy->streams[i];
		pfd[2 * i].fd = s->state == STREAM_LOST ||
		    (is_held && i == 0) ? -1 : s->conn->fd_in;
		pfd[2 * i].events = POLLIN;
		pfd[2 * i + 1].fd = s->state == STREAM_LOST ||
		    sshbuf_len(s->out) == 0 ? -1 : s->conn->fd_out;
		pfd[2 * i + 1].events = POLLOUT;
	}
	if (poll(pfd, 2 * copy->nstreams, TICK_MS) == -1) {
		if (errno != EINTR)
			fatal_f("poll: %s", strerror(errno));
		refresh_progress_meter(0);
		return;
	}
	/* Of a time without polls (^Z, a slow disk), 2 s count as silence. */
	gap_s = MAXIMUM(monotime_double() - copy->polled_s - 2, 0);
	copy->polled_s = monotime_double();
	for (i = 0; i < copy->nstreams; i++) {
		s = copy->streams[i];
		s->since_s = MINIMUM(s->since_s + gap_s, copy->polled_s);
		if (pfd[2 * i + 1].revents != 0 && stream_write(s) == -1)
			continue;
		if (pfd[2 * i].revents != 0)
			(void)stream_read(s);
	}
}

static void
loop(struct copy *copy)
{
	struct item *item;
	u_int i;

	for (;;) {
		if (interrupted && !copy->stopping)
			copy_item_stop(copy, NULL);
		copy_more_tend(copy);
		for (i = 0; i < copy->nstreams; i++)
			pump(copy, copy->streams[i]);
		copy_item_report(copy);
		if (is_busy(copy))
			wait_and_move(copy);
		else if (copy->root->state == ITEM_DONE)
			break;
		else if ((item = copy_item_first_pending(copy)) != NULL) {
			if (item->refusals >= COPY_ALONE_AFTER)
				copy->open_max = 1;
			copy_item_start(item);
		} else
			fatal_f("the copy of \"%s\" is stuck", copy->root->src);
	}
}

/* Does what copy_run_file() and copy_run_tree() say. Returns the same. */
static int
run(struct sftp_conn *from, struct sftp_conn *to, const char *src,
    const char *dst, const Attrib *a, const struct copy_flags *flags,
    int is_tree)
{
	struct sftp_conn *conn = from != NULL ? from : to;
	struct copy copy = {
		.kind = from == NULL ? COPY_PUT : to == NULL ? COPY_GET :
		    COPY_CROSS,
		.flags = *flags,
		.tree = is_tree,
		.wants_more = is_tree,
		.nstreams = 1,
		.most = conn->more != NULL ? copy_streams : 1,
		.descriptors = descriptors(),
		.open_limit = open_limit(conn, files_max),
		.polled_s = monotime_double(),
	};
	u_int i;
	int failed;

	if (copy_resume) {
		copy.flags.resume = COPY_RESUME_CHECKED;
		copy.flags.inplace = 0;
	}
	TAILQ_INIT(&copy.sending);
	TAILQ_INIT(&copy.writers);
	copy.streams[0] = stream_new(conn, 0, &copy);
	if (from != NULL && to != NULL) {
		copy.streams[copy.nstreams++] = stream_new(to, 1, &copy);
		copy.open_limit = open_limit(to, copy.open_limit);
		copy.most = 1;
	}
	copy.open_limit = MINIMUM(copy.open_limit, copy.descriptors);
	copy.open_max = copy.open_limit;
	copy.root = copy_item_new(&copy, NULL, NULL, is_tree ? &copy_dir_ops :
	    &copy_file_ops, src, dst, a);
	loop(&copy);
	failed = copy.root->failed || interrupted;
	for (i = 0; i < copy.nstreams; i++) {
		if (copy.streams[i]->copy != NULL)
			stream_free(copy.streams[i]);
		/* Replies to a freed item could not be handled. */
		else if (copy.streams[i]->outstanding != 0)
			stream_lose(copy.streams[i], "the copy has ended");
	}
	copy_item_free(copy.root);
	return failed ? -1 : 0;
}

int
copy_run_file(struct sftp_conn *from, struct sftp_conn *to, const char *src,
    const char *dst, const Attrib *a, const struct copy_flags *flags)
{
	Attrib attr;

	if (from != NULL && a == NULL) {
		if (sftp_stat(from, src, 0, &attr) != 0)
			return -1;
		a = &attr;
	}
	return run(from, to, src, dst, a, flags, 0);
}

int
copy_run_tree(struct sftp_conn *from, struct sftp_conn *to, const char *src,
    const char *dst, const Attrib *a, const struct copy_flags *flags)
{
	char *canon = sftp_realpath(from != NULL ? from : to,
	    from != NULL ? src : dst);
	Attrib attr;
	int r = -1;

	if (canon == NULL || strlen(canon) >= PATH_MAX)
		error("%s \"%s\": path canonicalization failed",
		    from == NULL ? "upload" : to == NULL ? "download" :
		    "crossload", from != NULL ? src : dst);
	else if (from == NULL)
		r = run(NULL, to, src, canon, NULL, flags, 1);
	else if (a == NULL && sftp_stat(from, canon, 1, &attr) != 0)
		error("stat remote \"%s\" %sfailed", canon,
		    to == NULL ? "directory " : "");
	else
		r = run(from, to, canon, dst, a != NULL ? a : &attr, flags, 1);
	free(canon);
	return r;
}

int
copy_option(const char *option)
{
	const char *value, *errstr;
	u_int i, n;

	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		value = option + strlen(options[i].name);
		if (strncmp(option, options[i].name, value - option) != 0)
			continue;
		n = strtonum(value, 1, options[i].most, &errstr);
		if (n != 0)
			*options[i].number = n;
		else if (options[i].is_old)
			ignored = options[i].name;	/* no log is open */
		else
			fatal("Invalid number of %.*s \"%s\": %s",
			    (int)(value - option) - 1, option, value, errstr);
		return 1;
	}
	if (strcmp(option, "ahead=no") != 0)
		return 0;
	copy_ahead_off = 1;
	return 1;
}
