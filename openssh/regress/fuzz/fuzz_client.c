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

/*
 * A server of sftp and scp over whole conversations: trees to download, to
 * upload or to copy to a second one, single files, copies that are resumed. It
 * claims any size, holds replies back or sends all at once, in any order, and
 * gives odd ones in between. The client's code runs as it is, with its threads:
 * what it reads, writes and polls leads here (the linker's --wrap).
 *
 * fatal() is the end of the input, and not of the process: all threads but the
 * first one end when they run or wait next.
 */

#include "includes.h"

#include <sys/types.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "openbsd-compat/sys-queue.h"
#include "log.h"
#include "misc.h"
#include "sshbuf.h"
#include "ssherr.h"
#include "xmalloc.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-client.h"
#include "sftp-inflight.h"
#include "sftp-resume.h"
#include "bounds.h"
#include "input.h"

#define CPU_S		30		/* seconds, for an input */
/* Bytes: the requests in flight, and 32 MiB for everything else */
#define MEMORY		(SFTP_INFLIGHT_MAX + 32 * 1024 * 1024)
#define DESCRIPTORS	64		/* RLIMIT_NOFILE */
#define REPLIES		4000		/* from here on every request fails */
#define REPLIES_MAX	(2 * REPLIES)	/* after these no reply comes */
#define FILE_MAX	(256 * 1024)	/* bytes that are written to a file */
#define LEVELS		5		/* of directories, here and there */
#define HANDLES		4096
#define THREADS		4096

/* A handle that a server has given out */
struct handle {
	int level;
	int entries;		/* 1: they are yet to be told */
};

struct request {
	u_char type;
	u_int id, len;		/* len: bytes, of a read */
	uint64_t offset;
	u_int handle;
	char *name;		/* path, or extension */
	TAILQ_ENTRY(request) entry;
};

TAILQ_HEAD(requests, request);

/* One of two servers */
struct server {
	int in, out;		/* the client's descriptors */
	struct sshbuf *sent;	/* by the client, not yet parsed */
	struct sshbuf *reply;	/* on its way */
	struct requests requests;
	u_int nrequests;
	struct handle handles[HANDLES];
	u_int nhandles;
};

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);
int LLVMFuzzerInitialize(int *, char ***);
int __real_poll(struct pollfd *, nfds_t, int);
int __wrap_poll(struct pollfd *, nfds_t, int);
int __wrap___poll_chk(struct pollfd *, nfds_t, int, size_t);
double __wrap_monotime_double(void);
ssize_t __real_read(int, void *, size_t);
ssize_t __wrap_read(int, void *, size_t);
ssize_t __real_write(int, const void *, size_t);
ssize_t __wrap_write(int, const void *, size_t);
ssize_t __real_writev(int, const struct iovec *, int);
ssize_t __wrap_writev(int, const struct iovec *, int);
int __real_open(const char *, int, ...);
int __wrap_open(const char *, int, ...);
DIR *__real_opendir(const char *);
DIR *__wrap_opendir(const char *);
int __real_mkdir(const char *, mode_t);
int __wrap_mkdir(const char *, mode_t);
int __real_pthread_create(pthread_t *, const pthread_attr_t *,
    void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *,
    void *(*)(void *), void *);
int __real_pthread_join(pthread_t, void **);
int __wrap_pthread_join(pthread_t, void **);
int __real_pthread_cond_init(pthread_cond_t *, const pthread_condattr_t *);
int __wrap_pthread_cond_init(pthread_cond_t *, const pthread_condattr_t *);
int __real_pthread_cond_wait(pthread_cond_t *, pthread_mutex_t *);
int __wrap_pthread_cond_wait(pthread_cond_t *, pthread_mutex_t *);
int __real_pthread_cond_destroy(pthread_cond_t *);
int __wrap_pthread_cond_destroy(pthread_cond_t *);
int __real_pthread_mutex_init(pthread_mutex_t *,
    const pthread_mutexattr_t *);
int __wrap_pthread_mutex_init(pthread_mutex_t *,
    const pthread_mutexattr_t *);

/* sftp.c's and scp.c's */
volatile sig_atomic_t interrupted;
int showprogress;

static struct server servers[2];
static u_int files, dirs;	/* in a directory that a server tells of */
static uint64_t claimed;	/* bytes, the size of each file */
static uint64_t real;		/* bytes that there are to read of it */
static u_int replies;		/* so far */

/* How the servers behave for some replies */
static struct {
	u_int left;
	int eager;		/* replies come before they are waited for */
	int lags;		/* takes requests only when it must */
	int last_first;
	u_int wait_ms;		/* until a reply that is not there at once */
} phase;
static double now;		/* of the client's clock, seconds */

/* Threads, and the end of all but the first */
static sigjmp_buf ended;
static int dying;
static pthread_t first, threads[THREADS];
static u_int nthreads;
static pthread_cond_t *conds[THREADS];
static u_int nconds;
static pthread_mutex_t *lock;

static void leave(void) __attribute__((noreturn));

static void
leave(void)
{
	if (pthread_equal(pthread_self(), first))
		siglongjmp(ended, 1);
	pthread_mutex_unlock(lock);
	pthread_exit(NULL);
}

void
cleanup_exit(int i)
{
	u_int n;

	dying = 1;
	for (n = 0; n < nconds; n++)
		pthread_cond_broadcast(conds[n]);
	leave();
}

int
__wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr,
    void *(*start)(void *), void *arg)
{
	int r;

	if (nthreads == THREADS)
		return EAGAIN;
	/* With the default stack: what is sanitized takes more. */
	if ((r = __real_pthread_create(t, NULL, start, arg)) == 0)
		threads[nthreads++] = *t;
	return r;
}

int
__wrap_pthread_join(pthread_t t, void **ret)
{
	u_int i;

	for (i = 0; i < nthreads; i++) {
		if (pthread_equal(threads[i], t)) {
			threads[i] = threads[--nthreads];
			break;
		}
	}
	return __real_pthread_join(t, ret);
}

int
__wrap_pthread_cond_init(pthread_cond_t *c, const pthread_condattr_t *attr)
{
	if (nconds == THREADS)
		return EAGAIN;
	conds[nconds++] = c;
	return __real_pthread_cond_init(c, attr);
}

int
__wrap_pthread_cond_destroy(pthread_cond_t *c)
{
	u_int i;

	for (i = 0; i < nconds; i++) {
		if (conds[i] == c) {
			conds[i] = conds[--nconds];
			break;
		}
	}
	return __real_pthread_cond_destroy(c);
}

int
__wrap_pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr)
{
	lock = m;
	return __real_pthread_mutex_init(m, attr);
}

int
__wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	int r = 0;

	if (!dying)
		r = __real_pthread_cond_wait(c, m);
	if (dying)
		leave();
	return r;
}

static void
end_threads(void)
{
	u_int i;

	if (dying && lock != NULL)
		pthread_mutex_unlock(lock);
	for (i = 0; i < nthreads; i++)
		__real_pthread_join(threads[i], NULL);
	nthreads = nconds = 0;
	lock = NULL;
}

/* Log messages that mean a bug of the client's, not of the server's */
static void
see_message(LogLevel level, int forced, const char *msg, void *ctx)
{
	static const char *ours[] = {
		"no event can come", "is outstanding already",
		"still in queue", "sshbuf", "offset < 0", NULL
	};
	u_int i;

	for (i = 0; ours[i] != NULL; i++) {
		if (strstr(msg, ours[i]) != NULL)
			finding("fatal: %s", msg);
	}
}

/* Requests */

static void
request_free(struct server *s, struct request *q)
{
	TAILQ_REMOVE(&s->requests, q, entry);
	s->nrequests--;
	free(q->name);
	free(q);
}

static u_int
get_handle(struct sshbuf *m)
{
	u_int n;

	if (sshbuf_get_u32(m, &n) != 0 || n != 4 || sshbuf_get_u32(m, &n) != 0)
		finding("request without a handle");
	return n % HANDLES;
}

static void
parse(struct server *s, struct sshbuf *m)
{
	struct request *q = xcalloc(1, sizeof(*q));
	int r = 0;

	TAILQ_INSERT_TAIL(&s->requests, q, entry);
	s->nrequests++;
	if (sshbuf_get_u8(m, &q->type) != 0 || sshbuf_get_u32(m, &q->id) != 0)
		finding("request without an id");
	switch (q->type) {
	case SSH2_FXP_INIT:
		break;
	case SSH2_FXP_READ:
		q->handle = get_handle(m);
		r = sshbuf_get_u64(m, &q->offset) != 0 ||
		    sshbuf_get_u32(m, &q->len) != 0;
		break;
	case SSH2_FXP_CLOSE:
	case SSH2_FXP_WRITE:
	case SSH2_FXP_FSTAT:
	case SSH2_FXP_FSETSTAT:
	case SSH2_FXP_READDIR:
		q->handle = get_handle(m);
		break;
	default:
		r = sshbuf_get_cstring(m, &q->name, NULL);
		break;
	}
	if (r != 0)
		finding("request %u of type %u", q->id, q->type);
}

static void
take_requests(struct server *s)
{
	struct sshbuf *m;

	while (sshbuf_len(s->sent) >= 4 && sshbuf_len(s->sent) >=
	    PEEK_U32(sshbuf_ptr(s->sent)) + (size_t)4) {
		if (sshbuf_froms(s->sent, &m) != 0)
			abort();
		parse(s, m);
		sshbuf_free(m);
	}
	bounds_check();
}

/* Replies. A failure to put something is ignored. */

static int
is_dir(const char *path)
{
	const char *base = strrchr(path, '/');

	base = base == NULL ? path : base + 1;
	return base[0] == 'd' || base[0] == '\0';
}

static int
level(const char *path)
{
	int n = 0;

	for (; *path != '\0'; path++)
		n += *path == '/';
	return n;
}

static void
put_attrs(struct sshbuf *m, int dir)
{
	(void)sshbuf_put_u32(m, SSH2_FILEXFER_ATTR_SIZE |
	    SSH2_FILEXFER_ATTR_PERMISSIONS | SSH2_FILEXFER_ATTR_ACMODTIME);
	(void)sshbuf_put_u64(m, dir ? 4096 : claimed);
	(void)sshbuf_put_u32(m, dir ? S_IFDIR | 0755 : S_IFREG | 0644);
	(void)sshbuf_put_u32(m, 1000000000);
	(void)sshbuf_put_u32(m, 1000000000);
}

static void
put_status(struct sshbuf *m, u_int id, u_int status)
{
	(void)sshbuf_put_u8(m, SSH2_FXP_STATUS);
	(void)sshbuf_put_u32(m, id);
	(void)sshbuf_put_u32(m, status);
	(void)sshbuf_put_cstring(m, "");
	(void)sshbuf_put_cstring(m, "");
}

static void
put_entry(struct sshbuf *m, const char *name, int dir)
{
	(void)sshbuf_put_cstring(m, name);
	(void)sshbuf_put_cstring(m, name);
	put_attrs(m, dir);
}

static void
put_entries(struct sshbuf *m, const struct handle *h)
{
	u_int i, ndirs = h->level < LEVELS ? dirs : 0;
	char name[16];

	(void)sshbuf_put_u32(m, files + ndirs);
	for (i = 0; i < files + ndirs; i++) {
		snprintf(name, sizeof(name), "%c%u", i < files ? 'f' : 'd', i);
		put_entry(m, name, i >= files);
	}
}

static void
put_extended(struct sshbuf *m, const struct request *q)
{
	static const u_char digest[32];

	if (strcmp(q->name, "limits@openssh.com") == 0) {
		(void)sshbuf_put_u64(m, SFTP_MAX_MSG_LENGTH);
		(void)sshbuf_put_u64(m, SFTP_MAX_MSG_LENGTH - 1024);
		(void)sshbuf_put_u64(m, SFTP_MAX_MSG_LENGTH - 1024);
		(void)sshbuf_put_u64(m, input_number());
	} else if (strcmp(q->name, "check-file-handle") == 0) {
		(void)sshbuf_put_cstring(m, "sha256");
		(void)sshbuf_put(m, digest, sizeof(digest));
	}
}

static void
put_version(struct sshbuf *m)
{
	static const char *extensions[] = {
		"limits@openssh.com", "check-file-handle",
		"posix-rename@openssh.com", "fsync@openssh.com",
		"lsetstat@openssh.com", "copy-data",
		/* With the limits: a small file in one flight */
		"expand-path@openssh.com", "users-groups-by-id@openssh.com"
	};
	u_int i, left_out = input_byte();

	(void)sshbuf_put_u8(m, SSH2_FXP_VERSION);
	(void)sshbuf_put_u32(m, 3);
	for (i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++) {
		if (left_out >> i & 1)
			continue;
		(void)sshbuf_put_cstring(m, extensions[i]);
		(void)sshbuf_put_cstring(m, "1");
	}
}

static u_int
new_handle(struct server *s, const struct request *q)
{
	struct handle *h = &s->handles[s->nhandles % HANDLES];

	h->level = level(q->name);
	h->entries = 1;
	return s->nhandles++ % HANDLES;
}

/* What an honest server says */
static void
right_reply(struct server *s, struct sshbuf *m, const struct request *q)
{
	static const u_char zeroes[SFTP_MAX_MSG_LENGTH];
	struct handle *h = &s->handles[q->handle];
	u_char type;
	size_t len;

	switch (q->type) {
	case SSH2_FXP_OPEN:
	case SSH2_FXP_OPENDIR:
		type = SSH2_FXP_HANDLE;
		break;
	case SSH2_FXP_READ:
		type = q->offset < real ? SSH2_FXP_DATA : SSH2_FXP_STATUS;
		break;
	case SSH2_FXP_STAT:
	case SSH2_FXP_LSTAT:
	case SSH2_FXP_FSTAT:
		type = SSH2_FXP_ATTRS;
		break;
	case SSH2_FXP_REALPATH:
		type = SSH2_FXP_NAME;
		break;
	case SSH2_FXP_READDIR:
		type = h->entries ? SSH2_FXP_NAME : SSH2_FXP_STATUS;
		break;
	case SSH2_FXP_EXTENDED:
		type = SSH2_FXP_EXTENDED_REPLY;
		break;
	default:
		put_status(m, q->id, SSH2_FX_OK);
		return;
	}
	if (type == SSH2_FXP_STATUS) {
		put_status(m, q->id, SSH2_FX_EOF);
		return;
	}
	(void)sshbuf_put_u8(m, type);
	(void)sshbuf_put_u32(m, q->id);
	switch (q->type) {
	case SSH2_FXP_OPEN:
	case SSH2_FXP_OPENDIR:
		(void)sshbuf_put_u32(m, 4);
		(void)sshbuf_put_u32(m, new_handle(s, q));
		break;
	case SSH2_FXP_READ:
		len = MINIMUM(q->len, real - q->offset);
		(void)sshbuf_put_string(m, zeroes,
		    MINIMUM(len, SFTP_MAX_MSG_LENGTH - 16));
		break;
	case SSH2_FXP_STAT:
	case SSH2_FXP_LSTAT:
		put_attrs(m, is_dir(q->name));
		break;
	case SSH2_FXP_FSTAT:
		put_attrs(m, 0);
		break;
	case SSH2_FXP_REALPATH:
		(void)sshbuf_put_u32(m, 1);
		put_entry(m, q->name, 1);
		break;
	case SSH2_FXP_READDIR:
		put_entries(m, h);
		h->entries = 0;
		break;
	case SSH2_FXP_EXTENDED:
		put_extended(m, q);
		break;
	}
}

/* What another one may say */
static void
odd_reply(struct server *s, struct sshbuf *m, struct request *q)
{
	static const char *names[] = {
		"..", "../x", "/x", "", ".", "a/b", "f0", "d1", "\n"
	};
	const uint8_t *raw;
	u_int i, n;
	size_t len;

	switch (input_byte() % 12) {
	case 0:
		put_status(m, q->id, input_byte());
		break;
	case 1:
		q->id += input_byte();
		right_reply(s, m, q);
		break;
	case 2:				/* of something else */
		q->type = input_byte() % 21;
		if (q->name == NULL)
			q->name = xstrdup("d");
		right_reply(s, m, q);
		break;
	case 3:				/* less data, or more */
		q->len = MINIMUM(input_number(), SFTP_MAX_MSG_LENGTH);
		right_reply(s, m, q);
		break;
	case 4:
		(void)sshbuf_put_u8(m, SSH2_FXP_NAME);
		(void)sshbuf_put_u32(m, q->id);
		n = input_byte();
		(void)sshbuf_put_u32(m, n);
		for (i = 0; i < n % 16; i++)
			put_entry(m, names[input_byte() % 9],
			    input_byte() & 1);
		break;
	case 5:
		(void)sshbuf_put_u8(m, SSH2_FXP_ATTRS);
		(void)sshbuf_put_u32(m, q->id);
		(void)sshbuf_put_u32(m, input_byte() & 13);
		(void)sshbuf_put_u64(m, input_number());
		(void)sshbuf_put_u32(m, input_number());
		(void)sshbuf_put_u64(m, input_number());
		break;
	case 6:
		claimed = input_number();
		right_reply(s, m, q);
		break;
	case 7:
		real = input_number();
		right_reply(s, m, q);
		break;
	case 8:
		interrupted = 1;
		right_reply(s, m, q);
		break;
	case 9:				/* no more than a length */
		(void)sshbuf_put_u32(s->reply, input_number());
		break;
	case 10:
		(void)sshbuf_put_u8(m, input_byte());
		(void)sshbuf_put_u32(m, q->id);
		/* FALLTHROUGH */
	default:
		raw = input_string(&len);
		(void)sshbuf_put(m, raw, len);
		break;
	}
}

/* Returns 0 if the server has nothing to say, and never will. */
static int
reply(struct server *s)
{
	struct sshbuf *m;
	struct request *q;
	int odd = 0;
	u_int how;

	if (s->nrequests == 0 || ++replies > REPLIES_MAX)
		return 0;
	if (phase.left == 0 && input_len() > 0) {
		phase.left = input_byte();
		if (phase.left >= 128)
			phase.left = 1 << (phase.left & 15);
		how = input_byte();
		phase.eager = how & 1;
		phase.lags = how >> 1 & 1;
		phase.last_first = how >> 2 & 1;
		odd = how >> 3 & 1;
		phase.wait_ms = how >> 4 == 15 ? 10000 : (how >> 4) * 20;
	} else if (phase.left != 0)
		phase.left--;
	if (!phase.eager)
		now += phase.wait_ms / 1e3;
	q = phase.last_first ? TAILQ_LAST(&s->requests, requests) :
	    TAILQ_FIRST(&s->requests);
	if ((m = sshbuf_new()) == NULL)
		abort();
	if (q->type == SSH2_FXP_INIT)
		put_version(m);
	else if (replies > REPLIES)
		put_status(m, q->id, SSH2_FX_FAILURE);
	else if (odd)
		odd_reply(s, m, q);
	else
		right_reply(s, m, q);
	request_free(s, q);
	(void)sshbuf_put_stringb(s->reply, m);
	sshbuf_free(m);
	return 1;
}

/* System calls of the client's, and its clock */

double
__wrap_monotime_double(void)
{
	return now += 1e-6;
}

static struct server *
server_of(int fd)
{
	u_int i;

	for (i = 0; i < 2; i++) {
		if (fd != -1 &&
		    (servers[i].in == fd || servers[i].out == fd))
			return &servers[i];
	}
	return NULL;
}

static int
is_ready(const struct pollfd *pfd, int waits)
{
	const struct server *s = server_of(pfd->fd);

	if (s == NULL)
		return 0;
	if (pfd->fd == s->out)
		return (pfd->events & POLLOUT) != 0 && (!phase.lags ||
		    (waits && s->nrequests == 0));
	return sshbuf_len(s->reply) != 0 ||
	    (s->nrequests != 0 && (waits || phase.eager));
}

static int
are_ready(struct pollfd *pfd, nfds_t npfd, int waits)
{
	nfds_t i;
	int n = 0;

	for (i = 0; i < npfd; i++) {
		pfd[i].revents = is_ready(&pfd[i], waits) ? pfd[i].events : 0;
		n += pfd[i].revents != 0;
	}
	return n;
}

int
__wrap_poll(struct pollfd *pfd, nfds_t npfd, int timeout)
{
	nfds_t i;
	int n;

	for (i = 0; i < npfd; i++) {
		if (server_of(pfd[i].fd) != NULL)
			break;
	}
	if (i == npfd)
		return __real_poll(pfd, npfd, timeout);
	if ((n = are_ready(pfd, npfd, 0)) == 0 && timeout != 0 &&
	    (n = are_ready(pfd, npfd, 1)) == 0 && timeout < 0)
		finding("waits for nothing");
	return n;
}

/* What poll() is called with _FORTIFY_SOURCE */
int
__wrap___poll_chk(struct pollfd *pfd, nfds_t npfd, int timeout, size_t len)
{
	return __wrap_poll(pfd, npfd, timeout);
}

ssize_t
__wrap_read(int fd, void *buf, size_t len)
{
	struct server *s = server_of(fd);

	if (s == NULL)
		return __real_read(fd, buf, len);
	if (sshbuf_len(s->reply) == 0 && !reply(s))
		return 0;
	len = MINIMUM(len, sshbuf_len(s->reply));
	if (sshbuf_get(s->reply, buf, len) != 0)
		abort();
	bounds_check();
	return len;
}

ssize_t
__wrap_writev(int fd, const struct iovec *iov, int n)
{
	struct server *s = server_of(fd);
	ssize_t len = 0;
	int i;

	if (s == NULL)
		return __real_writev(fd, iov, n);
	for (i = 0; i < n; i++) {
		(void)sshbuf_put(s->sent, iov[i].iov_base, iov[i].iov_len);
		len += iov[i].iov_len;
	}
	take_requests(s);
	return len;
}

/* Files stay short, whatever the server sends. */
ssize_t
__wrap_write(int fd, const void *buf, size_t len)
{
	struct iovec iov = { (void *)buf, len };

	if (server_of(fd) != NULL)
		return __wrap_writev(fd, &iov, 1);
	if (lseek(fd, 0, SEEK_CUR) > FILE_MAX)
		return len;
	return __real_write(fd, buf, MINIMUM(len, FILE_MAX));
}

static void
check_path(const char *path)
{
	if (strncmp(path, "down", 4) != 0 || strstr(path, "..") != NULL)
		finding("writes to \"%s\"", path);
}

int
__wrap_open(const char *path, int flags, ...)
{
	va_list args;
	int fd;

	va_start(args, flags);
	if (flags & (O_WRONLY|O_RDWR|O_CREAT))
		check_path(path);
	fd = __real_open(path, flags, va_arg(args, u_int));
	va_end(args);
	if (fd == -1 && errno == EMFILE)
		finding("no descriptor for \"%s\"", path);
	return fd;
}

DIR *
__wrap_opendir(const char *path)
{
	DIR *d = __real_opendir(path);

	if (d == NULL && errno == EMFILE)
		finding("no descriptor for \"%s\"", path);
	return d;
}

int
__wrap_mkdir(const char *path, mode_t mode)
{
	check_path(path);
	return __real_mkdir(path, mode);
}

static void
make_file(const char *path, off_t size)
{
	int fd = __real_open(path, O_WRONLY|O_CREAT, 0644);

	if (fd == -1 || ftruncate(fd, size) == -1 || close(fd) == -1)
		finding("set up \"%s\": %s", path, strerror(errno));
}

/* A tree to upload: files and directories are more than DESCRIPTORS. */
static void
make_tree(void)
{
	char dir[128] = "up", path[160];
	u_int i, j, k;

	if (__real_mkdir(dir, 0755) == -1)
		finding("set up: %s", strerror(errno));
	for (i = 0; i < 8; i++) {
		snprintf(dir, sizeof(dir), "up/d%u", i);
		for (j = 0; j < LEVELS; j++) {
			if (__real_mkdir(dir, 0755) == -1)
				finding("set up: %s", strerror(errno));
			for (k = 0; k < 4; k++) {
				snprintf(path, sizeof(path), "%s/f%u", dir, k);
				make_file(path, k * 1000);
			}
			strlcat(dir, "/d", sizeof(dir));
		}
	}
	make_file("large", 20 * 1024 * 1024);
}

static void
server_start(struct server *s)
{
	memset(s, 0, sizeof(*s));
	TAILQ_INIT(&s->requests);
	if ((s->sent = sshbuf_new()) == NULL ||
	    (s->reply = sshbuf_new()) == NULL)
		abort();
	s->in = __real_open("/dev/null", O_RDWR);
	s->out = __real_open("/dev/null", O_RDWR);
}

static void
server_end(struct server *s)
{
	struct request *q;

	while ((q = TAILQ_FIRST(&s->requests)) != NULL)
		request_free(s, q);
	sshbuf_free(s->sent);
	sshbuf_free(s->reply);
	close(s->in);
	close(s->out);
}

static void
converse(u_int what, u_int how)
{
	struct sftp_conn *conn, *to = NULL;
	int p = how & 1, resume = how >> 1 & 1, follow = how >> 2 & 1;
	int inplace = how >> 3 & 1, fsync_flag = how >> 4 & 1;
	u_int requests = how & 0x20 ? input_byte() : 0;
	u_int i, times = what & 16 ? 3 : 1;	/* that a file is copied */
	SFTP_DIRENT **entries;
	Attrib a;

	if (resume && how & 0x40)
		resume = SFTP_RESUME_CHECKED;
	if ((conn = sftp_init(servers[0].in, servers[0].out,
	    how & 0x80 ? 32 * 1024 : 0, requests, 0)) == NULL)
		return;
	switch (what % 8) {
	case 0:
	case 1:
		(void)sftp_download_dir(conn, "d", "down", NULL, p, 0, resume,
		    fsync_flag, follow, inplace);
		break;
	case 2:
	case 3:
		(void)sftp_upload_dir(conn, "up", "d", p, 0, resume,
		    fsync_flag, follow, inplace);
		break;
	case 4:
		if (resume)
			make_file("down", input_number() % FILE_MAX);
		for (i = 0; i < times; i++)
			(void)sftp_download(conn, "f", "down", NULL, p, resume,
			    fsync_flag, inplace);
		break;
	case 5:
		for (i = 0; i < times; i++)
			(void)sftp_upload(conn, what & 8 ? "up/d0/f1" :
			    "large", "f", p, resume, fsync_flag, inplace);
		break;
	case 6:
		if ((to = sftp_init(servers[1].in, servers[1].out, 0,
		    requests, 0)) != NULL)
			(void)sftp_crossload_dir(conn, to, "d", "d2", NULL, p,
			    0, follow);
		break;
	default:
		if (sftp_readdir(conn, "d", &entries) == 0)
			sftp_free_dirents(entries);
		(void)sftp_lstat(conn, "f", 0, &a);
		break;
	}
	free(conn);
	free(to);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct rlimit rl;

	scratch_directory();
	make_tree();
	if (getrlimit(RLIMIT_NOFILE, &rl) == -1)
		abort();
	rl.rlim_cur = DESCRIPTORS;
	if (setrlimit(RLIMIT_NOFILE, &rl) == -1)
		abort();
	log_init("fuzz_client", SYSLOG_LEVEL_FATAL, SYSLOG_FACILITY_USER, 1);
	set_log_handler(see_message, NULL);
	first = pthread_self();
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	u_int what;

	if (unlink("down") == -1 && errno == EISDIR) {
		empty_directory("down");
		rmdir("down");
	}
	bounds_start(CPU_S, MEMORY);
	input_set(input, len);
	memset(&phase, 0, sizeof(phase));
	now = 1;
	interrupted = dying = replies = 0;
	server_start(&servers[0]);
	server_start(&servers[1]);
	what = input_byte();
	files = input_byte();
	dirs = input_byte() % 8;
	claimed = input_number();
	real = input_number();
	/* With the signals: a thread that waits has all of them blocked. */
	if (sigsetjmp(ended, 1) == 0)
		converse(what, input_byte());
	end_threads();
	server_end(&servers[0]);
	server_end(&servers[1]);
	bounds_end(!dying);
	return 0;
}
