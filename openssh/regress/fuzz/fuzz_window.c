/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/* libFuzzer's way into the walk of the unit tests. */

#include "includes.h"

#include <sys/types.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../unittests/modules/walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *wrong = walk(data, len);

	if (wrong != NULL) {
		fprintf(stderr, "%s\n", wrong);
		abort();
	}
	return 0;
}
