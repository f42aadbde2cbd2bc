/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef COPY_FILE_H
#define COPY_FILE_H

#include "copy-stream.h"

/*
 * Copies a file, which is an item. A file passes through these phases:
 * OPENING > COMPARING (-Z) > MOVING > CHECKING (if the source may have
 * changed) > ENDING > done.
 *
 * While MOVING, ranges of bytes are requested in order, over one stream or
 * several. After all replies, the file is settled: errors are reported, the
 * target is truncated at its first gap, and all remaining requests are sent at
 * once. ENDING waits for their replies.
 */

#define FILE_TAIL	32768		/* bytes requested after its end */
#define FILE_CHUNK	(1024 * 1024)	/* bytes until a range is chosen */
#define FILE_CHUNKS	512		/* more than a stream has in flight */
#define FILE_SPAN	(64 * 1024 * 1024) /* gaps only in its last bytes */
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
	uint64_t at, end;	/* offsets: its part not yet requested */
	uint64_t asked;		/* bytes requested, not yet copied */
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
	int unknown;		/* 1: the server gave no digest */
};

struct file {
	struct item item;	/* must be the first field */
	int primary_only;	/* 1: and its CLOSE waits for all replies */

	/* file_reset() clears what follows. */
	enum file_phase phase;

	struct part part[COPY_STREAMS_MAX];	/* by the stream's index */
	struct stream *home;	/* on which it began */
	struct stream *target;	/* the same, or that of the other server */
	int fd;			/* local file, or -1 */
	Attrib set;		/* attributes to set at the server */
	size_t buflen;		/* bytes of a request */

	uint64_t size;		/* bytes of the source; 0: unknown */
	uint64_t next;		/* offset of the first byte not requested */
	uint64_t unrequested;	/* its bytes in the `unrequested` of `home` */
	uint64_t gap;		/* first offset that failed, or UINT64_MAX */
	uint64_t data_end;	/* offset after the last byte moved */
	uint64_t ended;		/* where the source ended, or UINT64_MAX */
	struct ranges lost;	/* to be requested again */
	u_int reads, writes;	/* requests for data in flight */
	u_int tail;		/* READs in flight after the expected end */

	int closed_early;	/* 1: CLOSE was sent before all answers */
	u_int setstats_failed;	/* number of FSETSTATs that failed, */
	u_int setstat_status;	/* the last with this SSH2_FX_* */
	int redo;		/* 1: copy it again, with care */
	int deferred;		/* 1: copy it again, when fewer are open */
	int zero_length;	/* 1: a reply had no data */
	int appends;		/* 1: the target was opened with APPEND */
	int many;		/* 1: several streams have copied it */
	int incomplete;		/* its number in sftp-incomplete.h, or -1 */
	struct compare compare;	/* while COMPARING */
	uint64_t have;		/* bytes of the old target, if resumed */
	uint32_t *moved;	/* FILE_CHUNKS counts: bytes copied of the
				 * chunks from `low` on, if streams share it */
	uint64_t low;		/* number of the first chunk that is missing */
};

/* Returns the file that an item is. */
static inline struct file *
file_of(struct item *item)
{
	return (struct file *)item;
}

/* Returns the kind of its copy. */
static inline enum copy_kind
file_kind(const struct file *f)
{
	return f->item.copy->kind;
}

/* Returns 1 if the target of a file, not its source, is at a stream's end. */
static inline int
file_is_target(const struct file *f, const struct stream *s)
{
	return file_kind(f) == COPY_PUT ||
	    (file_kind(f) == COPY_CROSS && s->index == 1);
}

/* Returns 1 if all of it, and its end, is requested at once. */
static inline int
file_is_small(const struct file *f)
{
	return f->size <= f->buflen && !f->item.copy->flags.resume;
}

/* copy-file.c: how a file begins and ends, and its handles */

/* Returns 1 if it had an error, or the user interrupted. */
int	 file_is_bad(const struct file *f);

/*
 * Returns 1 if the last requests of a small file may be sent over a stream
 * before its data is acknowledged: the server executes requests in order.
 */
int	 file_may_pipeline(const struct file *f, const struct stream *s);

/*
 * Records that a target in a tree is incomplete from now on: its name is
 * printed if the program ends. Call this before the target is opened, as a
 * signal may end the program right after that.
 */
void	 file_begin_target(struct file *f);

/* Requests an OPEN of the source, or if flags has WRITE, of the target. */
void	 file_open(struct file *f, struct stream *s, u_int flags,
	    copy_got *got);

/* Takes the handle of a source or target, perhaps on one more stream. */
void	 file_got_handle(struct request *req, struct reply *reply);

/*
 * Handles the reply to an OPEN. Returns 1 if it has a handle. With 0, the file
 * ends, is deferred, or does not use that stream.
 */
int	 file_opened(struct file *f, struct request *req,
	    struct reply *reply);

/* Sends CLOSE for a stream's part, if it is open. */
void	 file_close_part(struct file *f, struct stream *s);

/* The target is open: data may be copied from now on. */
void	 file_begin_moving(struct file *f);

/* After a reply: opens the target, settles or ends the file, if it is time. */
void	 file_advance(struct file *f);

/* copy-data.c: the bytes of a file, READs and WRITEs */

/* Sets a file to what it is before it starts. */
void	 file_reset(struct file *f);

/* Returns how many bytes from the start of the target are there. */
uint64_t file_there(const struct file *f);

/*
 * Chooses the next range of the file for a stream with the part p. Returns its
 * length and sets *offset, or returns 0 if there is none now.
 */
size_t	 file_take_range(struct file *f, struct part *p, uint64_t *offset);

/* Returns 1 if there may be ranges that are not requested, else 0. */
int	 file_has_range(const struct file *f);

/* Records that len of the unrequested bytes are requested. */
void	 file_requested(struct file *f, size_t len);

/* Records that len bytes from an offset on are copied. */
void	 file_moved(struct file *f, uint64_t offset, size_t len);

/* Records that a range has to be requested again. */
void	 file_range_lost(struct file *f, uint64_t offset, size_t len);

/*
 * Returns how many of a target's first `have` bytes are without gaps: several
 * streams may leave gaps in the last FILE_SPAN bytes of a large file.
 */
uint64_t file_without_gaps(const struct file *f, uint64_t have);

/* Of item_ops: sends a request for data. */
int	 data_send(struct item *item, struct stream *s);

/* After all replies: checks the source, and completes the target. */
void	 data_settle(struct file *f);

/* copy-target.c: the target */

/* Opens the target. Its source is open. */
void	 target_open(struct file *f);

/* Opens a local target at once. Returns 0, or -1: failed, or has to wait. */
int	 target_open_here(struct file *f);

/* Records how many bytes of the target of -Z stay. */
void	 target_keep(struct file *f, uint64_t keep);

/* Sets its attributes and flushes it, as wanted; after an error, cuts it. */
void	 target_finish(struct file *f);

/* copy-compare.c: compares the target of -Z with its source */

/*
 * Starts to compare the f->have bytes of a target with its source of f->size
 * bytes. The local file is f->fd; the handle is that of the home stream.
 * target_keep() gets the result.
 */
void	 copy_compare(struct file *f);

/* As item_ops->send, for a file that is being compared */
int	 copy_compare_send(struct file *f, struct stream *s);

/* Ends it after all replies, also after an error or an interrupt. */
void	 copy_compare_check(struct file *f);

#endif /* COPY_FILE_H */
