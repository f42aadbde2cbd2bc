/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SFTP_MARK_H
#define SFTP_MARK_H

#include <sys/types.h>

#include <stdint.h>

#include "sftp-parts.h"

/*
 * The mark of a file that is copied in parts. It stands behind where the file
 * is to end, so until it is cut off the file is longer than its source: nothing
 * that looks at sizes takes the file for complete, or for a beginning that can
 * be appended to. The mark says which parts are there. Pure.
 *
 * Its bytes, numbers most significant first: SFTP_MARK_MAGIC; SFTP_MARK_NONCE
 * random bytes, by which a lane knows the file; the source's size and its time
 * (s since 1970), 8 bytes each; the size of a part, 8; a bitmap (see
 * sftp-parts.h); the SHA-256 of all this.
 */
#define SFTP_MARK_MAGIC		"\377openssh-bdp 1\r\n"
#define SFTP_MARK_MAGIC_LEN	16
#define SFTP_MARK_NONCE		16
#define SFTP_MARK_HEAD		(SFTP_MARK_MAGIC_LEN + SFTP_MARK_NONCE)

/* The longest mark (bytes): numbers and digest take 56 */
#define SFTP_MARK_MAX		(SFTP_MARK_HEAD + 56 + SFTP_PARTS_MAX / 8)

/* Returns the length (bytes) of the mark of a file of `size` bytes. */
size_t	 sftp_mark_len(uint64_t size);

/*
 * Writes the mark of p's file, of sftp_mark_len() bytes, into `mark`. mtime is
 * its source's time (s since 1970). Returns 0 or an SSH_ERR_* code.
 */
int	 sftp_mark_put(const struct sftp_parts *p, uint64_t mtime,
	    const u_char nonce[SFTP_MARK_NONCE], u_char *mark);

/*
 * Takes the copied parts of p's file from its mark. Returns 0, or
 * SSH_ERR_INVALID_FORMAT if it is not the mark of a copy of a source with that
 * size and time. p is then as before.
 */
int	 sftp_mark_get(struct sftp_parts *p, uint64_t mtime,
	    const u_char *mark);

/*
 * Looks for a mark at the end of a file of `size` bytes, whose last len bytes
 * are given. Returns it and sets *source and *mtime to the size and the time of
 * the source that it names, or returns NULL if there is none. What else it says
 * may be wrong.
 */
const u_char *sftp_mark_find(const u_char *end, size_t len, uint64_t size,
	    uint64_t *source, uint64_t *mtime);

/* Bytes in flight or at the target that no mark there may tell of, at least */
#define SFTP_MARK_BEHIND	(60 * 1024 * 1024)

/* What decides whether a lane of an upload waits for a mark */
struct sftp_mark_facts {
	uint64_t there;		/* bytes at the target that no mark tells of */
	uint64_t in_flight;	/* bytes, of all lanes */
	uint64_t bdp;		/* bytes, of all lanes */
	size_t next;		/* bytes of the lane's next request */
	int first;		/* 1: it is the first lane, which writes marks,
				 * when replies come */
	u_int marks;		/* outstanding ones */
	int one_mark;		/* 1: there may be only one */
	int asked;		/* 1: the lane has requests outstanding */
};

/*
 * Returns 1 if a lane is to send no more data until there is a mark, else 0.
 * What no mark tells of is copied again by whoever resumes. Two and a half BDPs
 * may be in flight or there, as a mark takes one more round trip; three and a
 * half if the next mark begins only when the last has arrived.
 */
int	 sftp_mark_is_awaited(const struct sftp_mark_facts *f);

#endif /* SFTP_MARK_H */
