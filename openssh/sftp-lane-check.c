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

#include "misc.h"
#include "xmalloc.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-conn.h"
#include "sftp-lane-check.h"
#include "sftp-lanes.h"
#include "sftp-requests.h"
#include "sftp-tree.h"

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

int
sftp_lane_check_put(struct sftp_job *job)
{
	struct sftp_conn *first = sftp_lanes_conn();
	int same = 0;
	Attrib a;
	char *path;

	xasprintf(&path, "%s/.scp-%08x%08x", job->src, arc4random(),
	    arc4random());
	if (sftp_request_dir(first, path, 1) == SSH2_FX_OK) {
		same = sftp_request_stat(job->conn, path, NULL, 0, &a) == 0;
		(void)sftp_request_dir(first, path, 0);
	}
	free(path);
	sftp_tree_same(sftp_conn_tree(job->conn), job->conn, same);
	return 0;
}
