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

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "misc.h"
#include "xmalloc.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-conn.h"
#include "sftp-lane-check.h"
#include "sftp-lanes.h"
#include "sftp-requests.h"
#include "sftp-tree.h"

/* So many files are looked at: each may be complete before it was seen. */
#define LOOKS	5

/* Returns 1 if all of both is the same but the time of access, else 0. */
static int
equal(const Attrib *a, const Attrib *b)
{
	return a->flags == b->flags && a->size == b->size &&
	    a->uid == b->uid && a->gid == b->gid && a->perm == b->perm &&
	    a->mtime == b->mtime;
}

int
sftp_lane_check_get(struct sftp_job *job)
{
	Attrib ours, first;
	int same;

	same = sftp_request_stat(job->conn, job->src, NULL, 0, &ours) == 0 &&
	    sftp_request_stat(sftp_lanes_conn(), job->src, NULL, 0,
	    &first) == 0 && equal(&ours, &first);
	sftp_tree_same(sftp_conn_tree(job->conn), job->conn, same);
	return 0;
}

/*
 * Returns 1 if the second session sees a file that the first one is writing,
 * before and after: a file of another root was not changed meanwhile.
 */
static int
grows_same(const Attrib *before, const Attrib *now, const Attrib *after)
{
	return now->flags == before->flags && now->uid == before->uid &&
	    now->gid == before->gid && now->perm == before->perm &&
	    now->mtime >= before->mtime && now->mtime <= after->mtime &&
	    now->size >= before->size && now->size <= after->size;
}

/*
 * Returns 1 if the other session of one connection sees what the first one
 * writes. Until the file is complete, its time is that of the last write: so
 * the last look has to come before that.
 */
static int
sees_written(const struct sftp_tree *tree, struct sftp_conn *first,
    struct sftp_conn *other)
{
	Attrib before, now, after;
	char *path;
	int i, sees = 0;

	for (i = 0; i < LOOKS && !sees; i++) {
		if (sftp_tree_begun(tree) == NULL)
			break;
		path = xstrdup(sftp_tree_begun(tree));
		sees = sftp_request_stat(first, path, NULL, 0, &before) == 0 &&
		    sftp_request_stat(other, path, NULL, 0, &now) == 0 &&
		    sftp_request_stat(first, path, NULL, 0, &after) == 0 &&
		    sftp_tree_is_begun(tree, path) &&
		    grows_same(&before, &now, &after);
		free(path);
	}
	return sees;
}

/*
 * Returns 1 if the other connection sees a directory that is made in `path` for
 * a moment.
 */
static int
sees_new(struct sftp_conn *first, struct sftp_conn *other, const char *path)
{
	Attrib a;
	char *made;
	int sees = 0;

	xasprintf(&made, "%s/.scp-%08x%08x", path, arc4random(), arc4random());
	if (sftp_request_dir(first, made, 1) == SSH2_FX_OK) {
		sees = sftp_request_stat(other, made, NULL, 0, &a) == 0;
		(void)sftp_request_dir(first, made, 0);
	}
	free(made);
	return sees;
}

int
sftp_lane_check_put(struct sftp_job *job)
{
	struct sftp_conn *first = sftp_lanes_conn();
	struct sftp_tree *tree = sftp_conn_tree(job->conn);

	sftp_tree_same(tree, job->conn, sftp_lanes_same_peer() ?
	    sees_written(tree, first, job->conn) :
	    sees_new(first, job->conn, job->src));
	return 0;
}
