/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SFTP_CONN_H
#define SFTP_CONN_H

#include <sys/types.h>

#include <stdint.h>

#include "misc.h"
#include "sftp-inflight.h"

/*
 * What scp, sftp and sftp-client.c have of the copy engine: a session, copies,
 * options, the requests that are sent with INIT, and further streams.
 */

struct copy_ahead;
struct copy_more;
struct sshbuf;

/* Flags of sftp_download() and the like: 0 or 1; resume and print: also 2 */
struct copy_flags {
	int preserve, resume, fsync, inplace, print, follow;
};

/* Value of `resume` besides 0 and 1: keep what the source begins with (-Z) */
#define COPY_RESUME_CHECKED	2

/* An sftp session: known to sftp-client.c and the copy engine. */
struct sftp_conn {
	int fd_in;		/* descriptor that replies come from */
	int fd_out;		/* descriptor that requests go to */
	u_int download_buflen;	/* bytes that a READ asks for */
	u_int upload_buflen;	/* bytes of data in a WRITE */
	u_int num_requests;	/* requests in flight, for upstream's loops */
	u_int version;		/* of the protocol */
	u_int msg_id;		/* of the next request */
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
	struct copy_ahead *ahead;	/* requests sent with INIT, or NULL */
	struct copy_more *more;	/* further streams, or NULL */
	uint64_t handles;	/* most open, by limits@openssh.com; 0: any */
};

/* copy-engine.c: what sftp_download() and the like do with version 3 */

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
int	 copy_run_file(struct sftp_conn *from, struct sftp_conn *to,
	    const char *src, const char *dst, const Attrib *a,
	    const struct copy_flags *flags);

/* The same for a directory and all that is in it */
int	 copy_run_tree(struct sftp_conn *from, struct sftp_conn *to,
	    const char *src, const char *dst, const Attrib *a,
	    const struct copy_flags *flags);

/*
 * Takes an option of scp and sftp, as it follows -X. Returns 1, or 0 if it is
 * none of the engine's. A bad value is fatal.
 */
int	 copy_option(const char *option);

/*
 * copy-ahead.c: requests that a program will make first of all. They are sent
 * with INIT, and so cost no round trip of their own. They change nothing at the
 * server. When the program makes one of them, it gets the reply to this one.
 */

extern int copy_ahead_off;	/* 1: none are sent (-X ahead=no) */

/*
 * Notes a request of a type that has a path only, for the connection that
 * sftp_init() makes next. Paths that the server has to expand are left out.
 */
void	 copy_ahead_want(u_char type, const char *path);

/* Composes the next request sent with INIT. Returns 1, or 0 if none is left. */
int	 copy_ahead_next(struct sftp_conn *conn, struct sshbuf *m);

/* Returns 1 if the request m need not be sent, as it was sent ahead, else 0. */
int	 copy_ahead_take(struct sftp_conn *conn, const struct sshbuf *m);

/* Puts a reply that came early into m. Returns 1, or 0 if there is none. */
int	 copy_ahead_give(struct sftp_conn *conn, struct sshbuf *m);

/* Keeps a reply to a request that was sent ahead. Returns 1 if m is one. */
int	 copy_ahead_keep(struct sftp_conn *conn, const struct sshbuf *m);

/* Frees what is left; NULL is fine. */
void	 copy_ahead_free(struct copy_ahead *ahead);

/* copy-more.c: the program of further streams */

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

/* Number of streams that a copy may have: 1 to COPY_STREAMS_MAX */
extern u_int copy_streams;

#endif /* SFTP_CONN_H */
