/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef INPUT_H
#define INPUT_H

/* The input of a fuzzer, taken from its front: what a peer does next */

/* Starts with len bytes of data, which stay the caller's. */
void	 input_set(const uint8_t *data, size_t len);

/* Returns the bytes that are left. */
size_t	 input_len(void);

/* Takes a byte and returns it; 0 if none is left. */
u_int	 input_byte(void);

/*
 * Takes a number and returns it: one at which arithmetic goes wrong, or one of
 * any magnitude up to 2^40.
 */
uint64_t input_number(void);

/*
 * Takes a length, which *lenp is set to, and a string of that many bytes, at
 * most 255. Returns the string, which stays where it is.
 */
const uint8_t *input_string(size_t *lenp);

/* Drops the bytes that are left. */
void	 input_drop(void);

#endif /* INPUT_H */
