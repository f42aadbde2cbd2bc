/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "openbsd-compat/sys-queue.h"

#include "log.h"
#include "misc.h"
#include "sshbuf.h"
#include "xmalloc.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-conn.h"
#include "sftp-inflight.h"
#include "sftp-lanes.h"
#include "sftp-parallel.h"
#include "sftp-part-job.h"
#include "sftp-replies.h"
#include "sftp-requests.h"
#include "sftp-tree.h"

extern volatile sig_atomic_t interrupted;

/* Bytes that a lane has in flight at least */
#define FLIGHT_MIN	(2 * 1024 * 1024)

/* Bytes after which the mark is written again, and how many marks those are */
#define MARK_STEP	(4 * 1024 * 1024)
#define MARK_STEP_MARKS	256

/* Outstanding marks at most, at a server that writes in order */
#define MARKS_MAX	16

/* A part that a lane copies */
struct part {
	int i;
	uint64_t offset, len;	/* bytes */
	uint64_t asked, copied;	/* bytes of it */
	TAILQ_ENTRY(part) entry;
};

/* An outstanding request; part is NULL for that of a mark or of the end */
struct part_request {
	u_int id;
	struct part *part;
	uint64_t offset;
	size_t len;
	u_int taken;		/* parts that were taken before it */
	uint64_t marked;	/* bytes of the parts in a mark */
	TAILQ_ENTRY(part_request) entry;
};

/* A lane that copies parts */
struct copier {
	struct sftp_parts_copy *c;
	const struct sftp_parallel *f;
	struct sftp_conn *conn;
	struct sftp_part_file *own;	/* NULL: the first lane, whose file
					 * is open */
	const u_char *handle;
	size_t handle_len;
	u_char *data;		/* of an upload's request */
	size_t piece;		/* bytes of a request */
	uint64_t in_flight;	/* bytes */
	uint64_t bdp;		/* bytes, that are part of c->bdp */
	int lost;		/* 1: the lane is lost */
	TAILQ_HEAD(part_list, part) parts;
	TAILQ_HEAD(, part_request) requests;
};

/* Returns the bytes of the requests for a part: equal pieces of it. */
static size_t
piece_size(const struct sftp_parts_copy *c, struct sftp_conn *conn)
{
	u_int buflen = MAXIMUM(sftp_conn_buflen(conn, c->f->upload), 4096);
	uint64_t n = (c->parts.part + buflen - 1) / buflen;

	return MINIMUM((c->parts.part / n + 4095) / 4096 * 4096, buflen);
}

/* Keeps what a lane has opened, until sftp_part_close(). */
static void
keep_file(struct copier *k, u_char *handle)
{
	k->handle = handle;
	k->own = xcalloc(1, sizeof(*k->own));
	k->own->conn = k->conn;
	k->own->handle = handle;
	k->own->len = k->handle_len;
	TAILQ_INSERT_TAIL(&k->c->files, k->own, entry);
}

/* Opens the file for a lane. Returns 0, or -1 if it is not the same file. */
static int
open_file(struct copier *k)
{
	u_char head[SFTP_MARK_HEAD];
	double asked_s = monotime_double();
	struct sftp_request_look look = { NULL };
	const Attrib *a = &look.a;
	u_char *handle;
	int same;

	if (k->f->upload) {
		look.data = head;
		look.len = sizeof(head);
		look.offset = k->f->size;
	}
	handle = sftp_request_open_look(k->conn, k->f->path,
	    k->f->upload ? SSH2_FXF_READ|SSH2_FXF_WRITE : SSH2_FXF_READ,
	    &k->handle_len, sftp_lanes_are_openssh(), &look);
	if (handle == NULL)
		return -1;
	keep_file(k, handle);
	sftp_inflight_opened(sftp_conn_inflight(k->conn), asked_s,
	    look.opened_s);
	if (k->f->upload)
		same = look.got == sizeof(head) &&
		    memcmp(head + SFTP_MARK_MAGIC_LEN, k->c->nonce,
		    SFTP_MARK_NONCE) == 0;
	else
		same = look.got != 0 &&
		    (a->flags & SSH2_FILEXFER_ATTR_SIZE) != 0 &&
		    a->size == k->f->size &&
		    (a->flags & SSH2_FILEXFER_ATTR_ACMODTIME) != 0 &&
		    a->mtime == k->f->mtime;
	if (!same)
		debug("\"%s\": a lane's server has another file",
		    k->f->path);
	k->own->same = same;
	return same ? 0 : -1;
}

/* Returns 1 if an upload's lane is to wait for a mark. */
static int
is_unmarked(const struct copier *k)
{
	const struct sftp_parts_copy *c = k->c;
	struct sftp_mark_facts f = {
		.there = c->parts.done - c->kept + c->partial,
		.in_flight = c->in_flight, .bdp = c->bdp, .next = k->piece,
		.first = k->own == NULL, .marks = c->marking,
		.one_mark = !sftp_lanes_are_openssh(),
		.asked = k->in_flight != 0
	};

	/* Without a mark, what is there has no gaps. */
	if (!c->f->upload || !c->first || c->stop || interrupted || k->lost)
		return 0;
	return sftp_mark_is_awaited(&f);
}

/* Returns 1 if the lane may have one more request in flight. */
static int
may_ask(struct copier *k)
{
	struct sftp_inflight *d = sftp_conn_inflight(k->conn);
	u_int lanes = MAXIMUM(sftp_tree_lanes(sftp_conn_tree(k->conn)), 1);
	uint64_t most;

	if (k->c->stop || interrupted || k->lost || is_unmarked(k))
		return 0;
	/* At the end no lane holds what the others wait for. */
	most = MAXIMUM(2 * d->cw.bdp,
	    sftp_parts_left(&k->c->parts) / (2 * lanes));
	most = MAXIMUM(most, FLIGHT_MIN);
	most = MINIMUM(most,
	    (uint64_t)sftp_inflight_max(d, k->piece) * k->piece);
	return k->in_flight == 0 || k->in_flight + k->piece <= most;
}

static struct part_request *
note_request(struct copier *k, u_int id, struct part *part, uint64_t offset,
    size_t len)
{
	struct sftp_parts_copy *c = k->c;
	struct part_request *r = xcalloc(1, sizeof(*r));

	r->id = id;
	r->part = part;
	r->offset = offset;
	r->len = len;
	r->taken = c->taken;
	TAILQ_INSERT_TAIL(&k->requests, r, entry);
	k->in_flight += len;
	c->in_flight += len;
	if (part != NULL)
		sftp_inflight_ask(sftp_conn_inflight(k->conn), len);
	return r;
}

/* Notes that a lane of an upload writes to the target. */
static void
note_written(struct copier *k)
{
	if (k->own != NULL && k->own->wrote == NULL)
		k->own->wrote = xcalloc(1, sftp_parts_bitmap(k->f->size));
}

/* Sends a request for a piece of a part. Returns 0, or -1 after an error. */
static int
send_piece(struct copier *k, struct part *part, uint64_t offset, size_t len)
{
	ssize_t n;
	u_int id;

	if (!k->f->upload) {
		id = sftp_request_send_read(k->conn, k->handle, k->handle_len,
		    offset, len);
	} else {
		n = pread(k->f->fd, k->data, len, offset);
		/* The stream that copies what is left finds out why. */
		if (n != (ssize_t)len)
			return -1;
		note_written(k);
		id = sftp_request_send_write(k->conn, k->handle, k->handle_len,
		    offset, k->data, len);
	}
	(void)note_request(k, id, part, offset, len);
	return 0;
}

/*
 * Asks for a byte behind a source's size, while the last parts are on their
 * way: there is none, unless the source grows. If a part is copied again, the
 * answer counts no more.
 */
static void
ask_end(struct copier *k)
{
	struct sftp_parts_copy *c = k->c;

	if (k->f->upload || c->end_asked == c->taken)
		return;
	c->end_asked = c->taken;
	(void)note_request(k, sftp_request_send_read(k->conn, k->handle,
	    k->handle_len, k->f->size, 1), NULL, k->f->size, 1);
}

/* Sends the next piece, of a new part if need be. Returns 0 if none is left. */
static int
send_next(struct copier *k)
{
	struct part *part = TAILQ_LAST(&k->parts, part_list);
	uint64_t offset, len;
	size_t n;
	int i;

	if (part == NULL || part->asked == part->len) {
		if ((i = sftp_parts_next(&k->c->parts, &offset, &len)) == -1) {
			ask_end(k);
			return 0;
		}
		k->c->taken++;
		k->c->ends = 0;
		part = xcalloc(1, sizeof(*part));
		part->i = i;
		part->offset = offset;
		part->len = len;
		TAILQ_INSERT_TAIL(&k->parts, part, entry);
	}
	n = MINIMUM(k->piece, part->len - part->asked);
	offset = part->offset + part->asked;
	part->asked += n;
	if (send_piece(k, part, offset, n) != 0)
		k->c->stop = 1;
	return 1;
}

int
sftp_part_mark(struct sftp_parts_copy *c, struct sftp_conn *conn,
    const u_char *handle, size_t handle_len)
{
	if (sftp_mark_put(&c->parts, c->f->mtime, c->nonce, c->mark) != 0)
		return -1;
	c->marked = c->kept = c->parts.done;
	if (!c->f->upload)
		return pwrite(c->f->fd, c->mark, c->mark_len, c->f->size) ==
		    (ssize_t)c->mark_len ? 0 : -1;
	return sftp_request_write(conn, handle, handle_len, c->f->size,
	    c->mark, c->mark_len) == SSH2_FX_OK ? 0 : -1;
}

/* Wakes the lanes that wait for a mark. */
static void
wake_unmarked(struct sftp_parts_copy *c)
{
	sftp_tree_wake(sftp_conn_tree(c->f->conn), &c->unmarked);
}

/* Sends the mark over the first lane, unless enough are outstanding. */
static void
send_mark(struct copier *k)
{
	struct sftp_parts_copy *c = k->c;
	struct part_request *r;
	u_int id;

	if (c->marking >= (sftp_lanes_are_openssh() ? MARKS_MAX : 1) ||
	    sftp_mark_put(&c->parts, c->f->mtime, c->nonce, c->mark) != 0)
		return;
	c->marked = c->parts.done;
	c->marking++;
	id = sftp_request_send_write(k->conn, k->handle, k->handle_len,
	    c->f->size, c->mark, c->mark_len);
	r = note_request(k, id, NULL, c->f->size, c->mark_len);
	r->marked = c->marked;
}

/*
 * Writes the mark if enough was copied since, or sends it: over the first lane,
 * which cuts it off in the end. The server of a lane that was lost could still
 * write it after that.
 */
static void
mark(struct copier *k)
{
	struct sftp_parts_copy *c = k->c;

	if (c->stop || c->parts.done - c->marked <
	    MAXIMUM(MARK_STEP, MARK_STEP_MARKS * c->mark_len))
		return;
	if (!c->f->upload) {
		if (sftp_part_mark(c, NULL, NULL, 0) != 0)
			c->stop = 1;
	} else if (k->own == NULL && !(TAILQ_EMPTY(&k->requests) &&
	    sftp_parts_left(&c->parts) == 0))
		send_mark(k);
}

/* Notes that an upload's mark is at the target. */
static void
marked(struct sftp_parts_copy *c, const struct part_request *r)
{
	c->marking--;
	c->kept = MAXIMUM(c->kept, r->marked);
	wake_unmarked(c);
}

/* Notes that len bytes of a part are at the target. */
static void
copied(struct copier *k, struct part *part, size_t len)
{
	part->copied += len;
	k->c->partial += len;
	*k->f->counter += len;
	if (part->copied != part->len)
		return;
	k->c->partial -= part->len;
	if (k->own != NULL && k->own->wrote != NULL)
		k->own->wrote[part->i / 8] |= 1 << part->i % 8;
	sftp_parts_copied(&k->c->parts, part->i);
	TAILQ_REMOVE(&k->parts, part, entry);
	free(part);
}

/* Takes the data of a READ. Returns the number of bytes, or -1. */
static ssize_t
take_data(struct copier *k, const struct part_request *r, struct sshbuf *msg)
{
	const u_char *data;
	size_t len;
	ssize_t n;

	if (sshbuf_get_string_direct(msg, &data, &len) != 0 || len == 0)
		return -1;
	if (len > r->len)
		fatal("Received more data than asked for %zu > %zu", len,
		    r->len);
	n = pwrite(k->f->fd, data, len, r->offset);
	return n == (ssize_t)len ? n : -1;
}

/* Returns the request with that id, which the caller frees. */
static struct part_request *
take_request(struct copier *k, u_int id)
{
	struct part_request *r;

	TAILQ_FOREACH(r, &k->requests, entry) {
		if (r->id != id)
			continue;
		TAILQ_REMOVE(&k->requests, r, entry);
		return r;
	}
	fatal("Unexpected reply %u", id);
}

/*
 * Returns 1 if a reply is there, else 0. An upload's may be there unread: as
 * long as a server takes all that is sent, nothing else is done, and no mark
 * tells of what has arrived. A download's data would be, most of the time, and
 * nothing more would be asked for.
 */
static int
reply_ready(const struct copier *k)
{
	struct sftp_tree *tree = sftp_conn_tree(k->conn);

	return sftp_reply_ready(tree, k->conn) || (k->f->upload &&
	    !TAILQ_EMPTY(&k->requests) && sftp_reply_unread(tree, k->conn));
}

/* Takes the next reply. */
static void
take_reply(struct copier *k, struct sshbuf *msg)
{
	struct sftp_inflight *d = sftp_conn_inflight(k->conn);
	struct part_request *r;
	u_int id, status;
	u_char type;
	ssize_t n;

	type = sftp_request_reply(k->conn, msg, &id, &status);
	r = take_request(k, id);
	k->in_flight -= r->len;
	k->c->in_flight -= r->len;
	if (r->part != NULL)
		sftp_inflight_end(d, r->len);
	else if (k->f->upload)
		marked(k->c, r);
	if (r->part == NULL && !k->f->upload &&
	    !sftp_tree_lost(sftp_conn_tree(k->conn), k->conn)) {
		k->c->ends = r->taken == k->c->taken &&
		    type == SSH2_FXP_STATUS && status == SSH2_FX_EOF;
	} else if (type != (k->f->upload ? SSH2_FXP_STATUS : SSH2_FXP_DATA) ||
	    status != SSH2_FX_OK) {
		if (sftp_tree_lost(sftp_conn_tree(k->conn), k->conn))
			k->lost = 1;
		else
			k->c->stop = 1;
	} else if (r->part != NULL) {
		n = k->f->upload ? (ssize_t)r->len : take_data(k, r, msg);
		if (n == -1)
			k->c->stop = 1;
		else {
			sftp_inflight_got(d, n, monotime_double());
			k->c->bdp += d->cw.bdp - k->bdp;
			k->bdp = d->cw.bdp;
			/* A server may return less than was asked for. */
			if (n != (ssize_t)r->len && send_piece(k, r->part,
			    r->offset + n, r->len - n) != 0)
				k->c->stop = 1;
			copied(k, r->part, n);
		}
	}
	free(r);
}

/* Gives back what was not copied. */
static void
give_back(struct copier *k)
{
	struct part *part, *next;

	TAILQ_FOREACH_SAFE(part, &k->parts, entry, next) {
		*k->f->counter -= part->copied;
		k->c->partial -= part->copied;
		sftp_parts_back(&k->c->parts, part->i);
		free(part);
	}
	TAILQ_INIT(&k->parts);
}

void
sftp_part_free(struct sftp_part_file *file)
{
	free(file->handle);
	free(file->wrote);
	free(file);
}

void
sftp_part_lost(struct sftp_parts_copy *c)
{
	struct sftp_tree *tree = sftp_conn_tree(c->f->conn);
	struct sftp_part_file *file, *next;

	TAILQ_FOREACH_SAFE(file, &c->files, entry, next) {
		if (!sftp_tree_lost(tree, file->conn))
			continue;
		TAILQ_REMOVE(&c->files, file, entry);
		TAILQ_INSERT_TAIL(&c->unsure, file, entry);
	}
}

/* Returns the file whose CLOSE has that id. */
static struct sftp_part_file *
find_file(struct sftp_parts_copy *c, const struct sftp_conn *conn, u_int id)
{
	struct sftp_part_file *file;

	TAILQ_FOREACH(file, &c->files, entry) {
		if (file->conn == conn && file->close_id == id)
			return file;
	}
	fatal("Unexpected reply %u", id);
}

/* Waits for the answer to a CLOSE on a lane, and notes its status. */
static void
take_close(struct sftp_parts_copy *c, struct sftp_conn *conn,
    struct sshbuf *msg)
{
	u_int id, status;

	(void)sftp_request_reply(conn, msg, &id, &status);
	find_file(c, conn, id)->closed = status;
}

u_int
sftp_part_close(struct sftp_parts_copy *c)
{
	struct sftp_part_file *file;
	struct sftp_tree *tree = sftp_conn_tree(c->f->conn);
	u_int failed = SSH2_FX_OK;
	struct sshbuf *msg;

	if ((msg = sshbuf_new()) == NULL)
		fatal_f("sshbuf_new failed");
	sftp_part_lost(c);
	TAILQ_FOREACH(file, &c->files, entry)
		file->close_id = sftp_request_send_close(file->conn,
		    file->handle, file->len);
	TAILQ_FOREACH(file, &c->files, entry)
		take_close(c, file->conn, msg);
	sshbuf_free(msg);
	TAILQ_FOREACH(file, &c->files, entry) {
		if (file->closed == SSH2_FX_OK) {
			free(file->wrote);
			file->wrote = NULL;
		} else if (file->wrote != NULL &&
		    !sftp_tree_lost(tree, file->conn))
			failed = file->closed;
	}
	TAILQ_CONCAT(&c->unsure, &c->files, entry);
	return failed;
}

int
sftp_part_job(struct sftp_job *job)
{
	struct sftp_parts_copy *c = job->ctx;
	struct copier k = { .c = c, .f = c->f, .conn = job->conn };
	struct sshbuf *msg;

	TAILQ_INIT(&k.parts);
	TAILQ_INIT(&k.requests);
	if ((msg = sshbuf_new()) == NULL)
		fatal_f("sshbuf_new failed");
	k.piece = piece_size(c, k.conn);
	k.handle = c->f->handle;
	k.handle_len = c->f->handle_len;
	if (k.conn != c->f->conn && open_file(&k) != 0)
		goto out;
	k.data = c->f->upload ? xmalloc(k.piece) : NULL;
	c->first |= k.own == NULL;
	for (;;) {
		/* What has come is taken first: it is progress. */
		while (may_ask(&k) && !reply_ready(&k) && send_next(&k))
			;
		if (!TAILQ_EMPTY(&k.requests)) {
			take_reply(&k, msg);
			/* Also of what other lanes have copied */
			mark(&k);
		} else if (is_unmarked(&k) && (!TAILQ_EMPTY(&k.parts) ||
		    sftp_parts_left(&c->parts) != 0))
			sftp_tree_wait_in(sftp_conn_tree(k.conn),
			    &c->unmarked);
		else
			break;
	}
	give_back(&k);
	c->bdp -= k.bdp;
	if (k.own == NULL)
		c->first = 0;
	wake_unmarked(c);
 out:
	free(k.data);
	sshbuf_free(msg);
	return 0;
}
