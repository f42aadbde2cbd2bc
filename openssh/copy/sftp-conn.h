/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SFTP_CONN_H
#define SFTP_CONN_H

#include <sys/types.h>

#include <stdint.h>

#include "misc.h"
#include "sftp-inflight.h"

/*
 * The copy engine, for scp, sftp and sftp-client.c: sessions, copies, options,
 * requests sent with SSH_FXP_INIT, and additional streams.
 */

struct copy_ahead;
struct copy_more;
struct sshbuf;

/* Flags of sftp_download() and the like: 0 or 1; `resume`, `print`: also 2 */
struct copy_flags {
	int preserve, resume, fsync, inplace, print, follow;
};

#define COPY_RESUME_CHECKED	2	/* -Z: keep what equals the source */

/* An sftp session. Only sftp-client.c and the copy engine access it. */
struct sftp_conn {
	int fd_in;		/* descriptor for replies */
	int fd_out;		/* descriptor for requests */
	u_int download_buflen;	/* bytes of data in the reply to a READ */
	u_int upload_buflen;	/* bytes of data in a WRITE */
	u_int num_requests;	/* requests in flight, for upstream's loops */
	u_int version;		/* version of the protocol */
	u_int msg_id;		/* id of the next request */
	u_int exts;		/* SFTP_EXT_*: what the server supports */
#define SFTP_EXT_POSIX_RENAME		0x00000001
#define SFTP_EXT_STATVFS		0x00000002
#define SFTP_EXT_FSTATVFS		0x00000004
#define SFTP_EXT_HARDLINK		0x00000008
#define SFTP_EXT_FSYNC			0x00000010
#define SFTP_EXT_LSETSTAT		0x00000020
#define SFTP_EXT_LIMITS			0x00000040
#define SFTP_EXT_PATH_EXPAND		0x00000080
#define SFTP_EXT_COPY_DATA		0x00000100
#define SFTP_EXT_GETUSERSGROUPS_BY_ID	0x00000200
#define SFTP_EXT_CHECK_FILE		0x00000400
	uint64_t limit_kbps;	/* -l; 0: no limit */
	struct bwlimit bwlimit_in, bwlimit_out;

	struct sftp_inflight depth;	/* bytes that may be in flight */
	struct copy_ahead *ahead;	/* first requests, or NULL */
	struct copy_more *more;	/* additional streams, or NULL */
	uint64_t handles;	/* limit by limits@openssh.com; 0: none */
};

/* copy-engine.c: what sftp_download() etc. do with protocol version 3 */

/* Initializes the engine's state of a connection whose options are set. */
void	 copy_conn_init(struct sftp_conn *conn, u_int num_requests);

/* Frees the engine's state of a connection; NULL is fine. */
void	 copy_conn_free(struct sftp_conn *conn);

/*
 * Copies the file `src` to `dst`. `from` and `to` are the connections to their
 * servers; NULL: a local file. `a` has the attributes of a remote `src`; NULL:
 * they are requested. Logs an error and returns -1, or returns 0.
 */
int	 copy_run_file(struct sftp_conn *from, struct sftp_conn *to,
	    const char *src, const char *dst, const Attrib *a,
	    const struct copy_flags *flags);

/* The same for a directory and all its contents */
int	 copy_run_tree(struct sftp_conn *from, struct sftp_conn *to,
	    const char *src, const char *dst, const Attrib *a,
	    const struct copy_flags *flags);

extern int copy_resume;		/* 1: keep what the target has (scp -Z) */

/* Parses an option of -X. Returns 1, or 0 if unknown. Bad values are fatal. */
int	 copy_option(const char *option);

/*
 * copy-ahead.c: the first requests of a program. They are sent with
 * SSH_FXP_INIT, so they take no round trip of their own. They change nothing at
 * the server. When the program makes the same request, it gets the early reply.
 */

extern int copy_ahead_off;	/* 1: none are sent (-X ahead=no) */

/*
 * Notes a request with only a path, to be sent on the next connection of
 * sftp_init(). Ignores paths that the server has to expand.
 */
void	 copy_ahead_want(u_char type, const char *path);

/* Composes the next noted request in `m`. Returns 1, or 0 if none is left. */
int	 copy_ahead_next(struct sftp_conn *conn, struct sshbuf *m);

/* Returns 1 if the request `m` was sent with SSH_FXP_INIT, else 0. */
int	 copy_ahead_take(struct sftp_conn *conn, const struct sshbuf *m);

/* Puts an early reply into `m`. Returns 1, or 0 if there is none. */
int	 copy_ahead_give(struct sftp_conn *conn, struct sshbuf *m);

/* Keeps `m` and returns 1 if it replies to a noted request; else 0. */
int	 copy_ahead_keep(struct sftp_conn *conn, const struct sshbuf *m);

/* Frees noted requests and their replies. NULL is fine. */
void	 copy_ahead_free(struct copy_ahead *ahead);

/* copy-more.c: the program for additional streams */

/*
 * Notes the program for the next connection of sftp_init(): `ssh` with all of
 * `args` but the first. `host`, `user` and `port` are those of scp's do_cmd();
 * `user` may be NULL, and `port` -1. May be called before or after the
 * program's start.
 */
void	 copy_program_ssh(const char *ssh, char *const args[],
	    const char *host, const char *user, int port);

/* The same for the command `argv`, which is ssh or a server (-D). */
void	 copy_program(char *const argv[], int is_ssh);

extern u_int copy_streams;	/* most of a copy: 1 to COPY_STREAMS_MAX */

#endif /* SFTP_CONN_H */
