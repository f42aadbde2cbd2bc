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

#ifndef SFTP_RESUME_H
#define SFTP_RESUME_H

/* Value of sftp_download()'s and sftp_upload()'s resume, besides 0 and 1 */
#define SFTP_RESUME_CHECKED	2

/* Whether what is there is how the source begins */
enum sftp_same {
	SFTP_SAME_UNKNOWN,	/* the server has no check-file */
	SFTP_SAME_YES,
	SFTP_SAME_NO
};

/* A file that may have been copied in part. Times are seconds since 1970. */
struct sftp_resume {
	uint64_t size, have;	/* bytes: of the source, at the destination */
	uint64_t mtime, have_mtime;
	enum sftp_same same;	/* for the first have bytes */
};

/* Whether the answer to "same" can matter */
int	 sftp_resume_ask(const struct sftp_resume *);

/* Bytes at the destination that stay, from the first one. Pure. */
uint64_t sftp_resume_at(const struct sftp_resume *);

/* Tells the user what has been decided about the file. */
void	 sftp_resume_say(const struct sftp_resume *, const char *);

/* Takes the first len bytes' digest of an open file. Returns 0 or SSH_ERR_*. */
int	 sftp_resume_digest(int, uint64_t, u_char *);

#endif /* SFTP_RESUME_H */
