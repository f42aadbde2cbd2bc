/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "misc.h"
#include "xmalloc.h"
#include "sftp.h"
#include "sftp-common.h"
#include "copy-same.h"

/* Bytes of a file still to be sent, at least, if it is to be seen growing */
#define GROWS		(4 * 1024 * 1024)

/* Looks at a target that does not grow, and looks that see what can't be */
#define LOOKS_MAX	6
#define WRONG_MAX	8

/* Time (s) between two looks: twice as long each time, up to a maximum */
#define PAUSE_S		0.01
#define PAUSE_MAX_S	1.0

/* Chooses another target. */
static void
leave(struct same *c)
{
	free(c->item.dst);
	c->item.dst = NULL;
	c->looks = 0;
	c->primary = 0;
	c->targets++;
}

void
copy_same_begin(struct same *c, struct stream *s)
{
	leave(c);
	memset(c, 0, sizeof(*c));
	c->s = s;
}

/* Ends the check. */
static void
decide(struct same *c, int same)
{
	if (!same) {
		stream_lose(c->s, "it does not see the same files");
		return;
	}
	debug("stream %u is used", c->s->index);
	c->s->state = STREAM_UP;
	c->s->since_s = monotime_double();
}

/* Returns the bytes of a target; none if it is not there. */
static uint64_t
bytes(const struct reply *reply)
{
	return reply->type == SSH2_FXP_ATTRS ? reply->a.size : 0;
}

/* Takes what the primary sees, after the stream: has it seen a change? */
static void
got_primary(struct request *req, struct reply *reply)
{
	struct same *c = (struct same *)req->item;
	uint64_t before = c->primary;
	int wrong;

	if (c->s->state != STREAM_UNCHECKED)
		return;
	c->primary = bytes(reply);
	wrong = c->last < before || c->last > c->primary;
	if (c->looks++ == 0)
		c->first = c->last;
	if (!wrong && c->last > c->first)
		decide(c, 1);
	else if (wrong && ++c->wrong == WRONG_MAX)
		decide(c, 0);
	else if (wrong || c->looks == LOOKS_MAX)
		leave(c);
	c->pause_s = MINIMUM(MAXIMUM(2 * c->pause_s, PAUSE_S), PAUSE_MAX_S);
	c->next_s = monotime_double() + c->pause_s;
}

static void
got_target(struct request *req, struct reply *reply)
{
	struct same *c = (struct same *)req->item;

	if (reply->lost)
		return;
	c->last = bytes(reply);
	copy_send(c->item.copy->streams[0], &c->item, SSH2_FXP_STAT,
	    got_primary, &(struct body){ .path = c->item.dst });
}

/* Returns 1 if two files may be the same, by what is told of the first. */
static int
is_same(const Attrib *a, const Attrib *b)
{
	const u_int owner = SSH2_FILEXFER_ATTR_UIDGID;
	const u_int flags = (a->flags & owner) | SSH2_FILEXFER_ATTR_SIZE |
	    SSH2_FILEXFER_ATTR_ACMODTIME | SSH2_FILEXFER_ATTR_PERMISSIONS;

	if ((a->flags & b->flags & flags) != flags)
		return 0;
	if ((flags & owner) && (a->uid != b->uid || a->gid != b->gid))
		return 0;
	return a->size == b->size && a->mtime == b->mtime &&
	    a->perm == b->perm;
}

/* Takes the attributes of a source. */
static void
got_source(struct request *req, struct reply *reply)
{
	struct same *c = (struct same *)req->item;

	if (!reply->lost)
		decide(c, reply->type == SSH2_FXP_ATTRS &&
		    is_same(&c->item.a, &reply->a));
}

static int
is_file(const struct item *item)
{
	return item->ops == &copy_get_ops || item->ops == &copy_put_ops;
}

/*
 * Returns a file that is being copied over the primary, or is copied next, or
 * NULL. The target of an upload has to grow for a while, or not to be there
 * yet: those are further ahead after others came too late.
 */
static const struct item *
choose(struct copy *copy, u_int targets)
{
	struct item *item, *next;
	const struct file *f;
	u_int ahead = copy->kind == COPY_GET ? 0 : 1U << MINIMUM(targets, 6);

	TAILQ_FOREACH(item, &copy->sending, entry) {
		f = file_of(item);
		if (is_file(item) && f->home == 0 && item->ready &&
		    (copy->kind == COPY_GET || f->next + GROWS < f->size))
			return item;
	}
	if ((item = copy_item_next(copy)) == NULL || !copy->tree)
		return NULL;
	while (ahead-- > 0 && (next = TAILQ_NEXT(item, sibling)) != NULL &&
	    next->state == ITEM_PENDING)
		item = next;
	return copy->kind == COPY_PUT || is_file(item) ? item : NULL;
}

void
copy_same_tend(struct copy *copy, struct same *c)
{
	int is_put = copy->kind == COPY_PUT;
	const struct item *item;

	c->item.copy = copy;
	if (c->item.inflight != 0 || monotime_double() < c->next_s)
		return;
	if (c->item.dst == NULL) {
		if ((item = choose(copy, c->targets)) == NULL)
			return;
		c->item.dst = xstrdup(is_put ? item->dst : item->src);
		c->item.a = item->a;
	}
	copy_send(c->s, &c->item, SSH2_FXP_STAT,
	    is_put ? got_target : got_source,
	    &(struct body){ .path = c->item.dst });
}
