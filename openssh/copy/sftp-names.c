/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <stdlib.h>
#include <string.h>

#include "misc.h"
#include "xmalloc.h"
#include "sftp-names.h"

struct sftp_names {
	char *text;		/* names, each with a NUL */
	size_t len;		/* bytes of the names */
	size_t size;		/* bytes of the memory */
	size_t next;		/* offset of the next name */
};

static void
add(struct sftp_names *n, const char *name)
{
	size_t len = strlen(name) + 1;

	if (n->size - n->len < len) {
		n->size = MAXIMUM(n->size, 2048) * 2;
		n->text = xreallocarray(n->text, n->size, 1);
	}
	memcpy(n->text + n->len, name, len);
	n->len += len;
}

struct sftp_names *
sftp_names_read(DIR *dir)
{
	struct sftp_names *n = xcalloc(1, sizeof(*n));
	struct dirent *entry;

	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_ino != 0)
			add(n, entry->d_name);
	}
	closedir(dir);
	return n;
}

const char *
sftp_names_next(struct sftp_names *n)
{
	const char *name;

	if (n->next == n->len)
		return NULL;
	name = n->text + n->next;
	n->next += strlen(name) + 1;
	return name;
}

void
sftp_names_free(struct sftp_names *n)
{
	if (n != NULL)
		free(n->text);
	free(n);
}
