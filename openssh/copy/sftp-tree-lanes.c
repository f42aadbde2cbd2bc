/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <stdint.h>
#include <string.h>

#include "log.h"
#include "misc.h"
#include "sshbuf.h"
#include "xmalloc.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-conn.h"
#include "sftp-fiber.h"
#include "sftp-inflight.h"
#include "sftp-lane-check.h"
#include "sftp-lanes.h"
#include "sftp-slots.h"
#include "sftp-tree.h"
#include "sftp-tree-state.h"

/* Bytes that a file counts for more than its size: opening takes time, too. */
#define FILE_COST	(64 * 1024)

/* A tree that is copied within this time (s) needs no more lanes. */
#define TREE_SHORT_S	0.5

static int
is_open(const struct server *s)
{
	return s->lane != NULL && s->lane->state == SFTP_LANE_OPEN;
}

u_int
sftp_tree_lanes(const struct sftp_tree *tree)
{
	u_int i, n = 0;

	for (i = 0; i < tree->nservers; i++)
		n += is_open(&tree->servers[i]);
	return n;
}

/* All lanes together stay within the limits of one connection. */
static void
share(struct sftp_tree *tree)
{
	u_int i, n = MAXIMUM(sftp_tree_lanes(tree), 1);

	sftp_slots_lanes(&tree->slots, n);
	for (i = 0; i < tree->nservers; i++) {
		if (is_open(&tree->servers[i]))
			sftp_inflight_share(sftp_conn_inflight(
			    tree->servers[i].conn), n);
	}
}

/* Starts to check the lanes of which it is not known whose files they have. */
static void
check_lanes(struct sftp_tree *tree)
{
	u_int i;

	if (tree->check.src == NULL || tree->checks_end)
		return;
	for (i = 1; i < tree->nservers; i++) {
		if (!is_open(&tree->servers[i]) || tree->servers[i].same != 0)
			continue;
		tree->servers[i].same = -1;	/* until it is known */
		tree->check.conn = tree->servers[i].conn;
		(void)sftp_tree_run(tree, &tree->checks, &tree->check);
	}
}

/* Takes a lane that is open into the copy, unless it is there. */
static void
take_lane(struct sftp_tree *tree, struct sftp_lane *lane)
{
	struct server *s;
	u_int i;

	for (i = 0; i < tree->nservers; i++) {
		if (tree->servers[i].lane == lane)
			return;
	}
	sftp_tree_add(tree, sftp_conn_handles(lane->conn), lane->conn,
	    lane->fd_in, lane->fd_out);
	s = &tree->servers[tree->nservers - 1];
	s->lane = lane;
	s->first_sent_s = 0;	/* its RTT is that of the first lane */
	sftp_conn_set_tree(lane->conn, tree);
	share(tree);
	check_lanes(tree);
	if (tree->lane_opened != NULL)
		tree->lane_opened(tree, lane->conn, tree->lane_ctx);
}

int
sftp_tree_sync(struct sftp_tree *tree)
{
	double now_s = monotime_double();
	int ms = -1;
	u_int i;

	/* The copy ends, or there is no need for lanes yet. */
	if (tree->lanes_s != 0 && now_s < tree->lanes_s)
		ms = (tree->lanes_s - now_s) * 1000 + 1;
	else if (tree->lanes_s != 0)
		ms = sftp_lanes_tick();
	for (i = 1; i < SFTP_LANES && tree->lanes_s != 0; i++) {
		if (sftp_lane(i)->state == SFTP_LANE_OPEN)
			take_lane(tree, sftp_lane(i));
	}
	return ms;
}

void
sftp_tree_use_lanes(struct sftp_tree *tree, struct sftp_conn *conn,
    const char *path, int upload)
{
	struct server *s;

	if (tree == NULL || !sftp_lanes_wanted(conn))
		return;
	s = &tree->servers[0];
	s->lane = sftp_lane(0);
	s->same = 1;
	set_nonblock(s->fd_in);
	set_nonblock(s->fd_out);
	tree->lanes_s = monotime_double() + (path == NULL ? 0 : TREE_SHORT_S);
	tree->check.run = upload ? sftp_lane_check_put : sftp_lane_check_get;
	tree->check.src = path == NULL ? NULL : xstrdup(path);
}

void
sftp_tree_leave_lanes(struct sftp_tree *tree)
{
	u_int i;

	if (tree->servers[0].lane == NULL)
		return;
	for (i = 1; i < tree->nservers; i++)
		sftp_conn_set_tree(tree->servers[i].conn, NULL);
	sftp_inflight_share(sftp_conn_inflight(tree->servers[0].conn), 1);
	if (sshbuf_len(tree->servers[0].lane->in) != 0)
		fatal("Received a reply to no request");
	unset_nonblock(tree->servers[0].fd_in);
	unset_nonblock(tree->servers[0].fd_out);
}

void
sftp_tree_on_lane(struct sftp_tree *tree, void (*opened)(struct sftp_tree *,
    struct sftp_conn *, void *), void *ctx)
{
	u_int i;

	tree->lane_opened = opened;
	tree->lane_ctx = ctx;
	for (i = 1; opened != NULL && i < tree->nservers; i++) {
		if (is_open(&tree->servers[i]))
			opened(tree, tree->servers[i].conn, ctx);
	}
}

void
sftp_tree_stops(struct sftp_tree *tree, const int *stop)
{
	tree->stop = stop;
}

static const struct server *
find(const struct sftp_tree *tree, const struct sftp_conn *conn)
{
	u_int i;

	for (i = 0; i < tree->nservers - 1; i++) {
		if (tree->servers[i].conn == conn)
			break;
	}
	return &tree->servers[i];
}

int
sftp_tree_lost(const struct sftp_tree *tree, const struct sftp_conn *conn)
{
	const struct server *s = find(tree, conn);

	return s->lane != NULL && s->lane->state == SFTP_LANE_LOST;
}

void
sftp_tree_same(struct sftp_tree *tree, const struct sftp_conn *conn, int same)
{
	struct server *s = (struct server *)find(tree, conn);

	s->same = same ? 1 : -1;
	if (!same)
		debug("a lane has other files: it is not used");
	/* More files may be copied now. */
	sftp_fiber_ready_all(tree->fibers, &tree->end_waiters);
}

void
sftp_tree_load(struct sftp_tree *tree, struct worker *w)
{
	struct server *s, *best = &tree->servers[0];
	u_int i;

	w->server = NULL;
	if (best->lane == NULL)
		return;
	check_lanes(tree);
	for (i = 1; i < tree->nservers; i++) {
		s = &tree->servers[i];
		if (is_open(s) && s->same == 1 && s->load < best->load)
			best = s;
	}
	w->server = best;
	w->job.conn = best->conn;
	best->load += w->file_size + FILE_COST;
}

void
sftp_tree_unload(struct worker *w)
{
	if (w->server != NULL)
		w->server->load -= w->file_size + FILE_COST;
	w->server = NULL;
}
