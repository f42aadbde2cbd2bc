/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/*
 * The replies of jobs that copy a tree. Each goes to the worker that sent the
 * request.
 */

#include "includes.h"

#include <sys/types.h>

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "misc.h"
#include "progressmeter.h"
#include "sshbuf.h"
#include "ssherr.h"
#include "xmalloc.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-conn.h"
#include "sftp-poll.h"
#include "sftp-replies.h"
#include "sftp-reply-form.h"
#include "sftp-tree.h"
#include "sftp-tree-state.h"

#define REPLY_HEAD	5	/* bytes before the content of a reply */
#define REPLY_STATUS	9	/* bytes of a status that are read */
#define REPLY_DATA	9	/* bytes before the data of a READ's reply */

struct reply {
	struct sshbuf *msg;
	const struct server *server;	/* that it came from */
	TAILQ_ENTRY(reply) entry;
};

/* An outstanding request */
struct request {
	u_int id;
	struct worker *worker;	/* gets the reply; NULL: the reply is dropped */
	u_char type;		/* see sftp_reply_request() */
	size_t data_max;	/* bytes of data that the reply may have */
	RB_ENTRY(request) entry;
};

static int
request_cmp(struct request *a, struct request *b)
{
	return a->id < b->id ? -1 : a->id > b->id;
}

RB_GENERATE_STATIC(requests, request, entry, request_cmp)

static struct server *
find_server(struct sftp_tree *tree, const struct sftp_conn *conn)
{
	u_int i;

	for (i = 0; i < tree->nservers; i++) {
		if (tree->servers[i].conn == conn)
			return &tree->servers[i];
	}
	fatal_f("no such connection");
}

/*
 * Notes that a server has sent a reply. The time to the first one sets the
 * number of jobs.
 */
static void
note_first_rtt(struct sftp_tree *tree, struct server *s)
{
	if (s->first_sent_s == 0)
		return;
	tree->rtt_us = MAXIMUM(tree->rtt_us,
	    (monotime_double() - s->first_sent_s) * 1000000);
	sftp_slots_rtt(&tree->slots, tree->rtt_us);
	s->first_sent_s = 0;
}

/*
 * Bounds the memory of a reply, as it may wait for its worker. A reply that is
 * longer than the request allows is fatal, whatever its type. The text of a
 * status is dropped: nobody reads it.
 */
static void
check_reply(struct reply *reply, const struct request *request)
{
	const u_char *p = sshbuf_ptr(reply->msg);
	size_t len = sshbuf_len(reply->msg);
	struct sshbuf *m;
	int r;

	if (p[0] != SSH2_FXP_STATUS && len > REPLY_DATA + request->data_max)
		fatal("Received more data than asked for %zu > %zu",
		    len - REPLY_DATA, request->data_max);
	if (p[0] != SSH2_FXP_STATUS || len <= REPLY_STATUS)
		return;
	if ((m = sshbuf_new()) == NULL)
		fatal_f("sshbuf_new failed");
	if ((r = sshbuf_put(m, p, REPLY_STATUS)) != 0)
		fatal_fr(r, "sshbuf_put");
	sshbuf_free(reply->msg);
	reply->msg = m;
}

/* Returns the outstanding request with that id. It is fatal if none has it. */
static struct request *
find_request(struct server *s, u_int id)
{
	struct request *request, find = { .id = id };

	if ((request = RB_FIND(requests, &s->outstanding, &find)) == NULL)
		fatal("Unexpected reply %u", id);
	return request;
}

int
sftp_reply_is_good(struct server *s, const struct sshbuf *msg)
{
	const u_char *p = sshbuf_ptr(msg);
	struct request *request, find = { .id = 0 };

	if (sshbuf_len(msg) < REPLY_HEAD)
		return 0;
	find.id = PEEK_U32(p + 1);
	return (request = RB_FIND(requests, &s->outstanding, &find)) != NULL &&
	    (p[0] == SSH2_FXP_STATUS ||
	    sshbuf_len(msg) <= REPLY_DATA + request->data_max) &&
	    sftp_reply_is_formed(request->type, msg);
}

void
sftp_reply_hand_over(struct sftp_tree *tree, struct server *s,
    struct sshbuf *msg)
{
	struct reply *reply = xcalloc(1, sizeof(*reply));
	struct request *request;
	struct worker *w;

	reply->msg = msg;
	reply->server = s;
	if (sshbuf_len(reply->msg) < REPLY_HEAD)
		fatal("Received message too short %zu", sshbuf_len(reply->msg));
	request = find_request(s, PEEK_U32(sshbuf_ptr(reply->msg) + 1));
	check_reply(reply, request);
	note_first_rtt(tree, s);
	w = request->worker;
	RB_REMOVE(requests, &s->outstanding, request);
	free(request);
	if (w == NULL) {
		sshbuf_free(reply->msg);
		free(reply);
		return;
	}
	TAILQ_INSERT_TAIL(&w->replies, reply, entry);
	if (w->awaits_reply) {
		w->awaits_reply = 0;
		sftp_fiber_ready(tree->fibers, &w->fiber);
	}
}

/*
 * Reads a reply from s and hands it to the worker that sent the request. Waits
 * if there is none yet.
 */
static void
deliver_one(struct sftp_tree *tree, struct server *s)
{
	struct sshbuf *msg;

	if ((msg = sshbuf_new()) == NULL)
		fatal_f("sshbuf_new failed");
	tree->read_reply(s->conn, msg);
	sftp_reply_hand_over(tree, s, msg);
}

int
sftp_replies_lost(struct sftp_tree *tree, struct server *s)
{
	struct request *request;
	struct sshbuf *msg;
	int r, any = 0;

	while ((request = RB_MIN(requests, &s->outstanding)) != NULL) {
		any = 1;
		if ((msg = sshbuf_new()) == NULL)
			fatal_f("sshbuf_new failed");
		if ((r = sshbuf_put_u8(msg, SSH2_FXP_STATUS)) != 0 ||
		    (r = sshbuf_put_u32(msg, request->id)) != 0 ||
		    (r = sshbuf_put_u32(msg, SSH2_FX_CONNECTION_LOST)) != 0)
			fatal_fr(r, "compose");
		sftp_reply_hand_over(tree, s, msg);
	}
	return any;
}

int
sftp_replies_deliver(void *ctx)
{
	struct sftp_tree *tree = ctx;
	struct pollfd pfd[SERVERS] = { { .fd = -1 } };
	u_int i, due = 0;

	if (tree->servers[0].lane != NULL)
		return sftp_lanes_deliver(tree);
	for (i = 0; i < tree->nservers; i++) {
		pfd[i].fd = tree->servers[i].fd_in;
		pfd[i].events = POLLIN;
		pfd[i].revents = 0;
		if (RB_EMPTY(&tree->servers[i].outstanding))
			pfd[i].fd = -1;
		else
			due++;
	}
	while (due > 1 && poll(pfd, tree->nservers, -1) == -1) {
		if (errno != EINTR)
			fatal_f("poll: %s", strerror(errno));
		refresh_progress_meter(0);
	}
	for (i = 0; i < tree->nservers; i++) {
		if (pfd[i].fd != -1 && (due == 1 || pfd[i].revents != 0)) {
			deliver_one(tree, &tree->servers[i]);
			break;
		}
	}
	return due != 0;
}

void
sftp_request_sending(struct sftp_tree *tree, const struct sftp_conn *conn,
    const struct sshbuf *msg)
{
	struct request *request;
	struct server *s;
	int waited = 0;

	if (tree == NULL)
		return;
	s = find_server(tree, conn);
	if (sshbuf_len(msg) < REPLY_HEAD)
		fatal_f("message of %zu bytes", sshbuf_len(msg));
	while (s->lane != NULL && s->lane->state == SFTP_LANE_OPEN &&
	    sshbuf_len(s->lane->out) != 0) {
		/* Whoever has waited is not overtaken by who sends again. */
		if (waited++)
			sftp_fiber_wait_first(tree->fibers, &s->senders);
		else
			sftp_fiber_wait(tree->fibers, &s->senders);
	}
	/* The server may take no more until its replies are read. */
	while (s->lane == NULL && !RB_EMPTY(&s->outstanding) &&
	    sftp_poll_either(s->fd_in, s->fd_out)) {
		deliver_one(tree, s);
	}
	request = xcalloc(1, sizeof(*request));
	request->id = PEEK_U32(sshbuf_ptr(msg) + 1);
	request->worker = current_worker(tree);
	request->type = sftp_reply_request(msg);
	request->data_max = sftp_reply_data_max(msg);
	if (RB_INSERT(requests, &s->outstanding, request) != NULL)
		fatal_f("request %u is outstanding already", request->id);
	tree->last_request = request;
}

int
sftp_request_send(struct sftp_tree *tree, const struct sftp_conn *conn,
    const struct sshbuf *msg)
{
	struct server *s;
	ssize_t n;

	if (tree == NULL || (s = find_server(tree, conn))->lane == NULL)
		return 0;
	/* Its reply says that the lane is lost. */
	if (s->lane->state != SFTP_LANE_OPEN)
		return 1;
	sftp_lane_queue(s->lane, msg);
	if ((n = sftp_lane_write(s->lane)) > 0)
		sftp_conn_moved(tree->servers[0].conn, 1, n);
	return 1;
}

void
sftp_reply_ignore(struct sftp_tree *tree)
{
	tree->last_request->worker = NULL;
}

void
sftp_reply_get(struct sftp_tree *tree, const struct sftp_conn *conn,
    struct sshbuf *msg)
{
	struct worker *w = current_worker(tree);
	const struct server *s = find_server(tree, conn);
	struct reply *reply;
	int r;

	for (;;) {
		TAILQ_FOREACH(reply, &w->replies, entry) {
			if (reply->server == s)
				break;
		}
		if (reply != NULL)
			break;
		w->awaits_reply = 1;
		sftp_fiber_yield(tree->fibers);
	}
	TAILQ_REMOVE(&w->replies, reply, entry);
	sshbuf_reset(msg);
	if ((r = sshbuf_putb(msg, reply->msg)) != 0)
		fatal_fr(r, "sshbuf_putb");
	sshbuf_free(reply->msg);
	free(reply);
}

int
sftp_reply_ready(const struct sftp_tree *tree, const struct sftp_conn *conn)
{
	const struct reply *reply;

	TAILQ_FOREACH(reply, &current_worker(tree)->replies, entry) {
		if (reply->server->conn == conn)
			return 1;
	}
	return 0;
}

int
sftp_reply_unread(struct sftp_tree *tree, const struct sftp_conn *conn)
{
	const struct server *s = find_server(tree, conn);

	return s->lane != NULL && s->lane->state == SFTP_LANE_OPEN &&
	    sftp_poll_reply(s->lane->fd_in);
}

void
sftp_replies_wait(struct sftp_tree *tree, u_int n)
{
	struct worker *w = current_worker(tree);
	struct reply *reply;
	u_int have;

	for (;;) {
		have = 0;
		TAILQ_FOREACH(reply, &w->replies, entry)
			have++;
		if (have >= n)
			return;
		w->awaits_reply = 1;
		sftp_fiber_yield(tree->fibers);
	}
}

void
sftp_replies_drop(struct sftp_tree *tree)
{
	struct reply *reply, *next;
	struct worker *w;

	if (tree == NULL)
		return;
	w = current_worker(tree);
	TAILQ_FOREACH_SAFE(reply, &w->replies, entry, next) {
		sshbuf_free(reply->msg);
		free(reply);
	}
	TAILQ_INIT(&w->replies);
}
