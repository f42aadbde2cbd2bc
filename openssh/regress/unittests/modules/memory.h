/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef MEMORY_H
#define MEMORY_H

/*
 * Returns 1 if any writable memory of this process has len bytes, else 0. They
 * are given masked, each bit that mask has inverted, so that they are not found
 * in themselves. Linux only.
 */
int	 memory_has(const u_char *masked, const u_char *mask, size_t len);

#endif /* MEMORY_H */
