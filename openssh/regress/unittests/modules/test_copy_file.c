/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/*
 * The ranges of a file that several streams copy at once, in any order, while
 * some of them are lost: what is requested, and what is there at any time.
 */

#include "includes.h"

#include <sys/types.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "progressmeter.h"
#include "xmalloc.h"
#include "copy-file.h"

void test_copy_file(void);

/* Of scp and sftp */
volatile sig_atomic_t interrupted;
int showprogress;

void
start_progress_meter(const char *name, off_t size, off_t *counter)
{
	(void)name;
	(void)size;
	(void)counter;
}

void
progress_meter_began(double began_s, off_t from)
{
	(void)began_s;
	(void)from;
}

void
stop_progress_meter(void)
{
}

void
refresh_progress_meter(int force)
{
	(void)force;
}

#define STREAMS		4
#define MANY		400	/* more ranges than are in flight */

struct flight {
	u_int stream;
	uint64_t offset;
	size_t len;
};

struct world {
	struct file f;
	struct copy copy;
	struct stream stream[STREAMS];
	struct sftp_conn conn;
	struct flight flight[MANY];
	u_int n;		/* ranges in flight */
	u_char *there;		/* by blocks of 1 KiB: it was copied */
	uint64_t size;		/* bytes */
	u_int seed;
};

#define BLOCK	1024

static u_int
rnd(struct world *w, u_int below)
{
	w->seed = w->seed * 1103515245 + 12345;
	return (w->seed >> 8) % below;
}

static void
begin(struct world *w, uint64_t size, u_int seed)
{
	u_int i;

	memset(w, 0, sizeof(*w));
	w->seed = seed;
	w->size = size;
	w->there = xcalloc(size / BLOCK + 1, 1);
	w->copy.kind = COPY_GET;
	w->copy.nstreams = w->copy.most = w->copy.sharing = STREAMS;
	TAILQ_INIT(&w->copy.sending);
	for (i = 0; i < STREAMS; i++) {
		w->stream[i].index = i;
		w->stream[i].conn = &w->conn;
		w->stream[i].state = STREAM_UP;
		w->copy.streams[i] = &w->stream[i];
	}
	w->f.item.copy = &w->copy;
	file_reset(&w->f);
	w->f.size = size;
	w->f.buflen = 255 * 1024;
	file_begin_moving(&w->f);
	/* There is no target that could be completed. */
	w->f.phase = FILE_OPENING;
	w->f.many = 1;
	for (i = 0; i < STREAMS; i++)
		w->f.part[i].state = PART_OPEN;
}

static void
end(struct world *w)
{
	copy_item_unqueue(&w->f.item);
	free(w->f.moved);
	free(w->there);
}

/* Returns the offset of the first block that was not copied. */
static uint64_t
first_missing(const struct world *w)
{
	uint64_t i;

	for (i = 0; i * BLOCK < w->size && w->there[i]; i++)
		;
	return MINIMUM(i * BLOCK, w->size);
}

/* Requests a range over a stream. Returns 1 if there was one. */
static int
request(struct world *w, u_int stream)
{
	struct flight *r = &w->flight[w->n];
	uint64_t chunk;

	r->stream = stream;
	r->len = file_take_range(&w->f, &w->f.part[stream], &r->offset);
	if (r->len == 0)
		return 0;
	ASSERT_INT_EQ(r->len <= w->f.buflen, 1);
	ASSERT_INT_EQ(r->offset + r->len <= w->size, 1);
	ASSERT_INT_EQ(w->there[r->offset / BLOCK], 0);
	chunk = r->offset / FILE_CHUNK * FILE_CHUNK;
	ASSERT_INT_EQ(chunk < first_missing(w) + FILE_SPAN, 1);
	/* The last chunk goes out when all others are there. */
	if (r->offset + r->len == w->size || chunk + FILE_CHUNK >= w->size)
		ASSERT_INT_EQ(first_missing(w) >= chunk, 1);
	w->f.reads++;
	w->n++;
	return 1;
}

/* One of the ranges in flight was copied. */
static void
reply(struct world *w)
{
	u_int k = rnd(w, w->n);
	struct flight r = w->flight[k];
	uint64_t i;

	w->flight[k] = w->flight[--w->n];
	w->f.reads--;
	for (i = r.offset / BLOCK; i * BLOCK < r.offset + r.len; i++)
		w->there[i] = 1;
	file_moved(&w->f, r.offset, r.len);
}

/* A stream is lost with all that is in flight there. */
static void
lose(struct world *w, u_int stream)
{
	u_int i;

	w->stream[stream].state = STREAM_LOST;
	for (i = 0; i < w->n; ) {
		if (w->flight[i].stream != stream) {
			i++;
			continue;
		}
		file_range_lost(&w->f, w->flight[i].offset, w->flight[i].len);
		w->flight[i] = w->flight[--w->n];
		w->f.reads--;
	}
	copy_file_ops.stop(&w->f.item, &w->stream[stream]);
}

/* Copies it, with so many ranges in flight, while streams are lost. */
static void
copy(uint64_t size, u_int most, u_int losses, u_int seed)
{
	struct world *w = xcalloc(1, sizeof(*w));
	u_int idle = 0, lost = 0, s;

	begin(w, size, seed);
	while (first_missing(w) < size && idle < 10000) {
		s = rnd(w, STREAMS);
		if (w->stream[s].state == STREAM_UP && w->n < most &&
		    rnd(w, 3) != 0 && request(w, s))
			idle = 0;
		else if (w->n != 0)
			reply(w);
		else
			idle++;
		if (lost < losses && rnd(w, 200) == 0) {
			lose(w, ++lost);
			continue;
		}
		/* Nothing is there without a gap that isn't. */
		if (w->n == 0)
			ASSERT_U64_EQ(file_there(&w->f), first_missing(w));
	}
	ASSERT_U64_EQ(first_missing(w), size);
	ASSERT_INT_EQ(file_has_range(&w->f), 0);
	ASSERT_INT_EQ(w->f.item.done == (off_t)size, 1);
	end(w);
	free(w);
}

/* Returns the bytes that one stream requests if so many are used. */
static uint64_t
share(u_int used)
{
	struct world *w = xcalloc(1, sizeof(*w));
	struct part *p = &w->f.part[0];
	uint64_t offset;
	size_t len;

	begin(w, FILE_LARGE * 2, 1);
	w->copy.sharing = used;
	while ((len = file_take_range(&w->f, p, &offset)) != 0)
		p->asked += len;
	len = p->asked;
	end(w);
	free(w);
	return len;
}

void
test_copy_file(void)
{
	u_int i;

	TEST_START("copy-file: streams that are used share what is in flight");
	ASSERT_U64_GE(share(1), FILE_SPAN / 2);
	ASSERT_U64_LT(share(4), FILE_SPAN / 4);
	ASSERT_U64_GE(share(4), FILE_SPAN / 8);
	TEST_DONE();
	TEST_START("copy-file: each range once, whatever the order");
	for (i = 0; i < 4; i++)
		copy(FILE_LARGE + i * 1000003, 8 + 90 * i, 0, i + 1);
	TEST_DONE();
	TEST_START("copy-file: no more than 64 MiB ahead, the end at last");
	copy(3 * (uint64_t)FILE_SPAN + 12345, MANY - 1, 0, 7);
	TEST_DONE();
	TEST_START("copy-file: what lost streams had is requested again");
	for (i = 0; i < 4; i++)
		copy(2 * (uint64_t)FILE_SPAN, 40, 3, i + 20);
	TEST_DONE();
}
