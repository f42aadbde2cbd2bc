/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef TARGET_H
#define TARGET_H

#include <sys/types.h>
#include <stdint.h>

/*
 * The one large file of a copy in parts, as an honest server has it: what it
 * gives of a source, and what has been written to a target. Any byte of the
 * file tells where it belongs.
 */

/* Bytes that are not zero. A source has no more. */
#define TARGET_MAX	(34 * 1024 * 1024)

/* Returns the source's bytes: TARGET_MAX of them. */
const u_char *target_source(void);

/* Starts a target for `source` bytes, of which the first `have` are there. */
void	 target_start(uint64_t source, uint64_t have);

/*
 * The target is what an interrupted copy has left of a source of that time: of
 * its parts, those are there whose number modulo 8 is a bit of `parts`, and its
 * mark. Returns the mark, and sets its length (bytes).
 */
const u_char *target_interrupt(uint64_t mtime, u_int parts, size_t *len);

/* Returns the target's size (bytes). */
uint64_t target_size(void);

/*
 * len bytes are written. Returns 0, or -1 if a source of this size has others
 * there. Behind its end may be a mark (sftp-mark.h).
 */
int	 target_write(uint64_t offset, const u_char *data, size_t len);

/* The target is cut, or made longer. */
void	 target_set_size(uint64_t size);

/* Gives len bytes of the target, which end within it. */
void	 target_read(uint64_t offset, u_char *data, size_t len);

/* Returns 1 if all of the source is there, and no more, else 0. */
int	 target_is_whole(void);

#endif /* TARGET_H */
