/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include "../test_helper/test_helper.h"

void test_chanbuf(void);

void
tests(void)
{
	test_chanbuf();
}

/* The framework of 10.1 and later asks for this. */
void benchmarks(void);

void
benchmarks(void)
{
}
