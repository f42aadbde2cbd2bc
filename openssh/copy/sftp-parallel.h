/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SFTP_PARALLEL_H
#define SFTP_PARALLEL_H

#include <sys/types.h>

#include <stdint.h>

#include "sftp-parts.h"

struct sftp_conn;

/*
 * Copies one large file in parts, over all lanes. The caller has opened both
 * files, copies what is left in one stream, and does what ends a copy. Until
 * then the target ends in a mark (sftp-mark.h).
 */

/* A file with less (bytes) to copy is copied in one stream. */
#define SFTP_PARALLEL_MIN	(32 * 1024 * 1024)

struct sftp_parallel {
	struct sftp_conn *conn;	/* the first lane */
	int upload;
	int fd;			/* of the local file, open for what is needed */
	const char *path;	/* of the file at the server */
	const u_char *handle;	/* of that file, for the first lane */
	size_t handle_len;
	uint64_t size;		/* bytes of the source */
	uint64_t mtime;		/* of the source (s since 1970) */
	volatile off_t *counter;	/* bytes copied, for the meter */
	int *ended;		/* set to 1 if all of a source is there that
				 * is known to end at its size; or NULL */
};

/*
 * Returns 1 if a file that an interrupted copy in parts has left is at path: at
 * conn's server, where it has `size` bytes, or here if conn is NULL. Else 0.
 */
int	 sftp_parallel_marked(struct sftp_conn *conn, const char *path,
	    uint64_t size);

/*
 * Reads the mark of the target of an interrupted copy in parts, and compares
 * those parts with the source if the server can. Returns 1, or 0 if it has no
 * mark of this source. With 1, the next sftp_parallel_copy() of this file needs
 * only what is missing, and *begin is the bytes that are there without a gap
 * from the start on. *have is the target's size (bytes). With 0, it becomes
 * what may be a beginning of the source, and the target has been cut to that.
 * For an upload, the handle allows reading.
 */
int	 sftp_parallel_resume(const struct sftp_parallel *f, uint64_t *have,
	    uint64_t *begin);

/*
 * Copies what is behind `offset` (bytes): all that is before it is there.
 * Returns how many bytes there are now from the start of the target on; it has
 * been cut to these. That may be `offset`, if the file is to be copied in one
 * stream, and less than the size after an error, of which the stream will tell.
 * After ^C the mark may be left at the target, whose size is returned then.
 * After an error that the stream would not meet, UINT64_MAX is. read_reply() is
 * that of sftp_tree_new().
 */
uint64_t sftp_parallel_copy(const struct sftp_parallel *f, uint64_t offset,
	    void (*read_reply)(struct sftp_conn *conn, struct sshbuf *msg));

#endif /* SFTP_PARALLEL_H */
