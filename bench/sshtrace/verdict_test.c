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

/* verdict_test: says which cases fail; exits 1 if any did. */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "peer.h"
#include "verdict.h"

#define S	1000000			/* us */
#define MIB	(1024 * 1024)

/* A second at 200 ms */
#define AT_SENDER	.sends = 1, LONG_PATH
#define LONG_PATH	.interval_us = S, .rtt_us = 200000, \
			.min_rtt_us = 200000
#define UNKNOWN		.source = -1, .sink = -1

static const struct {
	const char *what;
	enum verdict want;
	struct verdict_in in;
} cases[] = {
	{ "nothing at all", VERDICT_IDLE,
	    { .interval_us = S, .starved = 100 } },
	{ "no time has passed", VERDICT_IDLE, { .sent = 1 } },
	{ "keystrokes", VERDICT_IDLE,
	    { LONG_PATH, .sent = 3000, .received = 2000, .starved = 100 } },
	{ "echoes", VERDICT_IDLE,
	    { LONG_PATH, .sent = 2000, .received = 3000, .window = 2 * MIB } },

	/* At the sender */
	{ "9.5 MB/s at 200 ms, more to send", VERDICT_SSH_WINDOW,
	    { AT_SENDER, .sent = 9500000, .starved = 95, .source = 99 } },
	{ "the same, sources unknown", VERDICT_SSH_WINDOW,
	    { AT_SENDER, .sent = 9500000, .starved = 95, UNKNOWN } },
	{ "1 MB/s, more to send: no credit", VERDICT_READER,
	    { AT_SENDER, .sent = 1000000, .starved = 95, .source = 99 } },
	{ "stopped, more to send", VERDICT_READER,
	    { AT_SENDER, .starved = 100, .source = 100 } },
	{ "a window of 20 MiB used up", VERDICT_SSH_WINDOW,
	    { AT_SENDER, .sent = 100 * MIB, .starved = 90,
	    .source = 90 } },
	{ "9.5 MB/s at 200 ms, no more to send", VERDICT_SOURCE,
	    { AT_SENDER, .sent = 9500000, .starved = 95, .source = 5 } },
	{ "1 MB/s, sources unknown", VERDICT_SOURCE,
	    { AT_SENDER, .sent = 1000000, .starved = 95, UNKNOWN } },
	{ "20 MB/s, starved, sources unknown", VERDICT_SOURCE,
	    { AT_SENDER, .sent = 20000000, .starved = 95, UNKNOWN } },
	{ "the path takes no more", VERDICT_CONGESTION,
	    { AT_SENDER, .sent = 100000000, .starved = 5, .source = 99 } },
	{ "a path of 2 KB/s", VERDICT_CONGESTION,
	    { AT_SENDER, .sent = 2000, .starved = 0, .source = 99 } },
	{ "the peer's buffer", VERDICT_RECEIVER_BUFFER,
	    { AT_SENDER, .sent = 5000000, .rwnd_us = 9 * S / 10,
	    .snd_wnd = MIB, .source = 99 } },
	{ "the same, its size unknown", VERDICT_RECEIVER_BUFFER,
	    { AT_SENDER, .sent = 5000000, .rwnd_us = 9 * S / 10,
	    .source = 99 } },
	{ "a peer that doesn't read it", VERDICT_READER,
	    { .sends = 1, .interval_us = S, .rtt_us = 100, .min_rtt_us = 50,
	    .sent = 400000000, .rwnd_us = 9 * S / 10, .snd_wnd = 3 * MIB } },
	{ "the sender's own", VERDICT_SENDER_BUFFER,
	    { AT_SENDER, .sent = 5000000, .sndbuf_us = 8 * S / 10,
	    .starved = 90, .source = 99 } },
	{ "the same, as the looks tell", VERDICT_SENDER_BUFFER,
	    { AT_SENDER, .sent = 2300000, .starved = 100,
	    .blocked = 90, .source = 100 } },
	{ "now and then only", VERDICT_SSH_WINDOW,
	    { AT_SENDER, .sent = 9500000, .starved = 100,
	    .blocked = 30, .source = 100 } },
	{ "more than both: the path", VERDICT_CONGESTION,
	    { AT_SENDER, .sent = 5000000, .rwnd_us = 3 * S / 10,
	    .sndbuf_us = S / 10, .starved = 10 } },
	{ "counted past the interval", VERDICT_RECEIVER_BUFFER,
	    { AT_SENDER, .sent = 5000000, .rwnd_us = 11 * S / 10,
	    .starved = 20, .snd_wnd = MIB } },
	{ "CPU before all else", VERDICT_CPU,
	    { AT_SENDER, .sent = 100000000, .cpu_us = 95 * S / 100 } },
	{ "nearly", VERDICT_CONGESTION,
	    { AT_SENDER, .sent = 100000000, .cpu_us = 80 * S / 100 } },
	{ "most of the CPU, more to send, a short path", VERDICT_CPU,
	    { .sends = 1, .interval_us = S, .rtt_us = 100, .min_rtt_us = 5,
	    .sent = 250000000, .cpu_us = 75 * S / 100, .starved = 95,
	    .source = 80, .snd_wnd = 3 * MIB } },
	{ "the same, nothing more to send", VERDICT_SOURCE,
	    { .sends = 1, .interval_us = S, .rtt_us = 100, .min_rtt_us = 5,
	    .sent = 250000000, .cpu_us = 75 * S / 100, .starved = 95,
	    .source = 20, .snd_wnd = 3 * MIB } },
	{ "a busy process, an idle connection", VERDICT_IDLE,
	    { AT_SENDER, .sent = 100, .cpu_us = S, .starved = 100 } },

	/* At the receiver */
	{ "9.5 MB/s at 200 ms", VERDICT_SSH_WINDOW,
	    { LONG_PATH, .received = 9500000, .window = 2 * MIB,
	    .rcv_wnd = 64 * MIB } },
	{ "the same, a larger window", VERDICT_FAR_END,
	    { LONG_PATH, .received = 9500000, .window = 16 * MIB,
	    .rcv_wnd = 64 * MIB } },
	{ "the same, a window of unknown size", VERDICT_FAR_END,
	    { LONG_PATH, .received = 9500000, .rcv_wnd = 64 * MIB } },
	{ "more than the window holds: it is not the one", VERDICT_FAR_END,
	    { LONG_PATH, .received = 20000000, .window = 2 * MIB,
	    .rcv_wnd = 64 * MIB } },
	{ "the TCP buffer is the smaller one", VERDICT_RECEIVER_BUFFER,
	    { LONG_PATH, .received = 2500000, .window = 2 * MIB,
	    .rcv_wnd = 512 * 1024 } },
	{ "loss", VERDICT_CONGESTION,
	    { LONG_PATH, .received = 2500000, .window = 2 * MIB,
	    .rcv_wnd = 64 * MIB, .late = 3 } },
	{ "the reader's pipe is full", VERDICT_READER,
	    { LONG_PATH, .received = 2500000, .window = 2 * MIB,
	    .sink = 80 } },
	{ "and nothing comes any more", VERDICT_READER,
	    { LONG_PATH, .received = 1, .sink = 100 } },
	{ "the reader's pipe, now and then", VERDICT_SSH_WINDOW,
	    { LONG_PATH, .received = 9500000, .window = 2 * MIB,
	    .sink = 20 } },
	{ "no RTT", VERDICT_FAR_END,
	    { .interval_us = S, .received = 9500000, .window = 2 * MIB } },
	{ "decrypting", VERDICT_CPU,
	    { LONG_PATH, .received = 100000000, .cpu_us = S } },
	{ "10 GB/s for an hour at 2 s", VERDICT_RECEIVER_BUFFER,
	    { .interval_us = 3600ULL * S, .rtt_us = 2 * S,
	    .received = 36000000000000ULL, .rcv_wnd = 20000000000 } },
	{ "half of it", VERDICT_FAR_END,
	    { .interval_us = 3600ULL * S, .rtt_us = 2 * S,
	    .received = 18000000000000ULL, .rcv_wnd = 20000000000 } },
};

static const struct {
	const char *what;
	int want;
	uint32_t cwnd, in_flight, notsent, mss;
} looks[] = {
	{ "nothing sent", 1, 10, 0, 0, 1448 },
	{ "a part of a segment waits", 1, 10, 5, 1447, 1448 },
	{ "a segment waits", 0, 10, 5, 1448, 1448 },
	{ "the congestion window is full", 0, 100, 100, 0, 1448 },
	{ "and nearly", 0, 100, 90, 0, 1448 },
	{ "it has room", 1, 100, 89, 0, 1448 },
	{ "more in flight than it allows", 0, 100, 120, 0, 1448 },
};

/* sent and received in a second, and ever */
static const struct {
	int want;
	uint64_t sent, received, ever_sent, ever_received;
} ends[] = {
	{ 1, 9000, 8000, 0, 1000000 },
	{ 0, 8000, 9000, 1000000, 0 },
	{ 1, 0, 3000, 1000000, 100000 },
	{ 0, 0, 0, 100000, 1000000 },
};

/* queued, of a send buffer of 900 bytes */
static const struct {
	int want;
	uint32_t queued;
} buffers[] = { { 0, 0 }, { 0, 600 }, { 1, 602 }, { 1, 900 }, { 1, 1000 } };

#define PACKAGE	", or install openssh-bdp-tuning there"
#define BOTH	.wmem_max = 4 * MIB, .rmem_max = 6 * MIB

static const struct {
	enum verdict v;
	const char *want;
	struct verdict_in in;
} remedies[] = {
	{ VERDICT_RECEIVER_BUFFER, "raise net.ipv4.tcp_rmem on far" PACKAGE,
	    { .sends = 1, .snd_wnd = 3 * MIB, BOTH } },
	{ VERDICT_RECEIVER_BUFFER, "raise net.ipv4.tcp_rmem on far",
	    { .sends = 1, .snd_wnd = 32 * MIB, BOTH } },
	{ VERDICT_RECEIVER_BUFFER,
	    "raise net.ipv4.tcp_rmem on this machine" PACKAGE,
	    { .rcvbuf = 6 * MIB, BOTH } },
	{ VERDICT_RECEIVER_BUFFER, "raise net.ipv4.tcp_rmem on this machine",
	    { .rcvbuf = 64 * MIB, .rmem_max = 64 * MIB } },
	{ VERDICT_RECEIVER_BUFFER,
	    "raise net.ipv4.tcp_rmem on this machine" PACKAGE, { 0 } },
	/* a program has set it */
	{ VERDICT_RECEIVER_BUFFER, "", { .rcvbuf = 5 * MIB, BOTH } },
	/* a program has made it larger than the sysctl allows */
	{ VERDICT_RECEIVER_BUFFER,
	    "raise net.ipv4.tcp_rmem on this machine" PACKAGE,
	    { .rcvbuf = 256 * MIB, BOTH } },
	{ VERDICT_SENDER_BUFFER,
	    "raise net.ipv4.tcp_wmem on this machine" PACKAGE,
	    { .sends = 1, .sndbuf = 4 * MIB, BOTH } },
	{ VERDICT_SENDER_BUFFER, "raise net.ipv4.tcp_wmem on this machine",
	    { .sends = 1, .sndbuf = 512 * MIB, .wmem_max = 512 * MIB } },
	{ VERDICT_SENDER_BUFFER, "",
	    { .sends = 1, .sndbuf = 4 * MIB - 1, BOTH } },
	{ VERDICT_IDLE, "", { .sends = 1, BOTH } },
	{ VERDICT_SSH_WINDOW, "", { .sends = 1, BOTH } },
	{ VERDICT_CONGESTION, "", { .sends = 1, BOTH } },
	{ VERDICT_SOURCE, "", { .sends = 1, BOTH } },
	{ VERDICT_READER, "", { .sends = 1, BOTH } },
	{ VERDICT_CPU, "", { .sends = 1, BOTH } },
	{ VERDICT_FAR_END, "", { BOTH } },
};

/* Arguments of ssh, with a space for each NUL; the host in them */
static const struct {
	const char *args, *want;
} peers[] = {
	{ "ssh far cat ", "far" },
	{ "/usr/bin/ssh -x -oForwardAgent=no -l me -- far sftp ", "far" },
	{ "ssh -v -p 2222 -o Port=3 me@far.example.org ", "far.example.org" },
	{ "ssh -4Cp 2222 far ", "far" },
	{ "ssh -p2222 far ", "far" },
	{ "ssh -W host:22 jump ", "jump" },
	{ "ssh ssh://me@far:2222 ", "far" },
	{ "ssh ssh://[2001:db8::1]:22 ", "2001:db8::1" },
	{ "ssh fe80::1%eth0 ", "fe80::1%eth0" },
	{ "ssh me@corp@far ", "far" },
	{ "ssh -p ", NULL },
	{ "ssh -- ", NULL },
	{ "ssh ", NULL },
	{ "ssh far", NULL },		/* it goes on */
	{ "", NULL },
	{ "sshd-session:root@notty ", NULL },
	{ "ssh fa\"r ", NULL },
	{ "ssh fa\033[Jr ", NULL },
	{ "ssh me@ ", NULL },
	{ "ssh a123456789012345678901234567890123456789 ", NULL },
};

static int
test_remedies(void)
{
	char said[128];
	int failed = 0, did;
	size_t i;

	for (i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++) {
		did = verdict_remedy(remedies[i].v, &remedies[i].in, "far",
		    said, sizeof(said));
		if (strcmp(said, remedies[i].want) == 0 &&
		    did == (*said != '\0'))
			continue;
		printf("remedy %zu: \"%s\"\n", i, said);
		failed = 1;
	}
	return failed;
}

static int
test_peers(void)
{
	char args[128], name[32];
	int failed = 0, r;
	size_t i, j, len;

	for (i = 0; i < sizeof(peers) / sizeof(peers[0]); i++) {
		len = strlen(peers[i].args);
		for (j = 0; j < len; j++)
			args[j] = peers[i].args[j] == ' ' ? '\0' :
			    peers[i].args[j];
		r = peer_typed(args, len, name, sizeof(name));
		if (peers[i].want == NULL ? r == -1 : r == 0 &&
		    strcmp(name, peers[i].want) == 0)
			continue;
		printf("peer of \"%s\": %d\n", peers[i].args, r);
		failed = 1;
	}
	return failed;
}

int
main(void)
{
	size_t i;
	enum verdict v, w;
	struct verdict_in in;
	int failed = test_remedies() | test_peers();

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if ((v = verdict(&cases[i].in)) == cases[i].want)
			continue;
		printf("%s: %s, not %s\n", cases[i].what, verdict_name(v),
		    verdict_name(cases[i].want));
		failed = 1;
	}
	for (i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
		if (verdict_starved(looks[i].cwnd, looks[i].in_flight,
		    looks[i].notsent, looks[i].mss) == looks[i].want)
			continue;
		printf("starved, %s: not %d\n", looks[i].what, looks[i].want);
		failed = 1;
	}
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		memset(&in, 0, sizeof(in));
		in.interval_us = S;
		in.sent = ends[i].sent;
		in.received = ends[i].received;
		if (verdict_sends(&in, ends[i].ever_sent,
		    ends[i].ever_received) == ends[i].want)
			continue;
		printf("end %zu: not %d\n", i, ends[i].want);
		failed = 1;
	}
	for (i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++) {
		if (verdict_blocked(900, buffers[i].queued) ==
		    buffers[i].want)
			continue;
		printf("blocked, %u queued: not %d\n", buffers[i].queued,
		    buffers[i].want);
		failed = 1;
	}
	for (v = 0; v < VERDICT_MAX; v++) {
		if (*verdict_text(v) == '\0')
			failed = 1;
		for (w = 0; w < v; w++)
			if (strcmp(verdict_name(v), verdict_name(w)) == 0)
				failed = 1;
	}
	if (failed == 0)
		printf("tests ok\n");
	return failed;
}
