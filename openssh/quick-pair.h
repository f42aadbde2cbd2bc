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

#ifndef QUICK_PAIR_H
#define QUICK_PAIR_H

/*
 * A pair of sockets between scp or sftp and the ssh that it starts, besides the
 * one that carries the data. Only ssh knows the server, and only scp knows what
 * the server's sftp takes. On it goes one byte each:
 *
 *	ssh to scp	QUICK_PAIR_SEND: requests may go out before the server
 *			has said its version
 *	scp to ssh	QUICK_PAIR_SENT: they are in ssh's standard input
 *			QUICK_PAIR_TAKES, QUICK_PAIR_NOT: whether the server's
 *			sftp takes them, for the next time
 *
 * ssh finds its end by a number in the environment, QUICK_PAIR_ENV. An ssh that
 * does not know of it closes it, and scp waits for the version as usual.
 */
#define QUICK_PAIR_ENV		"SSH_QUICK_PAIR"
#define QUICK_PAIR_SEND		'+'
#define QUICK_PAIR_SENT		's'
#define QUICK_PAIR_TAKES	'y'
#define QUICK_PAIR_NOT		'n'

/* How long ssh waits (ms) for what scp has ready. */
#define QUICK_PAIR_MS		100

/* In scp and sftp */

/* Makes a pair for the ssh that is started next. */
void	 quick_pair_open(void);

/* In that ssh's process: leaves it its end. */
void	 quick_pair_child(void);

/* In scp, once ssh was started: keeps scp's end only. */
void	 quick_pair_parent(void);

/*
 * Waits until ssh says that requests may go out, and returns 1; or until it
 * will not, or the server's version can be read from `in`, and returns 0.
 */
int	 quick_pair_wait(int in);

/* Says that they have gone out. */
void	 quick_pair_sent(void);

/* Says whether the server takes them. scp's end is of no use after this. */
void	 quick_pair_tell(int takes);

/* In ssh */

/*
 * Takes ssh's end out of the environment. Returns the lowest descriptor that
 * ssh does not need.
 */
int	 quick_pair_take(void);

/* Returns 1 if scp or sftp is at the other end, else 0. */
int	 quick_pair_is_there(void);

/*
 * Says that requests may go out, and waits until they have gone out, or for
 * QUICK_PAIR_MS. Returns 1 if they have, else 0.
 */
int	 quick_pair_offer(void);

/* Returns 1 if the server takes them, 0 if not, -1 if nobody has said. */
int	 quick_pair_learned(void);

#endif /* QUICK_PAIR_H */
