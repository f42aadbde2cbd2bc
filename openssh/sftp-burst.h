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


#ifndef SFTP_BURST_H
#define SFTP_BURST_H

#include <sys/types.h>

#include <stdint.h>

struct Attrib;
struct sshbuf;

/*
 * The requests of a small file in one flight, before the server has told the
 * file's handle. The handle is guessed: OpenSSH's sftp-server numbers open
 * files from 0. A request with a handle that is not open fails, and nothing
 * else has a file open in this session. So a wrong guess costs a round trip,
 * and the file is copied again in the usual way.
 */

/* Requests of a burst, and replies that it keeps, at most */
#define SFTP_BURST_REQUESTS	6
#define SFTP_BURST_KEPT		2
#define SFTP_BURST_ANY		3	/* of a file whose size is not known */

struct sftp_burst {
	u_int first;		/* id of OPEN; the others follow it */
	u_int requests;		/* that were composed */
	u_int outstanding;	/* requests without a reply */
	u_int answered;		/* bit i: request i has a reply */
	u_int reads;		/* replies to keep: those to 1 to reads */
	u_int close;		/* which request is CLOSE, or 0 */
	u_int end;		/* which one ends the session, or 0 */
	int	any_size;	/* these may be anything */
	size_t	size;		/* bytes that the first READ is to return */
	int	refused;	/* a reply was not what was hoped for */
	int	closed;		/* CLOSE succeeded */
	int	ended;		/* the server has ended the session */
	u_char	*handle;	/* of the file; NULL: OPEN failed */
	size_t	handle_len;
	struct sshbuf *kept[SFTP_BURST_ANY];	/* replies to READ */
};

/* A file to upload: `attrs` and `times` may be NULL */
struct sftp_burst_put {
	const char *path;
	u_int	flags;			/* of OPEN */
	const struct Attrib *attrs;	/* of OPEN */
	const u_char *data;
	size_t	len;			/* bytes of data */
	int	truncate;		/* 1: set the size to len */
	const struct Attrib *times;	/* to set at the end, or NULL */
	const char *name;	/* in path if a directory; NULL: OPEN */
	int	part;		/* 1: more data follows, do not close it */
	int	end;		/* 1: end the session if all succeeds */
};

/*
 * Begins a burst and appends its requests to `out`, each behind its length,
 * with ids from `id` on: OPEN, WRITE, FSETSTAT and CLOSE. Returns 0 or an
 * SSH_ERR_* code.
 */
int	 sftp_burst_put(struct sftp_burst *b, u_int id,
	    const struct sftp_burst_put *put, struct sshbuf *out);

/*
 * The same for a download of `size` bytes: OPEN, READs of the lengths len[]
 * (bytes), each behind the one before it, and CLOSE.
 */
int	 sftp_burst_get(struct sftp_burst *b, u_int id, const char *path,
	    size_t size, const size_t len[SFTP_BURST_KEPT],
	    struct sshbuf *out);

/*
 * The same for a download of a file whose size is not known: the server is
 * asked to open it if it is a regular file, and for three READs. The file
 * stays open. With `end`, the session ends if the file does not go on behind
 * them.
 */
int	 sftp_burst_get_any(struct sftp_burst *b, u_int id, const char *path,
	    const size_t len[SFTP_BURST_ANY], int end, struct sshbuf *out);

/*
 * Takes the next reply. Returns 0, or SSH_ERR_INVALID_FORMAT if it answers no
 * request of the burst.
 */
int	 sftp_burst_reply(struct sftp_burst *b, const struct sshbuf *msg);

/*
 * Returns 1 if the handle was guessed, nothing was refused, and what was read
 * has the expected size, else 0.
 */
int	 sftp_burst_succeeded(const struct sftp_burst *b);

/* Returns the bytes of data in the reply to READ `read` (from 0), or 0. */
size_t	 sftp_burst_read_len(const struct sftp_burst *b, u_int read);

/*
 * Makes the replies behind a READ that found the end say the same: a file that
 * grew meanwhile would have a hole. Returns the number of replies that had data
 * or an SSH_ERR_* code, which is negative.
 */
int	 sftp_burst_cut(struct sftp_burst *b);

/*
 * Copies a reply that the burst kept, the oldest, to `msg`. Returns 1, or 0 if
 * there is none.
 */
int	 sftp_burst_take(struct sftp_burst *b, struct sshbuf *msg);

/* Frees what the burst has kept. */
void	 sftp_burst_end(struct sftp_burst *b);

#endif /* SFTP_BURST_H */
