/*
 * Copyright (c) 2026 The openssh-bdp authors
 *
 * Permission to use, copy, modify, and distribute this software for any
 * purpose with or without fee is hereby granted, provided that the above
 * copyright notice and this permission notice appear in all copies.
 *
 * THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES
 * WITH REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF
 * MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR
 * ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES
 * WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN
 * ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF
 * OR IN CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.
 */

#ifndef SFTP_SLOTS_H
#define SFTP_SLOTS_H

/*
 * How many jobs sftp-tree.c may have at once, and of how many bytes. A job
 * copies a file or a directory, and holds at most one descriptor here and one
 * handle at each server. Pure.
 */

/* Files that may be incomplete at once: the default, and the most */
#define SFTP_SLOTS_FILES	64

/* Size (bytes) of the largest file that is copied in parallel to others */
#define SFTP_SLOTS_FILE		(16 * 1024 * 1024)

/* Size (bytes) of all files together that are copied in parallel */
#define SFTP_SLOTS_BYTES	(64 * 1024 * 1024)

struct sftp_slots {
	u_int open_max;		/* limit on incomplete files */
	u_int held_max;		/* limit on jobs, by descriptors and threads */
	u_int max;		/* limit on jobs worth having at this RTT */
	u_int files;		/* jobs of files */
	u_int dirs;		/* jobs of directories */
	u_int open;		/* incomplete files */
	uint64_t bytes;		/* size of the files that have a job */
	int alone;		/* a large file has the connection to itself */
};

enum sftp_place {
	SFTP_PLACE_HERE,	/* in parallel to the others, now */
	SFTP_PLACE_LATER,	/* the same, once another has ended */
	SFTP_PLACE_ALONE	/* with nothing in parallel */
};

/* Starts with at most `files` incomplete files, 1 to SFTP_SLOTS_FILES. */
void	 sftp_slots_init(struct sftp_slots *r, u_int files);

/*
 * Notes that this process can have `most` descriptors open, or one of the
 * servers as many handles. Jobs take half of them.
 */
void	 sftp_slots_limit(struct sftp_slots *r, uint64_t most);

/* Returns 1 if files can be copied in parallel at all. */
int	 sftp_slots_parallel(const struct sftp_slots *r);

/*
 * Notes that the first request took rtt_us. If there are several servers, the
 * longest counts.
 */
void	 sftp_slots_rtt(struct sftp_slots *r, uint64_t rtt_us);

/* Returns 1 if a directory may have a job now. */
int	 sftp_slots_dir(const struct sftp_slots *r);

/* Returns where a file of `size` bytes is to be copied. */
enum sftp_place sftp_slots_file(const struct sftp_slots *r, uint64_t size);

/* Returns 1 if a file may become incomplete now. */
int	 sftp_slots_open(const struct sftp_slots *r);

/*
 * Notes that a job begins: a directory's if dir is 1, else that of a file of
 * `size` bytes. A directory's size is 0.
 */
void	 sftp_slots_begin(struct sftp_slots *r, int dir, uint64_t size);

/* Notes that the job has ended. */
void	 sftp_slots_end(struct sftp_slots *r, int dir, uint64_t size);

/*
 * Notes that there were no descriptors or threads left: from now on there are
 * no more jobs than now.
 */
void	 sftp_slots_full(struct sftp_slots *r);

#endif /* SFTP_SLOTS_H */
