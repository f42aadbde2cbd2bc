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

#ifndef SFTP_COUNT_H
#define SFTP_COUNT_H

#include <dirent.h>

struct SFTP_DIRENT;

/*
 * How far a copy of many files is, for the labels of its meters. There is one
 * copy at a time, as there is one terminal.
 */

/* A copy of so many names begins: each is a file or a tree. */
void	 sftp_count_names(u_int);

/* One of them is a tree, which begins with nothing found; it has ended. */
void	 sftp_count_start(void);
void	 sftp_count_end(void);

/* So many files more are to be copied. */
void	 sftp_count_found(u_int);

/* The same of the files in a list that ends with NULL, without links. */
void	 sftp_count_entries(struct SFTP_DIRENT **);

/*
 * The same of the files in a directory, links to them too if these are
 * followed. It is read from its start, and is at its start again afterwards.
 */
void	 sftp_count_dir(DIR *, int);

/* A file begins, or has been copied if others were beside it, or has failed. */
void	 sftp_count_next(void);

/*
 * "n of m" in front of a name, good until the next call; or the name, when
 * there is one file only.
 */
const char *sftp_count_label(const char *);

#endif /* SFTP_COUNT_H */
