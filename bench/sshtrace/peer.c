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

#include <ctype.h>
#include <string.h>

#include "peer.h"

/* ssh's options that have an argument; see ssh(1). */
#define WITH_ARGUMENT	"BDEFIJLOPQRSWbceilmopw"

/* Returns the argument after arg, or NULL if it is not whole. */
static const char *
next_arg(const char *arg, const char *end)
{
	const char *next = arg + strlen(arg) + 1;

	return next < end && memchr(next, '\0', end - next) != NULL ?
	    next : NULL;
}

/* Returns 1 if the options in arg, "-abc", take the next argument, too. */
static int
takes_next(const char *arg)
{
	for (arg++; *arg != '\0'; arg++)
		if (strchr(WITH_ARGUMENT, *arg) != NULL)
			return arg[1] == '\0';
	return 0;
}

/* Returns the argument that has the host, or NULL. */
static const char *
destination(const char *args, const char *end)
{
	const char *arg = args;

	while ((arg = next_arg(arg, end)) != NULL) {
		if (strcmp(arg, "--") == 0)
			return next_arg(arg, end);
		if (*arg != '-' || arg[1] == '\0')
			return arg;
		if (takes_next(arg) && (arg = next_arg(arg, end)) == NULL)
			return NULL;
	}
	return NULL;
}

int
peer_typed(const char *args, size_t len, char *name, size_t size)
{
	const char *host, *p;
	size_t i, n;
	int uri;

	if (memchr(args, '\0', len) == NULL ||
	    (host = destination(args, args + len)) == NULL)
		return -1;
	if ((uri = strncmp(host, "ssh://", 6) == 0))
		host += 6;
	if ((p = strrchr(host, '@')) != NULL)
		host = p + 1;
	n = strlen(host);
	if (uri && *host == '[') {
		host++;
		n = strcspn(host, "]");
	} else if (uri)
		n = strcspn(host, ":/");
	if (n == 0 || n >= size)
		return -1;
	for (i = 0; i < n; i++)
		if (!isalnum((unsigned char)host[i]) &&
		    strchr("._-:%", host[i]) == NULL)
			return -1;
	memcpy(name, host, n);
	name[n] = '\0';
	return 0;
}
