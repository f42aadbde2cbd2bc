/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>
#include <stdint.h>

#include "misc.h"
#include "input.h"

static const uint8_t *rest;
static size_t rest_len;

void
input_set(const uint8_t *data, size_t len)
{
	rest = data;
	rest_len = len;
}

size_t
input_len(void)
{
	return rest_len;
}

u_int
input_byte(void)
{
	if (rest_len == 0)
		return 0;
	rest_len--;
	return *rest++;
}

uint64_t
input_number(void)
{
	static const uint64_t numbers[] = {
		0, 1, 2, 3, 255, 256, 1000, 32 * 1024 - 1, 32 * 1024,
		255 * 1024, 256 * 1024, 2 * 1024 * 1024, 64 * 1024 * 1024,
		0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff,
		1ULL << 40, INT64_MAX, 1ULL << 63, UINT64_MAX
	};
	u_int n = input_byte();

	if (n < sizeof(numbers) / sizeof(numbers[0]))
		return numbers[n];
	return (uint64_t)n << input_byte() % 33;
}

const uint8_t *
input_string(size_t *lenp)
{
	const uint8_t *p;
	size_t n = input_byte();

	*lenp = MINIMUM(n, rest_len);
	p = rest;
	rest += *lenp;
	rest_len -= *lenp;
	return p;
}

void
input_drop(void)
{
	rest_len = 0;
}
