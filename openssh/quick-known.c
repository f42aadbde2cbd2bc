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
#include <sys/file.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#ifdef HAVE_LIBGEN_H
#include <libgen.h>
#endif
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "atomicio.h"
#include "hostfile.h"
#include "log.h"
#include "misc.h"
#include "openbsd-compat/openbsd-compat.h"
#include "quick-known.h"
#include "quick-start.h"
#include "sshbuf.h"
#include "ssherr.h"

#define FORGET_WAIT_MS	3000
#define FILE_MAX	(QUICK_KNOWN_MAX * QUICK_LINE_MAX)

/* Returns 1 if only the user and root may write to a folder, else 0. */
static int
is_private(const struct stat *folder)
{
	return S_ISDIR(folder->st_mode) && (folder->st_mode & 022) == 0 &&
	    (folder->st_uid == getuid() || folder->st_uid == 0);
}

/* Returns 1 if a file is, or would be, at a path under another name, else 0. */
static int
is_at(const char *file, const char *path)
{
	const char *name = strrchr(file, '/');
	struct stat a, b;

	name = name == NULL ? file : name + 1;
	return strcmp(name, QUICK_KNOWN_NAME) == 0 ||
	    (stat(file, &a) == 0 && stat(path, &b) == 0 &&
	    a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

char *
quick_known_path(const char *hostfile)
{
	struct stat st;
	char *copy, *folder, *path = NULL;
	int is_file;

	if (hostfile == NULL || strcasecmp(hostfile, "none") == 0 ||
	    (copy = strdup(hostfile)) == NULL)
		return NULL;
	folder = dirname(copy);
	is_file = stat(hostfile, &st) == 0 ? S_ISREG(st.st_mode) :
	    errno == ENOENT;
	if (!is_file || (stat(folder, &st) == 0 && !is_private(&st)))
		debug("QuickStart: nothing remembered beside %s", hostfile);
	else if (asprintf(&path, "%s/%s", folder, QUICK_KNOWN_NAME) == -1)
		path = NULL;
	else if (is_at(hostfile, path)) {
		/* It would be replaced. */
		free(path);
		path = NULL;
	}
	free(copy);
	return path;
}

/* Returns 1 if an entry is a host's, else 0. */
static int
is_host(const struct quick_entry *entry, const char *host)
{
	char *hashed = host_hash(host, entry->host, strlen(entry->host));
	int same = hashed != NULL && strcmp(hashed, entry->host) == 0;

	free(hashed);
	return same;
}

struct quick_entry *
quick_known_find(struct quick_known *known, const char *host, const char *user)
{
	char digest[sizeof(known->entry[0].user)];
	size_t i;

	for (i = 0; i < known->num; i++) {
		struct quick_entry *e = &known->entry[i];

		if (is_host(e, host) && quick_entry_digest(e->host, user, NULL,
		    NULL, digest, sizeof(digest)) == 0 &&
		    strcmp(digest, e->user) == 0)
			return e;
	}
	return NULL;
}

void
quick_known_remove(struct quick_known *known, struct quick_entry *entry)
{
	size_t behind = known->num - (entry - known->entry) - 1;

	memmove(entry, entry + 1, behind * sizeof(*entry));
	known->num--;
}

void
quick_known_add(struct quick_known *known, const struct quick_entry *entry)
{
	if (known->num == QUICK_KNOWN_MAX)
		quick_known_remove(known, &known->entry[0]);
	known->entry[known->num++] = *entry;
}

int
quick_known_parse(struct quick_known *known, const char *text, size_t len)
{
	char line[QUICK_LINE_MAX];
	const char *end;
	size_t n;

	known->num = 0;
	while (len > 0) {
		if (known->num == QUICK_KNOWN_MAX ||
		    (end = memchr(text, '\n', len)) == NULL ||
		    (n = end - text) >= sizeof(line) ||
		    memchr(text, '\0', n) != NULL)
			goto bad;
		memcpy(line, text, n);
		line[n] = '\0';
		if (quick_entry_parse(line, &known->entry[known->num]) != 0)
			goto bad;
		known->num++;
		text += n + 1;
		len -= n + 1;
	}
	return 0;
 bad:
	known->num = 0;
	return SSH_ERR_INVALID_FORMAT;
}

/* Returns 0 if a file may be read, else an SSH_ERR_* code. */
static int
check_file(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == -1)
		return SSH_ERR_SYSTEM_ERROR;
	if (!S_ISREG(st.st_mode) || st.st_uid != getuid() ||
	    (st.st_mode & 077) != 0)
		return SSH_ERR_KEY_BAD_PERMISSIONS;
	return 0;
}

int
quick_known_load(struct quick_known *known, const char *path)
{
	char *text;
	size_t len;
	int fd, r;

	known->num = 0;
	/* A fifo must not stop us here, and a symlink may lead anywhere. */
	if ((fd = open(path, O_RDONLY|O_NOFOLLOW|O_NONBLOCK)) == -1) {
		if (errno == ENOENT)
			return 0;
		return errno == ELOOP ? SSH_ERR_KEY_BAD_PERMISSIONS :
		    SSH_ERR_SYSTEM_ERROR;
	}
	if ((r = check_file(fd)) != 0) {
		close(fd);
		return r;
	}
	if ((text = malloc(FILE_MAX + 1)) == NULL) {
		close(fd);
		return SSH_ERR_ALLOC_FAIL;
	}
	len = atomicio(read, fd, text, FILE_MAX + 1);
	close(fd);
	r = len > FILE_MAX ? SSH_ERR_INVALID_FORMAT :
	    quick_known_parse(known, text, len);
	free(text);
	return r;
}

int
quick_known_store(const struct quick_known *known, const char *path)
{
	sshsig_t on_limit;
	struct sshbuf *buf;
	char *tmp = NULL;
	size_t i;
	int fd = -1, r = 0;

	if ((buf = sshbuf_new()) == NULL)
		return SSH_ERR_ALLOC_FAIL;
	for (i = 0; i < known->num && r == 0; i++)
		r = quick_entry_put(&known->entry[i], buf);
	if (r != 0)
		goto out;
	if (asprintf(&tmp, "%s.new", path) == -1) {
		tmp = NULL;
		r = SSH_ERR_ALLOC_FAIL;
		goto out;
	}
	/* One of that name is of a process that was killed. */
	if ((unlink(tmp) == -1 && errno != ENOENT) ||
	    (fd = open(tmp, O_WRONLY|O_CREAT|O_EXCL, 0600)) == -1) {
		r = SSH_ERR_SYSTEM_ERROR;
		goto out;
	}
	/* Beyond RLIMIT_FSIZE, write() is to fail. */
	on_limit = ssh_signal(SIGXFSZ, SIG_IGN);
	if (atomicio(vwrite, fd, sshbuf_mutable_ptr(buf), sshbuf_len(buf)) !=
	    sshbuf_len(buf))
		r = SSH_ERR_SYSTEM_ERROR;
	ssh_signal(SIGXFSZ, on_limit);
	if (close(fd) == -1 || (r == 0 && rename(tmp, path) == -1))
		r = SSH_ERR_SYSTEM_ERROR;
	if (r != 0)
		unlink(tmp);
 out:
	free(tmp);
	sshbuf_free(buf);
	return r;
}

/*
 * Keeps other processes of ours from changing a file until the descriptor in
 * *lock is closed. What they lock is the folder, as the file is replaced.
 * Returns 0, with -1 in *lock if the folder can't be locked; else an SSH_ERR_*
 * code: of SSH_ERR_SYSTEM_ERROR, errno is EWOULDBLOCK if another process has
 * held the lock for wait_ms.
 */
static int
lock_folder(const char *path, int wait_ms, int *lock)
{
	const struct timespec pause = { 0, 1000 * 1000 };
	struct stat st;
	char *folder;
	int fd, i;

	*lock = -1;
	if ((folder = strdup(path)) == NULL)
		return SSH_ERR_ALLOC_FAIL;
	fd = open(dirname(folder), O_RDONLY|O_CLOEXEC);
	free(folder);
	if (fd == -1)
		return SSH_ERR_SYSTEM_ERROR;
	if (fstat(fd, &st) == -1 || !is_private(&st)) {
		close(fd);
		return SSH_ERR_KEY_BAD_PERMISSIONS;
	}
	for (i = 0; flock(fd, LOCK_EX|LOCK_NB) == -1; i++) {
		if (errno != EWOULDBLOCK && errno != EINTR) {
			debug_f("%s: %s", path, strerror(errno));
			close(fd);
			return 0;
		}
		if (i >= wait_ms) {
			close(fd);
			errno = EWOULDBLOCK;
			return SSH_ERR_SYSTEM_ERROR;
		}
		nanosleep(&pause, NULL);
	}
	*lock = fd;
	return 0;
}

/* Ends that. */
static void
unlock_folder(int fd)
{
	if (fd != -1)
		close(fd);
}

/*
 * Returns the entry that another one replaces, or NULL. That is the one with
 * its salt, if there is one: to look for a host costs a HMAC for each line.
 */
static struct quick_entry *
find_old(struct quick_known *known, const char *host, const char *user,
    const struct quick_entry *entry)
{
	size_t i;

	for (i = 0; entry != NULL && i < known->num; i++) {
		if (strcmp(known->entry[i].host, entry->host) == 0 &&
		    strcmp(known->entry[i].user, entry->user) == 0)
			return &known->entry[i];
	}
	return quick_known_find(known, host, user);
}

/*
 * Takes over into entry what is to be kept of the old one, NULL if there is
 * none. Returns 0 if the old one is to stay, else 1.
 */
static int
merge(struct quick_entry *entry, const struct quick_entry *old, u_int how)
{
	int same_login = old != NULL && entry->login[0] != '\0' &&
	    strcmp(old->login, entry->login) == 0;

	if ((how & QUICK_IF_SAME) != 0 && !same_login)
		return 0;
	if ((how & QUICK_KEEP_SINCE) != 0 && old != NULL &&
	    strcmp(old->kex, entry->kex) == 0 &&
	    strcmp(old->banner, entry->banner) == 0)
		entry->since = old->since;
	if ((how & QUICK_KEEP_FLAGS) != 0 && same_login)
		entry->flags |= old->flags & (QUICK_FROM_ZERO | QUICK_SFTP);
	return 1;
}

int
quick_known_replace(const char *path, const char *host, const char *user,
    const struct quick_entry *entry, u_int how, int wait_ms)
{
	struct quick_known *known;
	struct quick_entry *old, e;
	int lock, oerrno, r;

	if ((known = calloc(1, sizeof(*known))) == NULL)
		return SSH_ERR_ALLOC_FAIL;
	if (entry != NULL)
		e = *entry;
	if ((r = lock_folder(path, wait_ms, &lock)) != 0) {
		oerrno = errno;
		free(known);
		errno = oerrno;
		return r;
	}
	r = quick_known_load(known, path);
	if (r == 0 || r == SSH_ERR_INVALID_FORMAT) {
		r = 0;
		old = find_old(known, host, user, entry);
		if (entry != NULL && !merge(&e, old, how))
			goto out;
		if (old != NULL)
			quick_known_remove(known, old);
		if (entry != NULL)
			quick_known_add(known, &e);
		r = quick_known_store(known, path);
	}
 out:
	unlock_folder(lock);
	free(known);
	return r;
}

void
quick_known_forget(const char *hostfile, const char *host)
{
	struct quick_known *known;
	char *path, *name;
	size_t i, before;
	int lock, r;

	if ((path = quick_known_path(hostfile)) == NULL)
		return;
	if ((known = calloc(1, sizeof(*known))) == NULL ||
	    (name = strdup(host)) == NULL) {
		free(known);
		free(path);
		return;
	}
	lowercase(name);	/* as ssh has it, but not an alias */
	/* The user wants it: if somebody has the lock for long, without it. */
	if ((r = lock_folder(path, FORGET_WAIT_MS, &lock)) != 0)
		debug_fr(r, "%s", path);
	if ((r = quick_known_load(known, path)) == SSH_ERR_INVALID_FORMAT)
		unlink(path);	/* whatever it holds of the host */
	else if (r == 0) {
		before = known->num;
		for (i = known->num; i-- > 0; ) {
			if (is_host(&known->entry[i], host) ||
			    is_host(&known->entry[i], name))
				quick_known_remove(known, &known->entry[i]);
		}
		if (known->num != before &&
		    (r = quick_known_store(known, path)) != 0)
			debug_fr(r, "%s", path);
	}
	unlock_folder(lock);
	free(known);
	free(name);
	free(path);
}
