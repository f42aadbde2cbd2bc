/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "misc.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-conn.h"
#include "sftp-incomplete.h"
#include "copy-compare.h"
#include "copy-put.h"

extern volatile sig_atomic_t interrupted;

static void	 put_check(struct file *f);
static void	 open_target(struct file *f);

static void
got_setstat(struct request *req, struct reply *reply)
{
	struct file *f = file_of(req->item);

	if (!reply->lost && reply->status != SSH2_FX_OK) {
		f->setstat = reply->status;
		f->setstats++;
	}
	f->check(f);
}

static void
got_fsync(struct request *req, struct reply *reply)
{
	struct file *f = file_of(req->item);

	if (!reply->lost && reply->status != SSH2_FX_OK)
		error("remote fsync: %s", fx2txt(reply->status));
	f->check(f);
}

/*
 * Sends, over stream s, what completes a file at the server: FSETSTAT of its
 * size, unless that is UINT64_MAX; of its attributes if they are preserved;
 * fsync if that is wanted; CLOSE.
 */
static void
complete(struct file *f, struct stream *s, uint64_t size)
{
	struct part *p = &f->part[s->index];
	Attrib a;

	if (p->state != PART_OPEN)
		return;
	if (size != UINT64_MAX) {
		debug("truncating at %llu", (unsigned long long)size);
		attrib_clear(&a);
		a.flags = SSH2_FILEXFER_ATTR_SIZE;
		a.size = size;
		copy_send(s, &f->item, SSH2_FXP_FSETSTAT, got_setstat,
		    &(struct body){ .h = &p->handle, .a = &a });
	}
	if (f->item.copy->flags.preserve)
		copy_send(s, &f->item, SSH2_FXP_FSETSTAT, got_setstat,
		    &(struct body){ .h = &p->handle, .a = &f->set });
	if (f->item.copy->flags.fsync && (s->conn->exts & SFTP_EXT_FSYNC))
		copy_send(s, &f->item, SSH2_FXP_EXTENDED, got_fsync,
		    &(struct body){ .extension = "fsync@openssh.com",
		    .h = &p->handle });
	file_close_part(f, s);
	if (!file_is_bad(f) || file_is_whole(f))
		sftp_incomplete_sent(f->incomplete);
}

/* Returns 1 if the source has another size than when it was opened. */
static int
got_shorter(const struct file *f)
{
	struct stat now;

	return f->ended < f->size && fstat(f->fd, &now) == 0 &&
	    (uint64_t)now.st_size != f->size;
}

/* Sends what remains. */
static void
put_settle(struct file *f)
{
	const struct copy *copy = f->item.copy;
	uint64_t there = f->ended;
	/* Not all servers know EXCL. */
	int cut = copy->flags.inplace || f->home != 0;

	f->closed_early = f->writes != 0;
	if (!file_is_bad(f) && got_shorter(f))
		copy_item_fail(&f->item, "read local \"%s\": it got shorter",
		    f->item.src);
	if (close(f->fd) == -1)
		copy_item_fail(&f->item, "close local \"%s\": %s",
		    f->item.src, strerror(errno));
	f->fd = -1;
	if (file_is_bad(f)) {
		there = MINIMUM(there, file_there(f));
		/* What is behind a gap goes. */
		cut |= copy->flags.resume || f->many || there < f->data_end;
	}
	f->phase = FILE_ENDING;
	copy_item_unqueue(&f->item);
	if (!f->redo)
		complete(f, file_home(f), cut ? there : UINT64_MAX);
	copy_item_closed(&f->item);
}

/*
 * Returns 1 if a file can be completed now: all of it has been acknowledged, or
 * is a single WRITE that a server carries out before what follows it.
 */
static int
may_settle(const struct file *f)
{
	const struct copy *copy = f->item.copy;

	if ((f->ended == UINT64_MAX || file_has_range(f)) && !file_is_bad(f))
		return 0;
	if (f->writes == 0)
		return 1;
	return f->size <= f->buflen && f->ended >= f->size &&
	    file_may_hurry(f, file_home(f)) && !copy->flags.fsync &&
	    !copy->flags.resume && !file_is_bad(f);
}

static void
put_check(struct file *f)
{
	if (f->phase == FILE_COMPARING)
		copy_compare_check(f);
	/* Nothing of what was there stays. */
	if (f->phase == FILE_OPENING && f->part[f->home].state == PART_CLOSED)
		open_target(f);
	if (f->phase == FILE_MOVING && may_settle(f) && !file_close_others(f))
		put_settle(f);
	file_check_end(f);
}

static void
got_write(struct request *req, struct reply *reply)
{
	struct file *f = file_of(req->item);

	f->writes--;
	f->part[req->stream->index].asked -= req->len;
	if (reply->lost)
		file_request_lost(f, req);
	else if (reply->status == SSH2_FX_OK)
		file_moved(f, req->offset, req->len);
	else
		file_refused(f, req, reply, file_kind(f) == COPY_CROSS ?
		    "write dest \"%s\": %s" : "write remote \"%s\": %s",
		    f->item.dst);
	f->check(f);
}

/* Takes the result of reading the local file: nothing was sent. */
static void
nothing_read(struct file *f, ssize_t n, uint64_t offset)
{
	if (n == -1) {
		if (!f->item.copy->tree)
			fatal("read local \"%s\": %s", f->item.src,
			    strerror(errno));
		copy_item_fail(&f->item, "read local \"%s\": %s", f->item.src,
		    strerror(errno));
		file_gap(f, offset);
	} else
		file_range_end(f, offset);
	put_check(f);
}

static int
put_send(struct item *item, struct stream *s)
{
	struct file *f = file_of(item);
	struct part *p = &f->part[s->index];
	uint64_t offset;
	size_t len;
	ssize_t n;

	if (f->phase == FILE_COMPARING)
		return copy_compare_send(f, s);
	if (f->phase != FILE_MOVING || file_is_bad(f) ||
	    (f->ended != UINT64_MAX && !file_has_range(f))) {
		copy_item_unqueue(item);
		return 0;
	}
	if (p->state != PART_OPEN)
		return file_join(f, s);
	if (!file_may_ask(f, s, f->buflen))
		return 0;
	if ((len = file_range(f, p, &offset)) == 0)
		return 0;
	n = copy_send_file(s, item, got_write, &p->handle, offset, f->fd,
	    len);
	if (n <= 0) {
		nothing_read(f, n, offset);
		return 1;
	}
	if ((size_t)n < len)
		file_range_lost(f, offset + n, len - n);
	f->writes++;
	p->asked += n;
	file_requested(f, n);
	return 1;
}

static void
got_open(struct request *req, struct reply *reply)
{
	struct file *f = file_of(req->item);

	if (file_opened(f, req, reply, "dest", f->item.dst) == NULL)
		return;
	sftp_inflight_opened(&req->stream->conn->depth, req->sent_s,
	    monotime_double());
	file_begin_moving(f);
}

/* Asks the server to open the target. */
static void
open_target(struct file *f)
{
	const struct copy *copy = f->item.copy;
	u_int flags = SSH2_FXF_WRITE | SSH2_FXF_CREAT;

	/* Nothing but what is behind its end can be appended to a file. */
	f->appends = copy->flags.resume == 1 && f->next == f->have;
	if (f->appends)
		flags |= SSH2_FXF_APPEND;
	else if (copy->flags.resume != 1 && !copy->flags.inplace)
		/* A request of a stream that was lost must not truncate. */
		flags |= f->home == 0 ? SSH2_FXF_TRUNC : SSH2_FXF_EXCL;
	file_open(f, file_home(f), flags, got_open);
}

/* It is known what of the target stays. */
static void
put_keep(struct file *f, uint64_t keep)
{
	if (keep != 0 || interrupted) {
		file_keep(f, keep);
		file_begin_moving(f);
		return;
	}
	f->phase = FILE_OPENING;
	copy_item_unqueue(&f->item);
	file_close_part(f, file_home(f));
}

/* Takes the handle of a target that is to be compared. */
static void
got_compared(struct request *req, struct reply *reply)
{
	struct file *f = file_of(req->item);
	struct part *p = &f->part[f->home];

	/* What can't be read is copied whole. */
	if (reply->type != SSH2_FXP_HANDLE) {
		p->state = PART_NONE;
		open_target(f);
		return;
	}
	if (file_opened(f, req, reply, "dest", f->item.dst) != NULL)
		copy_compare(f, put_keep);
}

/* Takes the attributes of a target that is to be resumed. */
static void
got_target(struct request *req, struct reply *reply)
{
	struct file *f = file_of(req->item);
	const struct copy *copy = f->item.copy;
	int is_there = reply->type == SSH2_FXP_ATTRS && reply->a.size != 0 &&
	    (reply->a.flags & SSH2_FILEXFER_ATTR_SIZE);

	f->have = reply->a.size;
	if (copy->flags.resume == COPY_RESUME_CHECKED) {
		if (is_there)
			file_open(f, file_home(f), SSH2_FXF_READ |
			    SSH2_FXF_WRITE, got_compared);
		else
			open_target(f);
		return;
	}
	if (reply->type != SSH2_FXP_ATTRS)
		copy_item_fail(&f->item, "stat remote: %s",
		    fx2txt(reply->status));
	else if (reply->a.size >= f->size)
		copy_item_fail(&f->item, "resume \"%s\": destination file "
		    "same size or larger", f->item.src);
	if (f->item.why != NULL) {
		f->phase = FILE_ENDING;
		put_check(f);
		return;
	}
	file_keep(f, copy->most > 1 ? file_without_gaps(f, f->have) :
	    f->have);
	open_target(f);
}

/* Sets what a target gets of the attributes of its source. */
static void
set_attributes(struct file *f, const Attrib *a)
{
	f->set = *a;
	f->set.flags &= ~(SSH2_FILEXFER_ATTR_SIZE | SSH2_FILEXFER_ATTR_UIDGID);
	f->set.perm &= 0777;
	if (!f->item.copy->flags.preserve)
		f->set.flags &= ~SSH2_FILEXFER_ATTR_ACMODTIME;
}

/* Opens the source. Returns 0, or -1 if it has failed or has to wait. */
static int
open_source(struct file *f)
{
	struct item *item = &f->item;
	struct stat st;
	Attrib a;

	if ((f->fd = open(item->src, O_RDONLY)) == -1)
		f->put_off = copy_item_not_opened(item, "open local",
		    item->src);
	else if (fstat(f->fd, &st) == -1)
		copy_item_fail(item, "fstat local \"%s\": %s", item->src,
		    strerror(errno));
	else if (!S_ISREG(st.st_mode))
		copy_item_fail(item, "local \"%s\" is not a regular file",
		    item->src);
	else {
		stat_to_attrib(&st, &a);
		set_attributes(f, &a);
		f->size = item->size = st.st_size;
		return 0;
	}
	return -1;
}

static void
put_start(struct item *item)
{
	struct file *f = file_of(item);

	file_reset(f);
	f->check = put_check;
	if (open_source(f) == -1) {
		f->phase = FILE_ENDING;
		put_check(f);
		return;
	}
	file_begin(f);
	f->buflen = file_home(f)->conn->upload_buflen;
	if (item->copy->flags.resume)
		copy_send(file_home(f), item, SSH2_FXP_STAT, got_target,
		    &(struct body){ .path = item->dst });
	else
		open_target(f);
}

const struct item_ops copy_put_ops = {
	.size = sizeof(struct file),
	.start = put_start,
	.send = put_send,
	.stop = file_stop,
};

#define TARGET	1		/* index of the stream of another server */

void
put_cross_open(struct file *f, copy_got *got)
{
	const struct copy *copy = f->item.copy;

	set_attributes(f, &f->item.a);
	f->item.others = copy->open - 1;
	file_open(f, copy->streams[TARGET], SSH2_FXF_WRITE | SSH2_FXF_CREAT |
	    SSH2_FXF_TRUNC, got);
}

void
put_cross_write(struct file *f, uint64_t offset, const u_char *data, size_t len)
{
	struct part *p = &f->part[TARGET];

	if (p->state != PART_OPEN || len == 0)
		return;
	copy_send(f->item.copy->streams[TARGET], &f->item, SSH2_FXP_WRITE,
	    got_write, &(struct body){ .h = &p->handle, .offset = offset,
	    .len = len, .data = data });
	f->writes++;
	p->asked += len;
	f->data_end = MAXIMUM(f->data_end, offset + len);
}

void
put_cross_finish(struct file *f)
{
	struct stream *s = f->item.copy->streams[TARGET];

	if (f->redo || f->put_off)
		file_close_part(f, s);
	else
		complete(f, s, file_is_bad(f) ? 0 : UINT64_MAX);
}
