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
 * Notes which functions of a program run, for test_preauth.py. Each is noted
 * once, as its address in the program, in a file in CALLS_DIR that the process
 * maps as it starts. That needs no system call later, so a sandbox allows it.
 */
#include <sys/mman.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define CALLS_MAX	4096
#define QUIET		__attribute__((no_instrument_function))

extern const char __executable_start[];

static uint64_t	 nowhere[CALLS_MAX];
static uint64_t	*calls = nowhere;

void __cyg_profile_func_enter(void *, void *) QUIET;
void __cyg_profile_func_exit(void *, void *) QUIET;
static void calls_open(void) QUIET __attribute__((constructor));

static void
calls_open(void)
{
	char path[1024];
	void *p;
	int fd;

	snprintf(path, sizeof(path), "%s/%s.%d", CALLS_DIR,
	    program_invocation_short_name, (int)getpid());
	if ((fd = open(path, O_RDWR | O_CREAT, 0600)) == -1 ||
	    ftruncate(fd, sizeof(nowhere)) == -1)
		_exit(99);
	p = mmap(NULL, sizeof(nowhere), PROT_READ | PROT_WRITE, MAP_SHARED,
	    fd, 0);
	if (p == MAP_FAILED)
		_exit(99);
	calls = p;
	close(fd);
}

void
__cyg_profile_func_enter(void *function, void *site)
{
	uint64_t at = (uintptr_t)function - (uintptr_t)__executable_start;
	size_t i;

	for (i = 0; i < CALLS_MAX && calls[i] != at; i++) {
		if (calls[i] == 0) {
			calls[i] = at;
			break;
		}
	}
}

void
__cyg_profile_func_exit(void *function, void *site)
{
}
