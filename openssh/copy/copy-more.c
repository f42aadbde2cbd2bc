/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "xmalloc.h"
#include "copy-file.h"

#define OPEN_MAX_S	10	/* until a stream is open, and checked */

/* Maximum time (s) without data from a stream with outstanding requests */
#define SILENT_MAX_S	60	/* while others have some, too */
#define SILENT_END_S	10	/* while no other has */
#define SILENT_STOP_S	3	/* after an interrupt */

#define ENDING_MAX	32	/* programs that may still be ending */
#define SPARE		3	/* minimum of open files for each stream */
#define GROWS		(4 * 1024 * 1024) /* unsent bytes: watch the file */

#define LOOKS_MAX	6	/* polls of a target that does not grow */
#define WRONG_MAX	8	/* invalid polls */
#define PAUSE_S		0.01	/* between two polls, at first */
#define PAUSE_MAX_S	1	/* at most */

u_int copy_streams = 1;		/* -X streams= */

/*
 * An additional stream, and the check that it has the same files as the
 * primary: a name may stand for several machines.
 *
 * A download compares the attributes of a source from the stream with those
 * from the primary. An upload watches a target that the primary is changing:
 * its measure is its size, and its time while it is being written. The stream
 * has to see this grow, but never beyond what the primary sees.
 */
struct further {
	struct item item;	/* of the check; must be the first field */
	double next_s;		/* no poll before that time */
	double pause_s;		/* time before the last poll */
	u_int targets, looks;	/* targets before, and polls of this one */
	u_int wrong;		/* invalid polls */
	int is_written;		/* 1: the time of the target counts */
	uint64_t first, last;	/* measures that the stream saw */
	uint64_t primary;	/* measure that the primary saw before `last` */

	struct stream *s;
	struct sftp_conn conn;
	pid_t pid;		/* -1: ended, and items know that it is lost */
};

struct copy_more {
	u_int n;		/* streams that were started */
	struct further further[COPY_STREAMS_MAX - 1];
	arglist argv;		/* the program that starts one */
	int is_ssh;		/* 1: it is ssh, else a server (-D) */
};

static struct copy_more *noted;	/* for the next connection */

/* Programs that were not waited for, of all connections: a ring */
static pid_t ending[ENDING_MAX];
static u_int nending;

struct copy_more *
copy_more_new(void)
{
	struct copy_more *more = noted;

	noted = NULL;
	return more;
}

/* Starts a note with a program's name and all its args but the first. */
static arglist *
note(const char *name, char *const args[], int is_ssh)
{
	struct copy_more *more = xcalloc(1, sizeof(*more));

	copy_more_free(noted);
	noted = more;
	more->is_ssh = is_ssh;
	addargs(&more->argv, "%s", name);
	if (is_ssh) {
		/* Put this before others: the first value counts. */
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

	/* Our signal handlers would end the first connection. */
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
	/* Without a terminal or an askpass program, ssh never prompts. */
	(void)setsid();
	setenv("SSH_ASKPASS_REQUIRE", "never", 1);
	execvp(argv[0], argv);
	_exit(1);
}

/*
 * Starts a program, with its input and output connected to *fd. It never
 * prompts, and prints only with -v. Returns 0, or -1 on failure.
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
	/* Block signals until the child has its own handlers. */
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
 * Ends the program of a stream. An ssh that is logging in may finish: servers
 * refuse hosts that hang up early. So we wait for ssh after ENDING_MAX others.
 */
static void
end_program(const struct copy_more *more, struct further *x)
{
	pid_t *oldest = &ending[nending % ENDING_MAX];

	if (x->pid <= 0)
		return;
	if (!more->is_ssh || x->s->state != STREAM_OPENING)
		kill(x->pid, more->is_ssh ? SIGTERM : SIGKILL);
	if (waitpid(x->pid, NULL, more->is_ssh ? WNOHANG : 0) == 0) {
		if (*oldest > 0 && waitpid(*oldest, NULL, WNOHANG) == 0) {
			kill(*oldest, SIGKILL);
			(void)waitpid(*oldest, NULL, 0);
		}
		nending++;
		*oldest = x->pid;
	}
	x->pid = -1;
}

void
copy_more_free(struct copy_more *more)
{
	struct further *x;

	if (more == NULL)
		return;
	for (x = more->further; x < more->further + more->n; x++) {
		end_program(more, x);
		stream_lose(x->s, NULL);
		free(x->item.dst);
		stream_free(x->s);
	}
	freeargs(&more->argv);
	free(more);
}

/* Chooses another target. */
static void
leave(struct further *x)
{
	free(x->item.dst);
	x->item.dst = NULL;
	x->looks = 0;
	x->primary = 0;
	x->targets++;
}

static void
decide(struct further *x, int same)
{
	if (!same) {
		stream_lose(x->s, "it does not see the same files");
		return;
	}
	debug("stream %u is used", x->s->index);
	x->s->state = STREAM_UP;
	x->s->since_s = monotime_double();
}

/* Returns a target's measure, which is 0 if it is missing. */
static uint64_t
measure(const struct further *x, const struct reply *reply)
{
	return reply->a.size + (x->is_written ? reply->a.mtime : 0);
}

/* Handles the primary's poll, after the stream's: did the target change? */
static void
got_primary(struct request *req, struct reply *reply)
{
	struct further *x = (struct further *)req->item;
	uint64_t before = x->primary;
	int wrong;

	if (x->s->state != STREAM_UNCHECKED)
		return;
	x->primary = measure(x, reply);
	wrong = x->last < before || x->last > x->primary;
	if (x->looks++ == 0)
		x->first = x->last;
	if (!wrong && x->last > x->first)
		decide(x, 1);
	else if (wrong && ++x->wrong == WRONG_MAX)
		decide(x, 0);
	else if (wrong || x->looks == LOOKS_MAX)
		leave(x);
	/* The server may cache its answer for a while. */
	x->pause_s = MINIMUM(MAXIMUM(2 * x->pause_s, PAUSE_S), PAUSE_MAX_S);
	x->next_s = monotime_double() + x->pause_s;
}

static void
got_target(struct request *req, struct reply *reply)
{
	struct further *x = (struct further *)req->item;

	if (reply->lost)
		return;
	x->last = measure(x, reply);
	copy_send(x->item.copy->streams[0], &x->item, SSH2_FXP_STAT,
	    got_primary, &(struct body){ .path = x->item.dst });
}

int
copy_more_is_same(const Attrib *a, const Attrib *b)
{
	const u_int needed = SSH2_FILEXFER_ATTR_SIZE |
	    SSH2_FILEXFER_ATTR_ACMODTIME | SSH2_FILEXFER_ATTR_PERMISSIONS |
	    (a->flags & SSH2_FILEXFER_ATTR_UIDGID);

	return (a->flags & b->flags & needed) == needed &&
	    a->size == b->size && a->mtime == b->mtime && a->perm == b->perm &&
	    ((needed & SSH2_FILEXFER_ATTR_UIDGID) == 0 ||
	    (a->uid == b->uid && a->gid == b->gid));
}

/* Checks the attributes of a source. */
static void
got_source(struct request *req, struct reply *reply)
{
	struct further *x = (struct further *)req->item;

	if (!reply->lost)
		decide(x, reply->type == SSH2_FXP_ATTRS &&
		    copy_more_is_same(&x->item.a, &reply->a));
}

/*
 * Returns a file that the primary copies now or next, or NULL. The target of an
 * upload has to grow for a while, or not to exist yet: after misses, files
 * further ahead are chosen.
 */
static const struct item *
choose(struct copy *copy, u_int targets)
{
	struct item *item, *next;
	const struct file *file;
	u_int skip = copy->kind == COPY_GET ? 0 : 1U << MINIMUM(targets, 6);

	TAILQ_FOREACH(item, &copy->sending, entry) {
		file = file_of(item);
		if (item->ops == &copy_file_ops && file->home->index == 0 &&
		    item->ready && (copy->kind == COPY_GET ||
		    file->next + GROWS < file->size))
			return item;
	}
	if ((item = copy_item_first_pending(copy)) == NULL || !copy->tree)
		return NULL;
	while (skip-- > 0 && (next = TAILQ_NEXT(item, sibling)) != NULL &&
	    next->state == ITEM_PENDING)
		item = next;
	return copy->kind == COPY_PUT || item->ops == &copy_file_ops ?
	    item : NULL;
}

/* Continues a check. At its end, the stream is up or lost. */
static void
look(struct copy *copy, struct further *x)
{
	int is_put = copy->kind == COPY_PUT;
	const struct item *item;

	x->item.copy = copy;
	if (x->item.inflight != 0 || monotime_double() < x->next_s)
		return;
	if (x->item.dst == NULL) {
		if ((item = choose(copy, x->targets)) == NULL)
			return;
		x->item.dst = xstrdup(is_put ? item->dst : item->src);
		x->item.a = item->a;
		x->is_written = item->state == ITEM_ACTIVE;
	}
	copy_send(x->s, &x->item, SSH2_FXP_STAT,
	    is_put ? got_target : got_source,
	    &(struct body){ .path = x->item.dst });
}

/* Makes a stream take part in a copy, at its index. */
static void
join(struct copy *copy, struct further *x)
{
	if (x->s->state == STREAM_UP)
		x->s->state = STREAM_UNCHECKED;
	leave(x);
	x->targets = x->wrong = 0;
	x->next_s = x->pause_s = 0;
	x->s->since_s = monotime_double();
	copy->streams[copy->nstreams++] = x->s;
}

/* Starts one more stream. Returns 0, or -1 if that failed. */
static int
start(struct copy *copy, struct copy_more *more)
{
	const struct sftp_conn *first = copy->streams[0]->conn;
	struct further *x = &more->further[more->n];
	int fd;

	/* Files need descriptors, too. */
	if (copy->descriptors < SPARE * (more->n + 2) ||
	    start_program(more->argv.list, &fd, &x->pid) == -1)
		return -1;
	x->conn = *first;
	x->conn.fd_in = x->conn.fd_out = fd;
	x->conn.msg_id = 1;
	x->conn.ahead = NULL;
	x->conn.more = NULL;
	sftp_inflight_init(&x->conn.depth, first->depth.fixed,
	    first->depth.cw.base, first->depth.most, monotime_double());
	x->s = stream_new(&x->conn, ++more->n, NULL);
	x->s->limited = copy->streams[0]->conn;
	debug("stream %u is started", x->s->index);
	return 0;
}

/* Returns how long (s) a stream may be silent before it is dropped. */
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

/* Drops a stream that is late, and begins to check one that is open. */
static void
tend(struct copy *copy, struct further *x)
{
	struct stream *s = x->s;

	if (s->state >= STREAM_UNCHECKED && s->outstanding == 0)
		s->since_s = copy->polled_s;
	else if (copy->polled_s - s->since_s > patience(copy, s))
		stream_lose(s, "it does not answer");
	if (s->state == STREAM_LOST && x->pid != -1) {
		end_program(copy->streams[0]->conn->more, x);
		copy_item_stop(copy, s);
	}
	if (s->state == STREAM_UNCHECKED && copy->root->ready &&
	    copy->wants_more && !copy->stopping)
		look(copy, x);
}

void
copy_more_tend(struct copy *copy)
{
	struct copy_more *more = copy->streams[0]->conn->more;
	u_int i;

	if (copy->kind == COPY_CROSS || more == NULL)
		return;
	while (copy->wants_more && !copy->no_more && !copy->stopping &&
	    more->n + 1 < copy_streams)
		copy->no_more = start(copy, more) == -1;
	while (copy->nstreams <= more->n)
		join(copy, &more->further[copy->nstreams - 1]);
	copy->sharing = 1;
	for (i = 0; i < more->n; i++) {
		tend(copy, &more->further[i]);
		copy->sharing += more->further[i].s->state != STREAM_LOST;
	}
}
