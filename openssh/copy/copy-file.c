/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "xmalloc.h"
#include "sftp-incomplete.h"
#include "copy-file.h"

int
file_is_bad(const struct file *f)
{
	return f->item.why != NULL || f->redo || f->deferred || interrupted;
}

int
file_may_pipeline(const struct file *f, const struct stream *s)
{
	/* Some servers would set the times before the writes. */
	if (file_is_target(f, s) && (s->conn->exts & SFTP_EXT_LIMITS) == 0 &&
	    f->item.copy->flags.preserve)
		return 0;
	return !f->primary_only && !s->close_late;
}

void
file_begin_target(struct file *f)
{
	if (f->item.copy->tree && f->incomplete == -1)
		f->incomplete = sftp_incomplete_begin(f->item.dst);
}

void
file_open(struct file *f, struct stream *s, u_int flags, copy_got *got)
{
	int is_target = (flags & SSH2_FXF_WRITE) != 0;

	if (is_target)
		file_begin_target(f);
	f->part[s->index].state = PART_OPENING;
	copy_send(s, &f->item, SSH2_FXP_OPEN, got, &(struct body){
	    .path = is_target ? f->item.dst : f->item.src, .flags = flags,
	    .a = (flags & SSH2_FXF_CREAT) ? &f->set : NULL });
}

int
file_opened(struct file *f, struct request *req, struct reply *reply)
{
	struct part *p = &f->part[req->stream->index];
	int is_target = file_is_target(f, req->stream);

	if (reply->type == SSH2_FXP_HANDLE) {
		if (is_target || file_kind(f) != COPY_CROSS)
			copy_item_granted(f->item.copy);
		handle_take(&p->handle, reply);
		p->state = PART_OPEN;
		return 1;
	}
	p->state = PART_REFUSED;
	if (f->phase == FILE_MOVING) {
		debug("stream %u can't open \"%s\": %s", req->stream->index,
		    f->item.src, fx2txt(reply->status));
		file_advance(f);
		return 0;
	}
	if (f->home->index != 0)
		f->redo = 1;
	else if (copy_item_refused(&f->item))
		f->deferred = 1;
	else
		copy_item_fail(&f->item, "%s open \"%s\": %s", is_target ?
		    "dest" : file_kind(f) == COPY_GET ? "remote" : "origin",
		    is_target ? f->item.dst : f->item.src,
		    fx2txt(reply->status));
	/* If the source is at another server, it is already open. */
	file_close_part(f, f->home);
	f->phase = FILE_ENDING;
	file_advance(f);
	return 0;
}

static void
got_close(struct request *req, struct reply *reply)
{
	struct file *f = file_of(req->item);

	f->part[req->stream->index].state = PART_CLOSED;
	/* Data acknowledged on an additional stream has been written. */
	if (reply->lost)
		f->redo |= file_kind(f) == COPY_PUT &&
		    req->stream == f->home && f->item.why == NULL;
	else if (reply->status != SSH2_FX_OK && f->item.why != NULL)
		f->close_status = reply->status;
	else if (reply->status != SSH2_FX_OK)
		copy_item_fail(&f->item, "close remote: %s",
		    fx2txt(reply->status));
	file_advance(f);
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

/* Closes the file on all streams but its home. Returns 1 until that is done. */
static int
close_others(struct file *f)
{
	const struct copy *copy = f->item.copy;
	int due = 0;
	u_int i;

	for (i = 0; i < copy->nstreams; i++) {
		if (copy->streams[i] == f->home || copy->kind == COPY_CROSS)
			continue;
		file_close_part(f, copy->streams[i]);
		due |= f->part[i].state == PART_CLOSING ||
		    f->part[i].state == PART_OPENING;
	}
	return due;
}

/*
 * Returns 1 if a file may be copied over several streams. Some servers ignore a
 * WRITE's offset; none is known that offers fstatvfs for an open file.
 */
static int
may_share(const struct file *f)
{
	return f->size >= FILE_LARGE && (file_kind(f) != COPY_PUT ||
	    (f->home->conn->exts & SFTP_EXT_FSTATVFS) != 0);
}

void
file_begin_moving(struct file *f)
{
	const struct copy *copy = f->item.copy;

	f->phase = FILE_MOVING;
	f->item.ready = 1;
	f->item.from = f->item.done;
	f->item.began_s = monotime_double();
	if (copy->kind != COPY_GET)
		f->item.metered = showprogress && !file_is_bad(f) &&
		    (f->size != 0 || copy->kind == COPY_PUT);
	if (copy->most > 1 && may_share(f)) {
		f->moved = xcalloc(FILE_CHUNKS, sizeof(*f->moved));
		f->low = f->next / FILE_CHUNK;
		f->moved[f->low % FILE_CHUNKS] = f->next % FILE_CHUNK;
	}
	copy_item_queue(&f->item);
	file_advance(f);
}

/* Frees what a file holds until it ends, or starts again. */
static void
let_go(struct file *f)
{
	struct range *r, *next;

	sftp_incomplete_end(f->incomplete);
	copy_item_closed(&f->item);
	file_requested(f, f->unrequested);
	if (f->fd != -1)
		close(f->fd);
	TAILQ_FOREACH_SAFE(r, &f->lost, entry, next)
		free(r);
	free(f->moved);
}

static void
end(struct file *f)
{
	u_int i;

	f->item.failed = file_is_bad(f);
	if (f->item.failed && interrupted && (f->ended == UINT64_MAX ||
	    file_there(f) < MAXIMUM(f->ended, f->size)))
		sftp_incomplete_print_one(f->incomplete);
	let_go(f);
	copy_item_end(&f->item);
	for (i = 0; i < f->setstats_failed; i++)
		error("remote fsetstat: %s", fx2txt(f->setstat_status[i]));
	if (f->close_status != SSH2_FX_OK)
		error("close remote: %s", fx2txt(f->close_status));
	/* A file of a tree is named. */
	if (!f->item.failed || f->item.parent == NULL || interrupted)
		return;
	if (file_kind(f) == COPY_GET)
		error("Download of file %s to %s failed", f->item.src,
		    f->item.dst);
	else
		error("%s \"%s\" to \"%s\" failed", file_kind(f) == COPY_PUT ?
		    "upload" : "crossload", f->item.src, f->item.dst);
}

/* Copies it again from the beginning, with more care, on the primary. */
static void
again(struct file *f)
{
	debug("\"%s\" is copied again", f->item.src);
	let_go(f);
	f->primary_only |= !f->deferred;
	file_reset(f);
	copy_item_defer(&f->item);
}

/*
 * Returns 1 if no more data will be moved, and all moved data is acknowledged.
 * A sole WRITE need not be if the server executes it before later requests.
 */
static int
is_settled(const struct file *f)
{
	int bad = file_is_bad(f);

	if (((f->ended == UINT64_MAX || file_has_range(f)) && !bad) ||
	    f->reads != 0)
		return 0;
	return f->writes == 0 || (!bad && file_is_small(f) &&
	    f->ended >= f->size && !f->item.copy->flags.fsync &&
	    file_may_pipeline(f, f->target));
}

/* Other streams take over what a lost one was to do. */
static void
part_stop(struct file *f, const struct stream *lost)
{
	struct part *p = &f->part[lost->index];

	if (p->state == PART_NONE || p->state == PART_REFUSED)
		return;
	if (p->at != p->end)
		file_range_lost(f, p->at, p->end - p->at);
	p->at = p->end;
	handle_free(&p->handle);
	p->state = PART_REFUSED;
	/* Only a small file has a home other than the primary. */
	f->redo |= lost == f->home && f->item.why == NULL &&
	    (f->phase != FILE_ENDING || file_kind(f) == COPY_PUT);
	if (f->phase == FILE_MOVING)
		copy_item_queue(&f->item);
}

void
file_advance(struct file *f)
{
	const struct copy *copy = f->item.copy;
	u_int i;

	for (i = 0; i < copy->nstreams; i++) {
		if (copy->streams[i]->state == STREAM_LOST)
			part_stop(f, copy->streams[i]);
	}
	/* Nothing of the old target stays. */
	if (f->phase == FILE_OPENING && file_kind(f) == COPY_PUT &&
	    f->part[f->home->index].state == PART_CLOSED)
		target_open(f);
	if (f->phase == FILE_MOVING && is_settled(f) && !close_others(f))
		data_settle(f);
	if (f->phase != FILE_ENDING || f->item.inflight != 0)
		return;
	if ((f->redo || f->deferred) && !interrupted)
		again(f);
	else
		end(f);
}

static void
file_stop(struct item *item, const struct stream *lost)
{
	struct file *f = file_of(item);

	if (lost == NULL || lost->copy == NULL)
		file_advance(f);
	/* The program ends: nothing stays after a gap. */
	else if (f->many && f->fd != -1 && file_kind(f) == COPY_GET)
		(void)ftruncate(f->fd, f->low * FILE_CHUNK);
}

/* Uses the file that an additional stream opened, unless it is another one. */
static void
got_joined(struct request *req, struct reply *reply)
{
	struct file *f = file_of(req->item);
	struct part *p = &f->part[req->stream->index];

	if (!reply->lost)
		p->state = PART_OPEN;
	/* A target has what was acknowledged before. */
	if (reply->type == SSH2_FXP_ATTRS && (file_kind(f) == COPY_PUT ?
	    reply->a.size >= req->offset :
	    copy_more_is_same(&f->item.a, &reply->a))) {
		f->many = 1;
		copy_item_queue(&f->item);
	} else
		file_close_part(f, req->stream);
	file_advance(f);
}

void
file_got_handle(struct request *req, struct reply *reply)
{
	struct file *f = file_of(req->item);

	if (!file_opened(f, req, reply))
		return;
	sftp_inflight_opened(&req->stream->conn->depth, req->sent_s,
	    monotime_double());
	if (f->phase == FILE_MOVING) {
		/* Another file may have its name by now. */
		f->part[req->stream->index].state = PART_OPENING;
		copy_send(req->stream, &f->item, SSH2_FXP_STAT, got_joined,
		    &(struct body){ .path = file_kind(f) == COPY_PUT ?
		    f->item.dst : f->item.src, .offset = f->low * FILE_CHUNK });
	} else if (file_is_target(f, req->stream))
		file_begin_moving(f);
	else
		target_open(f);
}

/* Opens a local source. On failure, the file has failed or is deferred. */
static void
open_source(struct file *f)
{
	struct item *item = &f->item;
	struct stat st;

	if ((f->fd = open(item->src, O_RDONLY)) == -1)
		f->deferred = copy_item_not_opened(item, "open local",
		    item->src);
	else if (fstat(f->fd, &st) == -1)
		copy_item_fail(item, "fstat local \"%s\": %s", item->src,
		    strerror(errno));
	else if (!S_ISREG(st.st_mode))
		copy_item_fail(item, "local \"%s\" is not a regular file",
		    item->src);
	else
		stat_to_attrib(&st, &item->a);
}

/* Returns the stream with the least to do that has the same files. */
static struct stream *
least_busy(const struct copy *copy)
{
	struct stream *best = copy->streams[0];
	u_int i;

	for (i = 1; i < copy->nstreams; i++) {
		if (copy->streams[i]->state == STREAM_UP &&
		    copy->streams[i]->unrequested < best->unrequested)
			best = copy->streams[i];
	}
	return best;
}

/* Chooses its home, and counts its handles and unrequested bytes. */
static void
begin(struct file *f)
{
	struct copy *copy = f->item.copy;

	f->set = f->item.a;
	f->set.flags &= ~(SSH2_FILEXFER_ATTR_SIZE | SSH2_FILEXFER_ATTR_UIDGID);
	/* Set-user-ID and the like are not kept, as the owner is not. */
	f->set.perm &= 0777;
	if (!copy->flags.preserve)
		f->set.flags &= ~SSH2_FILEXFER_ATTR_ACMODTIME;
	if (f->item.a.flags & SSH2_FILEXFER_ATTR_SIZE)
		f->size = f->item.a.size;
	/* A read-only target could not be opened again. */
	f->primary_only |= copy->kind != COPY_GET && !(f->set.perm & S_IWUSR) &&
	    (copy->kind == COPY_CROSS || copy->most > 1 ||
	    (copy->streams[0]->conn->exts & SFTP_EXT_LIMITS) == 0);
	if (may_share(f))
		copy->wants_more = 1;
	if (copy->kind != COPY_CROSS && f->size < FILE_LARGE &&
	    !copy->flags.resume && !f->primary_only)
		f->home = least_busy(copy);
	f->target = copy->kind == COPY_CROSS ? copy->streams[1] : f->home;
	f->unrequested = MAXIMUM(f->size, SFTP_INFLIGHT_LEAST);
	f->home->unrequested += f->unrequested;
	f->buflen = copy->kind == COPY_PUT ? f->home->conn->upload_buflen :
	    f->home->conn->download_buflen;
	if (copy->kind == COPY_CROSS)
		f->buflen = MINIMUM(f->buflen, f->target->conn->upload_buflen);
	copy_item_opened(&f->item);
}

static void
file_start(struct item *item)
{
	struct file *f = file_of(item);
	struct stat st;

	file_reset(f);
	if (file_kind(f) == COPY_PUT)
		open_source(f);
	/* Two names of one target are copied in order. */
	else if (file_kind(f) == COPY_GET && stat(item->dst, &st) == 0 &&
	    copy_item_claim(item, &st) == -1)
		f->deferred = 1;
	else if ((item->a.flags & SSH2_FILEXFER_ATTR_PERMISSIONS) &&
	    !S_ISREG(item->a.perm))
		copy_item_fail(item, file_kind(f) == COPY_CROSS ?
		    "download \"%s\": not a regular file" :
		    "download %s: not a regular file", item->src);
	if (file_is_bad(f)) {
		f->phase = FILE_ENDING;
		file_advance(f);
		return;
	}
	begin(f);
	if (file_kind(f) == COPY_PUT)
		target_open(f);
	else
		file_open(f, f->home, SSH2_FXF_READ, file_got_handle);
}

const struct item_ops copy_file_ops = {
	.size = sizeof(struct file),
	.start = file_start,
	.send = data_send,
	.stop = file_stop,
};
