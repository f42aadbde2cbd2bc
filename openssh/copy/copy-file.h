/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef COPY_FILE_H
#define COPY_FILE_H

#include "copy-stream.h"

/*
 * Copies a file. Its phases: OPENING > COMPARING (-Z) > MOVING > CHECKING (if
 * the source may have changed) > ENDING > done.
 *
 * While MOVING, ranges of bytes are requested in order, over one stream or
 * several. After all replies, the file is finalized: errors are reported, the
 * target is truncated at its first gap, and all remaining requests are sent at
 * once. ENDING waits for the replies to these.
 */

#define FILE_TAIL	32768		/* bytes requested after a file's end */
#define FILE_CHUNK	(1024 * 1024)	/* bytes that a stream takes at once */
#define FILE_CHUNKS	512		/* more than a stream has in flight */
#define FILE_SPAN	(64 * 1024 * 1024) /* bytes at the end: may have gaps */
#define FILE_LARGE	(32 * 1024 * 1024) /* bytes: may use several streams */

enum file_phase {
	FILE_OPENING, FILE_COMPARING, FILE_MOVING, FILE_CHECKING, FILE_ENDING
};

enum part_state {
	PART_NONE, PART_OPENING, PART_OPEN, PART_CLOSING, PART_CLOSED,
	PART_REFUSED
};

/* A file's handle on a stream, and the range that it copies now */
struct part {
	enum part_state state;
	struct handle handle;
	uint64_t at, end;	/* offsets: unrequested rest of the range */
	uint64_t asked;		/* bytes requested, not yet copied */
	uint64_t got;		/* bytes that READs returned */
};

/* A range that has to be requested again */
struct range {
	TAILQ_ENTRY(range) entry;
	uint64_t offset;
	size_t len;
};
TAILQ_HEAD(ranges, range);

/* State of the comparison of -Z, see copy-compare.c */
struct compare {
	int digests;		/* 1: compared by digests */
	uint64_t next;		/* offset of the next range */
	uint64_t end;		/* offset after the last range */
	uint64_t differs;	/* offset of the first range that differs */
	int unknown;		/* 1: the target cannot be compared */
};

struct file {
	struct item item;	/* must be the first field */
	int primary_only;	/* 1: on stream 0, not pipelined */

	/* file_reset() clears what follows. */
	enum file_phase phase;

	struct part part[COPY_STREAMS_MAX];	/* by the stream's index */
	struct stream *home;	/* on which it began */
	struct stream *target;	/* `home`, or that of the other server */
	int fd;			/* local file, or -1 */
	Attrib set;		/* attributes to set at the server */
	size_t buflen;		/* bytes of a request */

	uint64_t size;		/* bytes of the source; 0: unknown */
	uint64_t next;		/* offset of the first byte not requested */
	uint64_t unrequested;	/* its bytes in home->unrequested */
	uint64_t gap;		/* first offset that failed, or UINT64_MAX */
	uint64_t data_end;	/* offset after the last byte moved */
	uint64_t ended;		/* where the source ended, or UINT64_MAX */
	struct ranges lost;	/* to be requested again */
	u_int reads, writes;	/* READs and WRITEs in flight */
	u_int tail;		/* READs in flight after the expected end */

	int closed_early;	/* 1: CLOSE was sent before all answers */
	u_int setstats_failed;	/* number of SETSTATs that failed */
	u_int setstat_status[3];	/* SSH2_FX_*: why; at most three */
	u_int close_status;	/* SSH2_FX_*, after another error */
	int redo;		/* 1: copy it again, with primary_only */
	int deferred;		/* 1: copy it again, when fewer are open */
	int zero_length;	/* 1: a reply had no data */
	int appends;		/* 1: the target was opened with APPEND */
	int many;		/* 1: several streams have copied it */
	int incomplete;		/* its number in sftp-incomplete.h, or -1 */
	struct compare compare;	/* while COMPARING */
	uint64_t have;		/* bytes of the old target, to be resumed */
	uint32_t *moved;	/* bytes copied of each of FILE_CHUNKS chunks,
				 * from `low` on; NULL: one stream only */
	uint64_t low;		/* number of the first chunk that is missing */
};

/* Returns the file that an item is. */
static inline struct file *
file_of(struct item *item)
{
	return (struct file *)item;
}

/* Returns the kind of a file's copy. */
static inline enum copy_kind
file_kind(const struct file *f)
{
	return f->item.copy->kind;
}

/* Returns 1 if the target of `f` is at the server of `s`, 0: its source. */
static inline int
file_is_target(const struct file *f, const struct stream *s)
{
	return file_kind(f) == COPY_PUT ||
	    (file_kind(f) == COPY_CROSS && s->index == 1);
}

/* Returns 1 if a file's data and end are requested at once. */
static inline int
file_is_small(const struct file *f)
{
	return f->size <= f->buflen && !f->item.copy->flags.resume;
}

/* copy-file.c: how a file begins and ends, and its handles */

/* Returns 1 if the file had an error, or the user has interrupted. */
int	 file_is_bad(const struct file *f);

/*
 * Returns 1 if the last requests of a small file may be sent before its data is
 * acknowledged, or 0 if the server may execute requests in another order.
 */
int	 file_may_pipeline(const struct file *f, const struct stream *s);

/*
 * Records that a target in a tree is incomplete: its name is printed if the
 * program ends. Call this before opening the target, as a signal may end the
 * program right after the opening.
 */
void	 file_begin_target(struct file *f);

/* Sends an OPEN of the target if `flags` has WRITE, else of the source. */
void	 file_open(struct file *f, struct stream *s, u_int flags,
	    copy_got *got);

/* Handles the reply to an OPEN on a stream, additional ones included. */
void	 file_got_handle(struct request *req, struct reply *reply);

/* Evaluates the reply to an OPEN. Returns 1 if it has a handle, else 0. */
int	 file_opened(struct file *f, struct request *req, struct reply *reply);

/* Sends CLOSE for a stream's part, if it is open. */
void	 file_close_part(struct file *f, struct stream *s);

/* Records that the target is open: data may be copied from now on. */
void	 file_begin_moving(struct file *f);

/* Call this after a reply: opens the target, finalizes or ends the file. */
void	 file_advance(struct file *f);

/* copy-data.c: the bytes of a file, READs and WRITEs */

/* Sets a file to what it is before it starts. */
void	 file_reset(struct file *f);

/* Returns how many bytes of the target come before its first gap. */
uint64_t file_there(const struct file *f);

/*
 * Chooses the next range of the file for the stream whose part is `p`. Returns
 * the range's length and sets *offset, or returns 0 if there is none now.
 */
size_t	 file_take_range(struct file *f, struct part *p, uint64_t *offset);

/* Returns 1 if there may be unrequested ranges, else 0. */
int	 file_has_range(const struct file *f);

/* Records that `len` of the unrequested bytes are requested. */
void	 file_requested(struct file *f, uint64_t len);

/* Records that a range is copied, or has to be requested again. */
void	 file_moved(struct file *f, uint64_t offset, size_t len);
void	 file_range_lost(struct file *f, uint64_t offset, size_t len);

/*
 * Returns how many of a target's first `have` bytes surely lack gaps: several
 * streams may leave gaps in the last FILE_SPAN bytes of a large file.
 */
uint64_t file_without_gaps(const struct file *f, uint64_t have);

/* Sends a request for data. Returns what `send` of item_ops returns. */
int	 data_send(struct item *item, struct stream *s);

/* Call this after all replies: checks the source, finalizes the target. */
void	 data_settle(struct file *f);

/* copy-target.c: the target */

/* Opens the target. The source is open. */
void	 target_open(struct file *f);

/* Opens a local target. Returns 0, or -1 if it failed or has to wait. */
int	 target_open_here(struct file *f);

/* Records that -Z keeps the first `keep` bytes of the target. */
void	 target_keep(struct file *f, uint64_t keep);

/*
 * Sets the target's attributes and flushes it, if requested. After an error,
 * truncates it at its first gap.
 */
void	 target_finish(struct file *f);

/* copy-compare.c: compares the target of -Z with its source */

/*
 * Starts to compare the f->have bytes of a target with its source of f->size
 * bytes. The local file is f->fd; the remote handle is that of f->home. Passes
 * the result to target_keep().
 */
void	 copy_compare(struct file *f);

/* As data_send(), for a file that is being compared. Returns the same. */
int	 copy_compare_send(struct file *f, struct stream *s);

#endif /* COPY_FILE_H */
