/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

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
	sftp_tree_same(sftp_conn_tree(job->conn), job->conn,
	    sees_new(sftp_lanes_conn(), job->conn, job->src));
	return 0;
}
