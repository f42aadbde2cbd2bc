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

#ifndef QUICK_HOLD_H
#define QUICK_HOLD_H

/*
 * Holds back what stock says when a connection fails: if ssh then connects
 * again, nobody wants to read it.
 */

/*
 * From now on, holds back what is no debugging message. What was held is logged
 * before a message with which ssh exits.
 */
void	 quick_hold_begin(void);

/*
 * Holds back no more, and logs what was held; as debugging messages if drop is
 * 1. errno stays as it is.
 */
void	 quick_hold_end(int drop);

#endif /* QUICK_HOLD_H */
