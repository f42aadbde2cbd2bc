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

#ifndef SFTP_AHEAD_H
#define SFTP_AHEAD_H

#include <sys/types.h>

#include <stdint.h>

struct sftp_burst;
struct sftp_plan;
struct sshbuf;
struct stat;

/*
 * A plan (sftp-plan.h) that has been sent: all of its requests went out in one
 * flight, to a server that is known to take them. The reply to a question waits
 * until the question is asked. What was not foreseen is done in the usual way.
 */

#define SFTP_AHEAD_DATA		32768	/* bytes of an upload */
#define SFTP_AHEAD_READ		(255 * 1024)	/* bytes asked for at once */

/*
 * The READs of a download: nothing can be written before all data of the first
 * one has come. That fits into TCP's initial window of 10 segments.
 */
#define SFTP_AHEAD_FIRST	8192
#define SFTP_AHEAD_READS { SFTP_AHEAD_FIRST, \
	    SFTP_AHEAD_READ - SFTP_AHEAD_FIRST, SFTP_AHEAD_READ }
#define SFTP_AHEAD_ALL		(2 * SFTP_AHEAD_READ)	/* bytes of them */

struct sftp_ahead;

/*
 * Appends the requests of a plan, with the question for the server's limits in
 * front, to `out`, with ids from *id on, which it increases. Returns what takes
 * the replies, or NULL if there is no memory.
 */
struct sftp_ahead *sftp_ahead_compose(const struct sftp_plan *plan,
	    u_int *id, struct sshbuf *out);

/*
 * Returns the id of the question for the server's limits if the server knows
 * it. Otherwise returns 0, and got() keeps the answer.
 */
u_int	 sftp_ahead_limits(struct sftp_ahead *a, int known);

/*
 * Keeps a reply if it answers one of the planned requests. Returns 1, or 0 if
 * it does not.
 */
int	 sftp_ahead_got(struct sftp_ahead *a, const struct sshbuf *msg);

/*
 * Returns 1 if a request of a type about a path (of len bytes) need not be
 * sent, as it was planned: its reply is the next one that take() copies, with
 * this id. Else returns 0.
 */
int	 sftp_ahead_use(struct sftp_ahead *a, u_int id, u_char type,
	    const char *path, size_t len);

/* Returns 1 if the reply to a planned question is to be taken, else 0. */
int	 sftp_ahead_used(const struct sftp_ahead *a);

/* Copies that reply to `msg` and returns 1, or 0 if it has not come yet. */
int	 sftp_ahead_take(struct sftp_ahead *a, struct sshbuf *msg);

/*
 * Returns the requests of the file that was planned, if it is the one at a
 * path (put: an upload), else NULL. Only the first call may return them. Then
 * use() returns 0: what was asked before is out of date.
 */
struct sftp_burst *sftp_ahead_file(struct sftp_ahead *a, int put,
	    const char *path);

/*
 * Returns 1 if the file at a path (put: an upload) is the one that was planned,
 * and the plan says that nothing follows it, else 0.
 */
int	 sftp_ahead_is_last(const struct sftp_ahead *a, int put,
	    const char *path);

/* Returns 1 if file() has requests to return, else 0. */
int	 sftp_ahead_is_file(const struct sftp_ahead *a);

/*
 * Returns 1 if the first data of a download may be written before the replies
 * behind it have come, else 0: the file, of size bytes, goes on behind all that
 * was asked for, so that the server does not end the session.
 */
int	 sftp_ahead_may_begin(const struct sftp_burst *b, uint64_t size);

/*
 * Sets len[] to the bytes that each READ of a download was for. If the server
 * has ended the session, the last one that got data was for what it has got.
 * If all are answered, no data follows one that found the end: of a file that
 * grew meanwhile, it is what there was before. Returns 0 or an SSH_ERR_* code.
 */
int	 sftp_ahead_lens(struct sftp_burst *b, size_t *len);

/* Returns the bytes of the upload that went out. */
size_t	 sftp_ahead_bytes(const struct sftp_ahead *a);

/*
 * Returns 1 if `st` is of the local file that they are from, and that file has
 * not changed since, else 0.
 */
int	 sftp_ahead_is_source(const struct sftp_ahead *a,
	    const struct stat *st);

#endif /* SFTP_AHEAD_H */
