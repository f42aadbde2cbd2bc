/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "atomicio.h"
#include "log.h"
#include "misc.h"
#include "sshbuf.h"
#include "xmalloc.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-conn.h"
#include "sftp-lanes.h"
#include "sftp-mark.h"
#include "sftp-parallel.h"
#include "sftp-part-job.h"
#include "sftp-requests.h"
#include "sftp-resume.h"
#include "sftp-tree.h"

extern volatile sig_atomic_t interrupted;

/* Bytes of which a digest tells whether they are copied again */
#define PIECE		(8 * 1024 * 1024)

/* What sftp_parallel_resume() has found for that path; NULL: nothing */
static struct {
	char *path;
	struct sftp_parts parts;
} resumed;

static void
forget_resumed(void)
{
	if (resumed.path == NULL)
		return;
	free(resumed.path);
	resumed.path = NULL;
	sftp_parts_free(&resumed.parts);
}

/* Reads bytes of the file here, or at the server. Returns 0 or -1. */
static int
read_file(const struct sftp_parallel *f, int remote, uint64_t offset,
    u_char *data, size_t len)
{
	if (remote)
		return sftp_request_read(f->conn, f->handle, f->handle_len,
		    offset, data, len) == len ? 0 : -1;
	return pread(f->fd, data, len, offset) == (ssize_t)len ? 0 : -1;
}

/*
 * Reads the end of the target, which has `have` bytes. Returns what was read,
 * to be freed, and its length (bytes). Returns NULL if it can't be read, and if
 * the target is too small for a copy in parts. A small target of a source that
 * isn't is read, too, if the server can't compare.
 */
static u_char *
read_end(const struct sftp_parallel *f, uint64_t have, size_t *len)
{
	u_char *end;

	if (have == 0 || (have < SFTP_PARALLEL_MIN &&
	    (f->size < SFTP_PARALLEL_MIN || sftp_conn_digests(f->conn))))
		return NULL;
	/* At least the mark of any file that is smaller than this */
	*len = have / SFTP_PART_BYTES < SFTP_PARTS_MAX ?
	    MINIMUM(sftp_mark_len(have), have) : SFTP_MARK_MAX;
	end = xmalloc(*len);
	if (read_file(f, f->upload, have - *len, end, *len) == 0)
		return end;
	free(end);
	return NULL;
}

/*
 * Returns 1 if the source has these bytes there, 0 if it has others, and -1 if
 * it ends before or can't be read.
 */
static int
has(const struct sftp_parallel *f, uint64_t offset, const u_char *data,
    size_t len)
{
	u_char *there = xmalloc(len);
	int ret = -1;

	if (offset + len <= f->size &&
	    read_file(f, !f->upload, offset, there, len) == 0)
		ret = memcmp(there, data, len) == 0;
	free(there);
	return ret;
}

int
sftp_parallel_marked(struct sftp_conn *conn, const char *path, uint64_t size)
{
	struct sftp_parallel f = { .conn = conn, .upload = conn != NULL };
	uint64_t source, mtime;
	u_char *end = NULL, *handle = NULL;
	struct stat st;
	size_t len;
	int ret;

	if (conn != NULL) {
		if (size < SFTP_PARALLEL_MIN || (handle = sftp_request_open(
		    conn, path, SSH2_FXF_READ, &f.handle_len)) == NULL)
			return 0;
		f.handle = handle;
		end = read_end(&f, size, &len);
		(void)sftp_request_close_wait(conn, handle, f.handle_len);
		free(handle);
	} else {
		if ((f.fd = open(path, O_RDONLY|O_NONBLOCK)) == -1)
			return 0;
		if (fstat(f.fd, &st) == 0 && S_ISREG(st.st_mode))
			end = read_end(&f, size = st.st_size, &len);
		close(f.fd);
	}
	ret = end != NULL &&
	    sftp_mark_find(end, len, size, &source, &mtime) != NULL;
	free(end);
	return ret;
}

/*
 * Returns 1 unless these bytes are known to be others than the source's. After
 * ^C nothing more is compared.
 */
static int
same(const struct sftp_parallel *f, uint64_t offset, uint64_t len)
{
	struct sftp_compare c;
	struct sshbuf *msg;
	int r;

	if (!sftp_conn_digests(f->conn))
		return 1;
	if ((msg = sshbuf_new()) == NULL)
		fatal_f("sshbuf_new failed");
	sftp_compare_start(&c, f->fd, offset + len);
	c.asked = offset;
	for (;;) {
		while (!interrupted && sftp_compare_more(&c)) {
			if ((r = sftp_compare_ask(&c, msg,
			    sftp_conn_id(f->conn), f->handle,
			    f->handle_len)) != 0)
				fatal_fr(r, "compose");
			sftp_conn_send(f->conn, msg);
		}
		if (c.outstanding == 0)
			break;
		sftp_compare_read(&c);
		sftp_conn_get(f->conn, msg);
		if ((r = sftp_compare_reply(&c, msg)) != 0)
			fatal_fr(r, "parse");
		sshbuf_reset(msg);
	}
	sshbuf_free(msg);
	return c.same != SFTP_SAME_NO;
}

/*
 * Compares len bytes of parts that were copied, and forgets those that differ:
 * all at once, then piece by piece if they do.
 */
static void
check_run(const struct sftp_parallel *f, uint64_t offset, uint64_t len)
{
	struct sftp_parts *p = &resumed.parts;
	uint64_t piece = MAXIMUM(PIECE, p->part), n;

	if (same(f, offset, len))
		return;
	for (; len != 0; offset += n, len -= n) {
		n = MINIMUM(len, piece);
		if (!same(f, offset, n))
			sftp_parts_forget(p, offset, n);
	}
}

/* Cuts the target, or makes it larger. Returns 0 or -1. */
static int
set_size(const struct sftp_parallel *f, uint64_t size)
{
	if (f->upload)
		return sftp_request_size(f->conn, f->handle, f->handle_len,
		    size) == SSH2_FX_OK ? 0 : -1;
	return ftruncate(f->fd, size);
}

/*
 * Takes the parts that a target of `have` bytes has of this source. Returns 1,
 * or 0 if it has no mark of it. *have is then what may be a beginning of the
 * source. That is what is there before the first gap, where the mark is of
 * another source and the server can compare. It is nothing if it can't, or if
 * the source has other bytes than the target where that ends.
 */
static int
find_parts(const struct sftp_parallel *f, uint64_t *have)
{
	struct sftp_parts parts;
	uint64_t size, mtime;
	const u_char *mark;
	u_char *end;
	size_t len;
	int known;

	if ((end = read_end(f, *have, &len)) == NULL)
		return 0;
	mark = sftp_mark_find(end, len, *have, &size, &mtime);
	if (mark == NULL) {
		if (!sftp_conn_digests(f->conn) &&
		    has(f, *have - len, end, len) == 0)
			*have = 0;
		free(end);
		return 0;
	}
	if (has(f, *have - len, end, len) == 1) {
		/* The source is such a copy itself. */
		free(end);
		return 0;
	}
	sftp_parts_init(&parts, size);
	known = sftp_mark_get(&parts, mtime, mark) == 0;
	free(end);
	if (known && size == f->size && mtime == f->mtime) {
		forget_resumed();
		resumed.path = xstrdup(f->path);
		resumed.parts = parts;
		return 1;
	}
	*have = known && sftp_conn_digests(f->conn) ?
	    sftp_parts_begin(&parts) : 0;
	sftp_parts_free(&parts);
	return 0;
}

/* Writes bytes of the target. Returns 0 or -1. */
static int
write_file(const struct sftp_parallel *f, uint64_t offset, const u_char *data,
    size_t len)
{
	if (f->upload)
		return sftp_request_write(f->conn, f->handle, f->handle_len,
		    offset, data, len) == SSH2_FX_OK ? 0 : -1;
	return pwrite(f->fd, data, len, offset) == (ssize_t)len ? 0 : -1;
}

/*
 * Copies the first part if it is missing, and others are there: to the caller,
 * 0 bytes without a gap mean that nothing is. Returns 1 if it is there now.
 */
static int
have_first(const struct sftp_parallel *f, struct sftp_parts *p)
{
	size_t buflen = sftp_conn_buflen(f->conn, f->upload), n;
	uint64_t offset, len;
	u_char *data;
	int i, ok = 1;

	if (p->done == 0)
		return 0;
	if (sftp_parts_begin(p) != 0)
		return 1;
	i = sftp_parts_next(p, &offset, &len);
	data = xmalloc(buflen);
	for (; ok && len != 0; offset += n, len -= n) {
		n = MINIMUM(len, buflen);
		ok = read_file(f, !f->upload, offset, data, n) == 0 &&
		    write_file(f, offset, data, n) == 0;
	}
	free(data);
	if (ok)
		sftp_parts_copied(p, i);
	return ok;
}

/* Returns the path of the target. */
static const char *
target(const struct sftp_parallel *f)
{
	const char *path = f->upload ? NULL :
	    sftp_tree_path(sftp_conn_tree(f->conn));

	return path == NULL ? f->path : path;
}

int
sftp_parallel_resume(const struct sftp_parallel *f, uint64_t *have,
    uint64_t *begin)
{
	struct sftp_parts *p = &resumed.parts;
	uint64_t offset = 0, len, had = *have;

	forget_resumed();
	if (!find_parts(f, have)) {
		if (*have == had)
			return 0;
		if (f->upload)
			sftp_tree_not_idempotent(sftp_conn_tree(f->conn));
		if (*have == 0 || set_size(f, *have) != 0) {
			*have = 0;
			logit("\"%s\" is not what the source begins with: "
			    "copying all of it", target(f));
			(void)set_size(f, 0);
		}
		return 0;
	}
	if (p->done == 0) {
		forget_resumed();
		return 0;
	}
	if (!sftp_conn_digests(f->conn))
		logit("\"%s\": keeping %llu bytes, as the mark "
		    "there says: the server can't compare content", target(f),
		    (unsigned long long)p->done);
	while (sftp_parts_run(p, offset, &offset, &len)) {
		check_run(f, offset, len);
		offset += len;
	}
	debug("\"%s\": %llu of %llu bytes are there", f->path,
	    (unsigned long long)p->done, (unsigned long long)p->size);
	if (!have_first(f, p)) {
		forget_resumed();
		return 0;
	}
	*begin = sftp_parts_begin(p);
	return 1;
}

/* Returns 1 if the target may be larger by a mark. */
static int
may_mark(const struct sftp_parallel *f, size_t mark_len)
{
	struct rlimit rl;
	struct stat st;
	Attrib a;

	if (f->upload)
		return sftp_request_stat(f->conn, NULL, f->handle,
		    f->handle_len, &a) == 0 &&
		    (a.flags & SSH2_FILEXFER_ATTR_PERMISSIONS) != 0 &&
		    S_ISREG(a.perm);
	/* Beyond this limit a signal would end us. */
	if (getrlimit(RLIMIT_FSIZE, &rl) == 0 &&
	    rl.rlim_cur < f->size + mark_len)
		return 0;
	return fstat(f->fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* Makes the target longer, by a mark. Returns 0 or -1. */
static int
add_mark(struct sftp_parts_copy *c)
{
	if (!may_mark(c->f, c->mark_len) ||
	    set_size(c->f, c->f->size + c->mark_len) != 0)
		return -1;
	c->longer = 1;
	return sftp_part_mark(c, c->f->conn, c->f->handle,
	    c->f->handle_len);
}

/* A lane has opened: it takes part. */
static void
add_lane(struct sftp_tree *tree, struct sftp_conn *conn, void *ctx)
{
	struct sftp_parts_copy *c = ctx;
	struct sftp_job job = { .conn = conn, .run = sftp_part_job,
	    .ctx = c };

	if (!c->stop)
		(void)sftp_tree_run(tree, &c->jobs, &job);
}

/* Copies the parts. */
static void
copy_parts(struct sftp_parts_copy *c)
{
	struct sftp_tree *tree = sftp_conn_tree(c->f->conn);
	struct sftp_job job = { .conn = c->f->conn, .run = sftp_part_job,
	    .ctx = c };

	do {
		sftp_tree_on_lane(tree, add_lane, c);
		/* The first lane has the caller's thread. */
		(void)sftp_part_job(&job);
		(void)sftp_tree_wait(tree, &c->jobs);
		/* What a lost lane had is copied again. */
	} while (!c->stop && !interrupted && sftp_parts_left(&c->parts) != 0);
	sftp_tree_on_lane(tree, NULL, NULL);
}

/* Returns 1 if a file of `size` bytes is known to have a hole, else 0. */
static int
has_hole(int fd, uint64_t size)
{
	off_t hole = -1;

#ifdef SEEK_HOLE
	hole = lseek(fd, 0, SEEK_HOLE);
#endif
	return hole != -1 && (uint64_t)hole < size;
}

/* Returns 1 if a file with so much to copy is worth it, and can be. */
static int
is_worth_it(const struct sftp_parallel *f, uint64_t offset)
{
	if (!sftp_lanes_wanted(f->conn) ||
	    f->size < SFTP_PARALLEL_MIN ||
	    f->size - MINIMUM(offset, f->size) < SFTP_PARALLEL_MIN)
		return 0;
	/* A sparse file is copied as it always was. */
	return !f->upload || !has_hole(f->fd, f->size);
}

/* Returns how much of the target is there without a gap, in bytes. */
static uint64_t
reached(const struct sftp_parts_copy *c)
{
	return MAXIMUM(sftp_parts_begin(&c->parts), c->begin);
}

/* Forgets the parts that are there by a handle. */
static void
forget_parts(struct sftp_parts *p, const struct sftp_part_file *file)
{
	u_int i;

	for (i = 0; file->wrote != NULL && i < p->n; i++) {
		if ((file->wrote[i / 8] & 1 << i % 8) != 0)
			sftp_parts_forget(p, i * p->part, 1);
	}
}

/* Takes what is unsure for not there. Returns 1 if that is anything. */
static int
forget_unsure(struct sftp_parts_copy *c)
{
	struct sftp_part_file *file;
	uint64_t done = c->parts.done;

	while ((file = TAILQ_FIRST(&c->unsure)) != NULL) {
		TAILQ_REMOVE(&c->unsure, file, entry);
		forget_parts(&c->parts, file);
		sftp_part_free(file);
	}
	if (c->parts.done == done)
		return 0;
	debug("\"%s\": %llu bytes may not be there: no CLOSE says so",
	    c->f->path, (unsigned long long)(done - c->parts.done));
	*c->f->counter -= done - c->parts.done;
	c->marked = c->kept = c->parts.done;
	return 1;
}

/* Cuts the target to what is there without a gap: the mark, and what else. */
static void
cut(struct sftp_parts_copy *c)
{
	if (c->longer && set_size(c->f, reached(c)) == 0)
		c->longer = 0;
}

/* Returns 1 if a file that a lane has opened was copied from. */
static int
has_copied(const struct sftp_parts_copy *c)
{
	const struct sftp_part_file *file;

	TAILQ_FOREACH(file, &c->files, entry) {
		if (file->same)
			return 1;
	}
	return 0;
}

/*
 * Returns 1 if a download's source may not be what has its path by now, and
 * lanes may have copied from that: it has another size or time, or has gone.
 * The path is asked for before the handle, and a source that grows meanwhile is
 * larger and later by the handle. A server that refuses the handle's attributes
 * tells nothing.
 */
static int
is_replaced(const struct sftp_parts_copy *c)
{
	const struct sftp_parallel *f = c->f;
	Attrib ours, there;
	int r;

	if (f->upload || !has_copied(c))
		return 0;
	if ((r = sftp_request_stats(f->conn, f->path, f->handle,
	    f->handle_len, &there, &ours)) != 0)
		return r == 1;
	if (ours.size == f->size && ours.mtime == f->mtime)
		return there.size != f->size || there.mtime != f->mtime;
	return there.size > ours.size || there.mtime > ours.mtime;
}

/* Takes nothing for there: the first lane's stream copies all. */
static void
start_over(struct sftp_parts_copy *c)
{
	verbose("\"%s\" was replaced while it was copied: copying all of it "
	    "again", c->f->path);
	sftp_parts_forget(&c->parts, 0, c->parts.size);
	c->begin = 0;
	c->longer = 1;
	cut(c);
}

/*
 * Ends a copy whose parts are all there. Returns 1 if some are to be copied
 * again: the mark is there again, then.
 */
static int
end_copy(struct sftp_parts_copy *c)
{
	u_int status;
	int again;

	if (is_replaced(c)) {
		start_over(c);
		(void)sftp_part_close(c);
		(void)forget_unsure(c);
		return 0;
	}
	sftp_part_lost(c);
	if (forget_unsure(c))
		return 1;
	cut(c);
	status = sftp_part_close(c);
	again = forget_unsure(c);
	if (status == SSH2_FX_OK && !again)
		return 0;
	if (status != SSH2_FX_OK)
		error("close remote: %s", fx2txt(status));
	/* What is there must not look complete. */
	c->failed = add_mark(c) != 0 || status != SSH2_FX_OK;
	return !c->failed;
}

/* Returns 1 if a lane that was lost has written to the target. */
static int
may_change(const struct sftp_parts_copy *c)
{
	const struct sftp_part_file *file;

	TAILQ_FOREACH(file, &c->unsure, entry) {
		if (file->wrote != NULL &&
		    sftp_tree_lost(sftp_conn_tree(c->f->conn), file->conn))
			return 1;
	}
	return 0;
}

/*
 * Ends a copy that the user has interrupted. Its mark is left: other copies may
 * write to the same file, and lanes that were given up may, too: of these the
 * user is told. A lost lane has answered for the parts that it has copied.
 */
static void
leave_mark(struct sftp_parts_copy *c)
{
	struct sftp_part_file *file;
	u_int status = sftp_part_close(c);

	if (may_change(c))
		error("\"%s\": the connection that was lost could still "
		    "change it", c->f->path);
	if (status != SSH2_FX_OK)
		(void)forget_unsure(c);
	while ((file = TAILQ_FIRST(&c->unsure)) != NULL) {
		TAILQ_REMOVE(&c->unsure, file, entry);
		sftp_part_free(file);
	}
	(void)sftp_part_mark(c, c->f->conn, c->f->handle, c->f->handle_len);
	c->left = 1;
}

/* Ends a copy after an error. One stream copies what is left. */
static void
stop_copy(struct sftp_parts_copy *c)
{
	u_int status;

	sftp_part_lost(c);
	(void)forget_unsure(c);
	cut(c);
	status = sftp_part_close(c);
	if (!forget_unsure(c) && status == SSH2_FX_OK)
		return;
	sftp_parts_forget(&c->parts, 0, c->parts.size);
	c->longer = 1;
	cut(c);
}

/* Copies the parts that are missing, and ends the copy. */
static void
copy_all(struct sftp_parts_copy *c)
{
	for (;;) {
		copy_parts(c);
		if (c->parts.done != c->parts.size)
			break;
		if (!end_copy(c))
			return;
	}
	if (interrupted && c->longer)
		leave_mark(c);
	else
		stop_copy(c);
}

/* Copies the parts that are missing. */
static void
copy(struct sftp_parts_copy *c)
{
	const struct sftp_parallel *f = c->f;

	TAILQ_INIT(&c->unmarked);
	TAILQ_INIT(&c->files);
	TAILQ_INIT(&c->unsure);
	arc4random_buf(c->nonce, sizeof(c->nonce));
	c->mark = xmalloc(c->mark_len);
	if (add_mark(c) == 0) {
		*f->counter = c->parts.done;
		sftp_tree_stops(sftp_conn_tree(f->conn), &c->stop);
		copy_all(c);
		sftp_tree_stops(sftp_conn_tree(f->conn), NULL);
		debug("\"%s\": %llu bytes are there, copied in parts over %u "
		    "lanes", f->path, (unsigned long long)c->parts.done,
		    sftp_lanes_open());
	} else
		debug("\"%s\" is copied in one stream", f->path);
	free(c->mark);
}

uint64_t
sftp_parallel_copy(const struct sftp_parallel *f, uint64_t offset,
    void (*read_reply)(struct sftp_conn *, struct sshbuf *))
{
	struct sftp_parts_copy c = { .f = f, .begin = offset };
	struct sftp_tree *tree = sftp_conn_tree(f->conn), *own = NULL;
	uint64_t done;
	int marked;		/* 1: the target is longer than what is there */

	marked = resumed.path != NULL && strcmp(resumed.path, f->path) == 0 &&
	    resumed.parts.size == f->size &&
	    sftp_parts_begin(&resumed.parts) == offset;
	if (!marked) {
		forget_resumed();
		if (!is_worth_it(f, offset) || f->size > INT64_MAX / 2)
			return offset;
		sftp_parts_init(&c.parts, f->size);
		sftp_parts_have(&c.parts, offset);
	} else {
		c.parts = resumed.parts;
		free(resumed.path);
		resumed.path = NULL;
	}
	c.mark_len = sftp_mark_len(f->size);
	if (c.mark_len <= sftp_conn_buflen(f->conn, 1)) {
		if (tree == NULL)
			own = sftp_tree_of_parts(f->conn, f->upload,
			    read_reply);
		c.longer = marked;
		if (tree != NULL || own != NULL)
			copy(&c);
		sftp_tree_of_parts_free(own);
		marked = c.longer;
	}
	offset = reached(&c);
	done = c.parts.done;
	if (f->ended != NULL)
		*f->ended = c.ends && offset == f->size;
	sftp_parts_free(&c.parts);
	*f->counter = offset;
	if (c.failed)
		return UINT64_MAX;
	if (c.left) {
		*f->counter = done;
		sftp_tree_unfinished(sftp_conn_tree(f->conn));
		return f->size + c.mark_len;
	}
	if (marked && set_size(f, offset) != 0) {
		error("\"%s\": can't set the size of its copy", f->path);
		return UINT64_MAX;
	}
	return offset;
}
