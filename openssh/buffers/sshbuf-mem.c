/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>
#include <sys/mman.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sshbuf-mem.h"

#if !defined(MAP_ANON) && defined(MAP_ANONYMOUS)
# define MAP_ANON MAP_ANONYMOUS
#endif

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

	/* A mapping ends at a page: wipe the unused rest of its last page. */
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
	u_char *from = old;
	void *d;

	if (!is_mapped(osize) && !is_mapped(nsize))
		return recallocarray(old, osize, nsize, 1);
	if (is_mapped(osize) && is_mapped(nsize))
		return map_resize(old, osize, nsize);
	d = is_mapped(nsize) ? map_new(nsize) : calloc(1, nsize);
	if (d == NULL)
		return NULL;
	if (from != NULL)
		memcpy(d, from, osize < nsize ? osize : nsize);
	sshbuf_mem_free(&from, &osize);
	return d;
}

void
sshbuf_mem_free(u_char **dp, size_t *sizep)
{
	if (*dp != NULL && is_mapped(*sizep))
		munmap(*dp, *sizep);
	else
		freezero(*dp, *sizep);
	*dp = NULL;
	*sizep = 0;
}

#else /* MAP_ANON */

void *
sshbuf_mem_resize(void *old, size_t osize, size_t nsize)
{
	return recallocarray(old, osize, nsize, 1);
}

void
sshbuf_mem_free(u_char **dp, size_t *sizep)
{
	freezero(*dp, *sizep);
	*dp = NULL;
	*sizep = 0;
}

#endif /* MAP_ANON */
