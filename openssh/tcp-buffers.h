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

#ifndef TCP_BUFFERS_H
#define TCP_BUFFERS_H

#include <sys/types.h>

#include <stdint.h>

#include "window-max.h"

/*
 * sshd raises the kernel's buffers of its own TCP sockets once a user has
 * logged in. Where the kernel's maximum is small (the third numbers of
 * tcp_rmem and tcp_wmem, tcp(7)), TCP would stop long before the windows of
 * SSH do. That takes CAP_NET_ADMIN. Without it, with ChannelWindowMax none,
 * and on systems other than Linux, all of this does nothing.
 *
 * A buffer's size is what Linux counts for it (SO_RCVBUF, socket(7)): at least
 * twice the data in it.
 */

/*
 * A buffer is at most the machine's memory divided by this. That is a quarter
 * of what all of TCP's buffers take before Linux begins to save (tcp_mem).
 */
#define TCP_BUFFERS_PER_MEMORY	64

/* Connections without a login at which listeners are lowered */
#define TCP_BUFFERS_MANY	10

/* A receive buffer (bytes) that is not full takes one more segment. */
#define TCP_BUFFERS_SEGMENT	(64 * 1024)

/*
 * Returns the size (bytes) that a buffer may have: room for window_max bytes of
 * data (ChannelWindowMax; 0: none), but no more than the machine's memory
 * (bytes) allows. Returns 0 if buffers stay as they are. Pure.
 */
int	 tcp_buffers_size(int window_max, uint64_t memory);

/*
 * Returns the size (bytes) to set. Returns 0 if the kernel's own maximum
 * (bytes) is no smaller, as its autotuning is better then, or if it is unknown
 * (0). Pure.
 */
int	 tcp_buffers_raise(int size, int kernel_max);

/*
 * Returns the largest receive buffer (bytes), up to size, that a connection can
 * use: wscale is its window scale (RFC 7323), which bounds the window. Pure.
 */
int	 tcp_buffers_usable(int size, u_int wscale);

/*
 * Returns the receive buffer (bytes) that a listening socket needs at least, so
 * that Linux gives its connections the window scale for buffers of `size`
 * bytes. Returns 0 if the kernel's own maximum (bytes) gives them that scale
 * anyway, or if it is unknown (0). The result is at most INT_MAX. Pure.
 */
int	 tcp_buffers_for_scale(int size, int kernel_max);

/*
 * Returns 1 if listeners are to be raised, else 0. connections: the number that
 * have not logged in. raised: 1 if listeners are raised now. They are lowered
 * at TCP_BUFFERS_MANY connections and raised again at half of that, so that
 * they don't change at each connection. Pure.
 */
int	 tcp_buffers_few(int raised, u_int connections);

/*
 * Returns 1 if a new connection's data takes more memory (held, bytes) than a
 * receive buffer of `size` bytes could have taken; else 0. Pure.
 */
int	 tcp_buffers_too_full(uint32_t held, int size);

/*
 * Prepares a socket that is about to listen: a connection's window scale
 * follows from the size of its receive buffer, and never changes later. Returns
 * nothing: if the buffer can't be raised, it stays as it is.
 */
void	 tcp_buffers_listen(int fd, int window_max);

/*
 * Lowers the n listening sockets to the size that they had before
 * tcp_buffers_listen() while many connections have not logged in, and raises
 * them when there are few. startups: those that were accepted; those that wait
 * for that are added. Returns nothing.
 */
void	 tcp_buffers_startups(const int *listeners, int n, u_int startups);

/*
 * Gives a connection that was just accepted the receive buffer that it would
 * have had without tcp_buffers_listen(), or up to 4 KiB less. The size is a
 * mark for tcp_buffers_login(), and stays until then. Returns 0. Returns -1,
 * after a message at VERBOSE, if the caller has to close the connection: it has
 * sent more than that buffer could have taken, or its buffer can't be lowered.
 */
int	 tcp_buffers_accepted(int fd);

/*
 * Raises the buffers of a connection whose user has logged in. Unsent data is
 * bounded at the same time, so that the send buffer holds what is in flight.
 * If the receive buffer is not raised, the kernel tunes it again. Buffers whose
 * size somebody else has set stay as they are. Sockets other than TCP are
 * ignored silently.
 */
void	 tcp_buffers_login(int fd, int window_max);

#endif /* TCP_BUFFERS_H */
