/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SFTP_INCOMPLETE_H
#define SFTP_INCOMPLETE_H

/*
 * Prints which files of a tree are incomplete if the process ends. The names
 * are kept ready, because a signal handler may print them.
 */

/*
 * Records that the file at path is incomplete from now on. Returns a number for
 * the functions below, or -1, which they accept, if the table is full.
 */
int	 sftp_incomplete_begin(const char *path);

/* Forgets a file: it is complete, or an error has named it. */
void	 sftp_incomplete_end(int number);

/* Prints the name of one file. */
void	 sftp_incomplete_print_one(int number);

/* Prints the names of all. Async-signal-safe. */
void	 sftp_incomplete_print_all(void);

/*
 * Makes SIGPIPE print the names of all before it ends the process. If SIGPIPE
 * is ignored, it stays ignored.
 */
void	 sftp_incomplete_at_sigpipe(void);

#endif /* SFTP_INCOMPLETE_H */
