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

#ifndef SFTP_POLL_H
#define SFTP_POLL_H

/* Whether a reply can be read from fd without waiting, as far as is known. */
int	 sftp_poll_reply(int);

/*
 * Whether a request can be sent to fd without waiting. A server that waits for
 * us to read takes no more of them: reading has to go first.
 */
int	 sftp_poll_send(int);

/*
 * Waits until a reply can be read from one fd, or if there is none, a request
 * be sent to the other. Returns 1 for the former.
 */
int	 sftp_poll_either(int, int);

#endif /* SFTP_POLL_H */
