/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SFTP_PARTS_H
#define SFTP_PARTS_H

#include <sys/types.h>

#include <stdint.h>

/*
 * Which parts of a file have been copied, and which one is next. All have the
 * same size but for the last. They are given out in order, so what is missing
 * lies close together. Pure.
 */

/* The least size (bytes) of a part, and the largest number of parts */
#define SFTP_PART_BYTES		(1024 * 1024)
#define SFTP_PARTS_MAX		(512 * 1024)

struct sftp_parts {
	uint64_t size;		/* bytes of the file */
	uint64_t part;		/* bytes of a part */
	uint64_t done;		/* bytes of the parts that have been copied */
	u_int n;		/* number of parts */
	u_int first;		/* the parts before this one are copied */
	u_int next;		/* the parts from this one on were not given
				 * out yet, unless they are copied */
	u_int back;		/* parts before `next` to be given out again */
	u_char *copied;		/* bit i % 8 of byte i / 8: part i is copied */
	u_char *given;		/* the same: it is given out */
};

/* Returns the size (bytes) of the parts of a file of `size` bytes. */
uint64_t sftp_parts_part(uint64_t size);

/* Returns the number of bytes that `copied` has for a file of `size` bytes. */
size_t	 sftp_parts_bitmap(uint64_t size);

/* Starts a file of `size` bytes, at least 1, of which nothing is copied. */
void	 sftp_parts_init(struct sftp_parts *p, uint64_t size);

void	 sftp_parts_free(struct sftp_parts *p);

/*
 * Gives out the first part that is neither copied nor given out. Returns its
 * number and sets its offset and length (bytes), or returns -1 if there is
 * none.
 */
int	 sftp_parts_next(struct sftp_parts *p, uint64_t *offset,
	    uint64_t *len);

/* Notes that a part that was given out has been copied. */
void	 sftp_parts_copied(struct sftp_parts *p, int i);

/* Notes that a part that was given out was not copied. */
void	 sftp_parts_back(struct sftp_parts *p, int i);

/* Notes that the whole parts before `offset` are there. None is given out. */
void	 sftp_parts_have(struct sftp_parts *p, uint64_t offset);

/*
 * Finds the first copied part from `from` (bytes) on, and the parts behind it
 * without a gap. Returns 1 and sets their offset and length (bytes), or
 * returns 0 if there is none.
 */
int	 sftp_parts_run(const struct sftp_parts *p, uint64_t from,
	    uint64_t *offset, uint64_t *len);

/* Notes that these parts were not copied after all. None is given out. */
void	 sftp_parts_forget(struct sftp_parts *p, uint64_t offset,
	    uint64_t len);

/* Returns how many bytes have been copied from the file's start on. */
uint64_t sftp_parts_begin(const struct sftp_parts *p);

/* Returns how many bytes have not been given out. */
uint64_t sftp_parts_left(const struct sftp_parts *p);

#endif /* SFTP_PARTS_H */
