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

#ifndef SFTP_SOURCES_H
#define SFTP_SOURCES_H

#include <sys/types.h>

#include <stdint.h>

/* Limit on the names that are looked at, with those on the command line */
#define SFTP_SOURCES_NAMES	1000

/* Time (s) after which no further name is looked at, for slow file systems */
#define SFTP_SOURCES_S		0.1

/*
 * Returns 1 if the n files in paths hold `bytes` or more together, else 0.
 * Returns 1, too, if a limit above is reached first. If `recursive`, what is in
 * directories counts. What is no file, or can't be read, holds nothing. Keeps
 * one directory open at a time.
 */
int	 sftp_sources_hold(char *const paths[], int n, int recursive,
	    uint64_t bytes);

#endif /* SFTP_SOURCES_H */
