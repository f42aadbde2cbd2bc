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

#include <stdint.h>

/*
 * A pair of sockets between scp or sftp and the ssh that it starts, besides the
 * one that carries the data. Only ssh knows the server and the path, and only
 * scp knows what the server's sftp takes. On it goes one byte each, and what is
 * said to follow:
 *
 *	ssh to scp	QUICK_PAIR_HERE: first of all
 *			QUICK_PAIR_SEND: requests may go out before the server
 *			has said its version
 *			QUICK_PAIR_OWN: the user has logged in over a connection
 *			of this ssh's own, so not through a ControlMaster. A
 *			byte follows: CopyConnections; and one more: 1 if the
 *			connection is a socket, 0 if it goes through a proxy
 *			QUICK_PAIR_ASKS: before that, if a login like this one
 *			would ask somebody, or its host's key is in no file
 *			QUICK_PAIR_AGAIN: before that, if this ssh has connected
 *			a second time
 *			QUICK_PAIR_HELD: how long the connection was held up
 *			(see tcp-held.h) in all, and its least RTT: 8 bytes
 *			each (us), most significant first
 *			QUICK_PAIR_WIDE, QUICK_PAIR_NARROW: before that, if it
 *			has changed. Wide: the peer's windows hold the
 *			connection up for longer than TCP's buffers, and TCP is
 *			wide (see tcp-held.h). Narrow: not so, as at first
 *	scp to ssh	QUICK_PAIR_SENT: they are in ssh's standard input
 *			QUICK_PAIR_TAKES, QUICK_PAIR_NOT: whether the server's
 *			sftp takes them, for the next time
 *			QUICK_PAIR_WATCH: QUICK_PAIR_HELD is wanted, from now on
 *
 * ssh finds its end by its number and its inode in the environment,
 * QUICK_PAIR_ENV. An ssh that does not know of it closes it, and scp waits for
 * the version as usual. Whatever that ssh starts inherits the variable: by the
 * inode an ssh among it sees that another socket has the number now.
 */
#define QUICK_PAIR_ENV		"SSH_QUICK_PAIR"
#define QUICK_PAIR_HERE		'h'
#define QUICK_PAIR_SEND		'+'
#define QUICK_PAIR_OWN		'c'
#define QUICK_PAIR_ASKS		'a'
#define QUICK_PAIR_AGAIN	'r'
#define QUICK_PAIR_HELD		'u'
#define QUICK_PAIR_WIDE		'v'
#define QUICK_PAIR_NARROW	'i'
#define QUICK_PAIR_SENT		's'
#define QUICK_PAIR_TAKES	'y'
#define QUICK_PAIR_NOT		'n'
#define QUICK_PAIR_WATCH	'w'

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

/*
 * Says whether the server takes them. Call it when the server's version has
 * come, and then quick_pair_told(), or quick_pair_close().
 */
void	 quick_pair_tell(int takes);

/* What ssh has said of its connection */
struct quick_pair_told {
	int	 here;		/* 1: it is an ssh that knows of the pair */
	int	 own;		/* 1: the connection is its own */
	int	 connections;	/* CopyConnections; 0: auto */
	int	 socket;	/* 1: the connection is a socket */
	int	 asks;		/* 1: further logins would fail, or ask */
	int	 again;		/* 1: ssh has connected a second time */
};

/* Has a function called if quick_pair_wait() hears that ssh has logged in. */
void	 quick_pair_on_own(void (*own)(void));

/* Fills in *told with what ssh has said until now. */
void	 quick_pair_told(struct quick_pair_told *told);

/* Asks ssh to say from now on how long the connection is held up. */
void	 quick_pair_watch(void);

/*
 * Gives what ssh has said last: the total time (us) that the connection was
 * held up, and the least RTT (us). Both are 0 if ssh has not said anything.
 */
void	 quick_pair_held(uint64_t *held_us, uint64_t *rtt_us);

/* Returns 1 if ssh has said QUICK_PAIR_WIDE, and not taken it back; else 0. */
int	 quick_pair_is_wide(void);

/* Closes scp's end, which is of no use any more. */
void	 quick_pair_close(void);

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

/* Says QUICK_PAIR_OWN with CopyConnections and whether it is a socket. */
void	 quick_pair_own(int connections, int socket);

/* Says QUICK_PAIR_ASKS. Call it before quick_pair_own(). */
void	 quick_pair_say_asks(void);

/* Says QUICK_PAIR_AGAIN. Call it before quick_pair_own(). */
void	 quick_pair_say_again(void);

/* Returns 1 if scp has asked to be told how long the connection is held up. */
int	 quick_pair_is_watched(void);

/*
 * Tells it (us), and whether TCP is wide (1 or 0), unless scp is too busy to
 * listen.
 */
void	 quick_pair_say_held(uint64_t held_us, uint64_t rtt_us, int wide);

#endif /* QUICK_PAIR_H */
