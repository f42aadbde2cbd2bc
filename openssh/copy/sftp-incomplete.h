/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SFTP_INCOMPLETE_H
#define SFTP_INCOMPLETE_H

/*
 * Prints the names of a tree's incomplete files when the process ends. The
 * names are stored in advance, because a signal handler may print them.
 */

/*
 * Records that the file at `path` is incomplete from now on. Returns its number
 * for the functions below. If the table is full, returns -1, which they ignore.
 */
int	 sftp_incomplete_begin(const char *path);

/* Forgets a file that is complete, or that an error has named. */
void	 sftp_incomplete_end(int number);

/* Prints the name of one file, or the names of all. Async-signal-safe. */
void	 sftp_incomplete_print_one(int number);
void	 sftp_incomplete_print_all(void);

/*
 * Makes SIGPIPE print the names of all before it ends the process. If SIGPIPE
 * is ignored, it stays ignored.
 */
void	 sftp_incomplete_at_sigpipe(void);

#endif /* SFTP_INCOMPLETE_H */
