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

#ifndef SFTP_PLAN_H
#define SFTP_PLAN_H

#include <sys/types.h>

#include <stdio.h>

/*
 * What scp and sftp can tell before they are connected: the first questions
 * that they will ask the server, and the file that they will copy. There is one
 * plan at a time, for the next connection.
 */

#define SFTP_PLAN_ASKS		4	/* questions */
#define SFTP_PLAN_BATCH		2048	/* bytes of a line, as in sftp.c */

struct sftp_plan {
	struct {
		u_char	type;	/* SSH2_FXP_* */
		char	*path;
	} ask[SFTP_PLAN_ASKS];
	u_int	n;		/* questions */
	char	*local;		/* the file to upload; NULL: a download */
	char	*remote;	/* NULL: no file is copied */
	char	*name;		/* in `remote`, if that is a directory */
	int	preserve;	/* modes and times, too */
	int	truncate;	/* after the data, not when it is opened */
	int	end;		/* nothing follows this file */
};

/* Plans a question: a request of a type (SSH2_FXP_*) about a path. */
void	 sftp_plan_ask(u_char type, const char *path);

/*
 * Plans the upload of a local file to `remote`, or if that is a directory, to
 * `name` in it (NULL: `remote` it is). The other arguments are the fields of
 * the plan.
 */
void	 sftp_plan_upload(const char *local, const char *remote,
	    const char *name, int preserve, int truncate, int end);

/* Plans the download of a file. */
void	 sftp_plan_download(const char *remote, int end);

/*
 * Plans what a batch file of sftp says, if that is one plain "put" or "get".
 * The file's position stays.
 */
void	 sftp_plan_batch(FILE *file, int preserve);

/* Returns the plan, or NULL if there is none. */
const struct sftp_plan *sftp_plan_current(void);

/*
 * Returns 1 if an upload was planned that several connections are of use to,
 * also if the plan has ended.
 */
int	 sftp_plan_is_large(void);

/* Ends the plan. */
void	 sftp_plan_forget(void);

#endif /* SFTP_PLAN_H */
