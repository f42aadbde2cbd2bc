/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SSHBUF_MEM_H
#define SSHBUF_MEM_H

/*
 * The memory of large sshbufs. Only sshbuf.c includes this.
 *
 * A buffer of SSHBUF_MAP_MIN bytes or more is a mapping of its own. Its growth
 * copies nothing, its pages take memory only when written to, and no old copy
 * has to be wiped.
 */
#define SSHBUF_MAP_MIN	(1024 * 1024)

/*
 * Resizes `old` from `osize` to `nsize` bytes, as recallocarray(3) does: unused
 * memory is wiped or unmapped, new memory is zero. Returns the new memory. On
 * failure, returns NULL and leaves `old` unchanged.
 */
void	*sshbuf_mem_resize(void *old, size_t osize, size_t nsize);

/*
 * Wipes and frees the allocation *dp of *sizep bytes; NULL is fine. Sets *dp
 * to NULL and *sizep to 0, so that what frees it again has nothing to do.
 */
void	 sshbuf_mem_free(u_char **dp, size_t *sizep);

#endif /* SSHBUF_MEM_H */
