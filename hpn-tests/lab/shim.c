/*
 * Copyright (c) 2026 The openssh-bdp authors; licence: see LICENCE.
 *
 * Preloaded into the lab's User Mode Linux process.
 *
 * 1. Linux 6.1 hands PTRACE_SETREGSET a buffer for the extended CPU state
 *    that is smaller than what CPUs with AMX have, and the host refuses it.
 *    It is padded here.
 * 2. LAB_SEED=n makes getrandom(2) a fixed stream: the same guest each time.
 * 3. LAB_CPU=file: guest programs run in child processes of this one, which
 *    reaps them as they end. After each, the CPU time of all so far is
 *    written to the file: "user_us system_us".
 */
#include <sys/types.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XSTATE_MAX	65536
#define REGSET_XSTATE	0x202	/* NT_X86_XSTATE */

long
ptrace(enum __ptrace_request request, ...)
{
	static char xstate[XSTATE_MAX];
	struct iovec padded, *given;
	void *addr, *data;
	va_list ap;
	long word;
	pid_t pid;

	va_start(ap, request);
	pid = va_arg(ap, pid_t);
	addr = va_arg(ap, void *);
	data = va_arg(ap, void *);
	va_end(ap);

	/* The library's call returns what it peeks, the kernel's stores it. */
	if (request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA ||
	    request == PTRACE_PEEKUSER)
		return syscall(SYS_ptrace, request, pid, addr, &word) == -1 ?
		    -1 : word;
	if (request == PTRACE_SETREGSET && (uintptr_t)addr == REGSET_XSTATE) {
		given = data;
		if (given->iov_len < sizeof(xstate)) {
			memcpy(xstate, given->iov_base, given->iov_len);
			padded.iov_base = xstate;
			padded.iov_len = sizeof(xstate);
			data = &padded;
		}
	}
	return syscall(SYS_ptrace, request, pid, addr, data);
}

ssize_t
getrandom(void *buf, size_t len, unsigned int flags)
{
	static uint64_t state;
	const char *seed = getenv("LAB_SEED");
	unsigned char *p = buf;
	size_t i;

	if (seed == NULL)
		return syscall(SYS_getrandom, buf, len, flags);
	if (state == 0)
		state = strtoull(seed, NULL, 10) * 2 + 1;
	for (i = 0; i < len; i++) {
		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		p[i] = state >> 56;
	}
	return len;
}

static void
record_cpu(void)
{
	static int fd = -1;
	const char *name = getenv("LAB_CPU");
	struct rusage ru;
	char line[64];
	int n;

	if (name == NULL || getrusage(RUSAGE_CHILDREN, &ru) == -1)
		return;
	if (fd == -1 &&
	    (fd = open(name, O_WRONLY|O_CREAT|O_TRUNC|O_CLOEXEC, 0644)) == -1)
		return;
	n = snprintf(line, sizeof(line), "%20lld %20lld\n",
	    (long long)ru.ru_utime.tv_sec * 1000000 + ru.ru_utime.tv_usec,
	    (long long)ru.ru_stime.tv_sec * 1000000 + ru.ru_stime.tv_usec);
	if (pwrite(fd, line, n, 0) == -1)
		return;
}

pid_t
waitpid(pid_t pid, int *status, int options)
{
	int st = 0;
	pid_t r = syscall(SYS_wait4, pid, &st, options, NULL);

	if (r > 0 && (WIFEXITED(st) || WIFSIGNALED(st)))
		record_cpu();
	if (status != NULL)
		*status = st;
	return r;
}
