/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(HAVE_STRNVIS) && defined(HAVE_VIS_H) && !defined(BROKEN_STRNVIS)
# include <vis.h>
#endif

#include "misc.h"
#include "xmalloc.h"
#include "sftp-incomplete.h"

#define INCOMPLETE_MAX	512	/* most names */

/*
 * Lines to print. A signal handler sees only whole lines: a line is set when it
 * is ready, and freed after it has been removed.
 */
static char *volatile lines[INCOMPLETE_MAX];

int
sftp_incomplete_begin(const char *path)
{
	char *name, *line;
	int i;

	for (i = 0; i < INCOMPLETE_MAX && lines[i] != NULL; i++)
		;
	if (i == INCOMPLETE_MAX)
		return -1;
	/* A name from a server must not control the terminal. */
	name = xcalloc(strlen(path) + 1, 4);
	strvis(name, path, VIS_SAFE | VIS_OCTAL);
	xasprintf(&line, "incomplete: \"%s\"\r\n", name);
	free(name);
	lines[i] = line;
	return i;
}

void
sftp_incomplete_end(int i)
{
	char *line;

	if (i == -1)
		return;
	line = lines[i];
	lines[i] = NULL;
	free(line);
}

void
sftp_incomplete_print_one(int i)
{
	const char *line;

	if (i != -1 && (line = lines[i]) != NULL)
		(void)!write(STDERR_FILENO, line, strlen(line));
}

void
sftp_incomplete_print_all(void)
{
	int i;

	for (i = 0; i < INCOMPLETE_MAX; i++)
		sftp_incomplete_print_one(i);
}

static void
broken_pipe(int signo)
{
	sftp_incomplete_print_all();
	ssh_signal(signo, SIG_DFL);
	raise(signo);
}

void
sftp_incomplete_at_sigpipe(void)
{
	if (ssh_signal(SIGPIPE, broken_pipe) == SIG_IGN)
		ssh_signal(SIGPIPE, SIG_IGN);
}
