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

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "copy-lane.h"
#include "log.h"
#include "match.h"
#include "misc.h"

/* Algorithms of keys that are touched */
#define TOUCHED		"sk-*"

int
copy_lane_is_one(void)
{
	return getenv(COPY_LANE_ENV) != NULL;
}

void
copy_lane_login(char **pubkey_algorithms, int *batch_mode)
{
	char *without;

	if (!copy_lane_is_one())
		return;
	*batch_mode = 1;
	ssh_signal(SIGALRM, SIG_DFL);
	(void)alarm(COPY_LANE_LOGIN_S);
	if (*pubkey_algorithms == NULL)
		return;
	if ((without = match_filter_denylist(*pubkey_algorithms,
	    TOUCHED)) == NULL)
		fatal_f("match_filter_denylist failed");
	free(*pubkey_algorithms);
	*pubkey_algorithms = without;
}

void
copy_lane_logged_in(void)
{
	if (copy_lane_is_one())
		(void)alarm(0);
}
