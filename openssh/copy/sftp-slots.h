/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SFTP_SLOTS_H
#define SFTP_SLOTS_H

/*
 * Decides how many jobs sftp-tree.c may have at once, and how many bytes their
 * files may have. A job copies a file or a directory. It holds at most one
 * local descriptor, and one handle at each server. Pure.
 */

/* Number of files that may be incomplete at once: default and maximum */
#define SFTP_SLOTS_FILES	64

/* Size (bytes) of the largest file that is copied in parallel with others */
#define SFTP_SLOTS_FILE_BYTES		(16 * 1024 * 1024)

/* Total size (bytes) of the files that are copied in parallel */
#define SFTP_SLOTS_ALL_BYTES	(64 * 1024 * 1024)

struct sftp_slots {
	u_int incomplete_max;	/* limit on incomplete files */
	u_int jobs_limit;	/* limit on jobs, by descriptors and threads */
	u_int jobs_max;		/* limit on jobs worth having at this RTT */
	u_int file_jobs;	/* jobs of files */
	u_int dir_jobs;		/* jobs of directories */
	u_int incomplete;	/* incomplete files */
	uint64_t file_bytes;	/* total size of the files that have a job */
	int alone;		/* 1: a large file is copied alone */
	u_int lanes;		/* connections that share the files, or 0 */
};

/* When the copy of a file may start */
enum sftp_start {
	SFTP_START_NOW,		/* now, in parallel with others */
	SFTP_START_LATER,	/* the same, once another job has ended */
	SFTP_START_ALONE	/* once no other file is being copied */
};

/*
 * Allows `files` incomplete files. Numbers below 1 and above SFTP_SLOTS_FILES
 * become these.
 */
void	 sftp_slots_init(struct sftp_slots *s, u_int files);

/*
 * Notes a limit on descriptors: that of this process, or on a server's handles.
 * Jobs take at most half of `descriptors`. The lowest limit counts.
 */
void	 sftp_slots_limit(struct sftp_slots *s, uint64_t descriptors);

/* Returns 1 if the limits allow copying files in parallel, else 0. */
int	 sftp_slots_parallel(const struct sftp_slots *s);

/*
 * Notes the RTT (us) of the first request. If there are two servers, the longer
 * one counts.
 */
void	 sftp_slots_rtt(struct sftp_slots *s, uint64_t rtt_us);

/*
 * Notes that several connections share the files. Each has its path, so
 * SFTP_SLOTS_ALL_BYTES are for each of them.
 */
void	 sftp_slots_lanes(struct sftp_slots *s, u_int lanes);

/* Returns 1 if a directory may have a job now, else 0. */
int	 sftp_slots_may_start_dir(const struct sftp_slots *s);

/* Returns when the copy of a file of `size` bytes may start. */
enum sftp_start	 sftp_slots_file_start(const struct sftp_slots *s,
		    uint64_t size);

/* Returns 1 if one more file may become incomplete now, else 0. */
int	 sftp_slots_may_open(const struct sftp_slots *s);

/*
 * Notes that a job begins: that of a directory if dir is 1, with a size of 0,
 * else that of a file of `size` bytes.
 */
void	 sftp_slots_begin(struct sftp_slots *s, int dir, uint64_t size);

/* Notes that a job has ended. The arguments are those of its beginning. */
void	 sftp_slots_end(struct sftp_slots *s, int dir, uint64_t size);

/*
 * Notes that no descriptors or threads were left. There are never more jobs
 * than now, but at least one.
 */
void	 sftp_slots_freeze(struct sftp_slots *s);

#endif /* SFTP_SLOTS_H */
