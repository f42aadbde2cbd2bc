/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/* The options that we add */

#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>
#include <netinet/in.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "bdp-options.h"
#include "log.h"
#include "tcp-congestion.h"
#include "packet.h"
#include "channels.h"
#include "tcp-path.h"
#include "conn.h"
#include "fake.h"
#include "fixture.h"

void test_bdp_options(void);

static void
parse(void)
{
	struct bdp_options o;

	TEST_START("options, the first value counts, where it applies");
	bdp_options_init(&o);
	ASSERT_PTR_EQ((void *)bdp_options_parse(&o, "channelwindowmax", "4M",
	    0), NULL);
	ASSERT_INT_EQ(o.channel_window_max, -1);
	ASSERT_PTR_EQ((void *)bdp_options_parse(&o, "ChannelWindowMax", "none",
	    1), NULL);
	ASSERT_PTR_EQ((void *)bdp_options_parse(&o, "ChannelWindowMax", "4M",
	    1), NULL);
	ASSERT_INT_EQ(o.channel_window_max, 0);
	ASSERT_PTR_EQ((void *)bdp_options_parse(&o, "TCPCongestion", "bbr",
	    0), NULL);
	ASSERT_PTR_EQ(o.tcp_congestion, NULL);
	/* Only a comment follows the keyword. */
	ASSERT_STRING_EQ(bdp_options_parse(&o, "TCPCongestion", NULL, 1),
	    "missing argument");
	ASSERT_STRING_EQ(bdp_options_parse(&o, "TCPCongestion", "b,,r", 1),
	    "empty name in list");
	ASSERT_PTR_EQ(o.tcp_congestion, NULL);
	ASSERT_PTR_EQ((void *)bdp_options_parse(&o, "tcpcongestion", "bbr,reno",
	    1), NULL);
	ASSERT_PTR_EQ((void *)bdp_options_parse(&o, "tcpcongestion", "cubic",
	    1), NULL);
	ASSERT_STRING_EQ(o.tcp_congestion, "bbr,reno");
	ASSERT_STRING_EQ(bdp_options_name("tcpcongestion"), "TCPCongestion");
	ASSERT_PTR_EQ((void *)bdp_options_name("Port"), NULL);
	bdp_options_free(&o);
	ASSERT_PTR_EQ(o.tcp_congestion, NULL);
	bdp_options_fill(&o);
	ASSERT_INT_GE(o.channel_window_max, WINDOW_MAX_LEAST);
	ASSERT_STRING_EQ(o.tcp_congestion, TCP_CONGESTION_DEFAULT);
	bdp_options_free(&o);
	TEST_DONE();

	TEST_START("options, what is set stays");
	bdp_options_init(&o);
	o.channel_window_max = 3 * MIB;
	ASSERT_PTR_EQ((void *)bdp_options_parse(&o, "TCPCongestion", "reno",
	    1), NULL);
	bdp_options_fill(&o);
	ASSERT_INT_EQ(o.channel_window_max, 3 * MIB);
	ASSERT_STRING_EQ(o.tcp_congestion, "reno");
	bdp_options_free(&o);
	TEST_DONE();
}

/* The table of readconf.c: what is ours, and what is ignored */
enum { oChannelWindowMax = 1, oTCPCongestion, oDeprecated };

static void
keywords(void)
{
	static const struct {
		const char *name;
		int opcode;
	} table[] = { BDP_CLIENT_KEYWORDS { NULL, 0 } }, *k;
	struct bdp_options o;
	u_int ignored = 0;

	TEST_START("options, ssh ignores those of earlier versions");
	bdp_options_init(&o);
	for (k = table; k->name != NULL; k++) {
		ASSERT_INT_EQ(bdp_options_name(k->name) == NULL,
		    k->opcode == oDeprecated);
		ignored += k->opcode == oDeprecated &&
		    (strcmp(k->name, "quickstart") == 0 ||
		    strcmp(k->name, "copyconnections") == 0 ||
		    strcmp(k->name, "copysessions") == 0);
	}
	ASSERT_U_INT_EQ(ignored, 3);
	ASSERT_STRING_EQ(bdp_options_parse(&o, "QuickStart", "yes", 1),
	    "unknown option");
	TEST_DONE();
}

/* Names that the kernel does not have: the socket keeps what it has. */
static void
refused(void)
{
	int i, fd = socket(AF_INET, SOCK_STREAM, 0);

	TEST_START("options, congestion controls that there are none of");
	ASSERT_INT_NE(fd, -1);
	log_init("test", SYSLOG_LEVEL_QUIET, SYSLOG_FACILITY_AUTH, 1);
	fake.freed = 0;
	for (i = 0; i < 100; i++) {
		tcp_congestion_set(fd, "none1,none2,none3");
		tcp_congestion_set(fd, "none1,default");
	}
	/* A string for each name that was refused */
	ASSERT_U_INT_EQ(fake.freed, 100 * (3 + 1));
	log_init("test", SYSLOG_LEVEL_INFO, SYSLOG_FACILITY_AUTH, 1);
	close(fd);
	TEST_DONE();
}

static void
copy(void)
{
	struct bdp_options a, b;

	TEST_START("options, what is set is copied");
	bdp_options_init(&a);
	bdp_options_init(&b);
	a.channel_window_max = 4 * MIB;
	bdp_options_parse(&a, "TCPCongestion", "reno", 1);
	bdp_options_copy(&a, &b);
	ASSERT_INT_EQ(a.channel_window_max, 4 * MIB);
	ASSERT_STRING_EQ(a.tcp_congestion, "reno");
	b.channel_window_max = 0;
	bdp_options_parse(&b, "TCPCongestion", "bbr", 1);
	bdp_options_copy(&a, &b);
	ASSERT_INT_EQ(a.channel_window_max, 0);
	ASSERT_STRING_EQ(a.tcp_congestion, "bbr");
	ASSERT_PTR_NE(a.tcp_congestion, b.tcp_congestion);
	bdp_options_free(&a);
	bdp_options_free(&b);
	TEST_DONE();
}

void
test_bdp_options(void)
{
	parse();
	keywords();
	refused();
	copy();
}
