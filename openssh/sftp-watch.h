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

#ifndef SFTP_WATCH_H
#define SFTP_WATCH_H

#include "sftp-limit.h"

/*
 * Keeps the time for this process's one struct sftp_limit. The program does
 * one thing at a time, whatever the number of its connections and jobs.
 */

/* A transfer begins, or ends. A tree's files may do so within the tree's. */
void	 sftp_watch_begin(void);
void	 sftp_watch_end(void);

/* From now on it does this. Returns what it did until now. */
enum sftp_doing sftp_watch(enum sftp_doing);

/* If true, the next SFTP_WAITS is SFTP_WAITS_FULL. */
void	 sftp_watch_full(int);

/* Counts bytes that have been transferred. */
void	 sftp_watch_bytes(size_t);

/*
 * Says with -v what limited the transfers, if there were any. ssh must have
 * been waited for.
 */
void	 sftp_watch_report(void);

#endif /* SFTP_WATCH_H */
