/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef WALK_H
#define WALK_H

/*
 * Runs a connection of several channels. The len bytes of data decide what
 * happens, when and how much. After each step it checks what must always hold.
 * Returns NULL, or a text that says what did not hold. The fuzzer and the unit
 * test both run it.
 */
const char *walk(const u_char *data, size_t len);

#endif /* WALK_H */
