/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <stdlib.h>
#include <string.h>

#include "packet-pad.h"

void
packet_pad(u_char *p, size_t len)
{
	static u_char pool[4096];
	static size_t have;

	if (len > sizeof(pool)) {
		arc4random_buf(p, len);
		return;
	}
	if (len > have) {
		arc4random_buf(pool, sizeof(pool));
		have = sizeof(pool);
	}
	have -= len;
	memcpy(p, pool + have, len);
	explicit_bzero(pool + have, len);
}
