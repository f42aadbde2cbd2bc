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

#ifndef SFTP_CHECK_FILE_H
#define SFTP_CHECK_FILE_H

struct sshbuf;

/*
 * Digests of a file's content, all of them SHA-256: what the sftp extension
 * check-file needs at both ends (PROTOCOL.sftp).
 */
#define SFTP_CHECK_ALG		"sha256"
#define SFTP_CHECK_LEN		32	/* bytes of a digest */
#define SFTP_CHECK_BLOCK_MIN	256	/* bytes of content */
#define SFTP_CHECK_MAX		4096	/* digests in a reply */
#define SFTP_CHECK_BYTES	(32 * 1024 * 1024)	/* read for a request */

/*
 * Appends to reply the digest of each block of block bytes (0: of all in one),
 * from start on. It ends after len bytes (0: with the file), and where the file
 * ends. The last block may be shorter. There is no digest of nothing, unless
 * block is 0. It stops when the client whose requests and replies go through
 * the descriptors in and out hangs up (-1: it has none).
 *
 * Returns 0 or SSH_ERR_*: INVALID_ARGUMENT for a file that is not a regular
 * one, more than SFTP_CHECK_BYTES, and blocks that are too many or too small;
 * SYSTEM_ERROR with errno of read(2), EBADF where fd is not open for reading;
 * CONN_CLOSED when the client has gone.
 */
int	 sftp_check_file(int fd, uint64_t start, uint64_t len, uint32_t block,
	    int in, int out, struct sshbuf *reply);

/*
 * Puts a request into m, with that id: for one digest, of len bytes from start
 * of the file behind a handle. Returns 0 or SSH_ERR_*.
 */
int	 sftp_check_request(struct sshbuf *m, u_int id, const u_char *handle,
	    size_t handle_len, uint64_t start, uint64_t len);

/* Returns 1 if the other end's list of digests has the one that we have. */
int	 sftp_check_list(const char *list);

/*
 * Takes the one digest from what follows the id in a reply, with the reply's
 * name before it or without. Returns 0 or SSH_ERR_INVALID_FORMAT.
 */
int	 sftp_check_reply(struct sshbuf *m, u_char d[SFTP_CHECK_LEN]);

#endif /* SFTP_CHECK_FILE_H */
