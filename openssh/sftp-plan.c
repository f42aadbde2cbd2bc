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
#include <sys/stat.h>

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sftp.h"
#include "sftp-parallel.h"
#include "sftp-plan.h"
#include "xmalloc.h"

static struct sftp_plan plan;
static int large;	/* 1: a file that is worth several connections */

void
sftp_plan_ask(u_char type, const char *path)
{
	if (plan.n == SFTP_PLAN_ASKS)
		return;
	plan.ask[plan.n].type = type;
	plan.ask[plan.n++].path = xstrdup(path);
}

void
sftp_plan_upload(const char *local, const char *remote, const char *name,
    int preserve, int truncate, int end)
{
	struct stat st;

	if (stat(local, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_size >= SFTP_PARALLEL_MIN)
		large = 1;
	plan.local = xstrdup(local);
	plan.remote = xstrdup(remote);
	plan.name = name == NULL ? NULL : xstrdup(name);
	plan.preserve = preserve;
	plan.truncate = truncate;
	plan.end = end;
}

void
sftp_plan_download(const char *remote, int end)
{
	plan.remote = xstrdup(remote);
	plan.end = end;
}

/* Returns 1 if sftp and glob(3) take a word as it is, else 0. */
static int
is_plain(const char *word)
{
	/* The last three are space to sftp. */
	return word[0] != '-' && word[0] != '~' &&
	    word[strcspn(word, "\"'\\*?[]{}#!;\r\v\f")] == '\0';
}

void
sftp_plan_batch(FILE *file, int preserve)
{
	char text[SFTP_PLAN_BATCH], *line = text, *word[4], *name;
	struct stat st;
	ssize_t len;
	int n = 0, i;

	/*
	 * Of a pipe, nobody knows what comes next. Somebody may have read the
	 * beginning of a file that is standard input.
	 */
	if (fstat(fileno(file), &st) == -1 || !S_ISREG(st.st_mode) ||
	    ftello(file) != 0 ||
	    (len = pread(fileno(file), text, sizeof(text), 0)) <= 0 ||
	    len == sizeof(text) || memchr(text, '\0', len) != NULL)
		return;
	text[len] = '\0';
	if (text[len - 1] == '\n')
		text[len - 1] = '\0';
	if (strchr(text, '\n') != NULL)
		return;
	while (n < 4 && (word[n] = strsep(&line, " \t")) != NULL) {
		if (*word[n] != '\0')
			n++;
	}
	if (line != NULL || n < 2)
		return;
	if (n > 2 && strcmp(word[1], "-p") == 0) {
		preserve = 1;
		memmove(&word[1], &word[2], (--n - 1) * sizeof(word[0]));
	}
	for (i = 1; i < n; i++) {
		if (!is_plain(word[i]))
			return;
	}
	if (n > 3)
		return;
	if (strcmp(word[0], "put") == 0) {
		sftp_plan_ask(SSH2_FXP_REALPATH, ".");
		/* basename(3) may change what it gets */
		name = xstrdup(word[1]);
		if (n == 3)
			sftp_plan_ask(SSH2_FXP_STAT, word[2]);
		sftp_plan_upload(word[1], n == 3 ? word[2] : basename(name),
		    n == 3 ? basename(name) : NULL, preserve, 0, 1);
		free(name);
	} else if (strcmp(word[0], "get") == 0) {
		sftp_plan_ask(SSH2_FXP_REALPATH, ".");
		sftp_plan_ask(SSH2_FXP_LSTAT, word[1]);
		sftp_plan_ask(SSH2_FXP_STAT, word[1]);
		sftp_plan_download(word[1], 1);
	}
}

int
sftp_plan_is_large(void)
{
	return large;
}

const struct sftp_plan *
sftp_plan_current(void)
{
	return plan.n != 0 || plan.remote != NULL ? &plan : NULL;
}

void
sftp_plan_forget(void)
{
	u_int i;

	for (i = 0; i < plan.n; i++)
		free(plan.ask[i].path);
	free(plan.local);
	free(plan.remote);
	free(plan.name);
	memset(&plan, 0, sizeof(plan));
}
