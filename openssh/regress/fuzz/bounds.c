/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/*
 * Bounds for fuzzers: CPU time by a timer that counts nothing else, so that a
 * busy machine makes no difference; memory by what the allocator says and by
 * what sshbuf-mem.c maps, whose calls the linker leads here (--wrap).
 */

#include "includes.h"

#include <sys/types.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bounds.h"

#ifdef __GLIBC_PREREQ
# if __GLIBC_PREREQ(2, 33)
#  include <malloc.h>
#  define HAVE_MALLINFO2
# endif
#endif

#define NFDS	256		/* descriptors that are looked at */
#define NLIVE	(1 << 18)	/* size of the table of what is allocated */

/* ASan's, where it is linked; its header does not come with every clang. */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));
int __sanitizer_install_malloc_and_free_hooks(
    void (*)(const volatile void *, size_t),
    void (*)(const volatile void *)) __attribute__((weak));

void *__real_mmap(void *, size_t, int, int, int, off_t);
void *__real_mremap(void *, size_t, size_t, int, ...);
int __real_munmap(void *, size_t);
void *__wrap_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mremap(void *, size_t, size_t, int, ...);
int __wrap_munmap(void *, size_t);

static int64_t mapped, at_start, most;
static u_char was_open[NFDS];
static int tracks;		/* 1: allocations are noted */
static const volatile void *live[NLIVE];	/* those, by slot_of() */
static u_int nlive;

void
finding(const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "finding: ");
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "\n");
	abort();
}

static void
too_slow(int sig)
{
	static const char why[] = "finding: too much CPU time\n";

	if (write(STDERR_FILENO, why, sizeof(why) - 1) == -1)
		_exit(1);
	abort();
}

static int64_t
memory_held(void)
{
	if (__sanitizer_get_current_allocated_bytes != NULL)
		return __sanitizer_get_current_allocated_bytes() + mapped;
#ifdef HAVE_MALLINFO2
	struct mallinfo2 mi = mallinfo2();

	return mi.uordblks + mi.hblkhd + mapped;
#else
	return mapped;
#endif
}

static void
set_timer(u_int cpu_s)
{
	struct itimerval it;

	memset(&it, 0, sizeof(it));
	it.it_value.tv_sec = cpu_s;
	if (setitimer(ITIMER_PROF, &it, NULL) == -1)
		abort();
}

/* What an input that is cut off leaves allocated is freed at its end. */

static u_int
slot_of(const volatile void *p)
{
	return ((uintptr_t)p >> 4) * 2654435761U % NLIVE;
}

static void
allocated(const volatile void *p, size_t len)
{
	u_int i = slot_of(p);

	if (!tracks || nlive > NLIVE / 2)
		return;
	while (live[i] != NULL)
		i = (i + 1) % NLIVE;
	live[i] = p;
	nlive++;
}

static void
freed(const volatile void *p)
{
	u_int i = slot_of(p), j, from;

	if (!tracks || p == NULL)
		return;
	while (live[i] != p) {
		if (live[i] == NULL)
			return;
		i = (i + 1) % NLIVE;
	}
	/* Moves up what is behind it. */
	for (j = (i + 1) % NLIVE; live[j] != NULL; j = (j + 1) % NLIVE) {
		from = slot_of(live[j]);
		if ((j - from) % NLIVE >= (j - i) % NLIVE) {
			live[i] = live[j];
			i = j;
		}
	}
	live[i] = NULL;
	nlive--;
}

static void
free_live(void)
{
	u_int i;

	for (i = 0; i < NLIVE && nlive > 0; i++) {
		if (live[i] == NULL)
			continue;
		free((void *)live[i]);
		live[i] = NULL;
		nlive--;
	}
}

void
bounds_start(u_int cpu_s, int64_t memory)
{
	static int hooked;
	int fd;

	if (!hooked && __sanitizer_install_malloc_and_free_hooks != NULL)
		(void)__sanitizer_install_malloc_and_free_hooks(allocated,
		    freed);
	hooked = tracks = 1;

	for (fd = 0; fd < NFDS; fd++)
		was_open[fd] = fcntl(fd, F_GETFD) != -1;
	at_start = memory_held();
	most = memory;
	signal(SIGPROF, too_slow);
	signal(SIGPIPE, SIG_IGN);
	set_timer(cpu_s);
}

void
bounds_check(void)
{
	int64_t held = memory_held() - at_start;

	if (most != 0 && held > most)
		finding("%lld bytes of memory, of which %lld mapped",
		    (long long)held, (long long)mapped);
}

void
bounds_end(int whole)
{
	int fd;

	set_timer(0);
	most = 0;
	tracks = 0;
	if (!whole)
		free_live();
	memset(live, 0, nlive == 0 ? 0 : sizeof(live));
	nlive = 0;
	for (fd = 0; fd < NFDS; fd++) {
		if (was_open[fd] || fcntl(fd, F_GETFD) == -1)
			continue;
		if (whole)
			finding("descriptor %d is left open", fd);
		close(fd);
	}
}

/* Counts the mappings of sshbuf-mem.c. Leaked ones count until the end. */

void *
__wrap_mmap(void *p, size_t len, int prot, int flags, int fd, off_t off)
{
	void *ret = __real_mmap(p, len, prot, flags, fd, off);

	if (ret != MAP_FAILED)
		mapped += len;
	bounds_check();
	return ret;
}

void *
__wrap_mremap(void *p, size_t osize, size_t nsize, int flags, ...)
{
	void *ret = __real_mremap(p, osize, nsize, flags);

	if (ret != MAP_FAILED)
		mapped += (int64_t)nsize - (int64_t)osize;
	bounds_check();
	return ret;
}

int
__wrap_munmap(void *p, size_t len)
{
	mapped -= len;
	return __real_munmap(p, len);
}

/* Scratch files */

void
empty_directory(const char *dir)
{
	char path[PATH_MAX];
	struct dirent *dp;
	DIR *d;

	/* The fuzzed code may have taken our permission away. */
	chmod(dir, 0700);
	if ((d = opendir(dir)) == NULL)
		finding("opendir \"%s\": %s", dir, strerror(errno));
	while ((dp = readdir(d)) != NULL) {
		if (strcmp(dp->d_name, ".") == 0 ||
		    strcmp(dp->d_name, "..") == 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, dp->d_name);
		if (unlink(path) == 0)
			continue;
		empty_directory(path);
		if (rmdir(path) == -1)
			finding("rmdir \"%s\": %s", path, strerror(errno));
	}
	closedir(d);
}

void
scratch_directory(void)
{
	char scratch[PATH_MAX];
	const char *tmp = getenv("TMPDIR");

	snprintf(scratch, sizeof(scratch), "%s/fuzz.XXXXXXXXXX",
	    tmp != NULL ? tmp : "/tmp");
	if (mkdtemp(scratch) == NULL || chdir(scratch) == -1)
		finding("%s: %s", scratch, strerror(errno));
}
