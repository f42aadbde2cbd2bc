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

#include <stdint.h>
#include <stdio.h>

#include "verdict.h"

/* Less than this (bytes a second) is a terminal, or keepalives. */
#define IDLE_RATE	4000

/* %: an ssh that runs, or waits to run, for this part of the time is busy. */
#define CPU_FULL	85

/*
 * %: this part is enough if there is more to send, TCP takes it, and the window
 * has room. The rest is short waits.
 */
#define CPU_BUSY	60

/*
 * %: a window counts as used up if this part of it came in a round trip. The
 * rest is credit on its way, and the error of the RTT, which is an estimate.
 */
#define WINDOW_FULL	75

/* And nobody can have used more of one than this (%): it is another's. */
#define WINDOW_OVER	125

/*
 * A TCP window that the path had not filled even once in four round trips was
 * not too small: its reader left it full.
 */
#define RWND_UNUSED	4

static const struct {
	const char *name, *text;
} names[VERDICT_MAX] = {
	{ "idle", "idle" },
	{ "ssh-window", "SSH window" },
	{ "receiver-buffer", "receiver's TCP buffer" },
	{ "sender-buffer", "sender's TCP buffer" },
	{ "congestion", "congestion" },
	{ "source", "source (disk or app)" },
	{ "reader", "reader (disk or app)" },
	{ "cpu", "CPU" },
	{ "far-end", "sender or path" }
};

static unsigned int
percent(uint64_t part, uint64_t whole)
{
	if (whole == 0)
		return 0;
	return part >= whole ? 100 : part * 100 / whole;
}

/* Returns the bytes that come in time_us at the interval's mean rate. */
static uint64_t
bytes_in(const struct verdict_in *in, uint64_t bytes, uint64_t time_us)
{
	return bytes / in->interval_us * time_us +
	    bytes % in->interval_us * time_us / in->interval_us;
}

static int
idle(const struct verdict_in *in, uint64_t bytes)
{
	return bytes_in(in, bytes, 1000000) < IDLE_RATE;
}

static int
fills(uint64_t bytes, uint64_t window)
{
	return window != 0 && bytes >= window / 100 * WINDOW_FULL;
}

static int
uses_up(uint64_t bytes, uint64_t window)
{
	return fills(bytes, window) && bytes <= window / 100 * WINDOW_OVER;
}

/* TCP waits for ssh, and ssh for more to send or for leave to send it. */
static enum verdict
starved_sender(const struct verdict_in *in)
{
	uint64_t bytes = bytes_in(in, in->sent, in->rtt_us);
	int full = fills(bytes, VERDICT_STOCK_WINDOW);

	if (in->source == -1 && uses_up(bytes, VERDICT_STOCK_WINDOW))
		return VERDICT_SSH_WINDOW;
	if (in->source >= 50) {
		if (full)
			return VERDICT_SSH_WINDOW;
		return percent(in->cpu_us, in->interval_us) >= CPU_BUSY ?
		    VERDICT_CPU : VERDICT_READER;
	}
	return idle(in, in->sent) ? VERDICT_IDLE : VERDICT_SOURCE;
}

/*
 * What held the sender up for the largest part of the interval. The kernel
 * counts two of the four, but not each wait for the send buffer, where TCP
 * looks starved.
 */
static enum verdict
sender(const struct verdict_in *in)
{
	unsigned int rwnd = percent(in->rwnd_us, in->interval_us);
	unsigned int sndbuf = percent(in->sndbuf_us, in->interval_us);
	unsigned int starved = in->starved < 0 ? 0 : in->starved, path;

	if (in->blocked > (int)sndbuf)
		sndbuf = in->blocked;
	starved = starved > sndbuf ? starved - sndbuf : 0;
	path = rwnd + sndbuf + starved;
	path = path < 100 ? 100 - path : 0;
	if (starved >= rwnd && starved >= sndbuf && starved >= path)
		return starved_sender(in);
	if (path >= rwnd && path >= sndbuf)
		return VERDICT_CONGESTION;
	if (sndbuf >= rwnd)
		return VERDICT_SENDER_BUFFER;
	return bytes_in(in, in->sent, in->min_rtt_us) * RWND_UNUSED <
	    in->snd_wnd ? VERDICT_READER : VERDICT_RECEIVER_BUFFER;
}

/* The far end's reasons to send no more don't show here, but for loss. */
static enum verdict
receiver(const struct verdict_in *in)
{
	uint64_t bytes = bytes_in(in, in->received, in->rtt_us);

	if (in->sink >= 50)
		return VERDICT_READER;
	if (idle(in, in->received))
		return VERDICT_IDLE;
	if (uses_up(bytes, in->window))
		return VERDICT_SSH_WINDOW;
	if (fills(bytes, in->rcv_wnd))
		return VERDICT_RECEIVER_BUFFER;
	return in->late != 0 ? VERDICT_CONGESTION : VERDICT_FAR_END;
}

int
verdict_sends(const struct verdict_in *in, uint64_t ever_sent,
    uint64_t ever_received)
{
	if (in->interval_us == 0 || idle(in, in->sent + in->received))
		return ever_sent >= ever_received;
	return in->sent >= in->received;
}

enum verdict
verdict(const struct verdict_in *in)
{
	if (in->interval_us == 0)
		return VERDICT_IDLE;
	if (percent(in->cpu_us, in->interval_us) >= CPU_FULL &&
	    !idle(in, in->sent + in->received))
		return VERDICT_CPU;
	return in->sends ? sender(in) : receiver(in);
}

/*
 * Returns 1 if a buffer of this end is as large as autotuning makes it. One
 * that a program has set may be smaller. What is unknown counts as large.
 */
static int
is_grown(uint64_t size, uint64_t max)
{
	return size == 0 || max == 0 || size >= max;
}

int
verdict_remedy(enum verdict v, const struct verdict_in *in, const char *peer,
    char *buf, size_t len)
{
	const char *sysctl = "tcp_rmem", *host = "this machine";
	uint64_t max = in->rmem_max;	/* of that host */
	int grown;

	*buf = '\0';
	if (v == VERDICT_SENDER_BUFFER) {
		sysctl = "tcp_wmem";
		max = in->wmem_max;
		grown = is_grown(in->sndbuf, max);
	} else if (v != VERDICT_RECEIVER_BUFFER)
		return 0;
	else if (in->sends) {
		/* About half of a buffer is window. */
		host = peer;
		max = in->snd_wnd * 2;
		grown = 1;
	} else
		grown = is_grown(in->rcvbuf, max);
	if (!grown)
		return 0;
	snprintf(buf, len, "raise net.ipv4.%s on %s%s", sysctl, host,
	    max >= VERDICT_PACKAGE_BUFFER ? "" :
	    ", or install openssh-bdp-tuning there");
	return 1;
}

const char *
verdict_name(enum verdict v)
{
	return names[v].name;
}

const char *
verdict_text(enum verdict v)
{
	return names[v].text;
}
