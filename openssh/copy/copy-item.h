/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef COPY_ITEM_H
#define COPY_ITEM_H

#include <sys/types.h>

#include <signal.h>
#include <stdint.h>

#include "openbsd-compat/sys-queue.h"

#include "sftp.h"
#include "sftp-common.h"
#include "sftp-conn.h"

/* A copy is a tree of files and directories, reported in stock's order. */

struct item;
struct stat;
struct stream;

extern volatile sig_atomic_t interrupted;	/* 1: by the user */
extern int showprogress;			/* 1: files have meters */

#define COPY_STREAMS_MAX	8	/* most streams of a copy */
#define COPY_PENDING_MOST	100000	/* pending items: read no more */
#define COPY_ALONE_AFTER	4	/* refusals: then it is opened alone */

enum copy_kind {
	COPY_GET,		/* from the server of stream 0 */
	COPY_PUT,		/* to the server of stream 0 */
	COPY_CROSS		/* from server of stream 0 to that of 1 */
};

enum item_state {
	ITEM_PENDING,		/* not started, or deferred */
	ITEM_ACTIVE,
	ITEM_DONE
};

/* The operations of a kind of item. They never block. NULL: no operation */
struct item_ops {
	size_t	 size;		/* bytes of its struct, such as struct file */
	void	(*start)(struct item *item);
	void	(*child)(struct item *item);	/* handles the end of a child */

	/*
	 * Sends a request, or several that belong together, on stream `s`.
	 * Returns 1, or 0 if the item has no request for `s` now.
	 */
	int	(*send)(struct item *item, struct stream *s);

	/* Handles the loss of stream `lost`, or ^C if this is NULL. */
	void	(*stop)(struct item *item, const struct stream *lost);
};

TAILQ_HEAD(items, item);

struct item {
	const struct item_ops *ops;
	struct copy *copy;
	struct item *parent;	/* the directory that it is in; NULL: none */
	struct items children;	/* that have not been reported */
	struct item *cursor;	/* where pending ones start; NULL: the first */
	TAILQ_ENTRY(item) sibling;
	TAILQ_ENTRY(item) entry;	/* in copy->sending */
	int queued;		/* 1: it is in copy->sending */
	enum item_state state;
	char *src, *dst;	/* paths */
	Attrib a;		/* attributes of src */
	u_int depth;		/* directories above it */
	u_int pending;		/* items not started, at and below it */
	u_int running;		/* children that have not ended */
	u_int inflight;		/* requests that have not been answered */
	char *why;		/* why it was not copied, or NULL */
	int failed;		/* 1: it, or an item below, was not copied */
	int counted;		/* 1: it counts in copy->open */
	u_int refusals;		/* how often it was refused a handle */
	u_int open_max;		/* the copy's limit at the first refusal */
	int ready;		/* 1: its target exists */
	int announce;		/* 1: its name is to be printed */
	int metered;		/* 1: it has a progress meter */
	off_t done;		/* bytes copied, for the meter */
	off_t from;		/* bytes that were there before */
	double began_s;		/* when its bytes could move */
	double ended_s;		/* when it was done */
	int writes;		/* 1: it writes to dev, ino */
	dev_t dev;
	ino_t ino;
	TAILQ_ENTRY(item) writer;
};

struct copy {
	enum copy_kind kind;
	struct copy_flags flags;
	int tree;		/* 1: it began with a directory */
	struct stream *streams[COPY_STREAMS_MAX];
	u_int nstreams;
	struct item *root;
	struct items sending;	/* items that may have requests to send */
	struct items writers;	/* items that write to a local file */
	u_int open;		/* items that hold or await a handle or fd */
	u_int dirs;		/* directories among these */
	u_int open_max;		/* its current limit */
	u_int open_before;	/* its limit before the refusals */
	u_int open_limit;	/* its upper limit */
	u_int descriptors;	/* number that it may use */
	int refused;		/* 1: one was refused, none granted since */
	u_int unreported;	/* items that ended, but are not reported */
	struct item *metered;	/* the item whose meter is shown, or NULL */
	u_int most;		/* maximum number of streams */
	u_int sharing;		/* streams that are not lost */
	int wants_more;		/* 1: more streams would help */
	int no_more;		/* 1: no more streams can be started */
	int stopping;		/* 1: the user has interrupted */
	double polled_s;	/* time of the last poll(2) */
};

extern const struct item_ops copy_dir_ops, copy_file_ops;

/* Returns a new child of `parent`: after `after`, or if NULL, the last one. */
struct item *copy_item_new(struct copy *copy, struct item *parent,
	    struct item *after, const struct item_ops *ops, const char *src,
	    const char *dst, const Attrib *a);

/* Returns the first item that is pending, or NULL. */
struct item *copy_item_first_pending(struct copy *copy);

/* Returns the item to report next; prints directories that precede it. */
struct item *copy_item_front(struct copy *copy);

/* Starts an item, or defers it: it is pending again. */
void	 copy_item_start(struct item *item);
void	 copy_item_defer(struct item *item);

/* Records that an item may have requests to send, or has none. */
void	 copy_item_queue(struct item *item);
void	 copy_item_unqueue(struct item *item);

/* Records the first reason why an item fails, which is printed at its end. */
void	 copy_item_fail(struct item *item, const char *fmt, ...)
	    __attribute__((format(printf, 2, 3)));

/* Records that an item has ended, and tells its parent. */
void	 copy_item_end(struct item *item);

/* Tells items that a stream is lost. NULL: ^C, so pending ones are dropped. */
void	 copy_item_stop(struct copy *copy, const struct stream *lost);

/* Reports items that have ended, in order, and frees them. */
void	 copy_item_report(struct copy *copy);

/* Frees an item that has ended, and has none below it. */
void	 copy_item_free(struct item *item);

/*
 * Records that an item will write to a local file until it ends or is deferred.
 * Returns 0, or -1 if it has to wait for another item that writes to this file.
 */
int	 copy_item_claim(struct item *item, const struct stat *st);

/* Records that an item opens, or has closed, a handle or descriptor. */
void	 copy_item_opened(struct item *item);
void	 copy_item_closed(struct item *item);

/* Records that a server has opened a file. The limit may grow. */
void	 copy_item_granted(struct copy *copy);

/*
 * Records that an item was refused a handle. Returns 1 if it is to wait until
 * fewer are open, or 0 if that is final: if the item was opened alone, the copy
 * is of one file, or only directories are open and COPY_PENDING_MOST items are
 * pending.
 */
int	 copy_item_refused(struct item *item);

/*
 * Handles errno after a failure to open a local path. Returns 1 if the item is
 * to be deferred, or 0 if it has failed. `what` begins the error message.
 */
int	 copy_item_not_opened(struct item *item, const char *what,
	    const char *path);

/* Sets the times of a local path, if `a` has any. Returns as utimes(2) does. */
int	 copy_times(const char *path, const Attrib *a);

#endif /* COPY_ITEM_H */
