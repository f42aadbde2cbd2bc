/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "sshbuf.h"
#include "copy-stream.h"
#include "sftp-client.h"

#define DEPTH_MAX	64			/* levels, as in stock */
#define PENDING_MAX	1000			/* items: then read no more */
#define WRITABLE	(S_IWUSR | S_IXUSR)	/* while it is copied */

struct dir {
	struct item item;	/* must be the first field */
	int created;		/* 1: we created the directory */
	struct handle handle;	/* while it is read at a server */
	struct sshbuf *reply;	/* `left` entries that are not items yet */
	u_int left;
	struct dirent **names;	/* its entries, if it is local */
	int count, next;	/* names, and the index of the next one */
	int listed;		/* 1: all names are known */
	struct stream *target;	/* of the server where it is created */
	Attrib set;		/* its attributes there */
};

static const struct item_ops link_ops;

static struct dir *
dir_of(struct item *item)
{
	return (struct dir *)item;
}

static void
dir_end(struct dir *d)
{
	while (d->next < d->count)
		free(d->names[d->next++]);
	free(d->names);
	sshbuf_free(d->reply);
	copy_item_end(&d->item);
}

static void
list_failed(struct dir *d)
{
	copy_item_fail(&d->item, "%s readdir \"%s\" failed",
	    d->item.copy->kind == COPY_CROSS ? "origin" : "remote",
	    d->item.src);
}

/* Sets the times and permissions of a directory here, and ends it. */
static void
finish_here(struct dir *d)
{
	const Attrib *a = &d->item.a;
	const char *path = d->item.dst;

	if (d->item.copy->flags.preserve && copy_times(path, a) == -1)
		error("local set times on \"%s\": %s", path, strerror(errno));
	if ((a->perm & WRITABLE) != WRITABLE &&
	    chmod(path, a->perm & 01777) == -1)
		error("local chmod directory \"%s\": %s", path,
		    strerror(errno));
	dir_end(d);
}

static void
got_setstat(struct request *req, struct reply *reply)
{
	struct dir *d = dir_of(req->item);

	if (reply->status != SSH2_FX_OK)
		error("remote setstat \"%s\": %s", d->item.dst,
		    fx2txt(reply->status));
	dir_end(d);
}

/* Ends a directory after all its items have ended. */
static void
dir_check(struct item *item)
{
	struct dir *d = dir_of(item);
	const struct copy *copy = item->copy;

	if (!d->listed || item->running != 0 || item->inflight != 0 ||
	    item->state != ITEM_ACTIVE)
		return;
	if (item->why == NULL && copy->kind == COPY_GET)
		finish_here(d);
	else if (item->why == NULL && (d->created || copy->flags.preserve))
		copy_send(d->target, item, SSH2_FXP_SETSTAT, got_setstat,
		    &(struct body){ .path = item->dst, .a = &d->set });
	else
		dir_end(d);
}

/* Adds an item for the entry `name` of a directory. */
static void
add_child(struct item *dir, struct item *after, const char *name,
    const Attrib *a)
{
	const struct item_ops *ops = NULL;
	char *src = sftp_path_append(dir->src, name);
	char *dst = sftp_path_append(dir->dst, name);

	if (S_ISLNK(a->perm) && dir->copy->flags.follow && after == NULL)
		ops = &link_ops;
	else if (S_ISDIR(a->perm))
		ops = &copy_dir_ops;
	else if (S_ISREG(a->perm))
		ops = &copy_file_ops;
	else if (dir->copy->kind == COPY_GET)
		logit("download \"%s\": not a regular file", src);
	else if (dir->copy->kind == COPY_CROSS && !S_ISLNK(a->perm))
		logit("origin \"%s\": not a regular file", src);
	else
		logit("%s: not a regular file", name);
	if (ops != NULL)
		(void)copy_item_new(dir->copy, dir, after, ops, src, dst, a);
	free(dst);
	free(src);
}

/* Returns 1 if a server's name for an entry stays inside of the target. */
static int
name_is_good(struct dir *d, const char *name, const Attrib *a)
{
	int dots = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
#ifdef HAVE_CYGWIN
	const char *separators = "/\\";
#else
	const char *separators = "/";
#endif

	/* No system has longer names, and one would need memory. */
	if (strpbrk(name, separators) == NULL && *name != '\0' && !dots &&
	    strlen(name) < PATH_MAX)
		return 1;
	if (!dots || !(S_ISDIR(a->perm) ||
	    (S_ISLNK(a->perm) && d->item.copy->flags.follow)))
		error("Server sent suspect path \"%s\" during readdir of "
		    "\"%s\"", name, d->item.src);
	return 0;
}

static void
got_close(struct request *req, struct reply *reply)
{
	if (reply->status != SSH2_FX_OK)
		error("close remote: %s", fx2txt(reply->status));
	dir_check(req->item);
}

/* No more names are read: closes the handle. */
static void
list_end(struct dir *d)
{
	d->listed = 1;
	copy_item_unqueue(&d->item);
	copy_send(d->item.copy->streams[0], &d->item, SSH2_FXP_CLOSE,
	    got_close, &(struct body){ .h = &d->handle });
	handle_free(&d->handle);
	copy_item_closed(&d->item);
}

/* Makes an item of the next entry in a server's reply. */
static void
next_entry(struct dir *d)
{
	char *name;
	Attrib a;
	int r;

	d->left--;
	if ((r = sshbuf_get_cstring(d->reply, &name, NULL)) != 0 ||
	    (r = sshbuf_skip_string(d->reply)) != 0)
		fatal_fr(r, "parse filenames");
	if ((r = decode_attrib(d->reply, &a)) != 0) {
		error_fr(r, "couldn't decode attrib");
		list_failed(d);
		list_end(d);
	} else if (name_is_good(d, name, &a))
		add_child(&d->item, NULL, name, &a);
	free(name);
}

static void
got_names(struct request *req, struct reply *reply)
{
	struct dir *d = dir_of(req->item);
	int r;

	if (d->listed) {
		dir_check(&d->item);
		return;
	}
	sshbuf_free(d->reply);
	d->reply = NULL;
	if (reply->type == SSH2_FXP_STATUS && reply->status != SSH2_FX_EOF) {
		error("Couldn't read directory: %s", fx2txt(reply->status));
		list_failed(d);
	} else if (reply->type != SSH2_FXP_STATUS &&
	    ((r = sshbuf_get_u32(reply->m, &d->left)) != 0 ||
	    (d->reply = sshbuf_new()) == NULL ||
	    (r = sshbuf_putb(d->reply, reply->m)) != 0))
		fatal_fr(r, "parse count");
	if (d->left == 0)
		list_end(d);
}

/* Makes an item of the next name that a local directory has. */
static void
next_name(struct dir *d)
{
	struct dirent *entry = d->names[d->next++];
	const char *how = NULL, *name = entry->d_name;
	char *src = sftp_path_append(d->item.src, name);
	struct stat st;
	Attrib a;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		goto out;
	if (lstat(src, &st) == -1)
		how = "lstat";
	else if (S_ISLNK(st.st_mode) && d->item.copy->flags.follow &&
	    stat(src, &st) == -1)
		how = "stat";
	if (how != NULL) {
		logit("local %s \"%s\": %s", how, name, strerror(errno));
		d->item.failed = 1;
	} else {
		stat_to_attrib(&st, &a);
		add_child(&d->item, NULL, name, &a);
	}
 out:
	free(src);
	free(entry);
}

static void
dir_stop(struct item *item, const struct stream *lost)
{
	struct dir *d = dir_of(item);

	/* Directories need the primary stream only. */
	if (lost != NULL)
		return;
	copy_item_unqueue(item);
	if (d->handle.p != NULL)
		list_end(d);
	else if (item->copy->kind == COPY_PUT)
		d->listed = 1;
	dir_check(&d->item);
}

static int
dir_send(struct item *item, struct stream *s)
{
	struct dir *d = dir_of(item);
	const struct copy *copy = item->copy;
	/* Directories may have all handles: then read on. */
	u_int most = copy->refused && copy->open == copy->dirs ?
	    COPY_PENDING_MOST : PENDING_MAX;

	if (interrupted) {
		dir_stop(item, NULL);
		return 0;
	}
	/* A known name needs no stream. */
	if ((copy->root->pending >= most && item->pending != 0) ||
	    (d->left == 0 && (s->index != 0 || item->inflight != 0)))
		return 0;
	if (d->left != 0)
		next_entry(d);
	else if (copy->kind != COPY_PUT)
		copy_send(s, item, SSH2_FXP_READDIR, got_names,
		    &(struct body){ .h = &d->handle });
	else if (d->next < d->count)
		next_name(d);
	else {
		d->listed = 1;
		copy_item_unqueue(item);
		dir_check(&d->item);
	}
	return 1;
}

static void
got_handle(struct request *req, struct reply *reply)
{
	struct dir *d = dir_of(req->item);

	if (reply->type != SSH2_FXP_HANDLE) {
		if (copy_item_refused(&d->item)) {
			copy_item_defer(&d->item);
			return;
		}
		error("remote readdir(\"%s\"): %s", d->item.src,
		    fx2txt(reply->status));
		list_failed(d);
		dir_end(d);
		return;
	}
	handle_take(&d->handle, reply);
	copy_item_queue(&d->item);
}

/* Begins to read a directory: the target is there. */
static void
begin_list(struct dir *d)
{
	d->item.ready = 1;
	if (d->item.copy->kind != COPY_PUT) {
		copy_send(d->item.copy->streams[0], &d->item,
		    SSH2_FXP_OPENDIR, got_handle,
		    &(struct body){ .path = d->item.src });
		return;
	}
	/* Close it at once: copies of its entries need the descriptor. */
	d->count = scandir(d->item.src, &d->names, NULL, NULL);
	if (d->count != -1)
		copy_item_queue(&d->item);
	else if (copy_item_not_opened(&d->item, "local opendir", d->item.src))
		copy_item_defer(&d->item);
	else
		dir_end(d);
}

/* Checks the attributes of the target that already exists. */
static void
got_found(struct request *req, struct reply *reply)
{
	struct dir *d = dir_of(req->item);

	if (reply->type != SSH2_FXP_ATTRS)
		copy_item_fail(&d->item, "stat remote: %s",
		    fx2txt(reply->status));
	else if (!S_ISDIR(reply->a.perm))
		copy_item_fail(&d->item, "\"%s\" exists but is not a directory",
		    d->item.dst);
	if (d->item.why != NULL)
		dir_end(d);
	else
		begin_list(d);
}

static void
got_mkdir(struct request *req, struct reply *reply)
{
	struct dir *d = dir_of(req->item);

	if (reply->status == SSH2_FX_OK) {
		d->created = 1;
		begin_list(d);
		return;
	}
	/* No status means "exists". */
	copy_send(req->stream, &d->item, SSH2_FXP_STAT, got_found,
	    &(struct body){ .path = d->item.dst });
}

/* Makes a directory at a server. It has to be writable while it is copied. */
static void
make_there(struct dir *d)
{
	Attrib now;

	d->set.flags &= ~(SSH2_FILEXFER_ATTR_SIZE | SSH2_FILEXFER_ATTR_UIDGID);
	d->set.perm &= 01777;
	if (d->item.copy->kind == COPY_PUT && !d->item.copy->flags.preserve)
		d->set.flags &= ~SSH2_FILEXFER_ATTR_ACMODTIME;
	now = d->set;
	now.perm |= WRITABLE;
	copy_send(d->target, &d->item, SSH2_FXP_MKDIR, got_mkdir,
	    &(struct body){ .path = d->item.dst, .a = &now });
}

static void
make_here(struct dir *d)
{
	mode_t mode = (d->item.a.perm & 01777) | WRITABLE;

	if (mkdir(d->item.dst, mode) == -1 && errno != EEXIST) {
		copy_item_fail(&d->item, "mkdir %s: %s", d->item.dst,
		    strerror(errno));
		dir_end(d);
	} else
		begin_list(d);
}

static void
dir_start(struct item *item)
{
	struct dir *d = dir_of(item);
	struct stat st;

	if (item->depth >= DEPTH_MAX)
		copy_item_fail(item, "Maximum directory depth exceeded: "
		    "%d levels", item->depth);
	else if (item->copy->kind == COPY_PUT && stat(item->src, &st) == -1)
		copy_item_fail(item, "stat local \"%s\": %s", item->src,
		    strerror(errno));
	else if (item->copy->kind == COPY_PUT)
		stat_to_attrib(&st, &item->a);
	if (!S_ISDIR(item->a.perm))
		copy_item_fail(item, "\"%s\" is not a directory", item->src);
	if (item->why != NULL) {
		dir_end(d);
		return;
	}
	if (!item->ready)
		item->announce = item->copy->flags.print == 1;
	d->target = item->copy->streams[item->copy->kind == COPY_CROSS];
	d->set = item->a;
	if (item->copy->kind != COPY_PUT)
		copy_item_opened(item);
	if (item->copy->kind == COPY_GET)
		make_here(d);
	else
		make_there(d);
}

const struct item_ops copy_dir_ops = {
	.size = sizeof(struct dir),
	.start = dir_start,
	.send = dir_send,
	.child = dir_check,
	.stop = dir_stop,
};

/* A symbolic link at a server: its target is copied in its place. */
static void
got_pointee(struct request *req, struct reply *reply)
{
	struct item *item = req->item;
	const char *slash = strrchr(item->src, '/');
	const char *name = slash == NULL ? item->src : slash + 1;

	if (reply->type != SSH2_FXP_ATTRS) {
		debug("stat remote: %s", fx2txt(reply->status));
		logit("remote stat \"%s\" failed", item->src);
		item->failed = 1;
	} else if (!interrupted)
		add_child(item->parent, item, name, &reply->a);
	copy_item_end(item);
}

static void
link_start(struct item *item)
{
	copy_send(item->copy->streams[0], item, SSH2_FXP_STAT, got_pointee,
	    &(struct body){ .path = item->src });
}

static const struct item_ops link_ops = {
	.size = sizeof(struct item),
	.start = link_start,
};
