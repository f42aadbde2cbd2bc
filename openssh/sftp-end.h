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

#ifndef SFTP_END_H
#define SFTP_END_H

#include <sys/types.h>

/*
 * Whether sftp-server may end a session at a request of its client: if the
 * requests before it succeeded, there is nothing that the client would still
 * want to know (PROTOCOL.sftp).
 */
struct sftp_end {
	u_int good;		/* requests that succeeded in a row */
	u_int since_read;	/* requests after the last READ */
	int	read_ended;	/* that READ found the end of its file */
	int	is_short;	/* the next one to be noted got less */
	int	behind;		/* READs follow one that got less */
};

/*
 * Notes that a READ, which answered() follows, got less than it asked for; to
 * the end of its file, or not.
 */
void	 sftp_end_short(struct sftp_end *e, int at_end);

/*
 * Notes that a request of a type (SSH2_FXP_*) was answered, with a status
 * (SSH2_FX_*), or with something else (SSH2_FX_OK).
 */
void	 sftp_end_answered(struct sftp_end *e, u_char type, u_int status);

/*
 * Returns 1 if the last `count` requests (at least 1) succeeded, the last READ
 * among them, if there is any, found the end of its file, and none got less
 * than there is. Else returns 0. A file may grow meanwhile: data behind a READ
 * that got less than it asked for leaves a hole.
 */
int	 sftp_end_may(const struct sftp_end *e, u_int count);

#endif /* SFTP_END_H */
