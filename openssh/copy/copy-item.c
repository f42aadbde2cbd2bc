/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/stat.h>
#include <sys/time.h>

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "progressmeter.h"
#include "utf8.h"
#include "xmalloc.h"
#include "copy-item.h"

/* Adds n to the pending counts of an item and of all items above it. */
static void
count_pending(struct item *item, int n)
{
	for (; item != NULL; item = item->parent) {
		/* It may be before the cursor. */
		if (item->pending == 0 && item->parent != NULL)
			item->parent->cursor = NULL;
		item->pending += n;
	}
}

struct item *
copy_item_new(struct copy *copy, struct item *parent, struct item *after,
    const struct item_ops *ops, const char *src, const char *dst,
    const Attrib *a)
{
	struct item *item = xcalloc(1, ops->size);

	item->ops = ops;
	item->copy = copy;
	item->parent = parent;
	TAILQ_INIT(&item->children);
	item->src = xstrdup(src);
	item->dst = xstrdup(dst);
	if (a != NULL)
		item->a = *a;
	if (after != NULL) {
		TAILQ_INSERT_AFTER(&parent->children, after, item, sibling);
		parent->cursor = NULL;
	} else if (parent != NULL)
		TAILQ_INSERT_TAIL(&parent->children, item, sibling);
	if (parent != NULL) {
		parent->running++;
		item->depth = parent->depth + 1;
	}
	item->pending = 1;
	count_pending(parent, 1);
	return item;
}

struct item *
copy_item_first_pending(struct copy *copy)
{
	struct item *item = copy->root, *child;

	if (item->pending == 0)
		return NULL;
	while (item->state != ITEM_PENDING) {
		if ((child = item->cursor) == NULL)
			child = TAILQ_FIRST(&item->children);
		while (child->pending == 0)
			child = TAILQ_NEXT(child, sibling);
		item->cursor = child;
		item = child;
	}
	return item;
}

void
copy_item_start(struct item *item)
{
	if (item->state == ITEM_PENDING)
		count_pending(item, -1);
	item->state = ITEM_ACTIVE;
	item->ops->start(item);
}

void
copy_item_unqueue(struct item *item)
{
	if (item->queued)
		TAILQ_REMOVE(&item->copy->sending, item, entry);
	item->queued = 0;
}

void
copy_item_queue(struct item *item)
{
	if (!item->queued)
		TAILQ_INSERT_TAIL(&item->copy->sending, item, entry);
	item->queued = 1;
}

void
copy_item_opened(struct item *item)
{
	item->copy->open++;
	item->copy->dirs += item->ops->child != NULL;
	item->counted = 1;
}

void
copy_item_closed(struct item *item)
{
	item->copy->open -= item->counted;
	item->copy->dirs -= item->counted && item->ops->child != NULL;
	item->counted = 0;
}

static void
let_go(struct item *item)
{
	copy_item_unqueue(item);
	copy_item_closed(item);
	if (item->writes)
		TAILQ_REMOVE(&item->copy->writers, item, writer);
	item->writes = 0;
}

void
copy_item_defer(struct item *item)
{
	let_go(item);
	item->state = ITEM_PENDING;
	count_pending(item, 1);
}

void
copy_item_granted(struct copy *copy)
{
	copy->refused = 0;
	if (copy->open_max < copy->open_limit && (copy->open >=
	    copy->open_max || copy->dirs >= copy->open_max / 2))
		copy->open_max++;
}

int
copy_item_refused(struct item *item)
{
	struct copy *copy = item->copy;

	copy_item_closed(item);
	if (item->refusals++ == 0)
		item->open_max = copy->open_max;
	if (!copy->refused)
		copy->open_before = copy->open_max;
	if (copy->stopping || !copy->tree ||
	    (item->refusals > COPY_ALONE_AFTER && copy->open == 0) ||
	    (copy->open == copy->dirs &&
	    copy->root->pending + 1 >= COPY_PENDING_MOST)) {
		/* The number of open files is not the reason. */
		copy->open_max = MAXIMUM(copy->open_before, item->open_max);
		return 0;
	}
	copy->open_max = MAXIMUM(copy->open, 1);
	copy->refused = 1;
	return 1;
}

int
copy_item_not_opened(struct item *item, const char *what, const char *path)
{
	int e = errno;

	if ((e == EMFILE || e == ENFILE) && copy_item_refused(item))
		return 1;
	copy_item_fail(item, "%s \"%s\": %s", what, path, strerror(e));
	return 0;
}

void
copy_item_fail(struct item *item, const char *fmt, ...)
{
	va_list args;

	if (item->why != NULL)
		return;
	va_start(args, fmt);
	xvasprintf(&item->why, fmt, args);
	va_end(args);
}

/* Ends the item's meter, if it is shown. */
static void
hide_meter(struct item *item)
{
	if (item->copy->metered != item)
		return;
	stop_progress_meter();
	item->copy->metered = NULL;
	item->metered = 0;
}

void
copy_item_end(struct item *item)
{
	struct item *parent = item->parent;

	if (item->why != NULL) {
		hide_meter(item);
		/* Its name is printed first. */
		(void)copy_item_front(item->copy);
		error("%s", item->why);
		item->failed = 1;
	}
	let_go(item);
	item->state = ITEM_DONE;
	item->ended_s = monotime_double();
	item->copy->unreported++;
	if (parent == NULL)
		return;
	parent->running--;
	parent->failed |= item->failed;
	parent->ops->child(parent);
}

static void
stop(struct item *item, const struct stream *lost)
{
	struct item *child, *next;

	TAILQ_FOREACH_SAFE(child, &item->children, sibling, next)
		stop(child, lost);
	if (item->state == ITEM_PENDING && lost == NULL) {
		count_pending(item, -1);
		item->failed = 1;
		copy_item_end(item);
	} else if (item->state == ITEM_ACTIVE && item->ops->stop != NULL)
		item->ops->stop(item, lost);
}

void
copy_item_stop(struct copy *copy, const struct stream *lost)
{
	copy->stopping |= lost == NULL;
	stop(copy->root, lost);
}

void
copy_item_free(struct item *item)
{
	if (item->parent != NULL) {
		if (item->parent->cursor == item)
			item->parent->cursor = TAILQ_NEXT(item, sibling);
		TAILQ_REMOVE(&item->parent->children, item, sibling);
	}
	free(item->src);
	free(item->dst);
	free(item->why);
	free(item);
}

struct item *
copy_item_front(struct copy *copy)
{
	struct item *item = copy->root, *child;

	for (;;) {
		/* The analyzer doesn't see that what is freed is taken out. */
		if (item->announce) { /* NOLINT(clang-analyzer-unix.Malloc) */
			mprintf("%s %s\n", copy->kind == COPY_PUT ?
			    "Entering" : "Retrieving", item->src);
			item->announce = 0;
		}
		if ((child = TAILQ_FIRST(&item->children)) == NULL)
			return item;
		item = child;
	}
}

/* Shows the meter of the front item. */
static void
show_meter(struct item *item)
{
	struct copy *copy = item->copy;
	const char *slash = strrchr(item->src, '/');
	double waited_s = item->state != ITEM_DONE ? 0 :
	    monotime_double() - item->ended_s;

	if (item->metered && item->ready && copy->metered != item) {
		copy->metered = item;
		start_progress_meter(slash == NULL || slash[1] == '\0' ?
		    item->src : slash + 1, item->a.size, &item->done);
		/* It may have begun before its turn. */
		progress_meter_began(item->began_s + waited_s, item->from);
	}
	if (item->state == ITEM_DONE)
		hide_meter(item);
}

void
copy_item_report(struct copy *copy)
{
	struct item *item;

	for (;;) {
		item = copy_item_front(copy);
		show_meter(item);
		if (item->state != ITEM_DONE || item == copy->root)
			return;
		copy->unreported--;
		copy_item_free(item);
	}
}

int
copy_item_claim(struct item *item, const struct stat *st)
{
	struct item *other;

	if (item->writes || !S_ISREG(st->st_mode))
		return 0;
	TAILQ_FOREACH(other, &item->copy->writers, writer) {
		if (other->dev == st->st_dev && other->ino == st->st_ino) {
			copy_item_closed(item);
			item->copy->open_max = MAXIMUM(item->copy->open, 1);
			return -1;
		}
	}
	item->dev = st->st_dev;
	item->ino = st->st_ino;
	TAILQ_INSERT_TAIL(&item->copy->writers, item, writer);
	item->writes = 1;
	return 0;
}

int
copy_times(const char *path, const Attrib *a)
{
	const struct timeval tv[2] = {
		{ .tv_sec = a->atime }, { .tv_sec = a->mtime }
	};

	return (a->flags & SSH2_FILEXFER_ATTR_ACMODTIME) ? utimes(path, tv) : 0;
}
