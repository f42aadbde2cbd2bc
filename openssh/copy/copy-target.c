/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "sftp-incomplete.h"
#include "copy-file.h"

/* Returns the permissions of a target. */
static u_int
mode(const struct file *f)
{
	return f->set.flags & SSH2_FILEXFER_ATTR_PERMISSIONS ? f->set.perm :
	    0666;
}

int
target_open_here(struct file *f)
{
	const struct copy *copy = f->item.copy;
	int flags = O_CREAT | (copy->flags.resume > 1 ? O_RDWR : O_WRONLY);
	struct stat st;

	file_begin_target(f);
	f->fd = open(f->item.dst, flags, mode(f) | S_IWUSR);
	/* A target that cannot be read is copied whole. */
	if (f->fd == -1 && errno == EACCES && copy->flags.resume > 1)
		f->fd = open(f->item.dst, O_CREAT | O_WRONLY | O_TRUNC,
		    mode(f) | S_IWUSR);
	if (f->fd == -1)
		f->deferred = copy_item_not_opened(&f->item, "open local",
		    f->item.dst);
	else if (fstat(f->fd, &st) == -1)
		copy_item_fail(&f->item, "stat local \"%s\": %s", f->item.dst,
		    strerror(errno));
	else if (copy_item_claim(&f->item, &st) == -1)
		f->deferred = 1;
	else if (copy->flags.resume == 1 && (uint64_t)st.st_size > f->size)
		copy_item_fail(&f->item, "Unable to resume download of \"%s\": "
		    "local file is larger than remote", f->item.dst);
	else if (!copy->flags.resume && !copy->flags.inplace &&
	    S_ISREG(st.st_mode) && ftruncate(f->fd, 0) == -1)
		copy_item_fail(&f->item, "open local \"%s\": %s", f->item.dst,
		    strerror(errno));
	else {
		f->have = st.st_size;
		f->item.metered = showprogress && f->size != 0;
		return 0;
	}
	sftp_incomplete_end(f->incomplete);
	f->incomplete = -1;
	if (f->fd != -1)
		close(f->fd);
	f->fd = -1;
	return -1;
}

/* Sends the OPEN of a target at a server. */
static void
open_there(struct file *f)
{
	const struct copy *copy = f->item.copy;
	u_int flags = SSH2_FXF_WRITE | SSH2_FXF_CREAT;

	/* With APPEND, only data after the end of the file can be written. */
	f->appends = copy->flags.resume == 1 && f->next == f->have;
	if (f->appends)
		flags |= SSH2_FXF_APPEND;
	else if (copy->flags.resume != 1 && !copy->flags.inplace)
		/* A request of a stream that was lost must not truncate. */
		flags |= f->home->index == 0 ? SSH2_FXF_TRUNC : SSH2_FXF_EXCL;
	file_open(f, f->target, flags, file_got_handle);
}

/* Records that the first bytes of the target stay. */
static void
file_keep(struct file *f, uint64_t keep)
{
	f->next = f->data_end = f->item.done = keep;
	file_requested(f, keep);
}

/* Resumes a target without a comparison. */
static void
keep_all(struct file *f)
{
	file_keep(f, f->item.copy->most > 1 ? file_without_gaps(f, f->have) :
	    f->have);
}

/* Handles the OPEN of a target that is to be compared. */
static void
got_compared(struct request *req, struct reply *reply)
{
	struct file *f = file_of(req->item);

	/* A target that cannot be read is copied whole. */
	if (reply->type != SSH2_FXP_HANDLE && (!f->item.copy->tree ||
	    f->item.refusals >= COPY_ALONE_AFTER ||
	    reply->status != SSH2_FX_FAILURE))
		open_there(f);
	else if (file_opened(f, req, reply))
		copy_compare(f);
}

/* Handles the attributes of a target that is to be resumed. */
static void
got_target(struct request *req, struct reply *reply)
{
	struct file *f = file_of(req->item);

	f->have = reply->a.size;
	if (f->item.copy->flags.resume == COPY_RESUME_CHECKED) {
		if (reply->type == SSH2_FXP_ATTRS && f->have != 0 &&
		    (reply->a.flags & SSH2_FILEXFER_ATTR_SIZE))
			file_open(f, f->home, SSH2_FXF_READ |
			    SSH2_FXF_WRITE, got_compared);
		else
			open_there(f);
		return;
	}
	if (reply->type != SSH2_FXP_ATTRS)
		copy_item_fail(&f->item, "stat remote: %s",
		    fx2txt(reply->status));
	else if (f->have >= f->size)
		copy_item_fail(&f->item, "resume \"%s\": destination file "
		    "same size or larger", f->item.src);
	if (f->item.why != NULL) {
		f->phase = FILE_ENDING;
		file_advance(f);
		return;
	}
	keep_all(f);
	open_there(f);
}

void
target_open(struct file *f)
{
	const struct copy *copy = f->item.copy;

	if (copy->kind == COPY_PUT && copy->flags.resume &&
	    f->part[f->home->index].state == PART_NONE)
		copy_send(f->home, &f->item, SSH2_FXP_STAT, got_target,
		    &(struct body){ .path = f->item.dst });
	else if (copy->kind != COPY_GET)
		open_there(f);
	else if (!interrupted && !file_is_small(f) &&
	    target_open_here(f) == 0 && copy->flags.resume > 1)
		copy_compare(f);
	else {
		if (f->fd != -1 && copy->flags.resume)
			keep_all(f);
		file_begin_moving(f);
	}
}

void
target_keep(struct file *f, uint64_t keep)
{
	if (file_kind(f) == COPY_PUT && keep == 0) {
		/* Nothing of it stays: once closed, it is opened again. */
		f->phase = FILE_OPENING;
		file_close_part(f, f->home);
		return;
	}
	if (file_kind(f) == COPY_GET && keep != f->have &&
	    ftruncate(f->fd, keep) == -1)
		copy_item_fail(&f->item, "local ftruncate \"%s\": %s",
		    f->item.dst, strerror(errno));
	else
		file_keep(f, keep);
	file_begin_moving(f);
}

static void
got_setstat(struct request *req, struct reply *reply)
{
	struct file *f = file_of(req->item);

	if (!reply->lost && reply->status != SSH2_FX_OK)
		f->setstat_status[f->setstats_failed++] = reply->status;
	file_advance(f);
}

/* The target has its size: if its data failed meanwhile, that is undone. */
static void
got_size_set(struct request *req, struct reply *reply)
{
	struct file *f = file_of(req->item);
	Attrib a = { .flags = SSH2_FILEXFER_ATTR_PERMISSIONS,
	    .size = file_there(f), .perm = S_IRUSR | S_IWUSR };
	struct body b = { .path = f->item.dst, .a = &a };

	if (reply->status == SSH2_FX_OK && f->closed_early && !f->redo &&
	    f->gap != UINT64_MAX) {
		if (!(f->set.perm & S_IWUSR))
			copy_send(f->target, &f->item, SSH2_FXP_SETSTAT,
			    got_setstat, &b);
		a.flags = SSH2_FILEXFER_ATTR_SIZE;
		copy_send(f->target, &f->item, SSH2_FXP_SETSTAT, got_setstat,
		    &b);
	}
	got_setstat(req, reply);
}

static void
got_fsync(struct request *req, struct reply *reply)
{
	if (!reply->lost && reply->status != SSH2_FX_OK)
		error("remote fsync: %s", fx2txt(reply->status));
	file_advance(file_of(req->item));
}

/* Completes a target at a server: truncates it unless size is UINT64_MAX. */
static void
finish_there(struct file *f, uint64_t size)
{
	const struct copy_flags *flags = &f->item.copy->flags;
	struct stream *s = f->target;
	struct body b = { .h = &f->part[s->index].handle };
	Attrib a;

	if (f->part[s->index].state != PART_OPEN)
		return;
	if (size != UINT64_MAX) {
		debug("truncating at %llu", (unsigned long long)size);
		attrib_clear(&a);
		a.flags = SSH2_FILEXFER_ATTR_SIZE;
		a.size = size;
		b.a = &a;
		copy_send(s, &f->item, SSH2_FXP_FSETSTAT, got_size_set, &b);
	}
	b.a = &f->set;
	if (flags->preserve)
		copy_send(s, &f->item, SSH2_FXP_FSETSTAT, got_setstat, &b);
	b.extension = "fsync@openssh.com";
	if (flags->fsync && (s->conn->exts & SFTP_EXT_FSYNC))
		copy_send(s, &f->item, SSH2_FXP_EXTENDED, got_fsync, &b);
}

static void
finish_here(struct file *f, uint64_t size)
{
	const struct copy_flags *flags = &f->item.copy->flags;
	const char *path = f->item.dst;

	if (file_is_bad(f) || flags->inplace) {
		debug("truncating at %llu", (unsigned long long)size);
		if (ftruncate(f->fd, size) == -1)
			error("local ftruncate \"%s\": %s", path,
			    strerror(errno));
	}
	if (f->item.why != NULL)
		return;
	if (flags->preserve && fchmod(f->fd, mode(f)) == -1)
		error("local chmod \"%s\": %s", path, strerror(errno));
	if (flags->preserve && copy_times(path, &f->item.a) == -1)
		error("local set times \"%s\": %s", path, strerror(errno));
	if (flags->resume == 1 && f->data_end <= f->have)
		logit("File \"%s\" was not modified", path);
	else if (flags->fsync) {
		debug("syncing \"%s\"", path);
		if (fsync(f->fd) == -1)
			error("local sync \"%s\": %s", path, strerror(errno));
	}
}

static void
got_emptied(struct request *req, struct reply *reply)
{
	struct file *f = file_of(req->item);
	struct part *p = &f->part[req->stream->index];

	if (reply->type == SSH2_FXP_HANDLE) {
		handle_take(&p->handle, reply);
		p->state = PART_OPEN;
		file_close_part(f, req->stream);
	} else
		error("dest truncate \"%s\" failed", f->item.dst);
	file_advance(f);
}

/* Closes a target at another server, and opens it once more to truncate it. */
static void
empty_there(struct file *f)
{
	if (f->part[f->target->index].state != PART_OPEN)
		return;
	file_close_part(f, f->target);
	file_open(f, f->target, SSH2_FXF_WRITE | SSH2_FXF_CREAT |
	    SSH2_FXF_TRUNC, got_emptied);
}

void
target_finish(struct file *f)
{
	const struct copy_flags *flags = &f->item.copy->flags;
	int bad = file_is_bad(f);
	uint64_t there = MINIMUM(f->ended, file_there(f));
	/* Not all servers support EXCL; remove data after a gap. */
	int cut = flags->inplace || f->home->index != 0 || (bad &&
	    (flags->resume || f->many || there < f->data_end));

	if (file_kind(f) == COPY_CROSS && bad)
		empty_there(f);
	else if (file_kind(f) == COPY_CROSS)
		finish_there(f, UINT64_MAX);
	else if (file_kind(f) == COPY_PUT)
		finish_there(f, !cut ? UINT64_MAX : bad ? there : f->ended);
	else if (f->fd != -1)
		finish_here(f, there);
}
