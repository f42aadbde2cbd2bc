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

#ifndef SFTP_NAMES_H
#define SFTP_NAMES_H

#include <dirent.h>

/*
 * The names in a local directory, read at once: a directory whose files are
 * being copied holds no descriptor. A name takes its length and one byte.
 */
struct sftp_names;

/* Reads all names that are left in dir, and closes it. Never NULL. */
struct sftp_names *sftp_names_read(DIR *dir);

/* Returns the next name, or NULL at the end. Good until sftp_names_free(). */
const char *sftp_names_next(struct sftp_names *names);

/* Frees the names; NULL is fine. */
void	 sftp_names_free(struct sftp_names *names);

#endif /* SFTP_NAMES_H */
