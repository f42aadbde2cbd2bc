/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef COPY_ENGINE_H
#define COPY_ENGINE_H

#include <sys/types.h>

#include "copy-flags.h"
#include "copy-more.h"

struct sftp_conn;

/*
 * The copy engine: what sftp_download() and the like do, if the protocol has
 * version 3
 */

/* Starts what the engine knows of a connection whose options are set. */
void	 copy_init(struct sftp_conn *conn, u_int num_requests);

/* Frees what the engine has of a connection; NULL is fine. */
void	 copy_free(struct sftp_conn *conn);

/*
 * Copies the file src to dst. Each is at the server that from or to is
 * connected to, or here if that is NULL. a has attributes of a src that is not
 * here; NULL: they are asked for. Returns 0, or -1 after an error that it has
 * logged.
 */
int	 copy_file(struct sftp_conn *from, struct sftp_conn *to,
	    const char *src, const char *dst, const Attrib *a,
	    const struct copy_flags *flags);

/* The same for a directory and all that is in it */
int	 copy_tree(struct sftp_conn *from, struct sftp_conn *to,
	    const char *src, const char *dst, const Attrib *a,
	    const struct copy_flags *flags);

/*
 * Takes an option of scp and sftp, as it follows -X. Returns 1, or 0 if it is
 * none of the engine's. A bad value is fatal.
 */
int	 copy_option(const char *option);

#endif /* COPY_ENGINE_H */
