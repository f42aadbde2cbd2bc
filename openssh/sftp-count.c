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
#include <fcntl.h>
#include <stdlib.h>

#include "misc.h"
#include "sshbuf.h"
#include "xmalloc.h"
#include "sftp-common.h"
#include "sftp-client.h"
#include "sftp-count.h"

static u_int trees;		/* trees that have begun and not ended */
static u_int found;		/* files found so far */
static u_int begun;		/* files that have begun, or have ended */

void
sftp_count_names(u_int n)
{
	found = n;
	begun = 0;
}

void
sftp_count_start(void)
{
	trees++;
	/* It was counted as a name; now its files are. */
	if (found != 0)
		found--;
}

void
sftp_count_end(void)
{
	trees--;
}

void
sftp_count_found(u_int n)
{
	found += n;
}

void
sftp_count_entries(SFTP_DIRENT **entries)
{
	for (; *entries != NULL; entries++)
		found += S_ISREG((*entries)->a.perm) != 0;
}

void
sftp_count_dir(DIR *dir, int follow)
{
	struct dirent *entry;
	struct stat st;

	while ((entry = readdir(dir)) != NULL) {
		if (fstatat(dirfd(dir), entry->d_name, &st,
		    follow ? 0 : AT_SYMLINK_NOFOLLOW) == 0)
			found += S_ISREG(st.st_mode) != 0;
	}
	rewinddir(dir);
}

void
sftp_count_next(void)
{
	begun++;
}

const char *
sftp_count_label(const char *name)
{
	static char *label;

	if (trees == 0 && found <= 1)
		return name;
	free(label);
	/* A directory may have more files by now than when it was read. */
	xasprintf(&label, "%u of %u %s", begun, MAXIMUM(begun, found), name);
	return label;
}
