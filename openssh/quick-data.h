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

#ifndef QUICK_DATA_H
#define QUICK_DATA_H

struct Channel;
struct ssh;

/*
 * The first data of a session that is sent with a signature. The server
 * handles it behind the session's request, when its channel has a window (2 MiB
 * with OpenSSH). Here the channel has none yet: what was sent is taken off the
 * window once the server tells it. If the login goes on, the session and its
 * data are sent again, once the login has succeeded: the server has refused
 * both.
 */

/* Bytes of data that may be sent early: a file of 32 KiB and its requests */
#define QUICK_DATA_MAX		(36 * 1024)
#define QUICK_DATA_PACKET	(32 * 1024)	/* bytes of a packet */

/* Sends what a channel's input has now, at most QUICK_DATA_MAX bytes. */
void	 quick_data_send(struct ssh *ssh, struct Channel *c);

/* Notes that the server has refused the session. */
void	 quick_data_refused(void);

/* Notes that the login has succeeded, and the session with it. */
void	 quick_data_taken(void);

/* Puts data that the server has refused in front of a new channel's input. */
void	 quick_data_again(struct Channel *c);

/* Takes what was sent off a channel's window, which has just been enlarged. */
void	 quick_data_settle(struct Channel *c);

#endif /* QUICK_DATA_H */
