/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/*
 * In place of libFuzzer: runs the inputs in the files that are named, one after
 * the other.
 */

#include "includes.h"

#include <sys/types.h>
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define INPUT_MAX	65536

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);
int LLVMFuzzerInitialize(int *, char ***) __attribute__((weak));

int
main(int argc, char **argv)
{
	static uint8_t data[INPUT_MAX];
	FILE *f;
	size_t len;
	int i;

	if (LLVMFuzzerInitialize != NULL)
		LLVMFuzzerInitialize(&argc, &argv);
	for (i = 1; i < argc; i++) {
		if ((f = fopen(argv[i], "r")) == NULL)
			err(1, "%s", argv[i]);
		len = fread(data, 1, sizeof(data), f);
		fclose(f);
		fprintf(stderr, "%s\n", argv[i]);
		(void)LLVMFuzzerTestOneInput(data, len);
	}
	return 0;
}
