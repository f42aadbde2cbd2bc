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
 * The window of a channel (RFC 4254, 5.2) follows the path:
 *
 *	target   = bdp + headroom, at least base, at most the limit
 *	bdp      = the most delivered in one of the last few round trips
 *	headroom = 2 * bdp, but at most
 *	           towards peers with bounded buffers:
 *	           max(WINDOW_HEADROOM_MAX, bdp / 2) + 3 * growth
 *	           (2 * bdp + 14 * growth, always, if what comes is late);
 *	           towards others: WINDOW_HEADROOM_UNBOUNDED + 3 * gain,
 *	           which WINDOW_HEADROOM_MAX bounds (behind a forwarder, see
 *	           unbounded_room())
 *	credit   = target - (what the peer may still send + backlog)
 *
 * A byte is delivered once it has come and was consumed. A reader that lags
 * can't raise the number of these bytes. Neither can one that empties a backlog
 * in a burst.
 *
 * A sender whose rate doubles every round trip needs room for 2 * bdp. BBR's
 * startup multiplies by 2.89 and needs 2.89 * bdp. Growth is what bdp gained in
 * the last round trip: 1/2 of bdp when doubling, 0.65 in BBR's startup. So bdp
 * + 3 * growth covers the next round trip of either. When growth ends, this
 * part of the headroom ends with it. The controller has no startup state.
 *
 * TCP hands over the data behind a lost segment a round trip late, so credit is
 * a round trip late, too. By then a sender in BBR's startup has sent
 * (2.89 + 2.89^2) * bdp, and a sender at full rate 2 or 3 * bdp. The first loss
 * comes without warning, usually from a full queue that holds as much as the
 * path. bdp is then twice what the path itself holds, so a headroom of bdp / 2
 * keeps the path busy until credit comes again.
 *
 * A sender that buffers gets credit no faster than its path takes data. After
 * the receiver, its reader or the path has stopped for a while, much data comes
 * at once. The credit for it is not granted at once: the path has no room for
 * all that new data, which would wait in the sender's buffer. Credit goes out
 * at a rate of one target a round trip, and faster only while there is gain.
 * due_us is the time at which the rest may go out.
 */

#include "includes.h"

#include <sys/types.h>

#include <stdint.h>
#include <string.h>

#include "window-control.h"
#include "misc.h"

/* Returns the sample i intervals back; 0 is the interval that still runs. */
static const struct window_sample *
sample_back(const struct window_control *cw, u_int i)
{
	return &cw->samples[(cw->head + WINDOW_SAMPLES - i) % WINDOW_SAMPLES];
}

/* Begins a new interval at now_us. */
static void
sample_push(struct window_control *cw, uint64_t now_us)
{
	struct window_sample *s;

	cw->head = (cw->head + 1) % WINDOW_SAMPLES;
	if (cw->nsamples < WINDOW_SAMPLES)
		cw->nsamples++;
	s = &cw->samples[cw->head];
	s->t_us = now_us;
	s->consumed = cw->consumed;
	s->received = cw->received;
	s->granted = cw->granted;
	s->backlog_min = cw->backlog;
}

/*
 * Returns v0 + (v1 - v0) * part / whole, for part <= whole. Counters may wrap.
 */
static uint64_t
interpolate(uint64_t v0, uint64_t v1, uint64_t part, uint64_t whole)
{
	uint64_t delta = v1 - v0;

	/* Lose low bits of a long time rather than high ones of the product */
	while (whole > UINT32_MAX) {
		whole >>= 1;
		part >>= 1;
	}
	if (whole == 0 || delta > UINT32_MAX)
		return v1;
	return v0 + delta * part / whole;
}

/*
 * Sets the cumulative bytes of *at to those at time t_us, from the samples
 * around it. For times before the oldest sample, they are those of that sample:
 * this can only understate what was delivered since.
 */
static void
history_at(const struct window_control *cw, uint64_t t_us,
    struct window_sample *at)
{
	struct window_sample next;
	const struct window_sample *s;
	uint64_t part, whole;
	u_int i;

	memset(&next, 0, sizeof(next));
	next.t_us = cw->now_us;
	next.consumed = cw->consumed;
	next.received = cw->received;
	next.granted = cw->granted;
	for (i = 0; i < cw->nsamples; i++) {
		s = sample_back(cw, i);
		if (s->t_us <= t_us) {
			part = t_us - s->t_us;
			whole = next.t_us - s->t_us;
			at->consumed = interpolate(s->consumed, next.consumed,
			    part, whole);
			at->received = interpolate(s->received, next.received,
			    part, whole);
			at->granted = interpolate(s->granted, next.granted,
			    part, whole);
			return;
		}
		next = *s;
	}
	*at = next;
}

/* Returns the bytes that both came and were consumed between two points. */
static uint64_t
delivered(const struct window_sample *from, const struct window_sample *to)
{
	return MINIMUM(to->consumed - from->consumed,
	    to->received - from->received);
}

/* Returns the least backlog (bytes) in the last interval_us. */
static uint64_t
standing_backlog(const struct window_control *cw, uint64_t interval_us)
{
	const struct window_sample *s;
	uint64_t least = cw->backlog;
	u_int i;

	for (i = 0; i < cw->nsamples; i++) {
		s = sample_back(cw, i);
		least = MINIMUM(least, s->backlog_min);
		if (cw->now_us - s->t_us >= interval_us)
			return least;
	}
	return 0;	/* history too short to tell */
}

/*
 * Returns 1 if the sender lacked credit in the last interval_us, so that the
 * bytes that came say nothing about the path. Either few bytes came and the
 * backlog stayed large; or a sender that buffers had little credit (starved_us)
 * less than two intervals ago. The second doesn't count if there is a backlog:
 * then the consumer is slow.
 */
static int
had_no_credit(const struct window_control *cw, uint64_t came,
    uint64_t interval_us)
{
	if (came < WINDOW_LAG &&
	    standing_backlog(cw, interval_us) >= WINDOW_LAG)
		return 1;
	return !cw->bounded_peer && cw->starved_us != 0 &&
	    cw->now_us - cw->starved_us < 2 * interval_us &&
	    cw->backlog < WINDOW_LAG;
}

/* Updates the best deliveries, bdp, growth and gain from the history. */
static void
measure(struct window_control *cw, uint64_t interval_us)
{
	struct window_sample s0, s1, s2;
	uint64_t t1, t2, now, before, earlier, i, shift;
	uint64_t rounds = cw->bounded_peer ?
	    WINDOW_ROUNDS : WINDOW_ROUNDS_UNBOUNDED;

	t1 = cw->now_us > interval_us ? cw->now_us - interval_us : 0;
	t2 = t1 > interval_us ? t1 - interval_us : 0;
	history_at(cw, cw->now_us, &s0);
	history_at(cw, t1, &s1);
	history_at(cw, t2, &s2);
	now = delivered(&s1, &s0);
	before = delivered(&s2, &s1);
	/* Bytes in an interval to bytes in a round trip, if that is shorter */
	if (interval_us > cw->rtt_us) {
		now = now * cw->rtt_us / interval_us;
		before = before * cw->rtt_us / interval_us;
	}

	/*
	 * Data behind a lost segment comes all at once, up to two round trips'
	 * worth in one. Do not grant credit for such a burst to a sender that
	 * buffers: its rate is the mean of this round trip and the last.
	 */
	if (!cw->bounded_peer && before < now)
		now = (now + before) / 2;

	/* Age the best deliveries, unless the sender had no credit. */
	shift = (cw->now_us - cw->round_us) / interval_us;
	if (shift > 0)
		cw->round_us = cw->now_us;
	if (shift > 0 &&
	    !had_no_credit(cw, cw->received - s1.received, interval_us)) {
		for (i = WINDOW_ROUNDS; i-- > 0;)
			cw->best[i] = i >= shift ? cw->best[i - shift] : 0;
	}
	cw->best[0] = MAXIMUM(cw->best[0], now);
	earlier = MAXIMUM(cw->best[2], cw->best[3]);
	cw->gain = now > earlier ? now - earlier : 0;
	for (cw->bdp = 0, i = 0; i < rounds; i++)
		cw->bdp = MAXIMUM(cw->bdp, cw->best[i]);
	cw->growth = now > before ? now - before : 0;
}

/*
 * Returns the headroom (bytes) towards a sender that buffers. Behind a
 * forwarder it is what the path carries in WINDOW_HICCUP_US, or one BDP if that
 * is less, from WINDOW_HEADROOM_FORWARDED to WINDOW_HEADROOM_UNBOUNDED. With
 * gain it is up to WINDOW_GROWING_FORWARDED, or 1/8 of the BDP if that is more.
 */
static uint64_t
unbounded_room(const struct window_control *cw)
{
	uint64_t room = WINDOW_HEADROOM_UNBOUNDED, most = WINDOW_HEADROOM_MAX;

	if (cw->forwarded) {
		room = MINIMUM(room, cw->bdp * WINDOW_HICCUP_US /
		    MAXIMUM(cw->rtt_us, WINDOW_HICCUP_US));
		room = MAXIMUM(room, WINDOW_HEADROOM_FORWARDED);
		most = MINIMUM(most, MAXIMUM(WINDOW_GROWING_FORWARDED,
		    cw->bdp / 8));
	}
	return MINIMUM(room + 3 * cw->gain, most);
}

/* Sets the target, and what decided it. */
static void
decide(struct window_control *cw, uint64_t interval_us)
{
	uint64_t headroom, room, want;

	cw->limited = cw->growth > cw->bdp / 16 ? WINDOW_GREW : WINDOW_PATH;
	if (cw->bounded_peer)
		room = MAXIMUM(WINDOW_HEADROOM_MAX, cw->bdp / 2) +
		    3 * cw->growth;
	else
		room = unbounded_room(cw);
	if (!cw->bounded_peer && cw->limited == WINDOW_GREW &&
	    2 * cw->bdp > room)
		cw->limited = WINDOW_PEER;
	headroom = MINIMUM(2 * cw->bdp, room);
	if (cw->bounded_peer && cw->late)
		headroom = 2 * cw->bdp + 14 * cw->growth;
	if (standing_backlog(cw, interval_us) >= WINDOW_LAG) {
		/* Buffer no more for a lagging reader than stock does. */
		headroom = MINIMUM(headroom, cw->base);
		cw->limited = WINDOW_READER;
	}
	want = cw->bdp + headroom;
	if (want <= cw->base) {
		want = cw->base;
		cw->limited = WINDOW_BASE;
	}
	cw->target = MINIMUM(want, UINT32_MAX);
}

void
window_init(struct window_control *cw, uint32_t base, int bounded_peer,
    uint64_t now_us)
{
	memset(cw, 0, sizeof(*cw));
	cw->base = cw->target = base;
	cw->bounded_peer = bounded_peer;
	cw->now_us = cw->round_us = now_us;
	sample_push(cw, now_us);
}

void
window_update(struct window_control *cw, uint64_t consumed, uint64_t backlog,
    uint64_t rtt_us, uint64_t now_us, uint32_t limit)
{
	uint64_t interval_us, spacing_us, came;
	struct window_sample *s;

	if (now_us > cw->now_us)	/* ignore a step back */
		cw->now_us = now_us;
	cw->rtt_us = rtt_us;
	interval_us = MAXIMUM(rtt_us, WINDOW_INTERVAL_MIN_US);
	spacing_us = interval_us / WINDOW_PER_RTT;

	/*
	 * Push a sample before the counters change. After an idle gap the
	 * history then rises at its end, not evenly across it.
	 */
	s = &cw->samples[cw->head];
	if (cw->now_us - s->t_us >= spacing_us)
		sample_push(cw, cw->now_us);
	cw->consumed += consumed;
	/* What has counted as consumed before it came does not come again. */
	came = cw->consumed + backlog - MINIMUM(cw->early, backlog);
	if ((int64_t)(came - cw->received) > 0)
		cw->received = came;
	cw->backlog = backlog;
	s = &cw->samples[cw->head];
	s->backlog_min = MINIMUM(s->backlog_min, backlog);

	if (rtt_us == 0) {
		cw->target = cw->base;
		cw->limited = WINDOW_BASE;
	} else {
		measure(cw, interval_us);
		decide(cw, interval_us);
	}
	window_limit(cw, limit);
}

void
window_limit(struct window_control *cw, uint32_t limit)
{
	limit = MAXIMUM(limit, cw->base);
	if (cw->target > limit) {
		cw->target = limit;
		cw->limited = WINDOW_BUDGET;
	}
}

/*
 * Returns 1 if credit is paced. A sender with bounded buffers needs no pacing.
 * A small window needs none either: it fits into the buffer of any sender.
 * (Behind a forwarder that buffer may have to grow for it, which takes time.)
 */
static int
paced(const struct window_control *cw)
{
	return !cw->bounded_peer && cw->rtt_us != 0 && cw->target >
	    (cw->forwarded ? WINDOW_GROWING_FORWARDED : WINDOW_HEADROOM_MAX);
}

/* Returns the most credit (bytes) in a round trip while it is paced. */
static uint64_t
pace(const struct window_control *cw)
{
	return cw->target + MINIMUM(2 * cw->gain, WINDOW_HEADROOM_UNBOUNDED);
}

/* Adds to the allowance what has accrued since the last call. */
static void
accrue(struct window_control *cw, uint64_t quantum)
{
	uint64_t burst = cw->forwarded ? WINDOW_BURST_FORWARDED : WINDOW_BURST;
	uint64_t most = MAXIMUM(burst, 2 * quantum);
	uint64_t took_us = cw->now_us - cw->paced_us;

	if (!paced(cw) || took_us >= cw->rtt_us)
		cw->allowance = most;
	else
		cw->allowance += interpolate(0, pace(cw), took_us, cw->rtt_us);
	cw->allowance = MINIMUM(cw->allowance, most);
	cw->paced_us = cw->now_us;
}

/* Notes that withheld credit is due at t_us. 0 means none is. */
static void
ask_again(struct window_control *cw, uint64_t t_us)
{
	cw->due_us = MAXIMUM(t_us, 1);
}

/*
 * Returns how many bytes of credit may go out now: as many as the allowance
 * covers, or 0 if those are fewer than quantum. credit is more than quantum.
 * Sets due_us if the rest is more than quantum, too.
 */
static uint64_t
allow(struct window_control *cw, uint64_t credit, uint64_t quantum)
{
	uint64_t now = MINIMUM(credit, cw->allowance), wait_us;

	if (now < quantum)
		now = 0;
	cw->allowance -= now;
	if (credit - now > quantum) {
		wait_us = interpolate(0, cw->rtt_us, quantum -
		    MINIMUM(quantum, cw->allowance), pace(cw));
		ask_again(cw, cw->now_us + 1 +
		    MAXIMUM(wait_us, cw->rtt_us / WINDOW_QUANTUM));
	}
	return now;
}

uint32_t
window_credit(struct window_control *cw, uint32_t window, uint32_t maxpacket)
{
	uint64_t outstanding = window + cw->backlog;
	uint64_t quantum, credit;

	quantum = MAXIMUM(3 * (uint64_t)maxpacket,
	    cw->target / WINDOW_QUANTUM);
	/* However small the window, half of it is worth a message */
	quantum = MINIMUM(quantum, cw->target / 2);
	accrue(cw, quantum);
	cw->due_us = 0;
	if (window < cw->target / 4)
		cw->starved_us = cw->now_us;
	/* Credit can't be taken back. Wait until the peer has spent it. */
	if (outstanding >= cw->target)
		return 0;
	credit = cw->target - outstanding;
	if (credit <= quantum)
		return 0;
	/*
	 * A backlog that is consumed in a burst, or a target that jumps, would
	 * cause more adjusts. Delay them if this function is certain to be
	 * called again: when backlog is consumed, or when the rest of a large
	 * window comes.
	 */
	if (cw->now_us - cw->granted_us < cw->rtt_us / WINDOW_QUANTUM &&
	    (cw->backlog > 0 || window >= cw->target / 2)) {
		if (paced(cw))
			ask_again(cw, cw->granted_us + 1 +
			    cw->rtt_us / WINDOW_QUANTUM);
		return 0;
	}
	if (paced(cw) && (credit = allow(cw, credit, quantum)) == 0)
		return 0;
	cw->granted_us = cw->now_us;
	return credit;
}

uint64_t
window_unspent(const struct window_control *cw, uint64_t outstanding,
    uint64_t now_us)
{
	struct window_sample then;
	uint64_t fresh;

	history_at(cw, now_us > cw->rtt_us ? now_us - cw->rtt_us : 0, &then);
	fresh = cw->granted - then.granted;
	return outstanding > fresh ? outstanding - fresh : 0;
}

const char *
window_limited_name(enum window_limited limited)
{
	switch (limited) {
	case WINDOW_BASE:
		return "base";
	case WINDOW_GREW:
		return "grew";
	case WINDOW_PATH:
		return "path";
	case WINDOW_PEER:
		return "peer";
	case WINDOW_READER:
		return "reader";
	case WINDOW_BUDGET:
		return "budget";
	}
	return "unknown";
}
