/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/*
 * A server of sftp and scp over whole conversations: trees to download, to
 * upload or to copy to a second one, single files, copies that are resumed. It
 * claims any size, holds replies back or sends all at once, in any order, and
 * gives odd ones in between. The client's code runs as it is, with its threads:
 * what it reads, writes and polls leads here (the linker's --wrap).
 *
 * Some copies have lanes (sftp-lanes.h): two to four sessions, each with a
 * server of its own. One may refuse, introduce itself as another one or not at
 * all, have other files, be slow, hang, or end. If the first lane's server is
 * honest, nothing that the others say ends the client. If all are honest, the
 * copy succeeds, and a large file has all its bytes, whichever of the others
 * hang or end.
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
#include <math.h>
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
#include "sftp-lanes.h"
#include "sftp-parallel.h"
#include "sftp-resume.h"
#include "bounds.h"
#include "input.h"
#include "target.h"

#define CPU_S		30		/* seconds, for an input */
/*
 * Bytes: the requests in flight, of all lanes together, and 32 MiB for the
 * rest. The user's number of requests (-R) is for each lane, but is no more
 * than 255 here, and 4 x 255 requests have less.
 */
#define MEMORY		(SFTP_INFLIGHT_MAX + 32 * 1024 * 1024)
#define DESCRIPTORS	64		/* RLIMIT_NOFILE */
#define REPLIES		4000		/* from here on every request fails */
#define REPLIES_MAX	(2 * REPLIES)	/* after these no reply comes */
#define FILE_MAX	(256 * 1024)	/* bytes that are written to a file */
#define FILE_TIME	1000000000	/* of each file at a server (s) */
#define LEVELS		5		/* of directories, here and there */
#define HANDLES		4096
#define THREADS		4096
#define SERVERS		4		/* most that an input has */
#define WAIT_S		1000		/* of waiting without a reply */
#define SOURCE		(33 * 1024 * 1024 + 12345) /* bytes, in parts */

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

struct server {
	int in, out;		/* the client's descriptors; -1: closed */
	struct sshbuf *sent;	/* by the client, not yet parsed */
	struct sshbuf *reply;	/* on its way */
	struct requests requests;
	u_int nrequests;
	struct handle handles[HANDLES];
	u_int nhandles;

	/* What follows is of a lane's server that is not the first one's. */
	int stranger;		/* 1: introduces itself as another one */
	int elsewhere;		/* 1: has other files */
	double due_s;		/* has no reply before this time */
	double delay_s;		/* from one reply to the next */
	u_int left;		/* replies until it ends or hangs; 0: neither */
	int hangs;		/* 1: then it hangs */
	int ended;
	int greeted;		/* 1: it has the client's INIT */
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
ssize_t __real_pwrite(int, const void *, size_t, off_t);
ssize_t __wrap_pwrite(int, const void *, size_t, off_t);
int __real_close(int);
int __wrap_close(int);
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

static struct server servers[SERVERS];
static u_int nservers;
static u_int lanes;		/* 1: there is no other one than the first */
static struct sftp_lane_source source;
static u_int lane_how[SERVERS - 1], lane_n[SERVERS - 1];
static int plausible;		/* 1: files have the sizes that they claim */
static int in_parts;		/* 1: the copy is of one large file */
static int uploads_parts;	/* 1: and an upload */
static int honest;		/* 1: no reply was odd so far, and no file
				 * has changed */
static int first_may_lie;	/* 1: the first lane's may be odd, too */
static int first_honest;	/* 1: none of these was so far */
static u_int left_out;		/* extensions that a server does without */
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
static u_int least_ms;		/* the same, in addition */
static double now;		/* of the client's clock, seconds */
static double waited_s;		/* time without a reply */
static char said[256];		/* the last message of fatal() */

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

	if (lanes > 1 && first_honest && replies <= REPLIES_MAX)
		finding("a lane ends the copy: %s", said);
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

	strlcpy(said, msg, sizeof(said));
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

/* Notes what a request does to the one large target. */
static void
change_target(struct server *s, const struct request *q, struct sshbuf *m)
{
	const u_char *data;
	uint64_t offset = 0;
	u_int flags = 0;
	size_t len;

	switch (q->type) {
	case SSH2_FXP_OPEN:
		if (sshbuf_get_u32(m, &flags) == 0 && flags & SSH2_FXF_TRUNC)
			target_set_size(0);
		break;
	case SSH2_FXP_WRITE:
		if (sshbuf_get_u64(m, &offset) != 0 ||
		    sshbuf_get_string_direct(m, &data, &len) != 0)
			finding("request %u without data", q->id);
		if (target_write(offset, data, len) != 0)
			finding("wrong data at %llu",
			    (unsigned long long)offset);
		break;
	case SSH2_FXP_FSETSTAT:
		if (sshbuf_get_u32(m, &flags) == 0 &&
		    flags & SSH2_FILEXFER_ATTR_SIZE &&
		    sshbuf_get_u64(m, &offset) == 0)
			target_set_size(offset);
		break;
	}
	claimed = real = target_size();
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
		s->greeted = 1;
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
	if (s->stranger && q->type != SSH2_FXP_INIT)
		finding("request %u to a stranger", q->id);
	if (s->elsewhere && honest && q->type == SSH2_FXP_WRITE)
		finding("request %u writes elsewhere", q->id);
	if (uploads_parts && !s->elsewhere)
		change_target(s, q, m);
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
put_attrs(struct sshbuf *m, int dir, int elsewhere)
{
	(void)sshbuf_put_u32(m, SSH2_FILEXFER_ATTR_SIZE |
	    SSH2_FILEXFER_ATTR_PERMISSIONS | SSH2_FILEXFER_ATTR_ACMODTIME);
	(void)sshbuf_put_u64(m, (dir ? 4096 : claimed) + elsewhere);
	(void)sshbuf_put_u32(m, dir ? S_IFDIR | 0755 : S_IFREG | 0644);
	(void)sshbuf_put_u32(m, FILE_TIME);
	(void)sshbuf_put_u32(m, FILE_TIME);
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
	put_attrs(m, dir, 0);
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
		/* With no handles to spare, a copy has one lane. */
		(void)sshbuf_put_u64(m, input_number() ^
		    (lanes == 1 ? 0 : 1000));
	} else if (strcmp(q->name, "check-file-handle") == 0) {
		(void)sshbuf_put_cstring(m, "sha256");
		(void)sshbuf_put(m, digest, sizeof(digest));
	}
}

static void
put_version(const struct server *s, struct sshbuf *m)
{
	static const char *extensions[] = {
		"limits@openssh.com", "check-file-handle",
		"posix-rename@openssh.com", "fsync@openssh.com",
		"lsetstat@openssh.com", "copy-data",
		/* With the limits: a small file in one flight */
		"expand-path@openssh.com", "users-groups-by-id@openssh.com"
	};
	u_int i;

	if (lanes == 1 || s == &servers[0])
		left_out = input_byte();
	(void)sshbuf_put_u8(m, SSH2_FXP_VERSION);
	(void)sshbuf_put_u32(m, 3);
	for (i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++) {
		if ((left_out ^ s->stranger) >> i & 1)
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

/* Gives what there is of a file: zeros, unless it is copied in parts. */
static void
read_file(const struct server *s, uint64_t offset, u_char *data, size_t len)
{
	memset(data, 0, len);
	if (!in_parts || s->elsewhere)
		return;
	if (uploads_parts)
		target_read(offset, data, len);
	else if (offset < TARGET_MAX)
		memcpy(data, target_source() + offset,
		    MINIMUM(len, TARGET_MAX - offset));
}

/* What an honest server says */
static void
right_reply(struct server *s, struct sshbuf *m, const struct request *q)
{
	static u_char data[SFTP_MAX_MSG_LENGTH];
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
		/* What a lane's check has made through the first one */
		if (s->elsewhere && strstr(q->name, "/.scp-") != NULL) {
			put_status(m, q->id, SSH2_FX_NO_SUCH_FILE);
			return;
		}
		/* FALLTHROUGH */
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
		if (strcmp(q->name, "fsync@openssh.com") == 0) {
			put_status(m, q->id, SSH2_FX_OK);
			return;
		}
		type = SSH2_FXP_EXTENDED_REPLY;
		break;
	case SSH2_FXP_INIT:
		put_version(s, m);
		return;
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
		len = MINIMUM(len, SFTP_MAX_MSG_LENGTH - 16);
		read_file(s, q->offset, data, len);
		(void)sshbuf_put_string(m, data, len);
		break;
	case SSH2_FXP_STAT:
	case SSH2_FXP_LSTAT:
		put_attrs(m, is_dir(q->name), s->elsewhere);
		break;
	case SSH2_FXP_FSTAT:
		put_attrs(m, 0, s->elsewhere);
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
	u_int i, n, how = input_byte() % 12;
	size_t len;

	/* A file may change, and ^C be typed. */
	honest &= how == 8;
	first_honest &= s != &servers[0] || (how >= 6 && how <= 8);
	switch (how) {
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

	if (s->nrequests == 0 || s->ended || ++replies > REPLIES_MAX)
		return 0;
	waited_s = 0;
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
		now += (phase.wait_ms + least_ms) / 1e3;
	q = phase.last_first ? TAILQ_LAST(&s->requests, requests) :
	    TAILQ_FIRST(&s->requests);
	/* Some requests of the first one have to be answered in order. */
	first_honest &= s != &servers[0] || q == TAILQ_FIRST(&s->requests);
	if ((m = sshbuf_new()) == NULL)
		abort();
	/* The first one's introduction is never odd. */
	if (q->type == SSH2_FXP_INIT && (lanes == 1 || s == &servers[0]))
		put_version(s, m);
	else if (replies > REPLIES)
		put_status(m, q->id, SSH2_FX_FAILURE);
	else if (odd && (first_may_lie || s != &servers[0]))
		odd_reply(s, m, q);
	else
		right_reply(s, m, q);
	request_free(s, q);
	(void)sshbuf_put_stringb(s->reply, m);
	sshbuf_free(m);
	s->due_s = now + s->delay_s;
	if (s->left != 0 && --s->left == 0) {
		s->ended = !s->hangs;
		s->due_s = HUGE_VAL;
	}
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

	for (i = 0; i < nservers; i++) {
		if (fd != -1 &&
		    (servers[i].in == fd || servers[i].out == fd))
			return &servers[i];
	}
	return NULL;
}

/* Returns 1 if the server has a reply, or ends, else 0. */
static int
has_reply(const struct server *s)
{
	return sshbuf_len(s->reply) != 0 || s->ended ||
	    (s->nrequests != 0 && now >= s->due_s);
}

static int
is_ready(const struct pollfd *pfd, int waits)
{
	const struct server *s = server_of(pfd->fd);

	if (s == NULL)
		return 0;
	if (pfd->fd == s->out)
		return (pfd->events & POLLOUT) != 0 && (s->ended ||
		    !phase.lags || (waits && s->nrequests == 0));
	return has_reply(s) &&
	    (sshbuf_len(s->reply) != 0 || waits || phase.eager);
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

/* Returns when the first one of the servers replies; HUGE_VAL: none will. */
static double
next_reply(const struct pollfd *pfd, nfds_t npfd)
{
	const struct server *s;
	double t = HUGE_VAL;
	nfds_t i;

	for (i = 0; i < npfd; i++) {
		s = server_of(pfd[i].fd);
		if (s != NULL && pfd[i].fd == s->in && s->nrequests != 0)
			t = MINIMUM(t, s->due_s);
	}
	return t;
}

/*
 * The client waits for what does not come. It may wait for the server of the
 * first lane if that was not honest: that server ends then.
 */
static void
wait_in_vain(const char *what)
{
	if (lanes == 1 || first_honest || servers[0].ended)
		finding("waits %s", what);
	servers[0].ended = 1;
}

int
__wrap_poll(struct pollfd *pfd, nfds_t npfd, int timeout)
{
	double next_s;
	nfds_t i;
	int n;

	for (i = 0; i < npfd; i++) {
		if (server_of(pfd[i].fd) != NULL)
			break;
	}
	if (i == npfd)
		return __real_poll(pfd, npfd, timeout);
	if ((n = are_ready(pfd, npfd, 0)) != 0 || timeout == 0 ||
	    (n = are_ready(pfd, npfd, 1)) != 0)
		return n;
	next_s = next_reply(pfd, npfd);
	if (timeout > 0 && next_s > now + timeout / 1e3) {
		now += timeout / 1e3;
		if ((waited_s += timeout / 1e3) > WAIT_S)
			wait_in_vain("for so long");
		return 0;
	}
	if (next_s == HUGE_VAL)
		wait_in_vain("for nothing");
	else
		now = next_s;
	return are_ready(pfd, npfd, 1);
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
	if (sshbuf_len(s->reply) == 0 && !s->ended && now < s->due_s) {
		errno = EAGAIN;
		return -1;
	}
	if (sshbuf_len(s->reply) == 0 && !reply(s))
		return 0;
	len = MINIMUM(len, sshbuf_len(s->reply));
	if (sshbuf_get(s->reply, buf, len) != 0)
		abort();
	bounds_check();
	return len;
}

/* Returns 1 if a server takes no more now, and nobody waits for it, else 0. */
static int
is_full(const struct server *s, int fd)
{
	return phase.lags && s->nrequests != 0 &&
	    fcntl(fd, F_GETFL) & O_NONBLOCK;
}

ssize_t
__wrap_writev(int fd, const struct iovec *iov, int n)
{
	struct server *s = server_of(fd);
	ssize_t len = 0;
	int i;

	if (s == NULL)
		return __real_writev(fd, iov, n);
	if (s->ended || is_full(s, fd)) {
		errno = s->ended ? EPIPE : EAGAIN;
		return -1;
	}
	for (i = 0; i < n; i++) {
		(void)sshbuf_put(s->sent, iov[i].iov_base, iov[i].iov_len);
		len += iov[i].iov_len;
	}
	take_requests(s);
	return len;
}

/* Files stay short, whatever the server sends, unless they come in parts. */
ssize_t
__wrap_write(int fd, const void *buf, size_t len)
{
	struct server *s = server_of(fd);
	struct iovec iov = { (void *)buf, len };
	off_t most = in_parts ? TARGET_MAX : FILE_MAX;

	if (s != NULL) {
		/* Half of what is no INIT, which any pipe takes */
		if (phase.lags && s->greeted &&
		    fcntl(fd, F_GETFL) & O_NONBLOCK)
			iov.iov_len = (len + 1) / 2;
		return __wrap_writev(fd, &iov, 1);
	}
	if (lseek(fd, 0, SEEK_CUR) > most)
		return len;
	return __real_write(fd, buf, MINIMUM(len, (size_t)most));
}

/* Zeros take no place: the file has a hole there. */
ssize_t
__wrap_pwrite(int fd, const void *buf, size_t len, off_t offset)
{
	static const u_char zeroes[SFTP_MAX_MSG_LENGTH];
	struct stat st;

	if (len <= sizeof(zeroes) && memcmp(buf, zeroes, len) == 0 &&
	    fstat(fd, &st) == 0 && offset + (off_t)len <= st.st_size)
		return len;
	return __real_pwrite(fd, buf, len, offset);
}

int
__wrap_close(int fd)
{
	struct server *s = server_of(fd);

	if (s != NULL && s->in == fd)
		s->in = -1;
	else if (s != NULL)
		s->out = -1;
	return __real_close(fd);
}

static void
check_path(const char *path)
{
	if (strncmp(path, "down", 4) != 0 || strstr(path, "..") != NULL)
		finding("writes to \"%s\"", path);
}

/*
 * Returns 1 if a path is that of a parent directory. A server may say that ".."
 * is a file. As stock does, the client tries to write to it, and can't.
 */
static int
is_parent(const char *path)
{
	const char *base = strrchr(path, '/');

	return base != NULL && strcmp(base, "/..") == 0;
}

int
__wrap_open(const char *path, int flags, ...)
{
	va_list args;
	int fd;

	va_start(args, flags);
	if (flags & (O_WRONLY|O_RDWR|O_CREAT) && !is_parent(path))
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
	int fd;

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
	/* A file with a hole is not copied in parts. */
	if ((fd = __real_open("parts", O_WRONLY|O_CREAT, 0644)) == -1 ||
	    __real_write(fd, target_source(), SOURCE) != SOURCE ||
	    close(fd) == -1)
		finding("set up: %s", strerror(errno));
}

static struct server *
server_start(void)
{
	struct server *s = &servers[nservers++];

	memset(s, 0, sizeof(*s));
	TAILQ_INIT(&s->requests);
	if ((s->sent = sshbuf_new()) == NULL ||
	    (s->reply = sshbuf_new()) == NULL)
		abort();
	s->in = __real_open("/dev/null", O_RDWR);
	s->out = __real_open("/dev/null", O_RDWR);
	if (s->in == -1 || s->out == -1)
		finding("no descriptor for a server");
	return s;
}

static void
server_end(struct server *s)
{
	struct request *q;

	while ((q = TAILQ_FIRST(&s->requests)) != NULL)
		request_free(s, q);
	sshbuf_free(s->sent);
	sshbuf_free(s->reply);
	/* The client closes those of other lanes. */
	if (lanes == 1 || s == &servers[0]) {
		close(s->in);
		close(s->out);
	}
}

/* What opens one more lane */
static int
open_lane(int *in, int *out, pid_t *pid)
{
	u_int how = lane_how[nservers - 1], n = lane_n[nservers - 1];
	struct server *s;

	if (how % 8 == 1)
		return -1;
	s = server_start();
	*in = s->in;
	*out = s->out;
	*pid = -1;
	switch (how % 8) {
	case 2:
		s->stranger = 1 << (n & 7);
		break;
	case 3:
		s->elsewhere = 1;
		break;
	case 4:
		s->delay_s = n;
		break;
	case 5:				/* it may say nothing at all */
		s->hangs = 1;
		s->left = n;
		s->due_s = n == 0 ? HUGE_VAL : 0;
		break;
	case 6:
		s->left = n;
		s->ended = n == 0;
		break;
	}
	return 0;
}

/* Says which lanes the copy has, and what it is of. */
static void
set_lanes(u_int what)
{
	u_int how, i;

	lanes = what & 0x80 && what % 8 < 6 ? 2 + (what >> 5 & 3) % 3 : 1;
	in_parts = uploads_parts = least_ms = 0;
	first_may_lie = 1;
	plausible = 0;
	memset(&source, 0, sizeof(source));
	source.open = open_lane;
	if (lanes == 1)
		return;
	how = input_byte();
	for (i = 0; i < lanes - 1; i++) {
		lane_how[i] = input_byte();
		lane_n[i] = input_byte();
	}
	source.logs_in = how >> 2 & 1;
	first_may_lie = how >> 7;
	/* A tree that takes no time has one lane. */
	least_ms = how & 8 ? 0 : 50;
	in_parts = what % 8 == 4 || (what % 8 == 5 && !(what & 8));
	uploads_parts = in_parts && what % 8 == 5;
	if ((plausible = (how & 0x70) != 0x70)) {
		claimed = in_parts ? SFTP_PARALLEL_MIN + claimed %
		    (TARGET_MAX - SFTP_PARALLEL_MIN) : claimed % FILE_MAX;
		real = claimed;
		if (uploads_parts)
			claimed = real = 0;
	}
	if (in_parts)
		target_start(uploads_parts ? SOURCE : claimed, claimed);
}

/*
 * An earlier copy of the large file was interrupted. Its mark names the time of
 * the source, and which parts are there.
 */
static void
interrupt_before(u_int parts)
{
	uint64_t at, part = SFTP_PART_BYTES;
	const u_char *mark;
	struct stat st;
	size_t len;
	int fd;

	if (parts == 0 || (!uploads_parts && (claimed < SFTP_PARALLEL_MIN ||
	    claimed > TARGET_MAX)))
		return;
	if (stat("parts", &st) == -1)
		finding("set up: %s", strerror(errno));
	mark = target_interrupt(uploads_parts ? (uint64_t)st.st_mtime :
	    FILE_TIME, parts, &len);
	if (uploads_parts) {
		claimed = real = target_size();
		return;
	}
	if ((fd = __real_open("down", O_WRONLY|O_CREAT, 0644)) == -1)
		finding("set up: %s", strerror(errno));
	for (at = 0; at < claimed; at += part) {
		if (parts >> at / part % 8 & 1)
			(void)__real_pwrite(fd, target_source() + at,
			    MINIMUM(part, claimed - at), at);
	}
	(void)__real_pwrite(fd, mark, len, claimed);
	close(fd);
}

/*
 * A copy of which nothing was there before has returned r. Lanes may hang and
 * end: what they had is copied again.
 */
static void
check_result(int r)
{
	if (r != 0 && lanes > 1 && plausible && honest && !interrupted &&
	    replies <= REPLIES)
		finding("an honest copy fails");
}

/* A file in parts was copied to path here, or to the target. */
static void
check_parts(const char *path)
{
	static u_char buf[256 * 1024];
	uint64_t at = 0;
	ssize_t n;
	int fd;

	if (uploads_parts) {
		if (!target_is_whole())
			finding("%llu bytes, not all of which are there",
			    (unsigned long long)target_size());
		return;
	}
	if ((fd = __real_open(path, O_RDONLY)) == -1)
		finding("no \"%s\"", path);
	while ((n = __real_read(fd, buf, sizeof(buf))) > 0) {
		if (at + n > claimed ||
		    memcmp(buf, target_source() + at, n) != 0)
			finding("wrong data at %llu", (unsigned long long)at);
		at += n;
	}
	close(fd);
	if (at != claimed)
		finding("%llu bytes of %llu", (unsigned long long)at,
		    (unsigned long long)claimed);
}

static void
converse(u_int what, u_int how)
{
	struct sftp_conn *conn, *to = NULL;
	int p = how & 1, resume = how >> 1 & 1, follow = how >> 2 & 1;
	int inplace = how >> 3 & 1, fsync_flag = how >> 4 & 1;
	u_int requests = how & 0x20 ? input_byte() : 0;
	u_int i, times = what & 16 ? 3 : 1;	/* that a file is copied */
	int made = 0, r;
	SFTP_DIRENT **entries;
	Attrib a;

	if (resume && how & 0x40)
		resume = SFTP_RESUME_CHECKED;
	if (in_parts && resume == SFTP_RESUME_CHECKED)
		interrupt_before(input_byte());
	if ((conn = sftp_init(servers[0].in, servers[0].out,
	    how & 0x80 ? 32 * 1024 : 0, requests, 0)) == NULL)
		return;
	/* In place of those that scp and sftp have set by now */
	sftp_lanes_max(lanes);
	sftp_lanes_source(&source);
	switch (what % 8) {
	case 0:
	case 1:
		r = sftp_download_dir(conn, "d", "down", NULL, p, 0, resume,
		    fsync_flag, follow, inplace);
		if (!resume)
			check_result(r);
		break;
	case 2:
	case 3:
		(void)sftp_upload_dir(conn, "up", "d", p, 0, resume,
		    fsync_flag, follow, inplace);
		break;
	case 4:
		if (resume && (made = input_number() % FILE_MAX) != 0)
			make_file("down", made);
		for (i = 0; i < times; i++) {
			interrupted = 0;
			r = sftp_download(conn, "f", "down", NULL, p, resume,
			    fsync_flag, inplace);
			if (!resume)
				check_result(r);
			if (r == 0 && in_parts && honest && !interrupted &&
			    made == 0 && claimed == real &&
			    claimed <= TARGET_MAX)
				check_parts("down");
		}
		break;
	case 5:
		for (i = 0; i < times; i++) {
			interrupted = 0;
			r = sftp_upload(conn, what & 8 ? "up/d0/f1" :
			    in_parts ? "parts" : "large", "f", p, resume,
			    fsync_flag, inplace);
			if (!resume)
				check_result(r);
			if (r == 0 && in_parts && honest && !interrupted)
				check_parts(NULL);
		}
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
	u_int what, i;

	if (unlink("down") == -1 && errno == EISDIR) {
		empty_directory("down");
		rmdir("down");
	}
	bounds_start(CPU_S, MEMORY);
	input_set(input, len);
	memset(&phase, 0, sizeof(phase));
	now = 1;
	interrupted = dying = replies = nservers = 0;
	waited_s = 0;
	honest = first_honest = 1;
	(void)server_start();
	what = input_byte();
	files = input_byte();
	dirs = input_byte() % 8;
	claimed = input_number();
	real = input_number();
	set_lanes(what);
	if (lanes == 1)
		(void)server_start();
	/* With the signals: a thread that waits has all of them blocked. */
	if (sigsetjmp(ended, 1) == 0)
		converse(what, input_byte());
	end_threads();
	sftp_lanes_close();
	for (i = 0; i < nservers; i++)
		server_end(&servers[i]);
	nservers = 0;
	bounds_end(!dying);
	return 0;
}
