/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/* Fibers: whose turn it is, what each keeps, and that none is left. */

#include "includes.h"

#include <sys/types.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "sftp-fiber.h"

#define FIBERS	3

void test_sftp_fiber(void);

struct fiber {
	struct sftp_fiber f;
	char name;
};

static struct {
	struct sftp_fibers *fs;
	struct sftp_fiber_list list;	/* what the fibers wait on */
	char said[64];			/* who had a turn, in order */
	u_int fibers, events, first;	/* first: who waits goes to the front */
	int local;
} t;

static void
say(char c)
{
	size_t len = strlen(t.said);

	ASSERT_SIZE_T_LT(len + 1, sizeof(t.said));
	t.said[len] = c;
}

static void
init(struct sftp_fiber *f, void *ctx)
{
	ASSERT_PTR_EQ(ctx, &t);
	((struct fiber *)f)->name = 'a' + t.fibers++;
}

/* Has two turns, and its own value of the variable in both. */
static void
run(struct sftp_fiber *f, void *ctx)
{
	char name = ((struct fiber *)f)->name;

	ASSERT_PTR_EQ(ctx, &t);
	ASSERT_PTR_EQ(sftp_fiber_current(t.fs), f);
	ASSERT_INT_EQ(t.local, 7);
	t.local = name;
	say(name);
	if (t.first)
		sftp_fiber_wait_first(t.fs, &t.list);
	else
		sftp_fiber_wait(t.fs, &t.list);
	ASSERT_INT_EQ(t.local, name);
	say(name);
}

static int
event(void *ctx)
{
	ASSERT_PTR_EQ(ctx, &t);
	t.events++;
	say('!');
	sftp_fiber_ready_all(t.fs, &t.list);
	return 1;
}

/* Starts a job in each of three fibers, and waits as well. */
static void
jobs(void)
{
	struct sftp_fiber *f;
	u_int i;

	memset(t.said, 0, sizeof(t.said));
	t.local = 7;
	for (i = 0; i < FIBERS; i++) {
		ASSERT_PTR_NE(f = sftp_fiber_get(t.fs), NULL);
		sftp_fiber_ready(t.fs, f);
	}
	say('a');
	sftp_fiber_wait(t.fs, &t.list);
	say('a');
	ASSERT_INT_EQ(t.local, 7);
	/* The others' last turns */
	sftp_fiber_ready(t.fs, sftp_fiber_current(t.fs));
	sftp_fiber_yield(t.fs);
}

static void
fibers(void)
{
	struct sftp_fiber_config config = { .size = sizeof(struct fiber),
	    .ctx = &t, .local = &t.local, .init = init, .run = run,
	    .wait = event };

	memset(&t, 0, sizeof(t));
	TAILQ_INIT(&t.list);
	ASSERT_PTR_NE(t.fs = sftp_fibers_new(&config), NULL);
	jobs();
	ASSERT_STRING_EQ(t.said, "abcd!abcd");
	/* Idle ones are taken again, the first to end first. */
	jobs();
	ASSERT_STRING_EQ(t.said, "abcd!abcd");
	ASSERT_U_INT_EQ(t.fibers, 1 + FIBERS);
	t.first = 1;
	jobs();
	ASSERT_STRING_EQ(t.said, "abcd!dcba");
	ASSERT_U_INT_EQ(t.events, 3);
	sftp_fibers_free(t.fs);
}

void
test_sftp_fiber(void)
{
	size_t before;
	int i;

	TEST_START("fibers, their turns, and nothing is left");
	/*
	 * The C library keeps what the first threads take, and a block may get
	 * a few bytes more than it asks for until the heap has settled.
	 */
	for (i = 0; i < 3; i++)
		fibers();
	before = mallinfo2().uordblks;
	for (i = 0; i < 3; i++)
		fibers();
	ASSERT_SIZE_T_EQ(mallinfo2().uordblks, before);
	TEST_DONE();
}
