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

#ifndef SFTP_AUTO_H
#define SFTP_AUTO_H

#include <stdint.h>

/*
 * When a copy with `connections=auto` gets one more connection: hands the facts
 * to sftp-grow.c. ssh tells how long the first connection was held up
 * (quick-pair.h); the others are taken to be as it is.
 */

struct sftp_parts;

/*
 * Begins anew, also within a copy. If `paced` is 0, connections may begin as
 * fast as they help.
 */
void	 sftp_auto_begin(int paced);

/* Says which file is copied in parts now, alone or of a tree; NULL: none. */
void	 sftp_auto_file(const struct sftp_parts *parts);

/* Returns 1 if one more connection is of use at time now_s, else 0. */
int	 sftp_auto_wants(double now_s);

#endif /* SFTP_AUTO_H */
