/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <stdint.h>
#include <string.h>

#include "digest.h"
#include "misc.h"
#include "ssherr.h"
#include "sftp-mark.h"
#include "sftp-parts.h"

#define NUMBERS		24	/* bytes */
#define DIGEST		32	/* bytes */

static const u_char magic[SFTP_MARK_MAGIC_LEN] = SFTP_MARK_MAGIC;

size_t
sftp_mark_len(uint64_t size)
{
	return SFTP_MARK_HEAD + NUMBERS + sftp_parts_bitmap(size) + DIGEST;
}

/* Writes what stands before the bitmap, but for the nonce. */
static void
put_head(const struct sftp_parts *p, uint64_t mtime, u_char *mark)
{
	memcpy(mark, magic, sizeof(magic));
	put_u64(mark + SFTP_MARK_HEAD, p->size);
	put_u64(mark + SFTP_MARK_HEAD + 8, mtime);
	put_u64(mark + SFTP_MARK_HEAD + 16, p->part);
}

static int
digest(const u_char *mark, size_t len, u_char d[DIGEST])
{
	return ssh_digest_memory(SSH_DIGEST_SHA256, mark, len - DIGEST, d,
	    DIGEST);
}

int
sftp_mark_put(const struct sftp_parts *p, uint64_t mtime,
    const u_char nonce[SFTP_MARK_NONCE], u_char *mark)
{
	size_t len = sftp_mark_len(p->size);

	put_head(p, mtime, mark);
	memcpy(mark + SFTP_MARK_MAGIC_LEN, nonce, SFTP_MARK_NONCE);
	memcpy(mark + SFTP_MARK_HEAD + NUMBERS, p->copied,
	    sftp_parts_bitmap(p->size));
	return digest(mark, len, mark + len - DIGEST);
}

int
sftp_mark_get(struct sftp_parts *p, uint64_t mtime, const u_char *mark)
{
	u_char head[SFTP_MARK_HEAD + NUMBERS], d[DIGEST];
	const u_char *bits = mark + sizeof(head);
	size_t len = sftp_mark_len(p->size);
	u_int i;

	put_head(p, mtime, head);
	if (memcmp(mark, head, SFTP_MARK_MAGIC_LEN) != 0 ||
	    memcmp(mark + SFTP_MARK_HEAD, head + SFTP_MARK_HEAD,
	    NUMBERS) != 0 ||
	    digest(mark, len, d) != 0 ||
	    memcmp(mark + len - DIGEST, d, DIGEST) != 0)
		return SSH_ERR_INVALID_FORMAT;
	for (i = 0; i < p->n; i++) {
		if ((bits[i / 8] & 1 << i % 8) != 0)
			sftp_parts_copied(p, i);
	}
	return 0;
}

int
sftp_mark_is_awaited(const struct sftp_mark_facts *f)
{
	uint64_t most = MAXIMUM(SFTP_MARK_BEHIND,
	    f->bdp / 2 * (f->one_mark ? 7 : 5));

	/* Marks are not to wait behind data. */
	if (f->first && f->marks != 0 && f->there > most / 8 * 5)
		return 1;
	/* With nothing to be answered, the first lane would write no mark. */
	if (f->first && !f->asked)
		return 0;
	return f->there + f->in_flight + f->next > most;
}

const u_char *
sftp_mark_find(const u_char *end, size_t len, uint64_t size,
    uint64_t *source, uint64_t *mtime)
{
	size_t i;

	for (i = 0; i + SFTP_MARK_HEAD + NUMBERS <= len; i++) {
		if (memcmp(end + i, magic, sizeof(magic)) != 0)
			continue;
		*source = get_u64(end + i + SFTP_MARK_HEAD);
		*mtime = get_u64(end + i + SFTP_MARK_HEAD + 8);
		if (*source != 0 && *source == size - len + i &&
		    sftp_mark_len(*source) == len - i)
			return end + i;
	}
	return NULL;
}
