/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef COPY_MORE_H
#define COPY_MORE_H

#include <sys/types.h>

struct copy;

/*
 * Further streams of a connection (-X streams=N). They are started for the
 * first copy that has a use for them, and serve later ones. Each is used once
 * it has been shown to have the same files as the primary. Whatever goes wrong
 * with one, the copy goes on without it.
 */
struct copy_more;

/*
 * Notes what is about to be started, or was started, for the connection that
 * sftp_init() makes next: the program ssh, with the options in args but the
 * first. host, user and port are those of scp's do_cmd(); user may be NULL and
 * port -1.
 */
void	 copy_program_ssh(const char *ssh, char *const args[],
	    const char *host, const char *user, int port);

/* The same for a command. It is ssh, or else a server (-D). */
void	 copy_program(char *const argv[], int is_ssh);

/* Number of streams that a copy may have: 1 to COPY_STREAMS */
extern u_int copy_streams;

/*
 * Returns the further streams of a connection, none of which has been started.
 * NULL if no program was noted for it.
 */
struct copy_more *copy_more_new(void);

/* Ends them; NULL is fine. */
void	 copy_more_free(struct copy_more *more);

/* Adds the streams that have been started to a copy. */
void	 copy_more_join(struct copy *copy);

/* Ends the part that they have in a copy. */
void	 copy_more_leave(struct copy *copy);

/*
 * Starts those that are missing, if the copy has a use for them, leaves out
 * those that are late, and begins to check those that are open.
 */
void	 copy_more_tend(struct copy *copy);

#endif /* COPY_MORE_H */
