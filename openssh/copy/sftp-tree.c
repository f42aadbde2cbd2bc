/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>
#include <sys/resource.h>

#include <stdlib.h>

#include "log.h"
#include "misc.h"
#include "xmalloc.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-conn.h"
#include "sftp-fiber.h"
#include "sftp-replies.h"
#include "sftp-slots.h"
#include "sftp-tree.h"
#include "sftp-tree-state.h"

extern int showprogress;

static u_int files_max = SFTP_SLOTS_FILES;

/*
 * Bytes of memory for a job's stack and buffers. All jobs together take at most
 * half of RLIMIT_AS, and of RLIMIT_DATA.
 */
#define JOB_SIZE	(2 * 1024 * 1024)

void
sftp_tree_add(struct sftp_tree *tree, u_int handles, struct sftp_conn *conn,
    int in, int out)
{
	struct server *s;

	if (tree == NULL)
		return;
	if (tree->nservers == SERVERS)
		fatal_f("more than %d connections", SERVERS);
	s = &tree->servers[tree->nservers++];
	s->conn = conn;
	s->fd_in = in;
	s->fd_out = out;
	s->first_sent_s = monotime_double();
	RB_INIT(&s->outstanding);
	TAILQ_INIT(&s->senders);
	sftp_slots_limit(&tree->slots, handles);
}

/* As sftp_tree_new(), without what the whole copy counts and measures. */
static struct sftp_tree *
tree_new(u_int handles,
    void (*read_reply)(struct sftp_conn *conn, struct sshbuf *msg),
    struct sftp_conn *conn, int in, int out)
{
	struct sftp_fiber_config config = {
		.size = sizeof(struct worker), .local = &showprogress,
		.init = sftp_tree_init_worker, .run = sftp_tree_run_job,
		.wait = sftp_replies_deliver
	};
	struct sftp_tree *tree;
	struct sftp_slots slots;
	struct rlimit rl;

	sftp_slots_init(&slots, files_max);
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0)
		sftp_slots_limit(&slots, rl.rlim_cur);
#ifdef RLIMIT_AS
	if (getrlimit(RLIMIT_AS, &rl) == 0)
		sftp_slots_limit(&slots, rl.rlim_cur / JOB_SIZE);
#endif
	/* On Linux it is for all private memory, stacks included. */
	if (getrlimit(RLIMIT_DATA, &rl) == 0)
		sftp_slots_limit(&slots, rl.rlim_cur / JOB_SIZE);
	sftp_slots_limit(&slots, handles);
	if (!sftp_slots_parallel(&slots))
		return NULL;
	tree = xcalloc(1, sizeof(*tree));
	tree->read_reply = read_reply;
	tree->slots = slots;
	sftp_tree_add(tree, handles, conn, in, out);
	TAILQ_INIT(&tree->end_waiters);
	TAILQ_INIT(&tree->open_waiters);
	TAILQ_INIT(&tree->writers);
	config.ctx = tree;
	if ((tree->fibers = sftp_fibers_new(&config)) == NULL) {
		free(tree);
		return NULL;
	}
	return tree;
}

/* Takes all outstanding replies, then frees the tree. */
static void
tree_free(struct sftp_tree *tree)
{
	if (tree == NULL)
		return;
	sftp_tree_end_checks(tree);
	tree->lanes_s = 0;
	while (sftp_replies_deliver(tree))
		;
	sftp_tree_leave_lanes(tree);
	sftp_fibers_free(tree->fibers);
	free(tree->check.src);
	free(tree);
}

void
sftp_tree_max_files(u_int files)
{
	files_max = files;
}

int
sftp_tree_is_parallel(void)
{
	return files_max > 1;
}

struct sftp_tree *
sftp_tree_new(u_int handles,
    void (*read_reply)(struct sftp_conn *conn, struct sshbuf *msg),
    struct sftp_conn *conn, int in, int out)
{
	return tree_new(handles, read_reply, conn, in, out);
}

struct sftp_tree *
sftp_tree_of_parts(struct sftp_conn *conn, int upload,
    void (*read_reply)(struct sftp_conn *conn, struct sshbuf *msg))
{
	struct sftp_tree *tree = tree_new(sftp_conn_handles(conn), read_reply,
	    conn, sftp_lane(0)->fd_in, sftp_lane(0)->fd_out);

	if (tree != NULL) {
		sftp_tree_use_lanes(tree, conn, NULL, upload);
		sftp_conn_set_tree(conn, tree);
	}
	return tree;
}

void
sftp_tree_of_parts_free(struct sftp_tree *tree)
{
	struct sftp_conn *conn;

	if (tree == NULL)
		return;
	conn = tree->servers[0].conn;
	tree_free(tree);
	sftp_conn_set_tree(conn, NULL);
}

void
sftp_tree_free(struct sftp_tree *tree)
{
	tree_free(tree);
}
