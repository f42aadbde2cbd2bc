/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "atomicio.h"
#include "log.h"
#include "misc.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-conn.h"
#include "sftp-incomplete.h"
#include "copy-compare.h"
#include "copy-put.h"

extern volatile sig_atomic_t interrupted;

/* READs in flight of a file of unknown size: as of stock */
#define TAIL_MAX	64

/* Shortest READ to ask for after a server has sent less than was asked for */
#define READ_LEAST	512

static copy_got	 got_data;

/*
 * Checks what is there before more is appended, and sets f->have to its bytes.
 * Returns 0 or -1.
 */
static int
look(struct file *f)
{
	struct stat st;

	if (fstat(f->fd, &st) == -1)
		copy_item_fail(&f->item, "stat local \"%s\": %s", f->item.dst,
		    strerror(errno));
	else if (f->item.copy->flags.resume == 1 &&
	    (uint64_t)st.st_size > f->size)
		copy_item_fail(&f->item, "Unable to resume download of \"%s\": "
		    "local file is larger than remote", f->item.dst);
	else {
		f->have = st.st_size;
		return 0;
	}
	return -1;
}

/* Opens the local target. Returns 0, or -1 if that failed or it has to wait. */
static int
local_open(struct file *f)
{
	const struct copy *copy = f->item.copy;
	int keep = copy->flags.resume || copy->flags.inplace;
	int flags = O_CREAT | (copy->flags.resume > 1 ? O_RDWR : O_WRONLY);

	/* Of two names of a file, the first is copied first. */
	if (!keep && !copy->tree)
		flags |= O_TRUNC;
	/* A signal may end the program as soon as the file is there. */
	if (copy->tree)
		f->incomplete = sftp_incomplete_begin(f->item.dst);
	f->fd = open(f->item.dst, flags, f->mode | S_IWUSR);
	if (f->fd == -1) {
		f->put_off = copy_item_not_opened(&f->item, "open local",
		    f->item.dst);
		sftp_incomplete_end(f->incomplete);
		f->incomplete = -1;
		return -1;
	}
	f->put_off = copy_item_claim(&f->item, f->fd) == -1;
	if (!f->put_off && !keep && copy->tree)
		(void)ftruncate(f->fd, 0);
	if (f->put_off || (copy->flags.resume && look(f) == -1)) {
		close(f->fd);
		f->fd = -1;
		return -1;
	}
	return 0;
}

/* Writes data to it. */
static void
local_write(struct file *f, uint64_t offset, const u_char *data, size_t len)
{
	size_t done = 0;

	if (lseek(f->fd, offset, SEEK_SET) != -1)
		done = atomicio(vwrite, f->fd, (u_char *)data, len);
	if (done == len) {
		file_moved(f, offset, len);
		return;
	}
	copy_item_fail(&f->item, "write local \"%s\": %s", f->item.dst,
	    strerror(errno));
	file_gap(f, offset + done);
}

static void
set_attributes(const struct file *f)
{
	const char *path = f->item.dst;

#ifdef HAVE_FCHMOD
	if (fchmod(f->fd, f->mode) == -1)
#else
	if (chmod(path, f->mode) == -1)
#endif
		error("local chmod \"%s\": %s", path, strerror(errno));
	if (copy_times(path, &f->item.a) == -1)
		error("local set times \"%s\": %s", path, strerror(errno));
}

/*
 * Cuts off what must not be there: after an error, or of an older file. Sets
 * its permissions and times, and flushes it, as far as is wanted.
 */
static void
local_finish(struct file *f)
{
	const struct copy_flags *flags = &f->item.copy->flags;
	const char *path = f->item.dst;
	int bad = file_is_bad(f);
	uint64_t there = bad ? file_there(f) : f->data_end;

	if (bad || flags->inplace) {
		debug("truncating at %llu", (unsigned long long)there);
		if (ftruncate(f->fd, there) == -1)
			error("local ftruncate \"%s\": %s", path,
			    strerror(errno));
	}
	if (f->item.why != NULL)
		return;
	if (flags->preserve)
		set_attributes(f);
	if (flags->resume == 1 && !f->modified)
		logit("File \"%s\" was not modified", path);
	else if (flags->fsync) {
		debug("syncing \"%s\"", path);
		if (fsync(f->fd) == -1)
			error("local sync \"%s\": %s", path, strerror(errno));
	}
}

/* Returns the message that data can't be read. */
static const char *
read_error(const struct file *f)
{
	return file_kind(f) == COPY_CROSS ? "read origin \"%s\": %s" :
	    "read remote \"%s\" : %s";
}

/* The source has ended before it should. */
static void
cut_short(struct file *f)
{
	copy_item_fail(&f->item, read_error(f), f->item.src,
	    fx2txt(SSH2_FX_EOF));
}

/* Returns 1 if all of it is asked for at once, and its end. */
static int
is_small(const struct file *f)
{
	return f->size <= f->buflen && !f->item.copy->flags.resume;
}

/* Completes the target, unless the copy begins again, and closes the source. */
static void
get_finish(struct file *f)
{
	f->phase = FILE_ENDING;
	copy_item_unqueue(&f->item);
	if (file_is_whole(f))
		sftp_incomplete_sent(f->incomplete);
	if (file_kind(f) == COPY_CROSS)
		put_cross_finish(f);
	else if (f->fd != -1 && !f->redo && !f->put_off)
		local_finish(f);
	file_close_part(f, file_home(f));
	copy_item_closed(&f->item);
}

/* Takes the size that the source has now: was the copy cut short? */
static void
got_size(struct request *req, struct reply *reply)
{
	struct file *f = file_of(req->item);

	if (reply->type == SSH2_FXP_ATTRS && reply->a.size != f->size)
		cut_short(f);
	get_finish(f);
	f->check(f);
}

/*
 * All replies are there. Data behind the end that a server reported is a
 * failure, and so is an end before that of the file, if its size has changed.
 */
static void
get_settle(struct file *f)
{
	if (file_kind(f) == COPY_GET && f->fd == -1 && !f->redo &&
	    !f->put_off && !interrupted)
		(void)local_open(f);
	if (!file_is_bad(f) && f->ended < f->data_end) {
		file_gap(f, f->ended);
		cut_short(f);
	} else if (!file_is_bad(f) && f->ended < f->size) {
		f->phase = FILE_CHECKING;
		copy_item_unqueue(&f->item);
		copy_send(file_home(f), &f->item, SSH2_FXP_STAT, got_size,
		    &(struct body){ .path = f->item.src });
		return;
	}
	get_finish(f);
}

static void
get_check(struct file *f)
{
	int done = (f->ended != UINT64_MAX && !file_has_range(f)) ||
	    file_is_bad(f);
	int early = f->closed_early && file_kind(f) == COPY_CROSS &&
	    !file_is_bad(f);

	if (f->phase == FILE_COMPARING)
		copy_compare_check(f);
	if (f->phase == FILE_MOVING && done && f->reads == 0 &&
	    (f->writes == 0 || early) && !file_close_others(f))
		get_settle(f);
	file_check_end(f);
}

/* Puts data where it belongs. */
static void
deliver(struct file *f, uint64_t offset, const u_char *data, size_t len)
{
	if (file_kind(f) == COPY_CROSS)
		put_cross_write(f, offset, data, len);
	else if (f->fd != -1 || local_open(f) == 0)
		local_write(f, offset, data, len);
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

/* A READ got less than it asked for: asks for the rest. */
static void
ask_rest(struct file *f, struct request *req, size_t got)
{
	if (f->closed_early) {
		f->redo = 1;
		return;
	}
	if (got == 0 && f->zero_length)
		fatal_f("server sent zero data length");
	f->zero_length |= got == 0;
	f->buflen = MINIMUM(f->buflen, MAXIMUM(READ_LEAST, got));
	send_read(f, req->stream, req->offset + got, req->len - got);
}

static void
got_data(struct request *req, struct reply *reply)
{
	struct file *f = file_of(req->item);
	int is_tail = req->offset >= f->size;

	f->reads--;
	f->part[req->stream->index].asked -= req->len;
	f->tail -= is_tail;
	if (reply->lost) {
		file_request_lost(f, req);
		f->check(f);
		return;
	}
	if (reply->type == SSH2_FXP_STATUS) {
		if (reply->status == SSH2_FX_EOF)
			file_range_end(f, req->offset);
		else
			file_refused(f, req, reply, read_error(f),
			    f->item.src);
		f->check(f);
		return;
	}
	f->modified = 1;
	if (is_tail && reply->len != 0 && f->closed_early)
		f->redo = 1;
	if (!f->redo && !f->put_off)
		deliver(f, req->offset, reply->data, reply->len);
	if (reply->len != req->len)
		ask_rest(f, req, reply->len);
	if (is_tail && f->size == 0 && f->tail_max < TAIL_MAX)
		f->tail_max++;
	if (f->phase == FILE_MOVING && f->ended == UINT64_MAX)
		copy_item_queue(&f->item);
	f->check(f);
}

/*
 * Asks for what is behind the end that the file should have. A small file has
 * its CLOSE in the same flight.
 */
static int
send_tail(struct file *f, struct stream *s)
{
	const struct copy *copy = f->item.copy;
	int hurry = file_may_hurry(f, s) && (copy->kind == COPY_GET ||
	    file_may_hurry(f, copy->streams[1]));
	size_t len = f->next > f->size ? f->buflen :
	    MINIMUM(f->buflen, FILE_TAIL);

	if (f->ended != UINT64_MAX || f->tail >= f->tail_max) {
		copy_item_unqueue(&f->item);
		return 0;
	}
	if (!file_may_ask(f, s, len))
		return 0;
	f->next = MAXIMUM(f->next, f->size);
	send_read(f, s, f->next, len);
	file_requested(f, len);
	f->next += len;
	if (is_small(f) && f->next - len <= f->size && hurry &&
	    !f->closed_early) {
		f->closed_early = 1;
		file_close_part(f, s);
		copy_item_closed(&f->item);
		copy_item_unqueue(&f->item);
	}
	return 1;
}

static int
get_send(struct item *item, struct stream *s)
{
	struct file *f = file_of(item);
	struct part *p = &f->part[s->index];
	uint64_t offset;
	size_t len;

	if (f->phase == FILE_COMPARING)
		return copy_compare_send(f, s);
	if (f->phase != FILE_MOVING || file_is_bad(f)) {
		copy_item_unqueue(item);
		return 0;
	}
	if (file_kind(f) == COPY_CROSS && s->index != f->home)
		return 0;
	if (p->state != PART_OPEN)
		return file_join(f, s);
	if (!file_has_range(f))
		return send_tail(f, s);
	if (!file_may_ask(f, s, MINIMUM(f->buflen, f->size)) ||
	    (len = file_range(f, p, &offset)) == 0)
		return 0;
	send_read(f, s, offset, len);
	file_requested(f, len);
	if (is_small(f) && !file_has_range(f))
		(void)send_tail(f, s);
	return 1;
}

/* It is known what of the target stays. */
static void
get_keep(struct file *f, uint64_t keep)
{
	if (keep != f->have && !interrupted && ftruncate(f->fd, keep) == -1)
		copy_item_fail(&f->item, "local ftruncate \"%s\": %s",
		    f->item.dst, strerror(errno));
	else if (!interrupted)
		file_keep(f, keep);
	file_begin_moving(f);
}

static void
got_target(struct request *req, struct reply *reply)
{
	struct file *f = file_of(req->item);

	if (file_opened(f, req, reply, "dest", f->item.dst) != NULL)
		file_begin_moving(f);
}

static void
got_open(struct request *req, struct reply *reply)
{
	struct file *f = file_of(req->item);
	const struct copy *copy = f->item.copy;

	if (file_opened(f, req, reply, copy->kind == COPY_CROSS ? "origin" :
	    "remote", f->item.src) == NULL)
		return;
	sftp_inflight_opened(&req->stream->conn->depth, req->sent_s,
	    monotime_double());
	if (copy->kind == COPY_CROSS && !interrupted) {
		put_cross_open(f, got_target);
		return;
	}
	if (!is_small(f) && !interrupted && local_open(f) == 0 &&
	    copy->flags.resume) {
		if (copy->flags.resume == COPY_RESUME_CHECKED) {
			copy_compare(f, get_keep);
			return;
		}
		file_keep(f, copy->most > 1 ?
		    file_without_gaps(f, f->have) : f->have);
	}
	file_begin_moving(f);
}

static void
get_start(struct item *item)
{
	struct file *f = file_of(item);
	const Attrib *a = &item->a;

	file_reset(f);
	f->check = get_check;
	/* Set-user-ID and the like are not kept, as the owner is not. */
	f->mode = a->flags & SSH2_FILEXFER_ATTR_PERMISSIONS ?
	    a->perm & 0777 : 0666;
	if ((a->flags & SSH2_FILEXFER_ATTR_PERMISSIONS) &&
	    !S_ISREG(a->perm)) {
		copy_item_fail(item, file_kind(f) == COPY_CROSS ?
		    "download \"%s\": not a regular file" :
		    "download %s: not a regular file", item->src);
		f->phase = FILE_ENDING;
		get_check(f);
		return;
	}
	if (a->flags & SSH2_FILEXFER_ATTR_SIZE)
		f->size = item->size = a->size;
	file_begin(f);
	f->buflen = file_home(f)->conn->download_buflen;
	if (file_kind(f) == COPY_CROSS)
		f->buflen = MINIMUM(f->buflen,
		    item->copy->streams[1]->conn->upload_buflen);
	file_open(f, file_home(f), SSH2_FXF_READ, got_open);
}

const struct item_ops copy_get_ops = {
	.size = sizeof(struct file),
	.start = get_start,
	.send = get_send,
	.stop = file_stop,
};
