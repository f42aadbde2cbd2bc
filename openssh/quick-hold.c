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

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "quick-hold.h"
#include "xmalloc.h"

#define HELD_MAX	16	/* messages */

static struct {
	char	*msg[HELD_MAX];
	LogLevel level[HELD_MAX];
	size_t	num;
	int	ending;		/* ssh exits: no message is held back */
} held;

/* Undoes what strnvis() in log.c did to a message: it does so again. */
static void
unescape(char *msg)
{
	static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
	const char *name;
	char *in = msg, *out = msg;
	int i, c;

	while (*in != '\0') {
		if (in[0] != '\\' || in[1] == '\0') {
			*out++ = *in++;
			continue;
		}
		in++;
		if (*in >= '0' && *in <= '3') {
			for (i = c = 0; i < 3 && *in >= '0' && *in <= '7'; i++)
				c = c * 8 + *in++ - '0';
			*out++ = c;
			continue;
		}
		name = strchr(from, *in);
		*out++ = name == NULL ? *in : to[name - from];
		in++;
	}
	*out = '\0';
}

/* A log_handler_fn */
static void
hold(LogLevel level, int forced, const char *escaped, void *ctx)
{
	char *msg = xstrdup(escaped);
	size_t i;

	unescape(msg);
	/* The latter is what ssh_packet_disconnect() says; then ssh exits. */
	if (level == SYSLOG_LEVEL_FATAL ||
	    strncmp(msg, "Disconnecting ", 14) == 0)
		held.ending = 1;
	if (!held.ending && held.num < HELD_MAX &&
	    level >= SYSLOG_LEVEL_ERROR && level <= SYSLOG_LEVEL_VERBOSE) {
		held.level[held.num] = level;
		held.msg[held.num++] = msg;
		return;
	}
	for (i = 0; held.ending && i < held.num; i++) {
		sshlogdirect(held.level[i], 0, "%s", held.msg[i]);
		free(held.msg[i]);
	}
	if (held.ending)
		held.num = 0;
	sshlogdirect(level, forced, "%s", msg);
	free(msg);
}

void
quick_hold_begin(void)
{
	set_log_handler(hold, NULL);
}

void
quick_hold_end(int drop)
{
	int saved_errno = errno;
	size_t i;

	set_log_handler(NULL, NULL);
	for (i = 0; i < held.num; i++) {
		sshlogdirect(drop ? SYSLOG_LEVEL_DEBUG1 : held.level[i], 0,
		    "%s", held.msg[i]);
		free(held.msg[i]);
	}
	held.num = 0;
	errno = saved_errno;
}
