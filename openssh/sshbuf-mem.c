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
#include <sys/mman.h>

#include <stdlib.h>
#include <string.h>

#define SSHBUF_INTERNAL
#include "sshbuf.h"
#include "sshbuf-mem.h"
#include "misc.h"

#if !defined(MAP_ANON) && defined(MAP_ANONYMOUS)
# define MAP_ANON MAP_ANONYMOUS
#endif

size_t
sshbuf_mem_round(size_t alloc, size_t need, size_t max)
{
	size_t rlen = ROUNDUP(need, SSHBUF_SIZE_INC);

	/* Small buffers stay as tight as they always were. */
	if (rlen > SSHBUF_PACK_MIN && rlen < 2 * alloc)
		rlen = 2 * alloc;
	if (rlen > max)
		rlen = ROUNDUP(need, SSHBUF_SIZE_INC) > max ? need : max;
	return rlen;
}

#ifdef MAP_ANON

static int
is_mapped(size_t size)
{
	return size >= SSHBUF_MAP_MIN;
}

static void *
map_new(size_t size)
{
	void *d;

	d = mmap(NULL, size, PROT_READ|PROT_WRITE, MAP_ANON|MAP_PRIVATE,
	    -1, 0);
	return d == MAP_FAILED ? NULL : d;
}

/* Resizes a mapping, in place or by moving pages if possible. */
static void *
map_resize(void *old, size_t osize, size_t nsize)
{
	void *d;

	/* A mapping ends at a page: wipe what is cut off of the last one. */
	if (nsize < osize)
		memset((u_char *)old + nsize, 0,
		    osize - nsize < (size_t)getpagesize() ?
		    osize - nsize : (size_t)getpagesize());
#ifdef MREMAP_MAYMOVE
	d = mremap(old, osize, nsize, MREMAP_MAYMOVE);
	return d == MAP_FAILED ? NULL : d;
#else
	if ((d = map_new(nsize)) == NULL)
		return NULL;
	memcpy(d, old, osize < nsize ? osize : nsize);
	munmap(old, osize);
	return d;
#endif
}

void *
sshbuf_mem_resize(void *old, size_t osize, size_t nsize)
{
	void *d;

	if (!is_mapped(osize) && !is_mapped(nsize))
		return recallocarray(old, osize, nsize, 1);
	if (is_mapped(osize) && is_mapped(nsize))
		return map_resize(old, osize, nsize);
	d = is_mapped(nsize) ? map_new(nsize) : calloc(1, nsize);
	if (d == NULL)
		return NULL;
	memcpy(d, old, osize < nsize ? osize : nsize);
	sshbuf_mem_free(old, osize);
	return d;
}

void
sshbuf_mem_free(void *d, size_t size)
{
	if (d != NULL && is_mapped(size))
		munmap(d, size);
	else
		freezero(d, size);
}

#else /* MAP_ANON */

void *
sshbuf_mem_resize(void *old, size_t osize, size_t nsize)
{
	return recallocarray(old, osize, nsize, 1);
}

void
sshbuf_mem_free(void *d, size_t size)
{
	freezero(d, size);
}

#endif /* MAP_ANON */
