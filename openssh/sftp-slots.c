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

#include "includes.h"

#include <sys/types.h>

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "misc.h"
#include "sftp-slots.h"

/*
 * There is a job for each JOB_US (us) of the first round trip, which finds the
 * connection idle, and at least JOBS_MIN. On a LAN few jobs keep the connection
 * busy, and threads cost more than they win.
 */
#define JOB_US		100
#define JOBS_MIN	8

/*
 * Jobs for each incomplete file that there may be. While the data of one file
 * is in flight, others are opened, and the replies of others come.
 */
#define JOBS_EACH	8

/* One job in DIRS is a directory's, if there are at least DIRS_MIN jobs. */
#define DIRS		8
#define DIRS_MIN	16

void
sftp_slots_init(struct sftp_slots *r, u_int files)
{
	memset(r, 0, sizeof(*r));
	r->open_max = MINIMUM(MAXIMUM(files, 1), SFTP_SLOTS_FILES);
	r->held_max = r->max = MAXIMUM(r->open_max * JOBS_EACH, JOBS_MIN);
}

void
sftp_slots_limit(struct sftp_slots *r, uint64_t most)
{
	/* The caller's fiber reads a directory, too. */
	most = most < 2 ? 0 : most / 2 - 1;
	r->held_max = MINIMUM(r->held_max, most);
	r->max = MINIMUM(r->max, r->held_max);
}

int
sftp_slots_parallel(const struct sftp_slots *r)
{
	return r->open_max > 1 && r->held_max > 1;
}

void
sftp_slots_rtt(struct sftp_slots *r, uint64_t rtt_us)
{
	r->max = MINIMUM(r->held_max, MAXIMUM(rtt_us / JOB_US, JOBS_MIN));
}

static u_int
dirs_max(const struct sftp_slots *r)
{
	return r->max < DIRS_MIN ? 0 : r->max / DIRS;
}

int
sftp_slots_dir(const struct sftp_slots *r)
{
	return r->dirs < dirs_max(r);
}

enum sftp_place
sftp_slots_file(const struct sftp_slots *r, uint64_t size)
{
	/* A second server may have no handles to spare, or not say. */
	if (size > SFTP_SLOTS_FILE || r->max == 0)
		return SFTP_PLACE_ALONE;
	if (r->alone || r->bytes + size > SFTP_SLOTS_BYTES)
		return SFTP_PLACE_LATER;
	if (r->files + dirs_max(r) >= r->max)
		return SFTP_PLACE_LATER;
	return SFTP_PLACE_HERE;
}

int
sftp_slots_open(const struct sftp_slots *r)
{
	return r->open < r->open_max;
}

void
sftp_slots_begin(struct sftp_slots *r, int dir, uint64_t size)
{
	if (dir)
		r->dirs++;
	else
		r->files++;
	r->bytes += size;
}

void
sftp_slots_end(struct sftp_slots *r, int dir, uint64_t size)
{
	if (dir)
		r->dirs--;
	else
		r->files--;
	r->bytes -= size;
}

void
sftp_slots_full(struct sftp_slots *r)
{
	r->held_max = MINIMUM(r->held_max, MAXIMUM(r->files + r->dirs, 1));
	r->max = MINIMUM(r->max, r->held_max);
}
