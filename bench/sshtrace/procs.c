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

#define _GNU_SOURCE	/* memmem */
#include <sys/types.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "peer.h"
#include "procs.h"

/* Reads a file of /proc, a string. Returns -1 if it can't. */
static int
read_proc(pid_t pid, const char *name, char *buf, size_t size)
{
	char path[64];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return -1;
	len = read(fd, buf, size - 1);
	close(fd);
	if (len <= 0)
		return -1;
	buf[len] = '\0';
	return 0;
}

uint64_t
procs_sysctl_max(const char *name)
{
	unsigned long long max = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/%s", name);
	if ((f = fopen(path, "r")) == NULL)
		return 0;
	if (fscanf(f, "%*u %*u %llu", &max) != 1)
		max = 0;
	fclose(f);
	return max;
}

int
procs_peer(pid_t pid, char *name, size_t size)
{
	char path[64], args[4096];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return -1;
	len = read(fd, args, sizeof(args));
	close(fd);
	return len <= 0 ? -1 : peer_typed(args, len, name, size);
}

static DIR *
open_fds(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	return opendir(path);
}

static int
compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void
find_in(pid_t pid, const uint32_t *inodes, size_t n,
    void (*found)(uint32_t, pid_t, void *), void *ctx)
{
	struct dirent *e;
	char link[64];
	uint32_t inode;
	ssize_t len;
	DIR *d;

	if ((d = open_fds(pid)) == NULL)
		return;
	while ((e = readdir(d)) != NULL) {
		if ((len = readlinkat(dirfd(d), e->d_name, link,
		    sizeof(link) - 1)) == -1)
			continue;
		link[len] = '\0';
		if (sscanf(link, "socket:[%u]", &inode) == 1 &&
		    bsearch(&inode, inodes, n, sizeof(*inodes), compare))
			found(inode, pid, ctx);
	}
	closedir(d);
}

void
procs_find(const uint32_t *inodes, size_t n,
    void (*found)(uint32_t, pid_t, void *), void *ctx)
{
	struct dirent *e;
	pid_t pid;
	DIR *d;

	if ((d = opendir("/proc")) == NULL)
		return;
	while ((e = readdir(d)) != NULL)
		if ((pid = atoi(e->d_name)) > 0)
			find_in(pid, inodes, n, found, ctx);
	closedir(d);
}

static pid_t
parent(pid_t pid)
{
	char buf[512], *p;
	int ppid;

	/* The name may have anything in it, and ends with the last ')' */
	if (read_proc(pid, "stat", buf, sizeof(buf)) == -1 ||
	    (p = strrchr(buf, ')')) == NULL ||
	    sscanf(p + 1, " %*c %d", &ppid) != 1)
		return 0;
	return ppid;
}

int
procs_descends(pid_t pid, pid_t of)
{
	for (; pid > 0; pid = parent(pid))
		if (pid == of)
			return 1;
	return 0;
}

int
procs_alive(pid_t pid)
{
	return kill(pid, 0) == 0 || errno == EPERM;
}

/* A kernel without schedstat doesn't tell of time spent waiting. */
uint64_t
procs_cpu_us(pid_t pid)
{
	unsigned long long ran, more;
	char buf[512], *p;

	if (read_proc(pid, "schedstat", buf, sizeof(buf)) == 0 &&
	    sscanf(buf, "%llu %llu", &ran, &more) == 2)
		return (ran + more) / 1000;
	if (read_proc(pid, "stat", buf, sizeof(buf)) == -1 ||
	    (p = strrchr(buf, ')')) == NULL ||
	    sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu "
	    "%llu", &ran, &more) != 2)
		return 0;
	return (ran + more) * 1000000 / sysconf(_SC_CLK_TCK);
}

/* A socket that carries no stream has neither a source nor a reader. */
static int
is_stream(int fd)
{
	int type = 0, listens = 0;
	socklen_t len = sizeof(type);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == -1)
		return 0;
	len = sizeof(listens);
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == -1)
		return 0;
	return type == SOCK_STREAM && !listens;
}

/* fd is the process's own, under our number; number is that of its own. */
static void
look_at(int fd, int number, uint32_t inode, int *source, int *sink)
{
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };
	int waiting, mode = fcntl(fd, F_GETFL) & O_ACCMODE;
	struct stat st;

	if (fstat(fd, &st) == -1)
		return;
	if (S_ISREG(st.st_mode)) {
		if (number == STDIN_FILENO &&
		    lseek(fd, 0, SEEK_CUR) < st.st_size)
			*source = 1;
		return;
	}
	if (S_ISSOCK(st.st_mode) ? st.st_ino == inode || !is_stream(fd) :
	    !S_ISFIFO(st.st_mode) && !isatty(fd))
		return;
	if (mode != O_WRONLY && ioctl(fd, FIONREAD, &waiting) == 0 &&
	    waiting > 0)
		*source = 1;
	if (mode != O_RDONLY && poll(&pfd, 1, 0) == 0)
		*sink = 1;
}

void
procs_waits(pid_t pid, uint32_t inode, int *source, int *sink)
{
	int pidfd, fd, number, has = 0, full = 0, seen = 0;
	struct dirent *e;
	DIR *d;

	if ((pidfd = syscall(SYS_pidfd_open, pid, 0)) == -1)
		return;
	if ((d = open_fds(pid)) != NULL) {
		while ((e = readdir(d)) != NULL) {
			if (*e->d_name == '.')
				continue;
			number = atoi(e->d_name);
			fd = syscall(SYS_pidfd_getfd, pidfd, number, 0);
			if (fd == -1)
				continue;
			seen = 1;
			look_at(fd, number, inode, &has, &full);
			close(fd);
		}
		closedir(d);
	}
	close(pidfd);
	if (!seen)
		return;
	*source = *source == 1 || has;
	*sink = *sink == 1 || full;
}

enum procs_program
procs_program(pid_t pid)
{
	static const char note[] = "openssh\0window", version[] = "OpenSSH_";
	enum procs_program found = PROCS_OTHER;
	char path[64];
	struct stat st;
	void *p;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return PROCS_OTHER;
	if (fstat(fd, &st) == 0 && st.st_size > 0 && (p = mmap(NULL,
	    st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) != MAP_FAILED) {
		if (memmem(p, st.st_size, note, sizeof(note)) != NULL)
			found = PROCS_PROBE;
		else if (memmem(p, st.st_size, version,
		    sizeof(version) - 1) != NULL)
			found = PROCS_STOCK;
		munmap(p, st.st_size);
	}
	close(fd);
	return found;
}
