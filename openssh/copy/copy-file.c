/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "misc.h"
#include "xmalloc.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-conn.h"
#include "sftp-incomplete.h"
#include "copy-file.h"

extern int showprogress;
extern volatile sig_atomic_t interrupted;

void
file_reset(struct file *f)
{
	const size_t fixed = offsetof(struct file, phase);

	memset((char *)f + fixed, 0, sizeof(*f) - fixed);
	TAILQ_INIT(&f->lost);
	f->fd = -1;
	f->gap = f->ended = UINT64_MAX;
	f->tail_max = 1;
	f->incomplete = -1;
	f->item.done = 0;
	free(f->item.why);
	f->item.why = NULL;
}

/* Returns the stream with the least to do that has the same files. */
static u_int
least_busy(const struct copy *copy)
{
	u_int i, best = 0;

	for (i = 1; i < copy->nstreams; i++) {
		if (copy->streams[i]->state == STREAM_UP &&
		    copy->streams[i]->ahead < copy->streams[best]->ahead)
			best = i;
	}
	return best;
}

void
file_begin(struct file *f)
{
	struct copy *copy = f->item.copy;

	/* A large file is opened on other streams later. */
	if (f->size >= FILE_LARGE)
		copy->wants_more = 1;
	f->home = copy->kind == COPY_CROSS || f->size >= FILE_LARGE ||
	    copy->flags.resume || f->careful ? 0 : least_busy(copy);
	f->ahead = MAXIMUM(f->size, SFTP_INFLIGHT_LEAST);
	file_home(f)->ahead += f->ahead;
	copy_item_opened(&f->item);
}

struct stream *
file_home(const struct file *f)
{
	return f->item.copy->streams[f->home];
}

int
file_is_bad(const struct file *f)
{
	return f->item.why != NULL || f->redo || f->put_off || interrupted;
}

void
file_gap(struct file *f, uint64_t offset)
{
	f->gap = MINIMUM(f->gap, offset);
}

void
file_refused(struct file *f, const struct request *req,
    const struct reply *reply, const char *fmt, const char *path)
{
	file_gap(f, req->offset);
	if (f->closed_early && !interrupted) {
		/* Perhaps the server does not keep the order of requests. */
		req->stream->careful = f->redo = 1;
	} else
		copy_item_fail(&f->item, fmt, path, fx2txt(reply->status));
}

int
file_is_whole(const struct file *f)
{
	return f->ended != UINT64_MAX && f->ended >= f->size &&
	    file_there(f) == f->ended && f->reads == 0 && f->writes == 0;
}

uint64_t
file_there(const struct file *f)
{
	const struct range *r;
	uint64_t there = MINIMUM(f->data_end, f->gap);
	u_int i;

	for (i = 0; i < COPY_STREAMS; i++) {
		if (f->part[i].at != f->part[i].end)
			there = MINIMUM(there, f->part[i].at);
	}
	TAILQ_FOREACH(r, &f->lost, entry)
		there = MINIMUM(there, r->offset);
	return there;
}

int
file_may_hurry(const struct file *f, const struct stream *s)
{
	int is_target = file_kind(f) == COPY_PUT ||
	    (file_kind(f) == COPY_CROSS && s->index == 1);

	/* Some servers would set the times before they write. */
	if (is_target && f->item.copy->flags.preserve &&
	    (s->conn->exts & SFTP_EXT_LIMITS) == 0)
		return 0;
	return !f->careful && !s->careful;
}

int
file_may_ask(const struct file *f, struct stream *s, size_t len)
{
	u_int fixed = s->conn->depth.fixed;

	return sftp_inflight_room(&s->conn->depth, len) &&
	    (fixed == 0 || f->reads + f->writes < fixed);
}

/* Returns 1 if a range has been chosen that is not requested, else 0. */
static int
has_chosen(const struct file *f)
{
	u_int i;

	for (i = 0; i < COPY_STREAMS; i++) {
		if (f->part[i].at != f->part[i].end)
			return 1;
	}
	return !TAILQ_EMPTY(&f->lost);
}

/* Chooses the next chunk. Returns 1, or 0 if there is none now. */
static int
next_chunk(struct file *f, struct part *p)
{
	uint64_t end = (f->next / FILE_CHUNK + 1) * FILE_CHUNK;

	if (f->next >= f->size &&
	    (file_kind(f) != COPY_PUT || f->ended != UINT64_MAX))
		return 0;
	if (f->next < f->size)
		end = f->moved == NULL ? f->size : MINIMUM(end, f->size);
	/* Bytes may be missing behind what is copied of the first chunks. */
	if (f->moved != NULL && f->next >= f->low * FILE_CHUNK + FILE_SPAN)
		return 0;
	/* So the file is shorter than its source until it is whole. */
	if (f->many && end >= f->size &&
	    (f->reads != 0 || f->writes != 0 || has_chosen(f)))
		return 0;
	p->at = f->next;
	p->end = f->next = end;
	return 1;
}

size_t
file_range(struct file *f, struct part *p, uint64_t *offset)
{
	struct range *r;
	size_t len;

	if ((r = TAILQ_FIRST(&f->lost)) != NULL) {
		*offset = r->offset;
		len = MINIMUM(r->len, f->buflen);
		r->offset += len;
		if ((r->len -= len) == 0) {
			TAILQ_REMOVE(&f->lost, r, entry);
			free(r);
		}
		return len;
	}
	/* Streams that share a file leave each other something to do. */
	if (f->moved != NULL && p->asked >= FILE_SPAN / 2 /
	    f->item.copy->nstreams)
		return 0;
	if (p->at == p->end && !next_chunk(f, p))
		return 0;
	*offset = p->at;
	len = MINIMUM(f->buflen, p->end - p->at);
	p->at += len;
	return len;
}

int
file_has_range(const struct file *f)
{
	return f->next < f->size || has_chosen(f);
}

void
file_moved(struct file *f, uint64_t offset, size_t len)
{
	f->item.done += len;
	f->data_end = MAXIMUM(f->data_end, offset + len);
	if (f->moved == NULL)
		return;
	f->moved[offset / FILE_CHUNK % FILE_CHUNKS] += len;
	while (f->moved[f->low % FILE_CHUNKS] == FILE_CHUNK)
		f->moved[f->low++ % FILE_CHUNKS] = 0;
}

void
file_range_end(struct file *f, uint64_t offset)
{
	struct part *p;

	f->ended = MINIMUM(f->ended, offset);
	f->next = MAXIMUM(f->next, f->size);
	for (p = f->part; p < f->part + COPY_STREAMS; p++) {
		if (p->end > offset)
			p->end = MAXIMUM(p->at, offset);
	}
}

uint64_t
file_without_gaps(const struct file *f, uint64_t have)
{
	if (f->size < FILE_LARGE || have == f->size)
		return have;
	return have > FILE_SPAN ? have - FILE_SPAN : 0;
}

void
file_keep(struct file *f, uint64_t keep)
{
	f->next = f->data_end = f->item.done = keep;
	file_requested(f, keep);
}

void
file_range_lost(struct file *f, uint64_t offset, size_t len)
{
	struct range *r = xcalloc(1, sizeof(*r));

	r->offset = offset;
	r->len = len;
	TAILQ_INSERT_TAIL(&f->lost, r, entry);
}

void
file_requested(struct file *f, size_t len)
{
	len = MINIMUM(len, f->ahead);
	f->ahead -= len;
	file_home(f)->ahead -= len;
}

void
file_open(struct file *f, struct stream *s, u_int flags, copy_got *got)
{
	int is_target = (flags & SSH2_FXF_WRITE) != 0;

	/* A signal may end the program as soon as the file is there. */
	if (is_target && f->item.copy->tree && f->incomplete == -1)
		f->incomplete = sftp_incomplete_begin(f->item.dst);
	f->part[s->index].state = PART_OPENING;
	copy_send(s, &f->item, SSH2_FXP_OPEN, got, &(struct body){
	    .path = is_target ? f->item.dst : f->item.src, .flags = flags,
	    .a = (flags & SSH2_FXF_CREAT) ? &f->set : NULL });
}

/* Takes the reply to the OPEN on one more stream. */
static void
got_join(struct request *req, struct reply *reply)
{
	struct file *f = file_of(req->item);
	struct part *p = &f->part[req->stream->index];

	if (reply->type == SSH2_FXP_HANDLE) {
		handle_take(&p->handle, reply);
		p->state = PART_OPEN;
		f->many = 1;
		copy_item_queue(&f->item);
	} else {
		debug("stream %u can't open \"%s\": %s", req->stream->index,
		    f->item.src, fx2txt(reply->status));
		p->state = PART_REFUSED;
	}
	f->check(f);
}

int
file_join(struct file *f, struct stream *s)
{
	/* With APPEND, all that is written goes to the end. */
	if (f->moved == NULL || s->state != STREAM_UP || f->appends ||
	    f->part[s->index].state != PART_NONE ||
	    f->next + 2 * FILE_CHUNK > f->size || !file_may_ask(f, s, 0))
		return 0;
	file_open(f, s, file_kind(f) == COPY_PUT ? SSH2_FXF_WRITE :
	    SSH2_FXF_READ, got_join);
	return 1;
}

/* Takes the reply to a CLOSE. */
static void
got_close(struct request *req, struct reply *reply)
{
	struct file *f = file_of(req->item);

	f->part[req->stream->index].state = PART_CLOSED;
	/* What was acknowledged on a further stream is there. */
	if (reply->lost)
		f->redo |= file_kind(f) == COPY_PUT &&
		    req->stream->index == f->home;
	else if (reply->status != SSH2_FX_OK)
		copy_item_fail(&f->item, "close remote: %s",
		    fx2txt(reply->status));
	f->check(f);
}

void
file_close_part(struct file *f, struct stream *s)
{
	struct part *p = &f->part[s->index];

	if (p->state != PART_OPEN)
		return;
	p->state = PART_CLOSING;
	copy_send(s, &f->item, SSH2_FXP_CLOSE, got_close,
	    &(struct body){ .h = &p->handle });
	handle_free(&p->handle);
}

int
file_close_others(struct file *f)
{
	const struct copy *copy = f->item.copy;
	int due = 0;
	u_int i;

	for (i = 0; i < copy->nstreams; i++) {
		if (i == f->home || copy->kind == COPY_CROSS)
			continue;
		file_close_part(f, copy->streams[i]);
		due |= f->part[i].state == PART_CLOSING ||
		    f->part[i].state == PART_OPENING;
	}
	return due;
}

void
file_request_lost(struct file *f, const struct request *req)
{
	file_range_lost(f, req->offset, req->len);
	if (f->phase == FILE_MOVING)
		copy_item_queue(&f->item);
}

/* What a part has to do on a stream that is lost, others do. */
static void
part_lost(struct file *f, const struct stream *s)
{
	struct part *p = &f->part[s->index];

	if (p->state == PART_NONE || p->state == PART_REFUSED)
		return;
	if (p->at != p->end)
		file_range_lost(f, p->at, p->end - p->at);
	p->at = p->end;
	handle_free(&p->handle);
	p->state = PART_REFUSED;
	/* Only a small file has another home than the primary. */
	f->redo |= s->index == f->home;
	if (f->phase == FILE_MOVING)
		copy_item_queue(&f->item);
}

void
file_stop(struct item *item, const struct stream *lost)
{
	struct file *f = file_of(item);

	if (lost != NULL)
		part_lost(f, lost);
	else
		copy_item_unqueue(item);
	f->check(f);
}

void
file_begin_moving(struct file *f)
{
	const struct copy *copy = f->item.copy;

	f->phase = FILE_MOVING;
	f->item.ready = 1;
	f->item.metered = showprogress &&
	    (f->size != 0 || copy->kind == COPY_PUT);
	if (copy->most > 1 && f->size >= FILE_LARGE) {
		f->moved = xcalloc(FILE_CHUNKS, sizeof(*f->moved));
		f->low = f->next / FILE_CHUNK;
		f->moved[f->low % FILE_CHUNKS] = f->next % FILE_CHUNK;
	}
	copy_item_queue(&f->item);
	f->check(f);
}

struct part *
file_opened(struct file *f, struct request *req, struct reply *reply,
    const char *what, const char *path)
{
	struct part *p = &f->part[req->stream->index];

	if (reply->type == SSH2_FXP_HANDLE) {
		copy_item_granted(&f->item);
		handle_take(&p->handle, reply);
		p->state = PART_OPEN;
		return p;
	}
	p->state = PART_REFUSED;
	if (f->home != 0)
		f->redo = 1;
	else if (copy_item_refused(&f->item))
		f->put_off = 1;
	else
		copy_item_fail(&f->item, "%s open \"%s\": %s", what, path,
		    fx2txt(reply->status));
	/* The source is open if this is the target of another server. */
	file_close_part(f, file_home(f));
	f->phase = FILE_ENDING;
	f->check(f);
	return NULL;
}

/* Tells that a file of a tree was not copied. */
static void
say_failed(const struct file *f)
{
	const struct item *item = &f->item;

	if (item->parent == NULL || interrupted)
		return;
	if (file_kind(f) == COPY_GET)
		error("Download of file %s to %s failed", item->src,
		    item->dst);
	else
		error("%s \"%s\" to \"%s\" failed", file_kind(f) == COPY_PUT ?
		    "upload" : "crossload", item->src, item->dst);
}

/* Frees what a file holds until it ends, or starts again. */
static void
let_go(struct file *f)
{
	struct range *r, *next;

	sftp_incomplete_end(f->incomplete);
	copy_item_closed(&f->item);
	file_requested(f, f->ahead);
	if (f->fd != -1)
		close(f->fd);
	TAILQ_FOREACH_SAFE(r, &f->lost, entry, next)
		free(r);
	free(f->moved);
	free(f->compare);
}

static void
end(struct file *f)
{
	f->item.failed = file_is_bad(f);
	if (f->item.failed && interrupted)
		sftp_incomplete_say(f->incomplete);
	let_go(f);
	copy_item_end(&f->item);
	while (f->setstats-- != 0)
		error("remote fsetstat: %s", fx2txt(f->setstat));
	if (f->item.failed)
		say_failed(f);
}

/* Starts it again, from the beginning, with more care on the primary. */
static void
again(struct file *f)
{
	int put_off = f->put_off;

	debug("\"%s\" is copied again", f->item.src);
	let_go(f);
	file_reset(f);
	f->careful |= !put_off;
	if (put_off)
		copy_item_put_off(&f->item);
	else
		copy_item_start(&f->item);
}

void
file_check_end(struct file *f)
{
	if (f->phase != FILE_ENDING || f->item.inflight != 0)
		return;
	if ((f->redo || f->put_off) && !interrupted)
		again(f);
	else
		end(f);
}
