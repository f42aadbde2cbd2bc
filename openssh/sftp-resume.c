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

#include "includes.h"

#include <sys/types.h>

#include <stdint.h>

#include "log.h"
#include "sshbuf.h"
#include "ssherr.h"
#include "sftp-check-file.h"
#include "sftp-resume.h"

int
sftp_resume_ask(const struct sftp_resume *s)
{
	return s->have != 0 && s->have <= s->size;
}

uint64_t
sftp_resume_at(const struct sftp_resume *s)
{
	if (!sftp_resume_ask(s) || s->same == SFTP_SAME_NO)
		return 0;
	if (s->same == SFTP_SAME_YES)
		return s->have;
	/*
	 * Only scp -p leaves a source's time, when it is done. Of a copy that
	 * was broken off, the last write is later than that of its source.
	 */
	if (s->have == s->size)
		return s->have_mtime == s->mtime ? s->have : 0;
	return s->have_mtime >= s->mtime ? s->have : 0;
}

void
sftp_resume_say(const struct sftp_resume *s, const char *path)
{
	uint64_t at = sftp_resume_at(s);

	if (s->have == 0)
		return;
	if (at == 0)
		logit("\"%s\" %s what the source begins with: "
		    "sending all of it", path, s->have <= s->size &&
		    s->same == SFTP_SAME_UNKNOWN ? "may not be" : "is not");
	else if (s->same == SFTP_SAME_UNKNOWN)
		logit("\"%s\": keeping %llu bytes because of size and time "
		    "only: the server can't compare content", path,
		    (unsigned long long)at);
	else
		debug("\"%s\": %llu of %llu bytes are the same", path,
		    (unsigned long long)at, (unsigned long long)s->size);
}

int
sftp_resume_digest(int fd, uint64_t len, u_char *out)
{
	struct sshbuf *b;
	int r;

	if ((b = sshbuf_new()) == NULL)
		return SSH_ERR_ALLOC_FAIL;
	if ((r = sftp_check_file(fd, 0, len, 0, b)) == 0)
		r = sshbuf_get(b, out, SFTP_CHECK_LEN);
	sshbuf_free(b);
	return r;
}
