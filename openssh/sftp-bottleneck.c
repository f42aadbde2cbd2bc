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
#include <stdio.h>

#include "log.h"
#include "misc.h"
#include "sftp-bottleneck.h"

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
sftp_times_does(struct sftp_times *t, enum sftp_doing doing, double now_s)
{
	enum sftp_doing did = t->doing;

	if (t->running != 0 && now_s > t->since_s)
		t->spent_s[did] += now_s - t->since_s;
	t->since_s = now_s;
	t->doing = doing;
	return did;
}

void
sftp_times_begin(struct sftp_times *t, double now_s, double cpu_s)
{
	sftp_times_does(t, SFTP_WORKS, now_s);
	if (t->running++ == 0)
		t->cpu_s -= cpu_s;
}

void
sftp_times_end(struct sftp_times *t, double now_s, double cpu_s)
{
	sftp_times_does(t, SFTP_WORKS, now_s);
	if (--t->running == 0)
		t->cpu_s += cpu_s;
}

static double
total_s(const struct sftp_times *t)
{
	double sum = 0;
	int i;

	for (i = 0; i < SFTP_DOINGS; i++)
		sum += t->spent_s[i];
	return sum;
}

enum sftp_limited
sftp_times_verdict(const struct sftp_times *t)
{
	static const enum sftp_limited by[] = {
		[SFTP_WORKS] = SFTP_LIMITED_CPU,
		[SFTP_WAITS] = SFTP_LIMITED_CONNECTION,
		[SFTP_WAITS_FULL] = SFTP_LIMITED_REQUESTS,
		[SFTP_SLOWS] = SFTP_LIMITED_RATE,
		[SFTP_FILES] = SFTP_LIMITED_FILES
	};
	double all_s = total_s(t);
	int i, most = SFTP_WORKS;

	for (i = 0; i < SFTP_DOINGS; i++) {
		if (t->spent_s[i] > t->spent_s[most])
			most = i;
	}
	/* A wait for ssh is one for its CPU time, if ssh used a whole CPU. */
	if ((most == SFTP_WAITS || most == SFTP_WAITS_FULL) &&
	    all_s >= SFTP_BOTTLENECK_SSH_MIN_S &&
	    t->ssh_cpu_s >= all_s * SFTP_BOTTLENECK_SSH_CPU)
		return SFTP_LIMITED_SSH_CPU;
	return by[most];
}

static int
percent(double part_s, double all_s)
{
	return all_s > 0 ? part_s / all_s * 100 + 0.5 : 0;
}

void
sftp_times_text(const struct sftp_times *t, char *buf, size_t len)
{
	double all_s = total_s(t);

	snprintf(buf, len, "%.1f MB in %.1f s, limited by %s; time: connection "
	    "%d %%, requests %d %%, rate given %d %%, local files %d %%, "
	    "else %d %%; CPU: own %d %%, ssh's %d %%", t->bytes / 1e6, all_s,
	    limited_name(sftp_times_verdict(t)),
	    percent(t->spent_s[SFTP_WAITS], all_s),
	    percent(t->spent_s[SFTP_WAITS_FULL], all_s),
	    percent(t->spent_s[SFTP_SLOWS], all_s),
	    percent(t->spent_s[SFTP_FILES], all_s),
	    percent(t->spent_s[SFTP_WORKS], all_s),
	    percent(t->cpu_s, all_s), percent(t->ssh_cpu_s, all_s));
}

/* Of this process, which does one thing at a time */
static struct sftp_times spent;
static int requests_full;

/* Returns the CPU time (s) of RUSAGE_SELF or RUSAGE_CHILDREN, 0 if unknown. */
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
sftp_bottleneck_begin(void)
{
	sftp_times_begin(&spent, monotime_double(), cpu_s(RUSAGE_SELF));
}

void
sftp_bottleneck_end(void)
{
	sftp_times_end(&spent, monotime_double(), cpu_s(RUSAGE_SELF));
}

enum sftp_doing
sftp_bottleneck_now(enum sftp_doing doing)
{
	if (doing == SFTP_WAITS) {
		if (requests_full)
			doing = SFTP_WAITS_FULL;
		requests_full = 0;
	}
	return sftp_times_does(&spent, doing, monotime_double());
}

void
sftp_bottleneck_full(int full)
{
	requests_full = full;
}

void
sftp_bottleneck_bytes(size_t len)
{
	spent.bytes += len;
}

uint64_t
sftp_bottleneck_moved(void)
{
	return spent.bytes;
}

uint64_t
sftp_bottleneck_waited_us(void)
{
	(void)sftp_times_does(&spent, spent.doing, monotime_double());
	return (spent.spent_s[SFTP_WAITS] + spent.spent_s[SFTP_WAITS_FULL]) *
	    1000000;
}

void
sftp_bottleneck_report(void)
{
	char text[512];

	if (spent.bytes == 0)
		return;
	spent.ssh_cpu_s = cpu_s(RUSAGE_CHILDREN);
	sftp_times_text(&spent, text, sizeof(text));
	debug("%s", text);
}
