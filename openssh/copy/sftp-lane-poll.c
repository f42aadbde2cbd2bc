/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "log.h"
#include "misc.h"
#include "progressmeter.h"
#include "sshbuf.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-conn.h"
#include "sftp-fiber.h"
#include "sftp-lanes.h"
#include "sftp-replies.h"
#include "sftp-tree.h"
#include "sftp-tree-state.h"

extern volatile sig_atomic_t interrupted;

/* Time (s) in which further lanes may answer once a copy in parts stops */
#define STOP_MAX_S	3

/* Time (ms) between two looks at lanes that have not answered yet */
#define TICK_MS		1000

/* The descriptors that are waited for: what is received, and what is sent */
struct waiting {
	struct pollfd pfd[4 * SFTP_LANES];
	u_int n;
	int timeout_ms;		/* -1: none */
};

/* Adds a lane to those that are waited for. Returns its index in w->pfd. */
static u_int
add(struct waiting *w, const struct sftp_lane *lane, int receives)
{
	u_int i = w->n;

	w->pfd[i].fd = receives ? lane->fd_in : -1;
	w->pfd[i].events = POLLIN;
	w->pfd[i + 1].fd = sshbuf_len(lane->out) != 0 ? lane->fd_out : -1;
	w->pfd[i + 1].events = POLLOUT;
	w->pfd[i].revents = w->pfd[i + 1].revents = 0;
	w->n += 2;
	return i;
}

/* A lane is lost. Without the first one no copy goes on. */
static void
lose(struct sftp_tree *tree, struct server *s, const char *why)
{
	if (s == &tree->servers[0])
		fatal("Connection closed");
	sftp_lane_lose(s->lane, why);
	sftp_fiber_ready_all(tree->fibers, &s->senders);
}

static void
send_some(struct sftp_tree *tree, struct server *s)
{
	ssize_t n;

	if ((n = sftp_lane_write(s->lane)) == -1) {
		lose(tree, s, "it took no more");
		return;
	}
	/* What it takes is a sign of life, too, once it has answered. */
	if (n > 0 && s->lane->heard)
		s->lane->silent_s = 0;
	sftp_conn_moved(tree->servers[0].conn, 1, n);
	if (sshbuf_len(s->lane->out) == 0)
		sftp_fiber_ready_all(tree->fibers, &s->senders);
}

/* Takes what has come, and hands the whole messages over. */
static void
receive(struct sftp_tree *tree, struct server *s)
{
	struct sshbuf *msg;
	ssize_t n;
	int r;

	if ((n = sftp_lane_read(s->lane)) == -1) {
		lose(tree, s, "it ended");
		return;
	}
	if (n > 0) {
		tree->heard++;
		s->lane->heard = 1;
		s->lane->silent_s = 0;
	}
	sftp_conn_moved(tree->servers[0].conn, 0, n);
	for (;;) {
		if ((msg = sshbuf_new()) == NULL)
			fatal_f("sshbuf_new failed");
		if ((r = sftp_lane_message(s->lane, msg)) != 1)
			break;
		/* Of the first lane, it is fatal. */
		if (s != &tree->servers[0] && !sftp_reply_is_good(s, msg)) {
			r = -1;
			break;
		}
		sftp_reply_hand_over(tree, s, msg);
	}
	sshbuf_free(msg);
	if (r == -1 && s == &tree->servers[0])
		fatal("Received message too long");
	if (r == -1)
		lose(tree, s, "it sent a bad message");
}

/* Waits for any of the descriptors. */
static void
wait_for(struct waiting *w)
{
	if (poll(w->pfd, w->n, w->timeout_ms) == -1) {
		if (errno != EINTR)
			fatal_f("poll: %s", strerror(errno));
		refresh_progress_meter(0);
		for (; w->n != 0; w->n--)
			w->pfd[w->n - 1].revents = 0;
	}
}

/*
 * Adds the lanes of the copy, with index[i] for server i, and returns how many
 * of them are to send or to reply.
 */
static u_int
add_servers(struct sftp_tree *tree, struct waiting *w, u_int *index)
{
	struct server *s;
	u_int i, due = 0;

	for (i = 0; i < tree->nservers; i++) {
		s = &tree->servers[i];
		if (s->lane->state != SFTP_LANE_OPEN)
			continue;
		/* An idle one is looked at, too: it may have ended. */
		index[i] = add(w, s->lane, i != 0 ||
		    !RB_EMPTY(&s->outstanding));
		if (!RB_EMPTY(&s->outstanding) ||
		    sshbuf_len(s->lane->out) != 0)
			due++;
	}
	return due;
}

/* Returns 1 if the copy stops: after ^C, or one in parts after an error. */
static int
stops(const struct sftp_tree *tree)
{
	return interrupted || (tree->stop != NULL && *tree->stop);
}

/* Notes whether the copy stops, or waits for nothing but checks of lanes. */
static void
note_stop(struct sftp_tree *tree)
{
	if (!stops(tree) && !tree->checks_end)
		tree->give_up_s = 0;
	else if (tree->give_up_s == 0)
		tree->give_up_s = monotime_double() + STOP_MAX_S;
}

/* Returns 1 if no reply of a lane is waited for any longer. */
static int
is_given_up(const struct sftp_tree *tree, const struct server *s)
{
	return tree->give_up_s != 0 && monotime_double() >= tree->give_up_s &&
	    (stops(tree) || s->same == -1);
}

/*
 * Gives up a lane that answers nothing. Returns the time (ms) after which to
 * look again, or timeout_ms if that is sooner.
 */
static int
watch(struct sftp_tree *tree, struct server *s, int timeout_ms)
{
	const struct server *first = &tree->servers[0];
	int due = !RB_EMPTY(&s->outstanding);

	if (s->lane->state != SFTP_LANE_OPEN)
		return timeout_ms;
	if (sftp_lane_is_silent(s->lane, due, tree->heard,
	    !RB_EMPTY(&first->outstanding)))
		lose(tree, s, "it does not answer");
	else if (due && is_given_up(tree, s))
		lose(tree, s, "it does not answer at the end");
	if (!due || (timeout_ms != -1 && timeout_ms < TICK_MS))
		return timeout_ms;
	return TICK_MS;
}

int
sftp_lanes_deliver(struct sftp_tree *tree)
{
	struct waiting w = { .n = 0 };
	struct server *s;
	u_int i, k, index[SFTP_LANES], at[SFTP_LANES];

	note_stop(tree);
	w.timeout_ms = sftp_tree_sync(tree);
	for (i = 0; i < tree->nservers; i++) {
		s = &tree->servers[i];
		if (i != 0)
			w.timeout_ms = watch(tree, s, w.timeout_ms);
		if (s->lane->state != SFTP_LANE_OPEN &&
		    sftp_replies_lost(tree, s))
			return 1;
	}
	if (add_servers(tree, &w, index) == 0)
		return 0;
	for (i = 1; i < SFTP_LANES; i++) {
		if (sftp_lane(i)->state == SFTP_LANE_OPENING)
			at[i] = add(&w, sftp_lane(i), 1);
	}
	wait_for(&w);
	for (i = 1; i < SFTP_LANES && w.n != 0; i++) {
		if (sftp_lane(i)->state == SFTP_LANE_OPENING &&
		    w.pfd[at[i]].revents != 0)
			(void)sftp_lane_opened(sftp_lane(i));
	}
	/* Each one begins in turn. */
	tree->lanes_next++;
	for (i = 0; i < tree->nservers && w.n != 0; i++) {
		k = (tree->lanes_next + i) % tree->nservers;
		s = &tree->servers[k];
		if (s->lane->state != SFTP_LANE_OPEN)
			continue;
		if (w.pfd[index[k] + 1].revents != 0)
			send_some(tree, s);
		if (s->lane->state == SFTP_LANE_OPEN &&
		    w.pfd[index[k]].revents != 0)
			receive(tree, s);
	}
	return 1;
}
