/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "misc.h"
#include "xmalloc.h"
#include "sftp-parts.h"

static int
get(const u_char *bits, u_int i)
{
	return (bits[i / 8] & 1 << i % 8) != 0;
}

static void
set(u_char *bits, u_int i)
{
	bits[i / 8] |= 1 << i % 8;
}

static void
unset(u_char *bits, u_int i)
{
	bits[i / 8] &= ~(1 << i % 8);
}

uint64_t
sftp_parts_part(uint64_t size)
{
	uint64_t part = SFTP_PART_BYTES;

	while ((size - 1) / part >= SFTP_PARTS_MAX)
		part *= 2;
	return part;
}

size_t
sftp_parts_bitmap(uint64_t size)
{
	return ((size - 1) / sftp_parts_part(size)) / 8 + 1;
}

void
sftp_parts_init(struct sftp_parts *p, uint64_t size)
{
	memset(p, 0, sizeof(*p));
	p->size = size;
	p->part = sftp_parts_part(size);
	p->n = (size - 1) / p->part + 1;
	p->copied = xcalloc(1, sftp_parts_bitmap(size));
	p->given = xcalloc(1, sftp_parts_bitmap(size));
}

void
sftp_parts_free(struct sftp_parts *p)
{
	free(p->copied);
	free(p->given);
	p->copied = p->given = NULL;
}

static uint64_t
length(const struct sftp_parts *p, u_int i)
{
	return MINIMUM(p->part, p->size - i * p->part);
}

/* Moves `first` behind the parts that are copied without a gap. */
static void
move_first(struct sftp_parts *p)
{
	while (p->first < p->n && get(p->copied, p->first))
		p->first++;
}

int
sftp_parts_next(struct sftp_parts *p, uint64_t *offset, uint64_t *len)
{
	u_int i;

	for (i = p->back != 0 ? p->first : p->next; i < p->n; i++) {
		if (!get(p->copied, i) && !get(p->given, i))
			break;
	}
	if (i == p->n) {
		p->next = p->n;
		return -1;
	}
	if (i < p->next)
		p->back--;
	else
		p->next = i + 1;
	set(p->given, i);
	*offset = i * p->part;
	*len = length(p, i);
	return i;
}

void
sftp_parts_copied(struct sftp_parts *p, int i)
{
	unset(p->given, i);
	set(p->copied, i);
	p->done += length(p, i);
	move_first(p);
}

void
sftp_parts_back(struct sftp_parts *p, int i)
{
	unset(p->given, i);
	p->back++;
}

void
sftp_parts_have(struct sftp_parts *p, uint64_t offset)
{
	u_int i;

	for (i = 0; i < p->n && i * p->part + length(p, i) <= offset; i++) {
		if (!get(p->copied, i))
			sftp_parts_copied(p, i);
	}
}

int
sftp_parts_run(const struct sftp_parts *p, uint64_t from, uint64_t *offset,
    uint64_t *len)
{
	u_int i = (from + p->part - 1) / p->part;

	while (i < p->n && !get(p->copied, i))
		i++;
	*offset = i * p->part;
	*len = 0;
	for (; i < p->n && get(p->copied, i); i++)
		*len += length(p, i);
	return *len != 0;
}

void
sftp_parts_forget(struct sftp_parts *p, uint64_t offset, uint64_t len)
{
	u_int i;

	for (i = offset / p->part; i < p->n && i * p->part < offset + len;
	    i++) {
		if (!get(p->copied, i))
			continue;
		unset(p->copied, i);
		p->done -= length(p, i);
		if (i < p->next)
			p->back++;
	}
	p->first = 0;
	move_first(p);
}

uint64_t
sftp_parts_begin(const struct sftp_parts *p)
{
	return MINIMUM(p->first * p->part, p->size);
}

uint64_t
sftp_parts_left(const struct sftp_parts *p)
{
	uint64_t at = MINIMUM(p->next * p->part, p->size);

	return p->size - at + p->back * p->part;
}
