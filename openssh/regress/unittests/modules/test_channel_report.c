/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/* What is said of channels, in the log and for ~# */

#include "includes.h"

#include <sys/types.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "sshbuf.h"
#include "packet.h"
#include "bdp-names.h"
#include "channels.h"
#include "compat.h"
#include "kex.h"
#include "log.h"
#include "misc.h"
#include "tcp-path.h"
#include "window-state.h"
#include "conn.h"
#include "fake.h"
#include "fixture.h"

#define BOUNDED		KEX_HAS_BOUNDED_INPUT

void test_channel_report(void);

static struct conn conn;
static struct path_info path;
static struct heard heard;

/* Over a path of 100 ms */
static void
start(int server, u_int flags, uint32_t limit)
{
	fixture_open(&conn, &path, server, flags, limit);
}

/*
 * `rate` bytes come each ms, or what the window allows, and are consumed at
 * once.
 */
static void
deliver(Channel *c, u_int rate, u_int ms)
{
	for (; ms > 0; ms--) {
		fake.now_us += 1 * MS;
		conn_comes(c, c->output, MINIMUM(rate, c->local_window));
		conn_goes(c, c->output, rate);
		conn_turn(&conn, c);
	}
}

/* Returns the line of ~# without the blanks around it, or an empty string. */
static const char *
status(const Channel *c)
{
	static char line[256];
	struct sshbuf *b = sshbuf_new();
	size_t len;

	channel_report_status(conn.ssh, c, b);
	len = sshbuf_len(b);
	snprintf(line, sizeof(line), "%.*s", (int)len, sshbuf_ptr(b) == NULL ?
	    (const u_char *)"" : sshbuf_ptr(b));
	sshbuf_free(b);
	line[strcspn(line, "\r")] = '\0';
	return line + strspn(line, " ");
}

static void
at_close(int server)
{
	Channel *c;

	start(server, BOUNDED, LIMIT);
	c = conn_channel(&conn, "session");
	conn_turn(&conn, c);
	fixture_listen(&heard, "peak window");
	conn_channel_free(&conn, c);	/* nothing came: no line */
	ASSERT_STRING_EQ(heard.lines, "");
	c = conn_channel(&conn, "session");
	c->isatty = 1;
	deliver(c, 1000, 1000);		/* nor of one with a fixed window */
	conn_channel_free(&conn, c);
	ASSERT_STRING_EQ(heard.lines, "");
	c = conn_channel(&conn, "session");
	path.rtt_us = path.min_rtt_us = 50 * MS;
	fake.now_us += 200 * MS;
	deliver(c, 1000, 501);
	path.rtt_us = path.min_rtt_us = 50 * MS + 123;
	deliver(c, 1000, 500);
	channel_report_all(conn.ssh);
	ASSERT_STRING_EQ(heard.lines, "channel 0: peak window 2097152, "
	    "least rtt 50.0 ms, received 1001000 bytes, 1.0 MB/s\n");
	ASSERT_INT_EQ(heard.level, server ? SYSLOG_LEVEL_VERBOSE :
	    SYSLOG_LEVEL_DEBUG1);
	heard.lines[0] = '\0';
	conn_comes(c, c->output, 500);	/* taken after the last look */
	conn_goes(c, c->output, 400);
	conn_channel_free(&conn, c);
	ASSERT_STRING_EQ(heard.lines, "channel 0: peak window 2097152, "
	    "least rtt 50.0 ms, received 1001400 bytes, 1.0 MB/s\n");
	/* Of what was sent there is a line if anything was. */
	c = conn_channel(&conn, "session");
	deliver(c, 1000, 10);
	fixture_listen(&heard, "held up by");
	conn_channel_free(&conn, c);
	ASSERT_STRING_EQ(heard.lines, "");
	fixture_listen_ends();
	conn_close(&conn);
}

static void
while_open(void)
{
	char line[256];
	Channel *c;

	start(0, BOUNDED, LIMIT);
	path.rtt_us = path.min_rtt_us = 40 * MS;
	c = conn_channel(&conn, "session");
	conn_turn(&conn, c);
	ASSERT_STRING_EQ(status(c), "window 2097152, rtt 40.0 ms, "
	    "mean 0.0 MB/s, limited by base");
	fixture_listen(&heard, "chanwin t_us");
	deliver(c, 61250, 1001);
	fixture_listen_ends();
	snprintf(line, sizeof(line), "window %u, rtt 40.0 ms, mean 61.2 MB/s, "
	    "limited by path", fake.cw->target);
	ASSERT_STRING_EQ(status(c), line);
	/* The first credit: more than 3 packets */
	heard.lines[strcspn(heard.lines, "\n")] = '\0';
	ASSERT_STRING_EQ(heard.lines, "channel 0: chanwin t_us=1000002000 "
	    "target=2097152 window=1974652 backlog=0 granted=2219652 "
	    "consumed=122500 bdp=122500 rtt_us=40000 adjust=122500 "
	    "limited=base");
	conn_close(&conn);
}

/* Returns a new channel whose peer has given all the credit there can be. */
static Channel *
sender(int isatty)
{
	Channel *c = conn_channel(&conn, "session");

	c->isatty = isatty;
	c->remote_window = LIMIT;
	conn_turn(&conn, c);
	return c;
}

/* Makes len bytes wait in the output buffer for the kernel. */
static void
unsent(size_t len)
{
	fake_len(ssh_packet_get_output(conn.ssh), len);
}

/* ms pass, as the last look left it, and another look. */
static void
wait_ms(Channel *c, u_int ms)
{
	fake.now_us += ms * MS;
	channel_report_look(conn.ssh, c);
}

static void
looks(void)
{
	Channel *c, *other;

	start(0, BOUNDED, LIMIT);
	unsent(0);
	c = sender(0);
	other = sender(1);
	fixture_listen(&heard, "held up by");
	wait_ms(c, 5000);		/* before the first byte */
	ASSERT_U64_EQ(c->report->send.at_us, 0);
	channel_report_sent(c, 1000);
	channel_report_sent(other, 1000);
	wait_ms(c, 0);
	wait_ms(c, 200);		/* without data: 200 ms */
	fake_len(c->input, 1);
	wait_ms(c, 0);
	wait_ms(c, 150);		/* by the connection */
	c->remote_window = 0;
	unsent(1);
	wait_ms(c, 0);
	wait_ms(c, 150);		/* the same: packets are left here */
	unsent(0);
	wait_ms(c, 0);
	fake_len(c->input, 0);
	wait_ms(c, 500);		/* by the window */
	c->remote_window = 1;
	channel_report_sent(c, 1);
	conn_channel_free(&conn, c);
	conn_channel_free(&conn, other);
	fixture_listen_ends();
	ASSERT_STRING_EQ(heard.lines, "channel 0: sent 1001 bytes, held up by "
	    "the peer's window 50 % of the time, by the connection 30 %, "
	    "without data 20 %\n");
	conn_close(&conn);
}

void
test_channel_report(void)
{
	fixture_run_both("channel report: what is said at close", at_close);
	fixture_run("channel report: what is said before", while_open);
	fixture_run("channel report: what held the sender up", looks);
	fake_reset();
}
