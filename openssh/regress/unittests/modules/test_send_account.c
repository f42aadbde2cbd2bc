/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "misc.h"
#include "send-account.h"

#define S	1000000ULL

void test_send_account(void);

static void
percents(const struct send_account *a, u_int window, u_int path, u_int no_data)
{
	ASSERT_U_INT_EQ(send_account_percent(a, SEND_WINDOW), window);
	ASSERT_U_INT_EQ(send_account_percent(a, SEND_PATH), path);
	ASSERT_U_INT_EQ(send_account_percent(a, SEND_NO_DATA), no_data);
}

void
test_send_account(void)
{
	struct send_account a;
	uint64_t now = 1000 * S;
	int i;

	TEST_START("sender: each second counts for what the last sample said");
	memset(&a, 0, sizeof(a));
	percents(&a, 0, 0, 0);
	send_account_look(&a, SEND_NO_DATA, now);
	now += 100 * S;				/* before: no transfer */
	send_account_look(&a, SEND_NO_DATA, now);
	send_account_sent(&a, 5);
	for (i = 0; i < 20; i++) {
		send_account_look(&a, i < 12 ? SEND_WINDOW :
		    i < 15 ? SEND_PATH : SEND_NO_DATA, now);
		now += S;
	}
	send_account_look(&a, SEND_NO_DATA, now);
	send_account_sent(&a, 0);
	percents(&a, 80, 20, 0);		/* after: neither */
	send_account_sent(&a, 7);
	percents(&a, 60, 15, 25);
	send_account_sent(&a, 1);
	percents(&a, 60, 15, 25);
	ASSERT_U64_EQ(a.bytes, 13);
	TEST_DONE();

	TEST_START("sender: a late first sample, a clock gone back");
	memset(&a, 0, sizeof(a));
	send_account_look(&a, SEND_WINDOW, 1ULL << 50);
	percents(&a, 0, 0, 0);
	send_account_look(&a, SEND_PATH, 5 * S);
	percents(&a, 0, 0, 0);
	send_account_look(&a, SEND_PATH, 6 * S);
	percents(&a, 0, 100, 0);
	TEST_DONE();
}
