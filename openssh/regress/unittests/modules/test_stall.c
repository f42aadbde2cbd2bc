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

/*
 * A stock sender on paths that stall. It reads data for all of its credit. The
 * data that it can't send yet is in its input buffer, which must stay under
 * 8 MiB.
 *
 * The simulation has steps of 0.5 ms. The sender writes data into a buffer in
 * front of the path. That is its kernel's, which holds a BDP, or the sockets to
 * a relay, which hold far less. The path takes data from the buffer at its rate
 * and delivers it to the receiver's kernel half an RTT later. Credit takes as
 * long to come back. When a stall ends, all that it held up arrives at once.
 *
 * A second kind of sender takes CPU time, which it shares with others. What it
 * reads goes into an sshbuf like that of stock OpenSSH. It grows by what one
 * read needs, and is copied for that. So while it grows, the sender can't keep
 * up with a fast path. The path runs dry, and all of the window comes back as
 * credit, for which the buffer has to grow further: the transfer collapses.
 */

#include "includes.h"

#include <sys/types.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../test_helper/test_helper.h"

#include "window-control.h"
#include "window-budget.h"
#include "misc.h"
#include "ssh-rtt.h"
#include "path-rtt.h"

#define BASE		(2U * 1024 * 1024)
#define PACKET		(32U * 1024)
#define TURN		(256 * 1024)	/* the main loop's */
#define UNSPENT_MAX	(8 * 1024 * 1024)
#define RELAY_ROOM	(256 * 1024)	/* bytes in the sockets to a relay */
#define STEP_US		500
#define STEPS(ms)	((ms) * 1000 / STEP_US)
#define RELAY_MOST	(4 * 1024 * 1024)	/* bytes */
#define LINE		1024		/* steps, more than half of any RTT */
#define EVERY		STEPS(4000)	/* from stall to stall */
#define STALLS		2
#define SOCKETS_ROOM	4400000		/* bytes in sockets to a local relay */
#define LOOP_NS		85000		/* of CPU, in a turn of the sender */
#define FRESH_MBS	2400		/* MB/s, fresh pages; measured */
#define COPY_MBS	8000		/* MB/s, copied or wiped; a guess */
#define MEMORY_MOST	(8 * 1024 * 1024)	/* bytes, old and new buffer */

void test_stall(void);

enum where {
	NOWHERE,
	FORWARD,	/* the path, on the way of the data */
	BOTH,		/* the path, both ways */
	PROCESS,	/* the receiving process */
	READER,		/* its reader */
	RELAY		/* both ways, and nothing enters the path */
};

static const char *places[] = {
	"nowhere", "data's way", "both ways", "process", "reader", "relay"
};

/* A stock sender that takes CPU time */
struct sender {
	/* configuration */
	u_int wait;		/* steps, most that it waits for the CPU */

	/* state */
	uint64_t random;
	uint64_t runs_until, waits_until, still_until;	/* steps */
	int64_t cpu_ns;		/* left in this step */
	uint64_t len, off, alloc;	/* of its input buffer, bytes */

	/* result, bytes */
	uint64_t memory_max;
};

struct flow {
	/* configuration */
	uint64_t rate;		/* bytes a step */
	uint64_t half;		/* steps, half of the RTT */
	int relay;		/* 1: a relay is in the way */
	struct sender *sender;	/* NULL: it takes no CPU time */
	enum where where;
	uint64_t stall;		/* steps */

	/* state */
	struct window_control cw;
	struct path_rtt path_rtt;
	uint64_t step, rtt_us;	/* rtt_us: smoothed */
	uint64_t unspent, queue;		/* sender, bytes */
	uint64_t data[LINE], credits[LINE];	/* on the way, bytes */
	uint64_t held_data, held_credit;	/* by a stall, bytes */
	uint64_t arrived, backlog, consumed;	/* receiver, bytes */
	uint32_t window;

	/* result, bytes */
	uint64_t unspent_max;
};

static int
stalls(const struct flow *f, enum where where)
{
	uint64_t warm = STEPS(1000) + 60 * f->half;

	return f->where == where && f->step >= warm &&
	    (f->step - warm) % EVERY < f->stall;
}

static uint64_t
now_us(const struct flow *f)
{
	return 1000000 + f->step * STEP_US;
}

/* Returns how many bytes may wait to enter the path. */
static uint64_t
room(const struct flow *f)
{
	if (f->relay)
		return f->sender != NULL ? SOCKETS_ROOM : RELAY_ROOM;
	return MAXIMUM(2 * f->half * f->rate, RELAY_ROOM);
}

/* Returns a number less than `most`; the same ones in each run. */
static uint64_t
next_random(struct sender *s, u_int most)
{
	s->random = s->random * 6364136223846793005ULL +
	    1442695040888963407ULL;
	return (s->random >> 33) % most;
}

/*
 * Returns 1 if the sender has the CPU in this step. It waits 1 to `wait` steps
 * for it, and then has it for 2 to 11.
 */
static int
has_cpu(struct sender *s, uint64_t step)
{
	if (step < s->still_until)
		return 0;
	if (s->wait == 0)
		return 1;
	if (step >= s->runs_until && step >= s->waits_until) {
		s->waits_until = step + 1 + next_random(s, s->wait);
		s->runs_until = s->waits_until + 2 + next_random(s, 10);
	}
	return step >= s->waits_until;
}

/* Reads len bytes into the input buffer. Returns how long that took (ns). */
static uint64_t
buffer_read(struct sender *s, uint64_t len)
{
	uint64_t took_ns = 0, size = s->off + s->len;

	if (s->off >= size / 2 && s->off > 0) {
		took_ns += s->len * 1000 / COPY_MBS;
		s->off = 0;
		size = s->len;
	}
	size += len;
	if (size > s->alloc) {
		/* The new one; the old one is copied, then wiped */
		took_ns += size * 1000 / FRESH_MBS +
		    2 * s->alloc * 1000 / COPY_MBS;
		s->memory_max = MAXIMUM(s->memory_max, s->alloc + size);
		s->alloc = size;
	}
	s->len += len;
	return took_ns;
}

/* What the main loop of a sender that takes CPU time does in a step */
static void
busy_sender_step(struct flow *f)
{
	struct sender *s = f->sender;
	uint64_t read, sent, took_ns;

	if (!has_cpu(s, f->step))
		return;
	f->unspent += f->held_credit;
	f->held_credit = 0;
	s->cpu_ns = MINIMUM(s->cpu_ns, 0) + STEP_US * 1000;
	while (s->cpu_ns > 0) {
		took_ns = LOOP_NS;
		read = MINIMUM(f->unspent - s->len, PACKET);
		if (read > 0)
			took_ns += buffer_read(s, read);
		sent = MINIMUM(s->len, PACKET);
		if (f->queue + sent > room(f))
			sent = 0;
		if (read == 0 && sent == 0)
			break;
		s->len -= sent;
		s->off = s->len == 0 ? 0 : s->off + sent;
		f->unspent -= sent;
		f->queue += sent;
		s->cpu_ns -= took_ns;
	}
	f->unspent_max = MAXIMUM(f->unspent_max, f->unspent);
}

/*
 * Returns the RTT in use. SSH smooths its own by 1/4, once a round trip. TCP
 * smooths by 1/8, about eight times a round trip.
 */
static uint64_t
measured_rtt_us(struct flow *f)
{
	struct path_info path;
	uint64_t least_us = 2 * f->half * STEP_US, sample_us;

	sample_us = least_us + f->queue / f->rate * STEP_US;
	if (f->rtt_us == 0)
		f->rtt_us = least_us;
	if (f->step % (f->relay ? 2 * f->half : f->half / 4 + 1) == 0)
		f->rtt_us += f->relay ?
		    ((int64_t)sample_us - (int64_t)f->rtt_us) / 4 :
		    ((int64_t)sample_us - (int64_t)f->rtt_us) / 8;
	memset(&path, 0, sizeof(path));
	path.rtt_us = f->rtt_us;
	path.min_rtt_us = least_us;
	return path_rtt_us(&f->path_rtt, &path, f->consumed, now_us(f));
}

static void
sender_step(struct flow *f)
{
	uint64_t free_bytes, spent;

	f->held_credit += f->credits[f->step % LINE];
	f->credits[f->step % LINE] = 0;
	if (f->sender != NULL) {
		busy_sender_step(f);
		return;
	}
	if (!stalls(f, BOTH) && !stalls(f, RELAY)) {
		f->unspent += f->held_credit;
		f->held_credit = 0;
	}
	free_bytes = room(f) > f->queue ? room(f) - f->queue : 0;
	spent = MINIMUM(f->unspent, free_bytes);
	f->unspent -= spent;
	f->queue += spent;
	f->unspent_max = MAXIMUM(f->unspent_max, f->unspent);
}

static void
path_step(struct flow *f)
{
	uint64_t entered = MINIMUM(f->queue, f->rate);

	if (stalls(f, RELAY))
		entered = 0;
	f->queue -= entered;
	f->data[(f->step + f->half) % LINE] = entered;
	f->held_data += f->data[f->step % LINE];
	f->data[f->step % LINE] = 0;
	if (!stalls(f, FORWARD) && !stalls(f, BOTH) && !stalls(f, RELAY)) {
		f->arrived += f->held_data;
		f->held_data = 0;
	}
}

/* A turn of the main loop that gets `got` bytes. Returns its credit (bytes). */
static uint32_t
receiver_turn(struct flow *f, uint64_t got)
{
	uint64_t taken;
	uint32_t credit;

	ASSERT_U64_LE(got, f->window);
	f->window -= got;
	f->backlog += got;
	taken = stalls(f, READER) ? 0 : f->backlog;
	f->backlog -= taken;
	f->consumed += taken;
	if (got == 0 && taken == 0 &&
	    (f->cw.due_us == 0 || now_us(f) < f->cw.due_us))
		return 0;
	window_update(&f->cw, taken, f->backlog, measured_rtt_us(f),
	    now_us(f), WINDOW_BUDGET_DEFAULT);
	credit = window_credit(&f->cw, f->window, PACKET);
	f->window += credit;
	/* The sender can send, or will be able to. */
	ASSERT_U64_GT(f->window + f->backlog + f->cw.due_us, 0);
	return credit;
}

static void
receiver_step(struct flow *f)
{
	uint64_t got, credit = 0;

	if (stalls(f, PROCESS))
		return;
	do {
		got = MINIMUM(f->arrived, TURN);
		f->arrived -= got;
		credit += receiver_turn(f, got);
	} while (f->arrived > 0);
	f->credits[(f->step + f->half) % LINE] += credit;
}

/*
 * Runs a flow for `steps` steps. Returns the bytes that were consumed.
 */
static uint64_t
flow_run(struct flow *f, uint64_t steps)
{
	uint64_t before = f->consumed, end = f->step + steps;

	for (; f->step < end; f->step++) {
		sender_step(f);
		path_step(f);
		receiver_step(f);
	}
	return f->consumed - before;
}

static void
flow_init(struct flow *f, uint64_t mbit, uint64_t rtt_ms, int relay)
{
	memset(f, 0, sizeof(*f));
	f->rate = mbit * STEP_US / 8;
	f->half = STEPS(rtt_ms) / 2;
	f->relay = relay;
	f->path_rtt.cautious = 1;
	f->path_rtt.inband = relay;
	window_init(&f->cw, BASE, 0, now_us(f));
	f->cw.forwarded = relay;
	f->unspent = f->window = BASE;
}

/*
 * Checks unspent credit and goodput on full paths that stall. No stall is
 * longer than the path takes to carry most_bytes. Raw TCP would have all of the
 * rate, because what a stall holds up arrives later.
 */
static void
stall(enum where where, int relay, uint64_t most_bytes)
{
	static const uint64_t rates[] = { 100, 1000, 2500 };	/* Mbit/s */
	static const uint64_t rtts[] = { 20, 50, 100, 200, 300 };	/* ms */
	static const uint64_t stalls_ms[] = { 20, 33, 50, 100, 200 };
	struct flow f;
	uint64_t got, most;
	u_int i, k, m;

	for (i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
	for (k = 0; k < sizeof(rtts) / sizeof(rtts[0]); k++)
	for (m = 0; m < sizeof(stalls_ms) / sizeof(stalls_ms[0]); m++) {
		if (rates[i] * stalls_ms[m] * 125 > most_bytes)
			continue;
		flow_init(&f, rates[i], rtts[k], relay);
		f.where = where;
		f.stall = STEPS(stalls_ms[m]);
		flow_run(&f, STEPS(1000) + 60 * f.half);
		got = flow_run(&f, STALLS * EVERY);
		most = STALLS * EVERY * f.rate;
		test_subtest_info("%s stalls %llu ms, %llu Mbit/s x %llu ms: "
		    "unspent %llu, %llu %%", places[where],
		    (unsigned long long)stalls_ms[m],
		    (unsigned long long)rates[i], (unsigned long long)rtts[k],
		    (unsigned long long)f.unspent_max,
		    (unsigned long long)(got * 100 / most));
		ASSERT_U64_LE(f.unspent_max, UNSPENT_MAX);
		ASSERT_U64_GE(got * 100, most * 90);
	}
}

/*
 * MB in the first three seconds at 1 Gbit/s x 200 ms, with headroom of 6 MiB,
 * or of 4 MiB over a relay. Then headroom is all that a full path leaves
 * unspent.
 */
static void
start(int relay, uint64_t first_mb, uint64_t second_mb, uint64_t headroom)
{
	struct flow f;

	flow_init(&f, 1000, 200, relay);
	ASSERT_U64_GE(flow_run(&f, STEPS(1000)), first_mb * 1000 * 1000);
	ASSERT_U64_GE(flow_run(&f, STEPS(1000)), second_mb * 1000 * 1000);
	ASSERT_U64_GE(flow_run(&f, STEPS(1000)), 120 * 1000 * 1000);
	ASSERT_U64_LE(f.unspent_max, UNSPENT_MAX);
	/* Once the path is full: room for what a stall of 40 ms adds */
	flow_run(&f, STEPS(3000));
	f.unspent_max = 0;
	flow_run(&f, STEPS(3000));
	ASSERT_U64_LE(f.unspent_max, headroom + TURN);
}

/*
 * A stock sender for ten seconds over a relay of 1 Gbit/s x 200 ms. It waits up
 * to `wait` steps for its CPU, and stands still for stall_ms once the path is
 * full. Returns its percentage of the rate, from the third second on.
 */
static uint64_t
run_sender(struct flow *f, struct sender *s, u_int wait, u_int seed,
    int forwarded, u_int stall_ms)
{
	uint64_t got;

	memset(s, 0, sizeof(*s));
	s->wait = wait;
	s->random = seed;
	flow_init(f, 1000, 200, 1);
	f->cw.forwarded = forwarded;
	f->sender = s;
	flow_run(f, STEPS(3000));
	s->still_until = f->step + STEPS(stall_ms);
	got = flow_run(f, STEPS(7000)) * 100 / (STEPS(7000) * f->rate);
	test_subtest_info("the sender waits up to %u steps, stands still for "
	    "%u ms, seed %u: memory %llu, unspent %llu, %llu %%", wait,
	    stall_ms, seed, (unsigned long long)s->memory_max,
	    (unsigned long long)f->unspent_max, (unsigned long long)got);
	return got;
}

/*
 * Beside others that use the CPU, neither its memory nor its rate collapses.
 * (With longer waits it has too little CPU for that rate.) With the headroom
 * and the pacing of a direct path, its memory does.
 */
static void
busy_sender(void)
{
	static const u_int waits[] = { 0, 4, 8, 16 };	/* steps */
	struct sender s;
	struct flow f;
	u_int i, seed, collapsed = 0;

	for (i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
	for (seed = 1; seed <= (waits[i] == 0 ? 1 : 10); seed++) {
		ASSERT_U64_GE(run_sender(&f, &s, waits[i], seed, 1, 0), 95);
		ASSERT_U64_LE(s.memory_max, MEMORY_MOST);
		ASSERT_U64_LE(f.unspent_max, UNSPENT_MAX);
		ASSERT_U64_GE(run_sender(&f, &s, waits[i], seed, 1, 30), 95);
		ASSERT_U64_LE(s.memory_max, MEMORY_MOST);
		run_sender(&f, &s, waits[i], seed, 0, 0);
		collapsed += s.memory_max > MEMORY_MOST;
	}
	ASSERT_U_INT_GE(collapsed, 15);
}

void
test_stall(void)
{
	TEST_START("window stock sender, start and full path");
	start(0, 30, 105, WINDOW_HEADROOM_UNBOUNDED);
	start(1, 24, 85, WINDOW_HEADROOM_FORWARDED);
	TEST_DONE();
	TEST_START("window stock sender, the data's way stalls");
	stall(FORWARD, 0, UINT64_MAX);
	stall(FORWARD, 1, UINT64_MAX);
	TEST_DONE();
	TEST_START("window stock sender, the path stalls");
	stall(BOTH, 0, UINT64_MAX);
	TEST_DONE();
	TEST_START("window stock sender, the receiving process stalls");
	stall(PROCESS, 0, UINT64_MAX);
	stall(PROCESS, 1, UINT64_MAX);
	TEST_DONE();
	TEST_START("window stock sender, its reader stalls");
	stall(READER, 0, UINT64_MAX);
	stall(READER, 1, UINT64_MAX);
	TEST_DONE();
	/*
	 * The credit that a relay held up comes all at once, however it was
	 * paced. A full path holds as much of it as of data.
	 */
	TEST_START("window stock sender, a relay stalls");
	stall(RELAY, 1, RELAY_MOST);
	TEST_DONE();
	TEST_START("window stock sender, its CPU is shared");
	busy_sender();
	TEST_DONE();
}
