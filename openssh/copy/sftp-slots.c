/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "misc.h"
#include "sftp-slots.h"

/*
 * One job for each JOB_US (us) of the RTT is worth having, and at least
 * JOBS_MIN. The first request measures the RTT, as the connection is idle then.
 * On a LAN few jobs keep the connection busy, and threads cost more than they
 * gain.
 */
#define JOB_US		100
#define JOBS_MIN	8

/*
 * The limit on jobs for each incomplete file that is allowed. While the data of
 * one file is in flight, other jobs open files or wait for the last replies.
 */
#define JOBS_EACH	8

/* One job in DIRS may be a directory's, if DIRS_MIN jobs are allowed. */
#define DIRS		8
#define DIRS_MIN	16

void
sftp_slots_init(struct sftp_slots *s, u_int files)
{
	memset(s, 0, sizeof(*s));
	s->incomplete_max = MINIMUM(MAXIMUM(files, 1), SFTP_SLOTS_FILES);
	s->jobs_limit = MAXIMUM(s->incomplete_max * JOBS_EACH, JOBS_MIN);
	s->jobs_max = s->jobs_limit;
}

void
sftp_slots_limit(struct sftp_slots *s, uint64_t descriptors)
{
	uint64_t jobs;

	/* The first fiber has no job, and reads a directory. */
	jobs = descriptors < 2 ? 0 : descriptors / 2 - 1;
	s->jobs_limit = MINIMUM(s->jobs_limit, jobs);
	s->jobs_max = MINIMUM(s->jobs_max, s->jobs_limit);
}

int
sftp_slots_parallel(const struct sftp_slots *s)
{
	return s->incomplete_max > 1 && s->jobs_limit > 1;
}

void
sftp_slots_rtt(struct sftp_slots *s, uint64_t rtt_us)
{
	s->jobs_max = MINIMUM(s->jobs_limit,
	    MAXIMUM(rtt_us / JOB_US, JOBS_MIN));
}

/* Returns the limit on jobs of directories. */
static u_int
dirs_max(const struct sftp_slots *s)
{
	return s->jobs_max < DIRS_MIN ? 0 : s->jobs_max / DIRS;
}

void
sftp_slots_lanes(struct sftp_slots *s, u_int lanes)
{
	s->lanes = lanes;
}

int
sftp_slots_may_start_dir(const struct sftp_slots *s)
{
	return s->dir_jobs < dirs_max(s);
}

enum sftp_start
sftp_slots_file_start(const struct sftp_slots *s, uint64_t size)
{
	/* A second server may have no handles to spare: jobs_max is 0. */
	if (size > SFTP_SLOTS_FILE_BYTES || s->jobs_max == 0)
		return SFTP_START_ALONE;
	if (s->alone || s->file_bytes + size >
	    (uint64_t)SFTP_SLOTS_ALL_BYTES * MAXIMUM(s->lanes, 1))
		return SFTP_START_LATER;
	if (s->file_jobs + dirs_max(s) >= s->jobs_max)
		return SFTP_START_LATER;
	return SFTP_START_NOW;
}

int
sftp_slots_may_open(const struct sftp_slots *s)
{
	return s->incomplete < s->incomplete_max;
}

void
sftp_slots_begin(struct sftp_slots *s, int dir, uint64_t size)
{
	if (dir)
		s->dir_jobs++;
	else
		s->file_jobs++;
	s->file_bytes += size;
}

void
sftp_slots_end(struct sftp_slots *s, int dir, uint64_t size)
{
	if (dir)
		s->dir_jobs--;
	else
		s->file_jobs--;
	s->file_bytes -= size;
}

void
sftp_slots_freeze(struct sftp_slots *s)
{
	s->jobs_limit = MINIMUM(s->jobs_limit,
	    MAXIMUM(s->file_jobs + s->dir_jobs, 1));
	s->jobs_max = MINIMUM(s->jobs_max, s->jobs_limit);
}
