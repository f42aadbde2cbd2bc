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

/* Limit on the files that one check looks at */
#define LOOKS	2

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
 * Returns 1 if `now` may be what there is of a file between two looks at it
 * while it is written. A file of another root was not written meanwhile.
 */
static int
lies_between(const Attrib *before, const Attrib *now, const Attrib *after)
{
	return now->flags == before->flags && now->uid == before->uid &&
	    now->gid == before->gid && now->perm == before->perm &&
	    now->mtime >= before->mtime && now->mtime <= after->mtime &&
	    now->size >= before->size && now->size <= after->size;
}

/*
 * Looks at a file that the first session of a connection writes, from that one
 * and from another. Returns 1 if both see the same one, 0 if the other sees
 * none, and -1 if that can't be told: a file that gets its source's times has
 * to be incomplete until the last look, or its time says nothing.
 */
static int
sees_written(const struct sftp_tree *tree, struct sftp_conn *first,
    struct sftp_conn *other)
{
	Attrib before, now, after;
	char *path;
	int i, preserve, found, sees = -1;

	for (i = 0; i < LOOKS && sees == -1; i++) {
		if (sftp_tree_begun(tree, &preserve) == NULL)
			break;
		path = xstrdup(sftp_tree_begun(tree, &preserve));
		if (sftp_request_stat(first, path, NULL, 0, &before) == 0) {
			found = sftp_request_stat(other, path, NULL, 0,
			    &now) == 0;
			if (sftp_request_stat(first, path, NULL, 0,
			    &after) == 0 && (!preserve ||
			    sftp_tree_is_begun(tree, path)))
				sees = !found ? 0 : lies_between(&before,
				    &now, &after) ? 1 : -1;
		}
		free(path);
	}
	return sees;
}

/*
 * Returns 1 if the other connection sees a directory that the first one makes
 * in `path`. Then the other one removes it: it has nothing else to do, while a
 * request of the first one waits behind files. So it is there only briefly,
 * and an interrupted copy seldom leaves it behind.
 */
static int
sees_new(struct sftp_conn *first, struct sftp_conn *other, const char *path)
{
	Attrib a;
	char *made;
	int sees = 0;

	xasprintf(&made, "%s/.scp-%08x%08x", path, arc4random(), arc4random());
	if (sftp_request_dir(first, made, 1) == SSH2_FX_OK) {
		/* A server may say that it has removed what isn't there. */
		sees = sftp_request_stat(other, made, NULL, 0, &a) == 0;
		if (!sees || sftp_request_dir(other, made, 0) != SSH2_FX_OK)
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
	int same = -1;

	if (sftp_lanes_same_peer())
		same = sees_written(tree, first, job->conn);
	if (same == -1)
		same = sees_new(first, job->conn, job->src);
	sftp_tree_same(tree, job->conn, same);
	return 0;
}
