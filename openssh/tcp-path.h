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

#ifndef TCP_PATH_H
#define TCP_PATH_H

#include "late-bytes.h"
#include "path-rtt.h"

/*
 * What the kernel knows of the path behind a TCP socket, and what it is told.
 * All differences between kernels are in here.
 */

/*
 * Asks the kernel about the TCP connection behind fd (tcp(7), TCP_INFO).
 * Returns 0, or SSH_ERR_SYSTEM_ERROR with errno set: EAGAIN if no RTT has been
 * measured yet, else that of getsockopt(2), or EOPNOTSUPP. *path is then all 0.
 */
int	 tcp_path_probe(int fd, struct path_info *path);

/*
 * Asks the kernel what the TCP connection behind fd holds of data that was not
 * read. *look is all 0 if that is nothing, or if the kernel can't tell.
 */
void	 tcp_path_look(int fd, struct late_look *look);

/*
 * Data that waits unsent in the kernel can't be overtaken. It gets what it
 * sends in TCP_PATH_UNSENT_US (us), a few turns of the main loop, in steps of
 * TCP_PATH_UNSENT_STEP bytes. The most (bytes) leaves fast links no idle moment
 * between two turns. The least is a packet.
 */
#define TCP_PATH_UNSENT_US	4000
#define TCP_PATH_UNSENT_MAX	(128 * 1024)
#define TCP_PATH_UNSENT_MIN	(16 * 1024)
#define TCP_PATH_UNSENT_STEP	(8 * 1024)

/*
 * Returns the number of bytes that may wait unsent if the kernel sends `rate`
 * bytes/s (0: unknown). Pure.
 */
u_int	 tcp_path_unsent(uint64_t rate);

/*
 * Keeps the kernel from taking data while more than `unsent` bytes wait
 * (tcp(7), TCP_NOTSENT_LOWAT), if it can. Logs an error.
 */
void	 tcp_path_bound_unsent(int fd, u_int unsent);

/*
 * If fill is 1, part of a segment waits for more data (Nagle's algorithm); if
 * 0, it is sent at once. Logs an error.
 */
void	 tcp_path_fill_segments(int fd, int fill);

/* Returns the bytes that the kernel has not sent even once; 0 if unknown. */
u_int	 tcp_path_waiting(int fd);

/*
 * Returns the bytes in the kernel that the peer has not acknowledged, whether
 * sent or not; 0 if unknown.
 */
u_int	 tcp_path_unacked(int fd);

#endif /* TCP_PATH_H */
