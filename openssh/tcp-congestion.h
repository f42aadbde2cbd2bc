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


#ifndef TCP_CONGESTION_H
#define TCP_CONGESTION_H

#include <stddef.h>

/*
 * The option TCPCongestion: names of congestion controls, by preference, with
 * commas between them. The default leaves a connection with the system's own.
 */

/* What the kernel takes with its NUL, TCP_CA_NAME_MAX */
#define TCP_CONGESTION_NAME_MAX	16

#define TCP_CONGESTION_DEFAULT	"default"

/* Returns NULL, or what is wrong with a list. */
const char *tcp_congestion_check(const char *);

/*
 * Takes the next name off a list. Returns it in the buffer, and the rest of the
 * list or NULL.
 */
const char *tcp_congestion_next(const char *, char *, size_t);

/*
 * Sets the first one that the kernel allows on a connected socket (tcp(7),
 * TCP_CONGESTION), and logs which. If it allows none it warns, and the
 * connection stays as it is. So does one that is no TCP, without a word.
 */
void	 tcp_congestion_set(int, const char *);

#endif /* TCP_CONGESTION_H */
