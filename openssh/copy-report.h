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

#ifndef COPY_REPORT_H
#define COPY_REPORT_H

struct copy_login_files;
struct ssh;

/*
 * In ssh: tells the scp or sftp that has started it what only ssh knows, over
 * the pair of quick-pair.h: that the connection is its own, CopyConnections,
 * whether further logins would fail, and, if it asks, how long the connection
 * is held up.
 */

/*
 * Starts to, if there is a pair. The host's key is looked for in the files,
 * under that name. Call it before the user logs in.
 */
void	 copy_report_start(const char *known_host,
	    const struct copy_login_files *files);

/* Notes that the user has logged in: no further login begins before that. */
void	 copy_report_logged_in(struct ssh *ssh);

#endif /* COPY_REPORT_H */
