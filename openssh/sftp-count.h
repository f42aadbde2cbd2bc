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

/* Begins a copy of n names, each of which is a file or a tree. */
void	 sftp_count_names(u_int n);

/* Begins a tree, which is one of them; nothing has been found in it yet. */
void	 sftp_count_start(void);

/* Ends a tree. */
void	 sftp_count_end(void);

/* Counts n more files that are to be copied. */
void	 sftp_count_found(u_int n);

/* Counts the files in a list that ends with NULL. Links don't count. */
void	 sftp_count_entries(struct SFTP_DIRENT **entries);

/*
 * Counts the files in a directory. If follow is 1, links to files count, too.
 * Reads dir from its start, and rewinds it.
 */
void	 sftp_count_dir(DIR *dir, int follow);

/*
 * Counts a file that begins; one that is copied in parallel to others, when it
 * has been copied or has failed.
 */
void	 sftp_count_next(void);

/*
 * Returns name with "n of m" in front, or name alone if there is one file only.
 * Good until the next call.
 */
const char *sftp_count_label(const char *name);

#endif /* SFTP_COUNT_H */
