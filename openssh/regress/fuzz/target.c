/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>
#include <stdint.h>
#include <string.h>

#include "misc.h"
#include "sftp-mark.h"
#include "sftp-parts.h"
#include "target.h"

#define BLOCK	1024		/* bytes; where requests begin and end */

static union {
	uint64_t words[TARGET_MAX / 8];
	u_char bytes[TARGET_MAX];
} content;

static uint64_t source, size;
static u_char there[TARGET_MAX / BLOCK];
static u_char mark[SFTP_MARK_MAX];
static size_t mark_len;		/* 0: there is none */

const u_char *
target_source(void)
{
	uint64_t i;

	for (i = 0; content.words[0] == 0 && i < TARGET_MAX / 8; i++)
		content.words[TARGET_MAX / 8 - 1 - i] =
		    (TARGET_MAX / 8 - i) * 0x9e3779b97f4a7c15ULL;
	return content.bytes;
}

void
target_start(uint64_t bytes, uint64_t have)
{
	u_int i;

	source = bytes;
	size = have;
	mark_len = 0;
	for (i = 0; i < TARGET_MAX / BLOCK; i++)
		there[i] = (i + 1) * (uint64_t)BLOCK <= have || have >= source;
}

const u_char *
target_interrupt(uint64_t mtime, u_int parts, size_t *len)
{
	static const u_char nonce[SFTP_MARK_NONCE];
	struct sftp_parts p;
	uint64_t offset, n;
	int i;

	target_start(source, 0);
	sftp_parts_init(&p, source);
	while ((i = sftp_parts_next(&p, &offset, &n)) != -1) {
		if ((parts >> i % 8 & 1) == 0)
			continue;
		sftp_parts_copied(&p, i);
		(void)target_write(offset, target_source() + offset, n);
	}
	(void)sftp_mark_put(&p, mtime, nonce, mark);
	sftp_parts_free(&p);
	*len = mark_len = sftp_mark_len(source);
	size = source + mark_len;
	return mark;
}

uint64_t
target_size(void)
{
	return size;
}

int
target_write(uint64_t offset, const u_char *data, size_t len)
{
	uint64_t i, end = offset + len;

	size = MAXIMUM(size, end);
	if (offset >= source) {
		mark_len = 0;
		if (offset == source && len <= sizeof(mark))
			memcpy(mark, data, mark_len = len);
		return 0;
	}
	if (end > source ||
	    memcmp(data, target_source() + offset, len) != 0)
		return -1;
	for (i = (offset + BLOCK - 1) / BLOCK; (i + 1) * BLOCK <= end ||
	    (end == source && i * BLOCK < end); i++)
		there[i] = 1;
	return 0;
}

void
target_set_size(uint64_t bytes)
{
	uint64_t i;

	for (i = bytes / BLOCK; bytes < source && i < TARGET_MAX / BLOCK; i++)
		there[i] = 0;
	if (bytes < source + mark_len)
		mark_len = 0;
	size = bytes;
}

void
target_read(uint64_t offset, u_char *data, size_t len)
{
	uint64_t from, n;

	memset(data, 0, len);
	if (offset < source)
		memcpy(data, target_source() + offset,
		    MINIMUM(len, source - offset));
	if (offset + len <= source || offset >= source + mark_len)
		return;
	from = MAXIMUM(offset, source);
	n = MINIMUM(offset + len, source + mark_len) - from;
	memcpy(data + (from - offset), mark + (from - source), n);
}

int
target_is_whole(void)
{
	uint64_t i;

	for (i = 0; i * BLOCK < source; i++) {
		if (!there[i])
			return 0;
	}
	return size == source;
}
