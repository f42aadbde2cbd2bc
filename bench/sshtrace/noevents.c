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

#include <sys/types.h>

#include <stdint.h>
#include <string.h>

#include "events.h"

/* For where sshtrace can't be built with BPF. */

struct events *
events_open(const char **why)
{
	*why = "this sshtrace was built without it";
	return NULL;
}

void
events_follow(struct events *ev, uint64_t cookie)
{
	(void)ev;
	(void)cookie;
}

void
events_forget(struct events *ev, uint64_t cookie)
{
	(void)ev;
	(void)cookie;
}

void
events_take(struct events *ev, uint64_t cookie, struct events_seen *seen)
{
	(void)ev;
	(void)cookie;
	memset(seen, 0, sizeof(*seen));
}

void
events_watch(struct events *ev, pid_t pid)
{
	(void)ev;
	(void)pid;
}

uint64_t
events_window(struct events *ev, pid_t pid)
{
	(void)ev;
	(void)pid;
	return 0;
}
