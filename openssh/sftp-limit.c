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
#include <stdio.h>

#include "misc.h"
#include "sftp-limit.h"

static const char *
limited_name(enum sftp_limited limited)
{
	switch (limited) {
	case SFTP_LIMITED_CONNECTION:
		return "the connection";
	case SFTP_LIMITED_REQUESTS:
		return "the number of requests";
	case SFTP_LIMITED_RATE:
		return "the rate given";
	case SFTP_LIMITED_FILES:
		return "local files";
	case SFTP_LIMITED_SSH_CPU:
		return "ssh's CPU";
	default:
		return "its own CPU";
	}
}

enum sftp_doing
sftp_limit_does(struct sftp_limit *l, enum sftp_doing doing, double now)
{
	enum sftp_doing did = l->doing;

	if (l->running != 0 && now > l->since_s)
		l->spent_s[did] += now - l->since_s;
	l->since_s = now;
	l->doing = doing;
	return did;
}

void
sftp_limit_begin(struct sftp_limit *l, double now, double cpu_s)
{
	sftp_limit_does(l, SFTP_WORKS, now);
	if (l->running++ == 0)
		l->cpu_s -= cpu_s;
}

void
sftp_limit_end(struct sftp_limit *l, double now, double cpu_s)
{
	sftp_limit_does(l, SFTP_WORKS, now);
	if (--l->running == 0)
		l->cpu_s += cpu_s;
}

static double
total_s(const struct sftp_limit *l)
{
	double sum = 0;
	int i;

	for (i = 0; i < SFTP_DOINGS; i++)
		sum += l->spent_s[i];
	return sum;
}

enum sftp_limited
sftp_limit_verdict(const struct sftp_limit *l)
{
	static const enum sftp_limited by[] = {
		[SFTP_WORKS] = SFTP_LIMITED_CPU,
		[SFTP_WAITS] = SFTP_LIMITED_CONNECTION,
		[SFTP_WAITS_FULL] = SFTP_LIMITED_REQUESTS,
		[SFTP_SLOWS] = SFTP_LIMITED_RATE,
		[SFTP_FILES] = SFTP_LIMITED_FILES
	};
	double all_s = total_s(l);
	int i, most = SFTP_WORKS;

	for (i = 0; i < SFTP_DOINGS; i++) {
		if (l->spent_s[i] > l->spent_s[most])
			most = i;
	}
	/* A wait for ssh is one for its CPU time, if ssh used a whole CPU. */
	if ((most == SFTP_WAITS || most == SFTP_WAITS_FULL) &&
	    all_s >= SFTP_LIMIT_SSH_MIN_S &&
	    l->ssh_cpu_s >= all_s * SFTP_LIMIT_SSH_CPU)
		return SFTP_LIMITED_SSH_CPU;
	return by[most];
}

static int
percent(double part_s, double all_s)
{
	return all_s > 0 ? part_s / all_s * 100 + 0.5 : 0;
}

void
sftp_limit_text(const struct sftp_limit *l, char *buf, size_t len)
{
	double all_s = total_s(l);

	snprintf(buf, len, "%.1f MB in %.1f s, limited by %s; time: connection "
	    "%d %%, requests %d %%, rate given %d %%, local files %d %%, "
	    "else %d %%; CPU: own %d %%, ssh's %d %%", l->bytes / 1e6, all_s,
	    limited_name(sftp_limit_verdict(l)),
	    percent(l->spent_s[SFTP_WAITS], all_s),
	    percent(l->spent_s[SFTP_WAITS_FULL], all_s),
	    percent(l->spent_s[SFTP_SLOWS], all_s),
	    percent(l->spent_s[SFTP_FILES], all_s),
	    percent(l->spent_s[SFTP_WORKS], all_s),
	    percent(l->cpu_s, all_s), percent(l->ssh_cpu_s, all_s));
}
