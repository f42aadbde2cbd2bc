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
