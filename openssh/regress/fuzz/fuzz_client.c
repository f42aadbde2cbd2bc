/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/*
 * The server of whole copies by scp and sftp: get, put, and between two
 * servers, of files and trees, also resumed and over several streams. The
 * client's code runs as it is. What it reads, writes and polls leads here (the
 * linker's --wrap).
 *
 * The servers have real files: the trees "src" to download and "dst" to upload
 * to. They may reply late, in any order, with short data, or with something
 * odd. A further stream may be refused, introduce itself as another server,
 * have other files, be slow, hang, or end.
 *
 * If all replies are right, the copy succeeds and the target is the source,
 * whatever happens to further streams. Nothing that they send ends the client.
 *
 * fatal() ends the input. What it leaves allocated is freed.
 */

#include "includes.h"

#include <sys/types.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
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
#include "progressmeter.h"
#include "sshbuf.h"
#include "xmalloc.h"
#include "sftp-check-file.h"
#include "sftp-incomplete.h"
#include "sftp-inflight.h"
#include "copy-stream.h"
#include "sftp-client.h"
#include "bounds.h"
#include "input.h"

#define CPU_S		30		/* seconds, for an input */
/* Bytes: all that may be in flight, and 32 MiB for the rest */
#define MEMORY		(SFTP_INFLIGHT_MAX + 32 * 1024 * 1024)
#define DESCRIPTORS	64		/* RLIMIT_NOFILE */
#define REPLIES		2000		/* from here on every request fails */
#define REPLIES_MAX	(2 * REPLIES)	/* after these the servers end */
#define FILE_MAX	(64 * 1024 * 1024)	/* bytes; more is not written */
#define FILE_TIME	1000000000	/* of each file that is right (s) */
#define LARGE		(33 * 1024 * 1024 + 12345)	/* bytes */
#define PAGE		4096		/* bytes */
#define LEVELS		2		/* of directories */
#define HANDLES		4096		/* ever, of a server */
#define SERVERS		8		/* most that an input has */
#define WAIT_S		1000		/* of waiting without a reply */

struct asked {
	u_char type;
	u_int id;
	struct sshbuf *m;	/* what follows the id */
	TAILQ_ENTRY(asked) entry;
};
TAILQ_HEAD(asked_list, asked);

struct server {
	const char *root;	/* directory of its files */
	int in, out;		/* the client's descriptors; -1: closed */
	struct sshbuf *sent;	/* by the client, not taken yet */
	struct sshbuf *reply;	/* on its way */
	struct asked_list requests;
	char *handles[HANDLES];	/* paths; NULL: closed */
	int listed[HANDLES];	/* 1: the directory was read */
	u_int nhandles, open;	/* handles ever, and open ones */

	/* Of a further stream's server: */
	int further;
	int stranger;		/* extensions that it has and others do not */
	double due_s;		/* has no reply before this time */
	double delay_s;		/* from one reply to the next */
	u_int left;		/* replies until it ends or hangs; 0: neither */
	int hangs;		/* 1: then it hangs */
	int odd;		/* 1: its replies may be odd */
	int ended;
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
ssize_t __wrap_send(int, const void *, size_t, int);
ssize_t __wrap_writev(int, const struct iovec *, int);
ssize_t __real_pwrite(int, const void *, size_t, off_t);
ssize_t __wrap_pwrite(int, const void *, size_t, off_t);
pid_t __wrap_tcgetpgrp(int);
int __real_close(int);
int __wrap_close(int);
int __real_open(const char *, int, ...);
int __wrap_open(const char *, int, ...);
int __real_mkdir(const char *, mode_t);
int __wrap_mkdir(const char *, mode_t);
int __wrap_socketpair(int, int, int, int *);
pid_t __wrap_fork(void);

/* sftp.c's and scp.c's */
volatile sig_atomic_t interrupted;
int showprogress;

static struct server servers[SERVERS];
static u_int nservers;
static int is_cross;		/* 1: the second one is no further stream's */
static struct {
	u_int how, n;
} further[SERVERS];		/* how further streams behave */
static int honest;		/* 1: no reply was odd so far */
static int primary_honest;	/* 1: no reply but of further streams was */
static u_int left_out;		/* extensions that the servers do without */
static u_int few;		/* handles that a server has; 0: enough */
static int endless;		/* 1: files never end */
static int full;		/* 1: our disk is full */
static u_int replies;		/* so far */

/* How the servers behave for some replies */
static struct {
	u_int left;
	int eager;		/* replies come before they are waited for */
	int lags;		/* takes requests only when it must */
	int last_first;		/* order of the replies */
	u_int wait_ms;		/* until a reply that is not there at once */
} phase;
static double now;		/* of the client's clock, seconds */
static double waited_s;		/* time without a reply */
static char said[256];		/* the last message of fatal() */
static sigjmp_buf ended;

void
cleanup_exit(int i)
{
	if (primary_honest && replies <= REPLIES)
		finding("the copy ends: %s", said);
	siglongjmp(ended, 1);
}

/* Log messages that mean a bug of the client's, not of the server's */
static void
see_message(LogLevel level, int forced, const char *msg, void *ctx)
{
	static const char *ours[] = {
		"is stuck", "has no children", "with the id", "sshbuf", NULL
	};
	u_int i;

	strlcpy(said, msg, sizeof(said));
	for (i = 0; ours[i] != NULL; i++) {
		if (strstr(msg, ours[i]) != NULL)
			finding("fatal: %s", msg);
	}
}

/* Files */

/* Returns what any source has: LARGE bytes, of which many are zero. */
static const u_char *
content(void)
{
	static u_char all[LARGE];
	size_t i;

	for (i = 0; all[LARGE - 1] == 0 && i < LARGE; i++) {
		if (i < 512 * 1024 || i % 32768 < PAGE || i == LARGE - 1)
			all[i] = 1 | (i / 8 + 1) * 0x9e3779b97f4a7c15ULL >>
			    i % 8 * 8;
	}
	return all;
}

/* As pwrite(2). Pages of zeros beyond the end of a file take no space. */
static ssize_t
put_data(int fd, const u_char *p, size_t len, off_t offset)
{
	static const u_char zeroes[PAGE];
	struct stat st;
	size_t at, n;

	if (fstat(fd, &st) == -1 || (st.st_size < offset + (off_t)len &&
	    ftruncate(fd, offset + len) == -1))
		return -1;
	for (at = 0; at < len; at += n) {
		n = MINIMUM(len - at, PAGE);
		if ((offset + (off_t)at < st.st_size ||
		    memcmp(p + at, zeroes, n) != 0) &&
		    __real_pwrite(fd, p + at, n, offset + at) != (ssize_t)n)
			return -1;
	}
	return len;
}

/* Makes a file with the first `size` bytes, and others up to `end`. */
static void
make_file(const char *path, uint64_t size, uint64_t end, int wrong)
{
	const struct timeval tv[2] = {
		{ FILE_TIME, 0 }, { FILE_TIME + wrong, 0 }
	};
	int fd = __real_open(path, O_WRONLY|O_CREAT|O_TRUNC, 0644);

	if (fd == -1 || put_data(fd, content(), size, 0) == -1 ||
	    ftruncate(fd, MAXIMUM(size, end)) == -1 || close(fd) == -1 ||
	    utimes(path, tv) == -1)
		finding("set up \"%s\": %s", path, strerror(errno));
}

/* Makes a directory of files, directories and a link. */
static void
make_dir(const char *dir, u_int level, int wrong)
{
	static const uint64_t sizes[] = { 0, 1, 1000, 32768, 40000, 300000 };
	char path[PATH_MAX];
	u_int i;

	if (__real_mkdir(dir, 0755) == -1)
		finding("set up \"%s\": %s", dir, strerror(errno));
	for (i = 0; i < 6; i++) {
		snprintf(path, sizeof(path), "%s/f%u", dir, i);
		make_file(path, wrong ? 0 : sizes[i], sizes[i], wrong);
	}
	snprintf(path, sizeof(path), "%s/link", dir);
	if (symlink("f2", path) == -1)
		finding("set up \"%s\": %s", path, strerror(errno));
	for (i = 0; i < 2 && level < LEVELS; i++) {
		snprintf(path, sizeof(path), "%s/d%u", dir, i);
		make_dir(path, level + 1, wrong);
	}
}

/* Makes a tree to copy from. One that is wrong has other bytes and times. */
static void
make_tree(const char *root, int wrong)
{
	char path[PATH_MAX], other[PATH_MAX];

	if (__real_mkdir(root, 0755) == -1)
		finding("set up \"%s\": %s", root, strerror(errno));
	snprintf(path, sizeof(path), "%s/d", root);
	make_dir(path, 1, wrong);
	snprintf(path, sizeof(path), "%s/e", root);
	make_dir(path, LEVELS, wrong);
	snprintf(path, sizeof(path), "%s/large", root);
	make_file(path, wrong ? 0 : LARGE, LARGE, wrong);
	snprintf(other, sizeof(other), "%s/e/large", root);
	if (link(path, other) == -1)
		finding("set up \"%s\": %s", other, strerror(errno));
}

static void
compare_files(const char *a, const char *b)
{
	static u_char x[256 * 1024], y[sizeof(x)];
	int fda = __real_open(a, O_RDONLY), fdb = __real_open(b, O_RDONLY);
	ssize_t n;

	if (fda == -1 || fdb == -1)
		finding("no \"%s\"", b);
	do {
		n = __real_read(fda, x, sizeof(x));
		if (__real_read(fdb, y, sizeof(y)) != n ||
		    memcmp(x, y, n) != 0)
			finding("\"%s\" is another file", b);
	} while (n > 0);
	__real_close(fda);
	__real_close(fdb);
}

/* A copy of a has succeeded: b has to be the same, but for links. */
static void
compare(const char *a, const char *b)
{
	char x[PATH_MAX], y[PATH_MAX];
	struct dirent *entry;
	struct stat st;
	DIR *dir;

	if (lstat(a, &st) == -1)
		finding("\"%s\" was copied", a);
	if (S_ISREG(st.st_mode))
		compare_files(a, b);
	if (!S_ISDIR(st.st_mode) || (dir = opendir(a)) == NULL)
		return;
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(x, sizeof(x), "%s/%s", a, entry->d_name);
		snprintf(y, sizeof(y), "%s/%s", b, entry->d_name);
		compare(x, y);
	}
	closedir(dir);
}

/* Right replies. A failure to put something is ignored. */

static void
put_status(struct sshbuf *m, u_int id, u_int status)
{
	(void)sshbuf_put_u8(m, SSH2_FXP_STATUS);
	(void)sshbuf_put_u32(m, id);
	(void)sshbuf_put_u32(m, status);
	/* Old servers send no text. */
	if (left_out & 1)
		return;
	(void)sshbuf_put_cstring(m, "");
	(void)sshbuf_put_cstring(m, "");
}

static void
put_head(struct sshbuf *m, const struct asked *q, u_char type)
{
	(void)sshbuf_put_u8(m, type);
	(void)sshbuf_put_u32(m, q->id);
}

static void
put_version(const struct server *s, struct sshbuf *m)
{
	static const char *extensions[] = {
		"none@openssh.com", "limits@openssh.com", "check-file-handle",
		"fsync@openssh.com", "lsetstat@openssh.com",
		"expand-path@openssh.com", "fstatvfs@openssh.com"
	};
	u_int i;

	(void)sshbuf_put_u8(m, SSH2_FXP_VERSION);
	(void)sshbuf_put_u32(m, 3 - (s->stranger & 1));
	for (i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++) {
		if (left_out >> i & 1)
			continue;
		(void)sshbuf_put_cstring(m, extensions[i]);
		(void)sshbuf_put_cstring(m, i == 2 ? SFTP_CHECK_ALG :
		    i == 6 ? "2" : "1");
	}
}

/* Sets *path to one of the server's, of size PATH_MAX. */
static int
get_path(const struct server *s, struct asked *q, char *path)
{
	char *name;

	if (sshbuf_get_cstring(q->m, &name, NULL) != 0)
		return -1;
	if (name[0] == '/' || strstr(name, "..") != NULL) {
		/* No name from the first one leads out of the target. */
		if (is_cross && s == &servers[1])
			finding("request %u of \"%s\"", q->id, name);
		*name = '\0';
	}
	snprintf(path, PATH_MAX, "%s/%s", s->root, name);
	free(name);
	return 0;
}

/* Returns the handle of a request, or -1. */
static int
get_handle(const struct server *s, struct asked *q)
{
	u_int n;

	if (sshbuf_get_u32(q->m, &n) != 0 || n != 4 ||
	    sshbuf_get_u32(q->m, &n) != 0 || n >= HANDLES ||
	    s->handles[n] == NULL)
		return -1;
	return n;
}

static void
put_handle(struct server *s, struct sshbuf *m, struct asked *q,
    const char *path)
{
	if (s->nhandles == HANDLES || (few != 0 && s->open >= few)) {
		put_status(m, q->id, SSH2_FX_FAILURE);
		return;
	}
	s->open++;
	s->handles[s->nhandles] = xstrdup(path);
	s->listed[s->nhandles] = 0;
	put_head(m, q, SSH2_FXP_HANDLE);
	(void)sshbuf_put_u32(m, 4);
	(void)sshbuf_put_u32(m, s->nhandles++);
}

static void
open_file(struct server *s, struct sshbuf *m, struct asked *q,
    const char *path)
{
	u_int flags = 0;
	int fd;

	(void)sshbuf_get_u32(q->m, &flags);
	fd = __real_open(path, (flags & SSH2_FXF_WRITE ? O_RDWR : O_RDONLY) |
	    (flags & SSH2_FXF_CREAT ? O_CREAT : 0) |
	    (flags & SSH2_FXF_TRUNC ? O_TRUNC : 0), 0644);
	if (fd == -1) {
		put_status(m, q->id, SSH2_FX_NO_SUCH_FILE);
		return;
	}
	__real_close(fd);
	put_handle(s, m, q, path);
}

static void
put_attrs(struct sshbuf *m, const char *path, int follow)
{
	struct stat st;
	Attrib a;

	memset(&st, 0, sizeof(st));
	(void)(follow ? stat : lstat)(path, &st);
	stat_to_attrib(&st, &a);
	(void)encode_attrib(m, &a);
}

static void
put_entry(struct sshbuf *m, const char *name, const char *path)
{
	(void)sshbuf_put_cstring(m, name);
	(void)sshbuf_put_cstring(m, name);
	put_attrs(m, path, 0);
}

static void
list(struct server *s, struct sshbuf *m, struct asked *q, int h)
{
	char path[PATH_MAX];
	struct dirent *entry;
	struct sshbuf *b;
	u_int n = 0;
	DIR *dir;

	if (s->listed[h] || (dir = opendir(s->handles[h])) == NULL) {
		put_status(m, q->id, SSH2_FX_EOF);
		return;
	}
	if ((b = sshbuf_new()) == NULL)
		abort();
	while ((entry = readdir(dir)) != NULL) {
		snprintf(path, sizeof(path), "%s/%s", s->handles[h],
		    entry->d_name);
		put_entry(b, entry->d_name, path);
		n++;
	}
	closedir(dir);
	put_head(m, q, SSH2_FXP_NAME);
	(void)sshbuf_put_u32(m, n);
	(void)sshbuf_putb(m, b);
	sshbuf_free(b);
	s->listed[h] = 1;
}

/* Sets a size, which is all that is done of attributes. */
static void
set_attrs(struct sshbuf *m, struct asked *q, const char *path)
{
	Attrib a;
	int r;

	r = decode_attrib(q->m, &a);
	if (r == 0 && (a.flags & SSH2_FILEXFER_ATTR_SIZE) &&
	    a.size <= FILE_MAX)
		r = truncate(path, a.size);
	put_status(m, q->id, r == 0 ? SSH2_FX_OK : SSH2_FX_FAILURE);
}

static void
read_file(struct sshbuf *m, struct asked *q, const char *path, u_int most)
{
	static u_char data[SFTP_MAX_MSG_LENGTH - 1024];
	uint64_t offset = 0;
	u_int len = 0;
	ssize_t n;
	int fd;

	(void)sshbuf_get_u64(q->m, &offset);
	(void)sshbuf_get_u32(q->m, &len);
	len = MINIMUM(MINIMUM(len, most), sizeof(data));
	fd = __real_open(path, O_RDONLY);
	n = pread(fd, data, len, MINIMUM(offset, INT64_MAX));
	if (n < (ssize_t)len && endless) {
		memset(data, 0, len);
		n = len;
	}
	if (n <= 0 && len != 0)
		put_status(m, q->id, SSH2_FX_EOF);
	else {
		put_head(m, q, SSH2_FXP_DATA);
		(void)sshbuf_put_string(m, data, MAXIMUM(n, 0));
	}
	__real_close(fd);
}

static void
write_file(struct server *s, struct sshbuf *m, struct asked *q,
    const char *path)
{
	const u_char *data;
	uint64_t offset;
	size_t len;
	int fd = __real_open(path, O_WRONLY);

	if (s->further && s->root != servers[0].root)
		finding("request %u writes elsewhere", q->id);
	if (sshbuf_get_u64(q->m, &offset) != 0 ||
	    sshbuf_get_string_direct(q->m, &data, &len) != 0)
		finding("request %u without data", q->id);
	put_status(m, q->id, fd == -1 || (offset < FILE_MAX &&
	    put_data(fd, data, len, offset) == -1) ?
	    SSH2_FX_FAILURE : SSH2_FX_OK);
	__real_close(fd);
}

/* The digest of a file, by the code of our own server */
static void
check_file(struct server *s, struct sshbuf *m, struct asked *q)
{
	struct sshbuf *b = sshbuf_new();
	uint64_t offset = 0, len = 0, total;
	char *alg = NULL;
	int h = get_handle(s, q), fd = -1, r = -1;

	if (h != -1 && sshbuf_get_cstring(q->m, &alg, NULL) == 0 &&
	    sshbuf_get_u64(q->m, &offset) == 0 &&
	    sshbuf_get_u64(q->m, &len) == 0 &&
	    (fd = __real_open(s->handles[h], O_RDONLY)) != -1)
		r = sftp_check_file(fd, offset, len, 0, -1, -1, b, &total);
	if (r == 0) {
		put_head(m, q, SSH2_FXP_EXTENDED_REPLY);
		(void)sshbuf_put_cstring(m, SFTP_CHECK_ALG);
		(void)sshbuf_putb(m, b);
	} else
		put_status(m, q->id, SSH2_FX_FAILURE);
	if (fd != -1)
		__real_close(fd);
	free(alg);
	sshbuf_free(b);
}

static void
extended(struct server *s, struct sshbuf *m, struct asked *q)
{
	static const u_int lengths[] = { 255 * 1024, 32768, 1000, 0 };
	u_int len = lengths[left_out >> 6 & 3];
	char *name;

	if (sshbuf_get_cstring(q->m, &name, NULL) != 0)
		finding("request %u without a name", q->id);
	if (strcmp(name, "limits@openssh.com") == 0) {
		put_head(m, q, SSH2_FXP_EXTENDED_REPLY);
		(void)sshbuf_put_u64(m, len == 0 ? 0 : SFTP_MAX_MSG_LENGTH);
		(void)sshbuf_put_u64(m, len);
		(void)sshbuf_put_u64(m, len);
		(void)sshbuf_put_u64(m, few);
	} else if (strcmp(name, "check-file-handle") == 0)
		check_file(s, m, q);
	else
		put_status(m, q->id, SSH2_FX_OK);
	free(name);
}

/* Carries out a request that has a handle. */
static void
with_handle(struct server *s, struct sshbuf *m, struct asked *q, u_int most)
{
	int h = get_handle(s, q);

	if (h == -1) {
		put_status(m, q->id, SSH2_FX_FAILURE);
		return;
	}
	switch (q->type) {
	case SSH2_FXP_READ:
		read_file(m, q, s->handles[h], most);
		break;
	case SSH2_FXP_WRITE:
		write_file(s, m, q, s->handles[h]);
		break;
	case SSH2_FXP_READDIR:
		list(s, m, q, h);
		break;
	case SSH2_FXP_FSETSTAT:
		set_attrs(m, q, s->handles[h]);
		break;
	default:
		free(s->handles[h]);
		s->handles[h] = NULL;
		s->open--;
		put_status(m, q->id, SSH2_FX_OK);
		break;
	}
}

/* Carries out a request that has a path. */
static void
with_path(struct server *s, struct sshbuf *m, struct asked *q)
{
	char path[PATH_MAX];
	struct stat st;

	if (get_path(s, q, path) == -1)
		finding("request %u without a path", q->id);
	if (q->type == SSH2_FXP_MKDIR) {
		put_status(m, q->id, __real_mkdir(path, 0755) == 0 ?
		    SSH2_FX_OK : SSH2_FX_FAILURE);
		return;
	}
	if (q->type == SSH2_FXP_OPEN) {
		open_file(s, m, q, path);
		return;
	}
	if (lstat(path, &st) == -1 && q->type != SSH2_FXP_REALPATH) {
		put_status(m, q->id, SSH2_FX_NO_SUCH_FILE);
		return;
	}
	switch (q->type) {
	case SSH2_FXP_OPENDIR:
		put_handle(s, m, q, path);
		break;
	case SSH2_FXP_SETSTAT:
		set_attrs(m, q, path);
		break;
	case SSH2_FXP_REALPATH:
		put_head(m, q, SSH2_FXP_NAME);
		(void)sshbuf_put_u32(m, 1);
		put_entry(m, path + strlen(s->root) + 1, path);
		break;
	default:
		put_head(m, q, SSH2_FXP_ATTRS);
		put_attrs(m, path, q->type == SSH2_FXP_STAT);
		break;
	}
}

/* Replies as an honest server, with `most` bytes of data at most. */
static void
right_reply(struct server *s, struct sshbuf *m, struct asked *q, u_int most)
{
	switch (q->type) {
	case SSH2_FXP_INIT:
		put_version(s, m);
		break;
	case SSH2_FXP_EXTENDED:
		extended(s, m, q);
		break;
	case SSH2_FXP_READ:
	case SSH2_FXP_WRITE:
	case SSH2_FXP_READDIR:
	case SSH2_FXP_FSETSTAT:
	case SSH2_FXP_CLOSE:
		with_handle(s, m, q, most);
		break;
	case SSH2_FXP_OPEN:
	case SSH2_FXP_OPENDIR:
	case SSH2_FXP_MKDIR:
	case SSH2_FXP_SETSTAT:
	case SSH2_FXP_STAT:
	case SSH2_FXP_LSTAT:
	case SSH2_FXP_REALPATH:
		with_path(s, m, q);
		break;
	default:
		finding("request %u of type %u", q->id, q->type);
	}
}

/* Replies */

static void
odd_names(struct sshbuf *m, const struct asked *q)
{
	static const char *names[] = {
		"..", "../x", "/x", "", ".", "a/b", "f0", "d1", "\n"
	};
	u_int i, n = input_byte();

	put_head(m, q, SSH2_FXP_NAME);
	(void)sshbuf_put_u32(m, n);
	for (i = 0; i < n % 16; i++)
		put_entry(m, names[input_byte() % 9],
		    input_byte() & 1 ? "src/e" : "src/large");
}

static void
odd_attrs(struct sshbuf *m, const struct asked *q)
{
	static const u_int modes[] = {
		S_IFREG | 0644, S_IFDIR | 0755, S_IFLNK | 0777, 0, S_IFREG
	};

	put_head(m, q, SSH2_FXP_ATTRS);
	(void)sshbuf_put_u32(m, input_byte() & 13);
	(void)sshbuf_put_u64(m, input_number());
	(void)sshbuf_put_u32(m, modes[input_byte() % 5]);
	(void)sshbuf_put_u64(m, input_number());
}

/* What a server may reply that is not honest, or fails */
static void
odd_reply(struct server *s, struct sshbuf *m, struct asked *q)
{
	const uint8_t *raw;
	u_int how = input_byte() % 13;
	size_t len;

	honest = 0;
	primary_honest &= s->further;
	switch (how) {
	case 0:
		put_status(m, q->id, input_byte());
		break;
	case 1:
		q->id += input_byte();
		right_reply(s, m, q, UINT_MAX);
		break;
	case 2:
		odd_names(m, q);
		break;
	case 3:
		odd_attrs(m, q);
		break;
	case 4:				/* a handle, of any length */
		put_head(m, q, SSH2_FXP_HANDLE);
		(void)sshbuf_put_string(m, said, input_byte());
		break;
	case 5:				/* any data */
		put_head(m, q, SSH2_FXP_DATA);
		(void)sshbuf_put_u32(m, input_number());
		break;
	case 6:				/* what was right, with more behind */
		right_reply(s, m, q, UINT_MAX);
		(void)sshbuf_put(m, said, sizeof(said));
		break;
	case 7:				/* the user types ^C */
		interrupted = 1;
		right_reply(s, m, q, UINT_MAX);
		break;
	case 8:				/* the files grow without end */
		endless = !endless;
		right_reply(s, m, q, UINT_MAX);
		break;
	case 12:
		full = 1;
		right_reply(s, m, q, UINT_MAX);
		break;
	case 9:				/* no more than a length */
		(void)sshbuf_put_u32(s->reply, input_number());
		break;
	case 10:
		put_head(m, q, input_byte());
		/* FALLTHROUGH */
	default:
		raw = input_string(&len);
		(void)sshbuf_put(m, raw, len);
		break;
	}
}

/* Begins a phase. Returns 1 if its first reply is odd. */
static int
next_phase(void)
{
	u_int how;

	phase.left = input_byte();
	if (phase.left >= 128)
		phase.left = 1 << (phase.left & 15);
	how = input_byte();
	phase.eager = how & 1;
	phase.lags = how >> 1 & 1;
	phase.last_first = how >> 2 & 1;
	phase.wait_ms = how >> 4 == 15 ? 10000 : (how >> 4) * 20;
	return how >> 3 & 1;
}

static void
request_free(struct server *s, struct asked *q)
{
	TAILQ_REMOVE(&s->requests, q, entry);
	sshbuf_free(q->m);
	free(q);
}

/* Returns 0 if the server has nothing to reply, and never will. */
static int
reply(struct server *s)
{
	struct asked *q = TAILQ_FIRST(&s->requests);
	struct sshbuf *m;
	int odd = 0;

	if (q == NULL || s->ended || ++replies > REPLIES_MAX)
		return 0;
	waited_s = 0;
	/* So the meter is shown as often as it may be. */
	if (showprogress)
		raise(SIGWINCH);
	if (phase.left == 0 && input_len() > 0)
		odd = next_phase() && (!s->further || s->odd);
	else if (phase.left != 0)
		phase.left--;
	if (!phase.eager)
		now += phase.wait_ms / 1e3;
	if (phase.last_first && q->type != SSH2_FXP_INIT)
		q = TAILQ_LAST(&s->requests, asked_list);
	/* An honest server reads and writes in any order, but no more. */
	if (q != TAILQ_FIRST(&s->requests) && q->type != SSH2_FXP_READ &&
	    q->type != SSH2_FXP_WRITE)
		honest = 0;
	if ((m = sshbuf_new()) == NULL)
		abort();
	if (replies > REPLIES && q->type != SSH2_FXP_INIT)
		put_status(m, q->id, SSH2_FX_FAILURE);
	else if (odd)
		odd_reply(s, m, q);
	else
		right_reply(s, m, q, phase.left % 8 == 7 ? 4000 : UINT_MAX);
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

static void
take_requests(struct server *s)
{
	struct asked *q;

	while (sshbuf_len(s->sent) >= 4 && sshbuf_len(s->sent) >=
	    PEEK_U32(sshbuf_ptr(s->sent)) + (size_t)4) {
		q = xcalloc(1, sizeof(*q));
		TAILQ_INSERT_TAIL(&s->requests, q, entry);
		if ((q->m = sshbuf_new()) == NULL ||
		    sshbuf_get_stringb(s->sent, q->m) != 0 ||
		    sshbuf_get_u8(q->m, &q->type) != 0 ||
		    sshbuf_get_u32(q->m, &q->id) != 0)
			finding("request without an id");
		if (s->stranger && q->type != SSH2_FXP_INIT)
			finding("request %u to a stranger", q->id);
	}
	bounds_check();
}

/* System calls of the client's, and its clock */

double
__wrap_monotime_double(void)
{
	return now += 1e-3;
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

static int
is_ready(const struct pollfd *pfd, int waits)
{
	const struct server *s = server_of(pfd->fd);
	int has = 0;

	if (s == NULL)
		return 0;
	if (pfd->events & POLLOUT)
		return s->ended || !phase.lags ||
		    (waits && TAILQ_EMPTY(&s->requests));
	has = sshbuf_len(s->reply) != 0 || s->ended;
	return has || (now >= s->due_s && (waits || phase.eager) &&
	    !TAILQ_EMPTY(&s->requests));
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
next_reply(void)
{
	double t = HUGE_VAL;
	u_int i;

	for (i = 0; i < nservers; i++) {
		if (servers[i].in != -1 && !TAILQ_EMPTY(&servers[i].requests))
			t = MINIMUM(t, servers[i].due_s);
	}
	return t;
}

/* The client waits in vain. It may if the server was odd, which ends then. */
static void
wait_in_vain(const char *how_long)
{
	if (primary_honest || servers[0].ended)
		finding("waits for %s", how_long);
	servers[0].ended = servers[is_cross].ended = 1;
}

int
__wrap_poll(struct pollfd *pfd, nfds_t npfd, int timeout)
{
	double next_s = next_reply(), end_s = now + timeout / 1e3;
	int n;

	if ((n = are_ready(pfd, npfd, 0)) != 0 || timeout == 0 ||
	    (n = are_ready(pfd, npfd, 1)) != 0)
		return n;
	if (timeout > 0 && next_s > end_s) {
		now = end_s;
		if ((waited_s += timeout / 1e3) > WAIT_S)
			wait_in_vain("so long");
		return 0;
	}
	if (next_s == HUGE_VAL)
		wait_in_vain("nothing");
	else
		now = MAXIMUM(now, next_s);
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
	if (sshbuf_len(s->reply) == 0 && !reply(s)) {
		s->ended = 1;
		return 0;
	}
	len = MINIMUM(len, sshbuf_len(s->reply));
	if (sshbuf_get(s->reply, buf, len) != 0)
		abort();
	bounds_check();
	return len;
}

ssize_t
__wrap_write(int fd, const void *buf, size_t len)
{
	struct server *s = server_of(fd);

	if (s == NULL)
		return __real_write(fd, buf, len);
	if (s->ended) {
		errno = EPIPE;
		return -1;
	}
	if (phase.lags && fcntl(fd, F_GETFL) & O_NONBLOCK) {
		if (!TAILQ_EMPTY(&s->requests)) {
			errno = EAGAIN;
			return -1;
		}
		len = (len + 1) / 2;
	}
	if (sshbuf_put(s->sent, buf, len) != 0)
		abort();
	take_requests(s);
	return len;
}

ssize_t
__wrap_send(int fd, const void *buf, size_t len, int flags)
{
	return __wrap_write(fd, buf, len);
}

/* sftp-client.c's way to send, before and after copies */
ssize_t
__wrap_writev(int fd, const struct iovec *iov, int n)
{
	return __wrap_write(fd, iov[0].iov_base, iov[0].iov_len);
}

/* Files stay short, whatever the server sends. */
ssize_t
__wrap_pwrite(int fd, const void *buf, size_t len, off_t offset)
{
	if (full) {
		errno = ENOSPC;
		return -1;
	}
	return offset > FILE_MAX ? (ssize_t)len :
	    put_data(fd, buf, len, offset);
}

/* The meter's terminal is /dev/null. The user switches between programs. */
pid_t
__wrap_tcgetpgrp(int fd)
{
	return replies % 16 < 12 ? getpgrp() : -1;
}

int
__wrap_close(int fd)
{
	struct server *s = server_of(fd);

	if (s != NULL && s->in == fd)
		s->in = -1;
	if (s != NULL && s->out == fd)
		s->out = -1;
	return __real_close(fd);
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

int
__wrap_mkdir(const char *path, mode_t mode)
{
	check_path(path);
	return __real_mkdir(path, mode);
}

/* The servers of an input */

static struct server *
server_start(const char *root)
{
	struct server *s = &servers[nservers++];

	memset(s, 0, sizeof(*s));
	s->root = root;
	TAILQ_INIT(&s->requests);
	if ((s->sent = sshbuf_new()) == NULL ||
	    (s->reply = sshbuf_new()) == NULL)
		abort();
	s->in = s->out = __real_open("/dev/null", O_RDWR);
	if (s->in == -1)
		finding("no descriptor for a server");
	return s;
}

static void
server_end(struct server *s)
{
	struct asked *q;
	u_int i;

	while ((q = TAILQ_FIRST(&s->requests)) != NULL)
		request_free(s, q);
	for (i = 0; i < s->nhandles; i++)
		free(s->handles[i]);
	sshbuf_free(s->sent);
	sshbuf_free(s->reply);
	if (s->in != -1)
		__real_close(s->in);
}

/* The client starts a further stream: this, and then fork(2). */
int
__wrap_socketpair(int domain, int type, int protocol, int *sv)
{
	u_int how = further[nservers].how % 8, n = further[nservers].n;
	struct server *s;

	if (how == 1 && (n & 1)) {
		errno = ENFILE;
		return -1;
	}
	s = server_start(servers[0].root);
	s->further = 1;
	sv[0] = s->in;
	/* The program's end, which the client closes */
	if ((sv[1] = __real_open("/dev/null", O_RDWR)) == -1)
		finding("no descriptor for a program");
	switch (how) {
	case 2:
		s->stranger = 1;
		break;
	case 3:
		s->root = "other";
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
	case 7:
		s->odd = 1;
		break;
	}
	return 0;
}

/* Returns a process that is none, or -1. */
pid_t
__wrap_fork(void)
{
	if (further[nservers - 1].how % 8 == 1) {
		errno = EAGAIN;
		return -1;
	}
	return INT_MAX;
}

/* Puts what an earlier copy may have left in the place of a file. */
static void
leave_before(const char *path)
{
	uint64_t have = input_number() % LARGE, end = input_number() % LARGE;

	make_file(path, have, have + end % 100000, 0);
}

/* Copies. Returns what the client's functions do. */
static int
copy(struct sftp_conn *conn, struct sftp_conn *to, const char *what, int tree,
    u_int how, int resume, int print)
{
	int p = how & 1, sync = how >> 1 & 1, follow = how >> 2 & 1;
	int in = how >> 3 & 1;
	char up[64];

	snprintf(up, sizeof(up), "src/%s", what);
	if (to != NULL)
		return tree ? sftp_crossload_dir(conn, to, what, "down", NULL,
		    p, print, follow) :
		    sftp_crossload(conn, to, what, "down", NULL, p);
	if (servers[0].root[0] == 's')
		return tree ? sftp_download_dir(conn, what, "down", NULL, p,
		    print, resume, sync, follow, in) :
		    sftp_download(conn, what, "down", NULL, p, resume, sync,
		    in);
	return tree ? sftp_upload_dir(conn, up, "down", p, print, resume, sync,
	    follow, in) : sftp_upload(conn, up, "down", p, resume, sync, in);
}

/* Notes requests to be sent with INIT. The copy may ask for them or not. */
static void
want_ahead(const char *what)
{
	static const u_char types[] = {
		0, SSH2_FXP_REALPATH, SSH2_FXP_STAT, SSH2_FXP_LSTAT
	};
	const char *const paths[] = { what, "", "down", "~" };
	u_int n;

	for (n = input_byte(); n != 0; n >>= 4) {
		if ((n & 3) != 0)
			copy_ahead_want(types[n & 3], paths[n >> 2 & 3]);
	}
}

/* Looks for findings in what a copy returned, and has left. */
static void
judge(int r, int resume, int before, const char *what, const char *down)
{
	char path[64];

	if (!honest || replies > REPLIES)
		return;
	if (r != 0 && resume != 1)
		finding("an honest copy of \"%s\" fails", what);
	if (r == 0 && !(before && resume == 1)) {
		snprintf(path, sizeof(path), "src/%s", what);
		compare(path, down);
	}
}

static void
converse(void)
{
	static const char *const trees[] = { "d", "d/d1", "e", "d/d0" };
	static const char *const files[] = { "d/f0", "d/f4", "d/f5", "large" };
	u_int kind = input_byte() % 6, which = input_byte();
	u_int how = input_byte(), requests = 0, i, streams = 1;
	int tree = kind & 1, resume = how >> 4 & 3, before = 0;
	const char *what = (tree ? trees : files)[which & 3];
	const char *down = kind / 2 == 0 ? "down" : "dst/down";
	struct sftp_conn *conn, *to = NULL;
	char path[64];

	left_out = input_byte();
	few = input_byte();
	few = few < 128 ? 0 : few % 16 + 1;
	resume = MINIMUM(resume, COPY_RESUME_CHECKED);
	if ((is_cross = kind / 2 == 2))
		resume = 0;
	if (how & 0x40)
		requests = input_byte() % 64;
	if (how & 0x80 && !is_cross)
		streams = 2 + input_byte() % (SERVERS - 1);
	for (i = 1; i < streams; i++) {
		further[i].how = input_byte();
		further[i].n = input_byte();
	}
	(void)server_start(kind / 2 == 1 ? "dst" : "src");
	if (is_cross)
		(void)server_start("dst");
	if ((before = which >> 2 & 1)) {
		snprintf(path, sizeof(path), "%s%s", down, tree ? "/f5" : "");
		if (tree && __real_mkdir(down, 0755) == -1)
			finding("set up \"%s\": %s", down, strerror(errno));
		leave_before(path);
	}
	copy_streams = streams;
	copy_program((char *[]){ "server", NULL }, 0);
	if (which & 0x40)
		want_ahead(what);
	conn = sftp_init(servers[0].in, servers[0].out,
	    which & 8 ? 32 * 1024 : 0, requests, 0);
	if (is_cross && (which & 0x80))
		want_ahead("down");
	if (is_cross)
		to = sftp_init(servers[1].in, servers[1].out, 0, requests, 0);
	if (conn != NULL && (!is_cross || to != NULL)) {
		showprogress = which >> 4 & 1;
		judge(copy(conn, to, what, tree, how, resume, which >> 5 & 1),
		    resume, before, what, down);
	} else if (primary_honest)
		finding("no connection: %s", said);
	showprogress = 0;
	copy_conn_free(to);
	copy_conn_free(conn);
	free(to);
	free(conn);
}

static void
remove_copy(const char *path)
{
	if (unlink(path) == -1 && errno == EISDIR) {
		empty_directory(path);
		rmdir(path);
	}
}

/* Frees what the client keeps in static variables. */
static void
forget(void)
{
	int i;

	if (showprogress)
		stop_progress_meter();
	showprogress = 0;
	for (i = 0; i < 512; i++)
		sftp_incomplete_end(i);
	copy_more_free(copy_more_new());
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const uint8_t resumed[] = { 0, 6, 32, 0, 0, 8 };
	struct rlimit rl;

	if (freopen("/dev/null", "w", stdout) == NULL)
		abort();
	(void)signal(SIGPIPE, SIG_IGN);
	scratch_directory();
	make_tree("src", 0);
	make_tree("other", 1);
	if (__real_mkdir("dst", 0755) == -1 ||
	    getrlimit(RLIMIT_NOFILE, &rl) == -1)
		abort();
	rl.rlim_cur = DESCRIPTORS;
	if (setrlimit(RLIMIT_NOFILE, &rl) == -1)
		abort();
	log_init("fuzz_client", SYSLOG_LEVEL_FATAL, SYSLOG_FACILITY_USER, 1);
	set_log_handler(see_message, NULL);
	/* What libcrypto allocates once is not an input's. */
	(void)LLVMFuzzerTestOneInput(resumed, sizeof(resumed));
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	int whole = 0;
	u_int i;

	remove_copy("down");
	remove_copy("dst/down");
	bounds_start(CPU_S, MEMORY);
	input_set(input, len);
	memset(&phase, 0, sizeof(phase));
	now = 1;
	waited_s = 0;
	interrupted = replies = nservers = endless = full = 0;
	honest = primary_honest = 1;
	if (sigsetjmp(ended, 1) == 0) {
		converse();
		whole = 1;
	}
	forget();
	for (i = 0; i < nservers; i++)
		server_end(&servers[i]);
	nservers = 0;
	bounds_end(whole);
	return 0;
}
