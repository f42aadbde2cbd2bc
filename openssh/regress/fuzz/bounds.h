/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef BOUNDS_H
#define BOUNDS_H

/* Bounds on what one input of a fuzzer may cost. abort() beyond them. */

/*
 * An input starts. It may take cpu_s seconds of CPU time, and memory bytes at
 * a time, allocated or mapped by the code under test.
 */
void	 bounds_start(u_int cpu_s, int64_t memory);

/* Checks the memory in use. Call it often. */
void	 bounds_check(void);

/*
 * The input has ended. If it came to its end in order (whole is 1), there must
 * be as many file descriptors as at its start. Otherwise it was cut off, by
 * fatal() say: those that it left open are closed, and under ASan the memory
 * that it left is freed.
 */
void	 bounds_end(int whole);

/* Says what is wrong, as printf() would, and aborts. Does not return. */
void	 finding(const char *fmt, ...)
	    __attribute__((format(printf, 1, 2), noreturn));

/*
 * Removes all files and directories under dir, but not dir itself. Aborts
 * where it can't.
 */
void	 empty_directory(const char *dir);

/*
 * Makes a directory for an input's files under $TMPDIR or /tmp and makes it the
 * working directory. The caller of the program removes it, with $TMPDIR.
 */
void	 scratch_directory(void);

#endif /* BOUNDS_H */
