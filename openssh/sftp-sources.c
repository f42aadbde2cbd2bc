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

#include <dirent.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "misc.h"
#include "sftp-sources.h"
#include "xmalloc.h"

/* The names found so far: sftp_sources_hold() looks at them in order. */
struct walk {
	char *paths[SFTP_SOURCES_NAMES];
	u_int n;		/* number of names */
	uint64_t left;		/* bytes that have not been found yet */
};

/* Adds a path, which it frees if there is no room. */
static void
add(struct walk *w, char *path)
{
	if (w->n == SFTP_SOURCES_NAMES)
		free(path);
	else
		w->paths[w->n++] = path;
}

static void
add_directory(struct walk *w, const char *path)
{
	struct dirent *d;
	char *name;
	DIR *dir;

	if ((dir = opendir(path)) == NULL)
		return;
	while (w->n < SFTP_SOURCES_NAMES && (d = readdir(dir)) != NULL) {
		if (strcmp(d->d_name, ".") == 0 ||
		    strcmp(d->d_name, "..") == 0)
			continue;
		xasprintf(&name, "%s/%s", path, d->d_name);
		add(w, name);
	}
	closedir(dir);
}

/* Subtracts the size of a file, or adds the names in a directory. */
static void
visit(struct walk *w, const char *path, int recursive)
{
	struct stat st;

	/* As scp does, it follows links. A loop ends with the names. */
	if (stat(path, &st) == -1)
		return;
	if (S_ISREG(st.st_mode))
		w->left -= MINIMUM(w->left, (uint64_t)st.st_size);
	else if (S_ISDIR(st.st_mode) && recursive)
		add_directory(w, path);
}

int
sftp_sources_hold(char *const paths[], int n, int recursive, uint64_t bytes)
{
	struct walk *w = xcalloc(1, sizeof(*w));
	double end_s;
	u_int i;
	int hold;

	end_s = monotime_double() + SFTP_SOURCES_S;
	w->left = bytes;
	for (i = 0; i < (u_int)n; i++)
		add(w, xstrdup(paths[i]));
	for (i = 0; i < w->n && w->left != 0 && w->n < SFTP_SOURCES_NAMES &&
	    monotime_double() < end_s; i++)
		visit(w, w->paths[i], recursive);
	hold = w->left == 0 || w->n == SFTP_SOURCES_NAMES || i < w->n;
	for (i = 0; i < w->n; i++)
		free(w->paths[i]);
	free(w);
	return hold;
}
