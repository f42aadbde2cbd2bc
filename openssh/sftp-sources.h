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

/* Names that are looked at; what has more may hold anything */
#define SFTP_SOURCES_NAMES	1000

/* No further name is looked at after this time (s), for slow file systems. */
#define SFTP_SOURCES_S		0.1

/*
 * Returns 1 if the n files in paths hold `bytes` together, or have so many
 * names below them, or take so long to look at, that they may, else 0.
 * Directories count with what is in them if `recursive`. What can't be read,
 * and is no file, holds nothing. Keeps one directory open at a time.
 */
int	 sftp_sources_hold(char *const paths[], int n, int recursive,
	    uint64_t bytes);

#endif /* SFTP_SOURCES_H */
