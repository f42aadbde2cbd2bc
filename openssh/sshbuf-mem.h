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

#ifndef SSHBUF_MEM_H
#define SSHBUF_MEM_H

/*
 * The memory of sshbufs that grow large. Only sshbuf.c includes this.
 *
 * A buffer doubles, so that the bytes copied while it grows are proportional to
 * those that are put in it. From SSHBUF_MAP_MIN bytes on it is a mapping of its
 * own: growing then copies nothing, pages cost memory only when data reaches
 * them, and none is left behind to be wiped.
 */
#define SSHBUF_MAP_MIN	(1024 * 1024)

/*
 * Returns the allocation (bytes) for a buffer of alloc bytes to grow to at
 * least need, which the caller has checked to be at most max.
 */
size_t	 sshbuf_mem_round(size_t alloc, size_t need, size_t max);

/*
 * Resizes an allocation from osize to nsize bytes, as recallocarray(3) does:
 * what is no longer used is wiped or unmapped, what is new is zero. Returns the
 * memory, or NULL if there is none; old is then as before.
 */
void	*sshbuf_mem_resize(void *old, size_t osize, size_t nsize);

/* Wipes and frees an allocation of `size` bytes; NULL is fine. */
void	 sshbuf_mem_free(void *d, size_t size);

#endif /* SSHBUF_MEM_H */
