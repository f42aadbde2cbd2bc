/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SSHBUF_MEM_H
#define SSHBUF_MEM_H

/*
 * The memory of sshbufs that grow large. Only sshbuf.c includes this.
 *
 * From SSHBUF_MAP_MIN bytes on, a buffer is a mapping of its own: growing then
 * copies nothing, pages cost memory only when data reaches them, and none is
 * left behind to be wiped.
 */
#define SSHBUF_MAP_MIN	(1024 * 1024)

/*
 * Resizes an allocation from osize to nsize bytes, as recallocarray(3) does:
 * what is no longer used is wiped or unmapped, what is new is zero. Returns the
 * memory, or NULL if there is none; old is then as before.
 */
void	*sshbuf_mem_resize(void *old, size_t osize, size_t nsize);

/* Wipes and frees an allocation of `size` bytes; NULL is fine. */
void	 sshbuf_mem_free(void *d, size_t size);

#endif /* SSHBUF_MEM_H */
