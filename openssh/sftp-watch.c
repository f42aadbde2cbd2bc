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
#include <sys/resource.h>
#include <sys/time.h>

#include <stdint.h>

#include "log.h"
#include "misc.h"
#include "sftp-watch.h"

static struct sftp_limit limit;
static int full;

static double
cpu_s(int who)
{
	struct rusage ru;

	if (getrusage(who, &ru) == -1)
		return 0;
	return ru.ru_utime.tv_sec + ru.ru_stime.tv_sec +
	    (ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6;
}

void
sftp_watch_begin(void)
{
	sftp_limit_begin(&limit, monotime_double(), cpu_s(RUSAGE_SELF));
}

void
sftp_watch_end(void)
{
	sftp_limit_end(&limit, monotime_double(), cpu_s(RUSAGE_SELF));
}

enum sftp_doing
sftp_watch(enum sftp_doing doing)
{
	if (doing == SFTP_WAITS) {
		if (full)
			doing = SFTP_WAITS_FULL;
		full = 0;
	}
	return sftp_limit_does(&limit, doing, monotime_double());
}

void
sftp_watch_full(int yes)
{
	full = yes;
}

void
sftp_watch_bytes(size_t len)
{
	limit.bytes += len;
}

void
sftp_watch_report(void)
{
	char text[512];

	if (limit.bytes == 0)
		return;
	limit.ssh_cpu_s = cpu_s(RUSAGE_CHILDREN);
	sftp_limit_text(&limit, text, sizeof(text));
	debug("%s", text);
}
