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

#include "sshbuf.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-client.h"
#include "sftp-glob-attrs.h"

Attrib *
sftp_glob_attrs(const glob_t *g, Attrib *a)
{
	const struct stat *st;

	/* The last of several may be copied long after the glob. */
	if (g->gl_pathc != 1 || g->gl_statv == NULL ||
	    (st = g->gl_statv[0]) == NULL)
		return NULL;
	/* A link's attributes are not those of its target. */
	if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
		return NULL;
	stat_to_attrib(st, a);
	/* An attribute that the server left out is 0 in a struct stat. */
	if (st->st_mtime == 0)
		a->flags &= ~SSH2_FILEXFER_ATTR_ACMODTIME;
	return a;
}
