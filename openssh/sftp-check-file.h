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
#define SFTP_CHECK_BLOCK_MIN	256	/* bytes, of content */
#define SFTP_CHECK_MAX		4096	/* digests in a reply */

/*
 * Appends the digest of each block of so many bytes (0: of all), beginning at
 * start and ending after len bytes (0: with the file). Where the file ends is
 * the end, too. The last block may be shorter; of nothing there is no digest,
 * unless the block size is 0. Returns 0 or SSH_ERR_*: INVALID_ARGUMENT for too
 * many or too small blocks, SYSTEM_ERROR with errno of pread(2).
 */
int	 sftp_check_file(int, uint64_t, uint64_t, uint32_t, struct sshbuf *);

/*
 * Makes a request of it, with that id: for one digest, of the first len bytes of
 * the file behind a handle. Returns 0 or SSH_ERR_*.
 */
int	 sftp_check_request(struct sshbuf *, u_int, const u_char *, size_t,
	    uint64_t);

/* Whether the list that the other end sent has the digest that we have */
int	 sftp_check_list(const char *);

/*
 * Takes the one digest from what follows the id in a reply, with the reply's
 * name before it or without. Returns 0 or SSH_ERR_INVALID_FORMAT.
 */
int	 sftp_check_reply(struct sshbuf *, u_char *);

#endif /* SFTP_CHECK_FILE_H */
