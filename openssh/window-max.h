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

#ifndef WINDOW_MAX_H
#define WINDOW_MAX_H

/*
 * The option ChannelWindowMax: how many bytes the receive windows of one
 * connection may be, all together.
 */

/* Limits of the option, bytes: a stock window; what fits an int */
#define WINDOW_MAX_LEAST	(2 * 1024 * 1024)
#define WINDOW_MAX_MOST		(1024 * 1024 * 1024)

/*
 * The default is as much as one buffer can hold, and carries 10 Gbit/s over
 * 100 ms; but at most this part of the memory, so that so many connections
 * whose readers all stop still fit.
 */
#define WINDOW_MAX_CONNECTIONS	16

/*
 * Reads a size ("64M", scan_scaled(3)) or "none", which is 0 and means that
 * windows stay as they start. Returns NULL, or what is wrong with it.
 */
const char *window_max_parse(const char *, int *);

/*
 * Returns a limit as ssh -G and sshd -T print it. The text lasts until the next
 * call.
 */
const char *window_max_text(int max);

/* The default for this machine and memory cgroup, bytes. */
int	 window_max_default(void);

/*
 * Memory that we may use, bytes: the machine's, or less if our cgroup or one
 * over it says so (cgroups(7), versions 1 and 2). root is where /proc and
 * /sys are, "" but in tests; phys what the machine has.
 */
uint64_t window_max_memory(const char *, uint64_t);

#endif /* WINDOW_MAX_H */
