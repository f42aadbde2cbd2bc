/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SFTP_RESUME_H
#define SFTP_RESUME_H

#include "sftp-check-file.h"

/* Value of `resume` for sftp_download() and sftp_upload(), besides 0 and 1 */
#define SFTP_RESUME_CHECKED	2

struct sshbuf;

/* Is what is there the begin of the source? */
enum sftp_same {
	SFTP_SAME_UNKNOWN,	/* the server has no check-file */
	SFTP_SAME_YES,
	SFTP_SAME_NO
};

/* A file that may have been copied in part. Times are seconds since 1970. */
struct sftp_resume {
	uint64_t size;		/* bytes of the source */
	uint64_t have;		/* bytes at the destination */
	uint64_t mtime;		/* of the source */
	uint64_t have_mtime;	/* of the file at the destination */
	enum sftp_same same;	/* for the first `have` bytes */
};

/* Returns 1 if the value of s->same can matter. Pure. */
int	 sftp_resume_ask(const struct sftp_resume *s);

/* Returns the bytes at the destination that stay, from the first on. Pure. */
uint64_t sftp_resume_at(const struct sftp_resume *s);

/* Tells the user what has been decided about the file at path. */
void	 sftp_resume_say(const struct sftp_resume *s, const char *path);

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
	u_int outstanding;	/* requests; theirs are the first pieces */
	struct sftp_piece {
		u_int id;
		uint64_t start, len;	/* bytes */
		int digested;		/* `ours` or `failed` is set */
		int failed;		/* the file here could not be read */
		u_char ours[SFTP_CHECK_LEN];
	} piece[SFTP_COMPARE_AHEAD];
};

/* Starts to compare len bytes, at least one, with those of the open fd. */
void	 sftp_compare_start(struct sftp_compare *c, int fd, uint64_t len);

/* Returns 1 while another request is to be sent now. */
int	 sftp_compare_more(const struct sftp_compare *c);

/*
 * Puts the next request into m, with an id, for the file with a handle. Returns
 * 0 or an SSH_ERR_* code.
 */
int	 sftp_compare_ask(struct sftp_compare *c, struct sshbuf *m, u_int id,
	    const u_char *handle, size_t handle_len);

/*
 * Computes our own digest of the oldest piece that lacks it, if any. To be
 * called while the server is at work.
 */
void	 sftp_compare_read(struct sftp_compare *c);

/*
 * Takes the reply in m; replies may come in any order. Returns 0 or an
 * SSH_ERR_* code: SSH_ERR_INVALID_FORMAT if it answers none of the requests.
 */
int	 sftp_compare_reply(struct sftp_compare *c, struct sshbuf *m);

#endif /* SFTP_RESUME_H */
