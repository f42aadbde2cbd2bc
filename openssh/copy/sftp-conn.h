/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SFTP_CONN_H
#define SFTP_CONN_H

#include <sys/types.h>

#include <stdint.h>

#include "misc.h"
#include "sftp-inflight.h"

struct copy_ahead;
struct copy_more;

/* An sftp session. Private to sftp-client.c and the copy engine. */
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
	uint64_t handles;	/* open handles that the server allows; 0: no
				 * limit, if it announces limits */
};

#endif /* SFTP_CONN_H */
