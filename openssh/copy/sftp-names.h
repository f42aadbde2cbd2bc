/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

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
