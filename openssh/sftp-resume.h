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

#include "sftp-check-file.h"

/* Value of sftp_download()'s and sftp_upload()'s resume, besides 0 and 1 */
#define SFTP_RESUME_CHECKED	2

struct sshbuf;

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

/*
 * Compares the first bytes of a file here with those of a file at the server,
 * in pieces: sftp-server reads no more than SFTP_CHECK_BYTES for a request.
 * Several requests are outstanding, so that neither end waits for the path.
 */
#define SFTP_COMPARE_AHEAD	8	/* requests */

struct sftp_compare {
	int fd;			/* of the file here */
	uint64_t len;		/* bytes to compare */
	uint64_t asked;		/* bytes that were asked for */
	uint64_t step;		/* bytes that a request asks for */
	enum sftp_same same;	/* YES until something says otherwise */
	u_int outstanding;	/* requests; they are the first of: */
	struct sftp_piece {
		u_int id;
		uint64_t start, len;	/* bytes */
		int digested;		/* ours is there, or failed is */
		int failed;		/* the file here could not be read */
		u_char ours[SFTP_CHECK_LEN];
	} piece[SFTP_COMPARE_AHEAD];
};

/* Starts to compare len bytes, at least one, with those of the open fd. */
void	 sftp_compare_start(struct sftp_compare *c, int fd, uint64_t len);

/* Returns 1 while another request is to be sent now. */
int	 sftp_compare_more(const struct sftp_compare *c);

/*
 * Puts the next request into m, with that id, for the file behind a handle.
 * Returns 0 or SSH_ERR_*.
 */
int	 sftp_compare_ask(struct sftp_compare *c, struct sshbuf *m, u_int id,
	    const u_char *handle, size_t handle_len);

/*
 * Takes our own digest of the oldest piece that lacks it, if any: to be called
 * while the server is at work.
 */
void	 sftp_compare_read(struct sftp_compare *c);

/*
 * Takes the reply in m, in any order. Returns 0 or SSH_ERR_*: INVALID_FORMAT
 * if it answers none of the requests.
 */
int	 sftp_compare_reply(struct sftp_compare *c, struct sshbuf *m);

#endif /* SFTP_RESUME_H */
