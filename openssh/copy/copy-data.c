/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/stat.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "atomicio.h"
#include "log.h"
#include "xmalloc.h"
#include "copy-file.h"

#define TAIL_MAX	64	/* READs in flight of a file of unknown size */
#define READ_LEAST	512	/* bytes of a READ after one that came short */

static copy_got	 got_data;

void
file_reset(struct file *f)
{
	const size_t fixed = offsetof(struct file, phase);

	memset((char *)f + fixed, 0, sizeof(*f) - fixed);
	TAILQ_INIT(&f->lost);
	f->home = f->item.copy->streams[0];
	f->fd = -1;
	f->gap = f->ended = UINT64_MAX;
	f->incomplete = -1;
	f->item.done = 0;
	free(f->item.why);
	f->item.why = NULL;
}

/* Returns 1 if a chosen range has not been requested, else 0. */
static int
has_chosen(const struct file *f)
{
	u_int i;

	for (i = 0; i < COPY_STREAMS_MAX; i++) {
		if (f->part[i].at != f->part[i].end)
			return 1;
	}
	return !TAILQ_EMPTY(&f->lost);
}

int
file_has_range(const struct file *f)
{
	return f->next < f->size || has_chosen(f);
}

uint64_t
file_there(const struct file *f)
{
	const struct range *r;
	uint64_t there = MINIMUM(f->data_end, f->gap);
	u_int i;

	for (i = 0; i < COPY_STREAMS_MAX; i++) {
		if (f->part[i].at != f->part[i].end)
			there = MINIMUM(there, f->part[i].at);
	}
	TAILQ_FOREACH(r, &f->lost, entry)
		there = MINIMUM(there, r->offset);
	return there;
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
	/* Gaps may lie only in the last FILE_SPAN bytes. */
	if (f->moved != NULL && f->next >= f->low * FILE_CHUNK + FILE_SPAN)
		return 0;
	/* This keeps the file shorter than its source until it is whole. */
	if (f->many && end >= f->size &&
	    (f->reads != 0 || f->writes != 0 || has_chosen(f)))
		return 0;
	p->at = f->next;
	p->end = f->next = end;
	return 1;
}

size_t
file_take_range(struct file *f, struct part *p, uint64_t *offset)
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
	/* Streams that share a file leave work for each other. */
	if (f->moved != NULL && p->asked >= FILE_SPAN / 2 /
	    f->item.copy->sharing)
		return 0;
	if (p->at == p->end && !next_chunk(f, p))
		return 0;
	*offset = p->at;
	len = MINIMUM(f->buflen, p->end - p->at);
	p->at += len;
	return len;
}

void
file_requested(struct file *f, uint64_t len)
{
	len = MINIMUM(len, f->unrequested);
	f->unrequested -= len;
	f->home->unrequested -= len;
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

/* Records that nothing from an offset on will be requested. */
static void
range_end(struct file *f, uint64_t offset)
{
	struct part *p;

	f->ended = MINIMUM(f->ended, offset);
	f->next = MAXIMUM(f->next, f->size);
	for (p = f->part; p < f->part + COPY_STREAMS_MAX; p++) {
		if (p->end > offset)
			p->end = MAXIMUM(p->at, offset);
	}
}

void
file_range_lost(struct file *f, uint64_t offset, size_t len)
{
	struct range *r = xcalloc(1, sizeof(*r));

	r->offset = offset;
	r->len = len;
	TAILQ_INSERT_TAIL(&f->lost, r, entry);
	if (f->phase == FILE_MOVING)
		copy_item_queue(&f->item);
}

uint64_t
file_without_gaps(const struct file *f, uint64_t have)
{
	if (f->size < FILE_LARGE || have == f->size)
		return have;
	return have > FILE_SPAN ? have - FILE_SPAN : 0;
}

/* Records that data could not be read from a server, or written to it. */
static void
data_failed(struct file *f, int is_target, u_int status)
{
	int is_cross = file_kind(f) == COPY_CROSS;

	if (is_target)
		copy_item_fail(&f->item, "write %s \"%s\": %s", is_cross ?
		    "dest" : "remote", f->item.dst, fx2txt(status));
	else
		copy_item_fail(&f->item, is_cross ? "read origin \"%s\": %s" :
		    "read remote \"%s\" : %s", f->item.src, fx2txt(status));
}

/* Handles the reply to a READ or WRITE. Returns 1 if it succeeded, else 0. */
static int
answered(struct file *f, struct request *req, const struct reply *reply)
{
	int is_target = file_is_target(f, req->stream);

	f->part[req->stream->index].asked -= req->len;
	if (is_target)
		f->writes--;
	else
		f->reads--;
	if (reply->lost)
		file_range_lost(f, req->offset, req->len);
	else if (reply->status == SSH2_FX_OK)
		return 1;
	else if (reply->status == SSH2_FX_EOF && !is_target)
		range_end(f, req->offset);
	else {
		f->gap = MINIMUM(f->gap, req->offset);
		/* Perhaps the server does not keep the order of requests. */
		if (f->closed_early && !interrupted && (!is_target ||
		    file_kind(f) != COPY_PUT ||
		    (req->stream->conn->exts & SFTP_EXT_LIMITS) == 0))
			req->stream->close_late = f->redo = 1;
		else
			data_failed(f, is_target, reply->status);
	}
	return 0;
}

static void
got_write(struct request *req, struct reply *reply)
{
	struct file *f = file_of(req->item);

	if (answered(f, req, reply))
		file_moved(f, req->offset, req->len);
	file_advance(f);
}

/* Writes data to the target at another server. */
static void
write_there(struct file *f, uint64_t offset, const u_char *data, size_t len)
{
	struct stream *s = f->target;
	struct part *p = &f->part[s->index];

	if (p->state != PART_OPEN || len == 0)
		return;
	copy_send(s, &f->item, SSH2_FXP_WRITE, got_write, &(struct body){
	    .h = &p->handle, .offset = offset, .len = len, .data = data });
	f->writes++;
	p->asked += len;
	f->data_end = MAXIMUM(f->data_end, offset + len);
}

static void
write_here(struct file *f, uint64_t offset, const u_char *data, size_t len)
{
	size_t done = 0;

	if (f->fd == -1 && target_open_here(f) == -1)
		return;
	if (lseek(f->fd, offset, SEEK_SET) != -1)
		done = atomicio(vwrite, f->fd, (u_char *)data, len);
	if (done == len) {
		file_moved(f, offset, len);
		return;
	}
	copy_item_fail(&f->item, "write local \"%s\": %s", f->item.dst,
	    strerror(errno));
	f->gap = MINIMUM(f->gap, offset + done);
}

static void
send_read(struct file *f, struct stream *s, uint64_t offset, size_t len)
{
	copy_send(s, &f->item, SSH2_FXP_READ, got_data, &(struct body){
	    .h = &f->part[s->index].handle, .offset = offset, .len = len });
	f->reads++;
	f->part[s->index].asked += len;
	f->tail += offset >= f->size;
}

/* A READ returned less than requested: requests the rest. */
static void
ask_rest(struct file *f, struct request *req, size_t got)
{
	if (f->closed_early) {
		f->redo = 1;
		return;
	}
	if (got == 0 && f->zero_length) {
		file_range_lost(f, req->offset, req->len);
		(void)stream_fail(req->stream, "server sent zero data length");
		return;
	}
	f->zero_length |= got == 0;
	f->buflen = MINIMUM(f->buflen, MAXIMUM(READ_LEAST, got));
	send_read(f, req->stream, req->offset + got, req->len - got);
}

static void
got_data(struct request *req, struct reply *reply)
{
	struct file *f = file_of(req->item);
	int is_tail = req->offset >= f->size;

	f->tail -= is_tail;
	if (!answered(f, req, reply)) {
		file_advance(f);
		return;
	}
	f->part[req->stream->index].got += reply->len;
	if (is_tail && reply->len != 0 && f->closed_early)
		f->redo = 1;
	if (!f->redo && !f->deferred)
		(file_kind(f) == COPY_CROSS ? write_there : write_here)(f,
		    req->offset, reply->data, reply->len);
	if (reply->len != req->len)
		ask_rest(f, req, reply->len);
	/* The end of a stream may have ended the file. */
	if (req->stream->state == STREAM_LOST)
		return;
	if (f->phase == FILE_MOVING && f->ended == UINT64_MAX)
		copy_item_queue(&f->item);
	file_advance(f);
}

/* Returns 1 if a file may request or send len bytes over a stream. */
static int
may_ask(const struct file *f, struct stream *s, size_t len)
{
	const struct part *p = &f->part[s->index];
	const struct sftp_inflight *depth = &s->conn->depth;

	return sftp_inflight_room(depth, len) &&
	    (depth->fixed == 0 || f->reads + f->writes < depth->fixed) &&
	    (file_kind(f) == COPY_PUT || p->asked == 0 ||
	    p->asked + len <= sftp_inflight_start(depth, p->got));
}

/* Requests data after the expected end; the CLOSE of a small file follows. */
static int
send_tail(struct file *f, struct stream *s)
{
	/* The size may be unknown, as of files in /proc. */
	u_int most = f->size == 0 && f->data_end != 0 ? TAIL_MAX : 1;
	size_t len = f->next > f->size ? f->buflen :
	    MINIMUM(f->buflen, FILE_TAIL);

	if (f->ended != UINT64_MAX || f->tail >= most) {
		copy_item_unqueue(&f->item);
		return 0;
	}
	if (!may_ask(f, s, len))
		return 0;
	f->next = MAXIMUM(f->next, f->size);
	send_read(f, s, f->next, len);
	file_requested(f, len);
	f->next += len;
	if (file_is_small(f) && f->next - len <= f->size &&
	    file_may_pipeline(f, s) && file_may_pipeline(f, f->target)) {
		f->closed_early = 1;
		file_close_part(f, s);
		copy_item_closed(&f->item);
		copy_item_unqueue(&f->item);
	}
	return 1;
}

/* Sends bytes of the local source, if they are there. */
static void
send_write(struct file *f, struct stream *s, uint64_t offset, size_t len)
{
	struct part *p = &f->part[s->index];
	ssize_t n = copy_send_file(s, &f->item, got_write, &p->handle, offset,
	    f->fd, len);

	if (n > 0) {
		if ((size_t)n < len)
			file_range_lost(f, offset + n, len - n);
		f->writes++;
		p->asked += n;
		file_requested(f, n);
		return;
	}
	if (n == 0)
		range_end(f, offset);
	else {
		copy_item_fail(&f->item, "read local \"%s\": %s", f->item.src,
		    strerror(-n));
		if (!f->item.copy->tree && !f->many)
			fatal("%s", f->item.why);
		f->gap = MINIMUM(f->gap, offset);
	}
	file_advance(f);
}

/* Opens the file on one more stream if useful. Returns 1 if it did. */
static int
file_join(struct file *f, struct stream *s)
{
	/* With APPEND, each write goes to the end. */
	if (f->moved == NULL || f->next + 2 * FILE_CHUNK > f->size ||
	    (file_kind(f) == COPY_PUT && f->low == 0) ||
	    f->appends || f->part[s->index].state != PART_NONE ||
	    !sftp_inflight_room(&s->conn->depth, 0))
		return 0;
	file_open(f, s, file_kind(f) == COPY_PUT ? SSH2_FXF_WRITE :
	    SSH2_FXF_READ, file_got_handle);
	return 1;
}

int
data_send(struct item *item, struct stream *s)
{
	struct file *f = file_of(item);
	struct part *p = &f->part[s->index];
	int is_put = file_kind(f) == COPY_PUT;
	uint64_t offset;
	size_t len;

	if (f->phase == FILE_COMPARING)
		return copy_compare_send(f, s);
	if (f->phase != FILE_MOVING || file_is_bad(f) ||
	    (is_put && f->ended != UINT64_MAX && !file_has_range(f))) {
		copy_item_unqueue(item);
		return 0;
	}
	if (file_kind(f) == COPY_CROSS && s != f->home)
		return 0;
	if (p->state != PART_OPEN)
		return file_join(f, s);
	if (!is_put && !file_has_range(f))
		return send_tail(f, s);
	if (!may_ask(f, s, f->buflen) ||
	    (len = file_take_range(f, p, &offset)) == 0)
		return 0;
	if (is_put)
		send_write(f, s, offset, len);
	else {
		send_read(f, s, offset, len);
		file_requested(f, len);
		if (file_is_small(f) && !file_has_range(f))
			(void)send_tail(f, s);
	}
	return 1;
}

/* Closes the local file: data may not have been written yet. */
static void
close_here(struct file *f, const char *path)
{
	if (close(f->fd) == -1 && errno != EINTR)
		copy_item_fail(&f->item, "close local \"%s\": %s", path,
		    strerror(errno));
	f->fd = -1;
}

/* Completes the target, unless the copy begins again, and closes both. */
static void
finish(struct file *f)
{
	f->phase = FILE_ENDING;
	if (!f->redo && !f->deferred) {
		target_finish(f);
		if (f->fd != -1)
			close_here(f, f->item.dst);
	}
	file_close_part(f, f->home);
	file_close_part(f, f->target);
	copy_item_closed(&f->item);
}

/* Compares the source's size now: was the copy truncated? */
static void
got_size(struct request *req, struct reply *reply)
{
	struct file *f = file_of(req->item);

	if (reply->lost)
		f->redo = 1;
	else if (reply->type != SSH2_FXP_ATTRS || reply->a.size != f->size)
		data_failed(f, 0, SSH2_FX_EOF);
	finish(f);
	file_advance(f);
}

/* Checks whether a source here got shorter at any time, and closes it. */
static void
close_source(struct file *f)
{
	struct stat now;

	if (!file_is_bad(f) && f->ended < f->size &&
	    fstat(f->fd, &now) == 0 && ((uint64_t)now.st_size != f->size ||
	    (uint32_t)now.st_mtime != f->item.a.mtime))
		copy_item_fail(&f->item, "read local \"%s\": it got shorter",
		    f->item.src);
	close_here(f, f->item.src);
}

/*
 * Data after the end that a server reported is a failure. So is an end before
 * that of the file, if the size has changed or several streams were used.
 */
void
data_settle(struct file *f)
{
	f->closed_early |= f->writes != 0;
	if (file_kind(f) == COPY_PUT) {
		close_source(f);
		finish(f);
		return;
	}
	/* A small target is opened for its first data: perhaps none came. */
	if (file_kind(f) == COPY_GET && f->fd == -1 && !f->redo &&
	    !f->deferred && !interrupted && file_is_small(f))
		(void)target_open_here(f);
	if (!file_is_bad(f) && f->ended < MAXIMUM(f->data_end,
	    f->many ? f->size : 0)) {
		f->gap = MINIMUM(f->gap, f->ended);
		data_failed(f, 0, SSH2_FX_EOF);
	} else if (!file_is_bad(f) && f->ended < f->size) {
		f->phase = FILE_CHECKING;
		copy_send(f->home, &f->item, SSH2_FXP_STAT, got_size,
		    &(struct body){ .path = f->item.src });
		return;
	}
	finish(f);
}
