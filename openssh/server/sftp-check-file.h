/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SFTP_CHECK_FILE_H
#define SFTP_CHECK_FILE_H

struct sshbuf;

/*
 * SHA-256 digests of a file's content, for both ends of the sftp extension
 * check-file (PROTOCOL.sftp).
 */
#define SFTP_CHECK_ALG		"sha256"
#define SFTP_CHECK_LEN		32	/* bytes of a digest */
#define SFTP_CHECK_BLOCK_MIN	4096	/* minimum bytes of a block */
#define SFTP_CHECK_MAX		4096	/* maximum digests in a reply */
#define SFTP_CHECK_BYTES	(32 * 1024 * 1024)	/* per request */

/*
 * Appends to `reply` the digests of the blocks of a file, from byte `start` on.
 * A block has `block` bytes; the last one may be shorter. If `block` is 0, all
 * is one block, which may be empty. Reads `len` bytes (0: all), or fewer at the
 * end of the file. Sets *total to the number of bytes read. Stops if the client
 * hangs up; `in` and `out` are the descriptors for its requests and replies
 * (-1: there is no client).
 *
 * Returns 0, or
 *	SSH_ERR_INVALID_ARGUMENT	not a regular file, more bytes than
 *					SFTP_CHECK_BYTES, too many blocks, or
 *					one of less than SFTP_CHECK_BLOCK_MIN
 *					bytes before the end of the file
 *	SSH_ERR_SYSTEM_ERROR		with errno of read(2), which is EBADF
 *					if fd is not open for reading
 *	SSH_ERR_CONN_CLOSED		the client has gone
 * or another SSH_ERR_* code.
 */
int	 sftp_check_file(int fd, uint64_t start, uint64_t len, uint32_t block,
	    int in, int out, struct sshbuf *reply, uint64_t *total);

/*
 * Parses a reply with one digest. `m` has what follows the id; the name of the
 * extension is optional. Returns 0, SSH_ERR_INVALID_FORMAT, or an
 * SSH_ERR_* code of sshbuf_get_cstring().
 */
int	 sftp_check_reply(struct sshbuf *m, u_char d[SFTP_CHECK_LEN]);

#endif /* SFTP_CHECK_FILE_H */
