/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "misc.h"
#include "xmalloc.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-conn.h"
#include "copy-more.h"
#include "copy-same.h"

extern volatile sig_atomic_t interrupted;

/* Time (s) in which a stream has to open, and to be checked */
#define OPEN_MAX_S	10

/*
 * Time (s) in which a stream that has to reply has to send something; and if
 * nothing else is left to do, or the user has interrupted.
 */
#define SILENT_MAX_S	60
#define SILENT_END_S	10
#define SILENT_STOP_S	3

/* Files that can be open at once for each stream, at least */
#define SPARE		3

u_int copy_streams = 1;		/* -X streams= */

struct further {
	struct stream *s;
	struct sftp_conn conn;
	pid_t pid;
	struct same same;	/* its check */
	int told;		/* 1: items know that it is lost */
};

struct copy_more {
	u_int n;		/* streams that were started */
	struct further further[COPY_STREAMS - 1];
	arglist argv;		/* the program that starts one */
	int is_ssh;		/* 1: it is ssh, else a server (-D) */
};

static struct copy_more *noted;	/* for the next connection */

struct copy_more *
copy_more_new(void)
{
	struct copy_more *more = noted;

	noted = NULL;
	return more;
}

/* Starts a note with the name of a program and args, but the first of them. */
static arglist *
note(const char *name, char *const args[], int is_ssh)
{
	struct copy_more *more = xcalloc(1, sizeof(*more));

	copy_more_free(noted);
	noted = more;
	more->is_ssh = is_ssh;
	addargs(&more->argv, "%s", name);
	if (is_ssh) {
		/* In front of others: the first value counts. */
		addargs(&more->argv, "-oBatchMode=yes");
		addargs(&more->argv, "-oConnectTimeout=10");
		addargs(&more->argv, "-oConnectionAttempts=1");
	}
	while (*++args != NULL)
		addargs(&more->argv, "%s", *args);
	return &more->argv;
}

void
copy_program_ssh(const char *ssh, char *const args[], const char *host,
    const char *user, int port)
{
	arglist *argv = note(ssh, args, 1);

	if (port != -1)
		addargs(argv, "-p%d", port);
	if (user != NULL)
		addargs(argv, "-l%s", user);
	addargs(argv, "-s");
	addargs(argv, "--");
	addargs(argv, "%s", host);
	addargs(argv, "sftp");
}

void
copy_program(char *const argv[], int is_ssh)
{
	(void)note(argv[0], argv, is_ssh);
}

/* In the child: runs the program. */
static void
run_program(char *const argv[], int fd)
{
	sigset_t none;
	int null;

	/* Our handlers would end the first connection. */
	ssh_signal(SIGPIPE, SIG_DFL);
	ssh_signal(SIGINT, SIG_IGN);
	ssh_signal(SIGTERM, SIG_DFL);
	ssh_signal(SIGHUP, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(fd, STDIN_FILENO) == -1 || dup2(fd, STDOUT_FILENO) == -1)
		_exit(1);
	if (log_level_get() < SYSLOG_LEVEL_DEBUG1 &&
	    (null = open("/dev/null", O_RDWR)) != -1)
		(void)dup2(null, STDERR_FILENO);
	closefrom(STDERR_FILENO + 1);
	/* Without a terminal, or a program that asks, there is no question. */
	(void)setsid();
	setenv("SSH_ASKPASS_REQUIRE", "never", 1);
	execvp(argv[0], argv);
	_exit(1);
}

/*
 * Starts a program, with its input and output connected to *fd. It asks
 * nothing, and is silent but at -v. Returns 0, or -1 if that failed.
 */
static int
start_program(char *const argv[], int *fd, pid_t *pid)
{
	sigset_t all, before;
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == -1) {
		debug_f("socketpair: %s", strerror(errno));
		return -1;
	}
	(void)fcntl(sv[0], F_SETFD, FD_CLOEXEC);
#ifdef SO_NOSIGPIPE
	(void)setsockopt(sv[0], SOL_SOCKET, SO_NOSIGPIPE, &(int){ 1 },
	    sizeof(int));
#endif
	/* The child takes none before it has handlers of its own. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	if ((*pid = fork()) == 0)
		run_program(argv, sv[1]);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(sv[1]);
	if (*pid == -1) {
		debug_f("fork: %s", strerror(errno));
		close(sv[0]);
		return -1;
	}
	*fd = sv[0];
	return 0;
}

/*
 * Ends the program of a stream whose descriptors are closed. ssh may take its
 * time. While it logs in, it is let finish: servers refuse hosts that hang up
 * before.
 */
static void
end_program(const struct copy_more *more, struct further *f, int logs_in)
{
	if (f->pid <= 0)
		return;
	if (!more->is_ssh)
		kill(f->pid, SIGKILL);
	else if (!logs_in)
		kill(f->pid, SIGTERM);
	if (waitpid(f->pid, NULL, more->is_ssh ? WNOHANG : 0) != 0)
		f->pid = -1;
}

void
copy_more_free(struct copy_more *more)
{
	struct further *f;
	int logs_in;

	if (more == NULL)
		return;
	for (f = more->further; f < more->further + more->n; f++) {
		logs_in = f->s->state == STREAM_OPENING;
		stream_lose(f->s, NULL);
		end_program(more, f, logs_in);
		copy_same_begin(&f->same, NULL);
		stream_free(f->s);
	}
	freeargs(&more->argv);
	free(more);
}

/* Makes a stream take part in a copy. */
static void
join(struct copy *copy, struct further *f)
{
	if (f->s->state == STREAM_UP)
		f->s->state = STREAM_UNCHECKED;
	copy_same_begin(&f->same, f->s);
	f->s->since_s = monotime_double();
	f->s->ahead = 0;
	copy->streams[copy->nstreams++] = f->s;
}

/* Starts one more stream. Returns 0, or -1 if that failed. */
static int
start(struct copy *copy, struct copy_more *more)
{
	const struct sftp_conn *first = copy->streams[0]->conn;
	struct further *f = &more->further[more->n];
	int fd;

	/* Files need descriptors, too. */
	if (copy->descriptors < SPARE * (more->n + 2) ||
	    start_program(more->argv.list, &fd, &f->pid) == -1)
		return -1;
	f->conn = *first;
	f->conn.fd_in = f->conn.fd_out = fd;
	f->conn.msg_id = 1;
	f->conn.ahead = NULL;
	f->conn.more = NULL;
	sftp_inflight_init(&f->conn.depth, first->depth.fixed,
	    first->depth.cw.base, first->depth.most, monotime_double());
	f->s = stream_new(&f->conn, ++more->n, 0);
	f->s->limited = copy->streams[0]->conn;
	join(copy, f);
	debug("stream %u is started", f->s->index);
	return 0;
}

void
copy_more_join(struct copy *copy)
{
	struct copy_more *more = copy->streams[0]->conn->more;
	u_int i;

	for (i = 0; i < more->n; i++)
		join(copy, &more->further[i]);
}

void
copy_more_leave(struct copy *copy)
{
	struct stream *s;
	u_int i;

	for (i = 0; i < copy->nstreams; i++) {
		s = copy->streams[i];
		/* Replies to an item that is gone could not be taken. */
		if (!s->vital && s->outstanding != 0)
			stream_lose(s, "the copy has ended");
	}
}

/* Returns the time (s) that a stream has until it is left out. */
static double
patience(const struct copy *copy, const struct stream *s)
{
	u_int i;

	if (s->state != STREAM_UP)
		return OPEN_MAX_S;
	if (interrupted)
		return SILENT_STOP_S;
	for (i = 0; i < copy->nstreams; i++) {
		if (copy->streams[i] != s && copy->streams[i]->outstanding)
			return SILENT_MAX_S;
	}
	return SILENT_END_S;
}

/* Leaves a stream out that is late, and begins to check one that is open. */
static void
tend(struct copy *copy, struct further *f, double now)
{
	struct stream *s = f->s;

	if (s->state >= STREAM_UNCHECKED && s->outstanding == 0)
		s->since_s = now;
	else if (now - s->since_s > patience(copy, s))
		stream_lose(s, "it does not answer");
	if (s->state == STREAM_LOST && !f->told) {
		f->told = 1;
		end_program(copy->streams[0]->conn->more, f, 0);
		copy_item_stop(copy, s);
	}
	if (s->state == STREAM_UNCHECKED && copy->root->ready &&
	    copy->wants_more && !copy->stopping)
		copy_same_tend(copy, &f->same);
}

void
copy_more_tend(struct copy *copy)
{
	struct copy_more *more = copy->streams[0]->conn->more;
	u_int i;

	if (copy->kind == COPY_CROSS || copy_streams == 1 || more == NULL)
		return;
	while (copy->wants_more && !copy->no_more && !copy->stopping &&
	    more->n + 1 < copy_streams)
		copy->no_more = start(copy, more) == -1;
	for (i = 0; i < more->n; i++)
		tend(copy, &more->further[i], monotime_double());
}
