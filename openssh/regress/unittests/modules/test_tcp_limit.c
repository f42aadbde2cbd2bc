/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/* Which TCP buffer limited a connection, and what is said about it. */

#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>
#include <sys/wait.h>
#ifdef __linux__
# include <linux/tcp.h>
#endif

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "packet.h"
#include "channels.h"
#include "channel-report.h"
#include "log.h"
#include "tcp-limit.h"
#include "tcp-path.h"
#include "conn.h"
#include "fake.h"
#include "fixture.h"

void test_tcp_limit(void);

#define S		1000000ULL		/* us */
#define LARGE		(UINT64_C(1) << 63)	/* us */
#define RMEM		": raise net.ipv4.tcp_rmem on far " \
			"(package openssh-bdp-tuning)"
#define WMEM		": raise net.ipv4.tcp_wmem here " \
			"(package openssh-bdp-tuning)"

static const struct {
	const char *name;
	struct tcp_limit limit;
	const char *busy_s, *shares, *remedy;	/* NULL: nothing is said */
} cases[] = {
	{ "nothing was sent", { 0, 0, 0 }, NULL, NULL, NULL },
	{ "hardly anything was sent", { 99, 99, 99 }, NULL, NULL, NULL },
	{ "no buffer", { 10 * S, 0, 0 }, "10.0", "0 0", "" },
	{ "the receiver's", { 10 * S, 9 * S, S / 10 }, "10.0", "90 1", RMEM },
	{ "the receiver's, 10 %", { 10 * S, S, 0 }, "10.0", "10 0", RMEM },
	{ "the receiver's, 9 %", { 10 * S, S - 1, 0 }, "10.0", "9 0", "" },
	{ "ours", { 12345678, S / 10, 12345678 }, "12.3", "0 100", WMEM },
	{ "ours, 10 %", { 10 * S, 0, S }, "10.0", "0 10", WMEM },
	{ "ours, 9 %", { 10 * S, 0, S - 1 }, "10.0", "0 9", "" },
	{ "the larger share: ours", { 10 * S, 4 * S, 6 * S }, "10.0", "40 60",
	    WMEM },
	{ "the larger share: the receiver's", { 10 * S, 6 * S, 4 * S },
	    "10.0", "60 40", RMEM },
	{ "equal shares: the receiver's", { 10 * S, 5 * S, 5 * S }, "10.0",
	    "50 50", RMEM },
	{ "long ago", { LARGE, LARGE, 0 }, "9223372036854.7", "100 0", RMEM },
	{ "the largest numbers", { UINT64_MAX, UINT64_MAX / 10, UINT64_MAX },
	    "18446744073709.5", "10 100", WMEM },
};

static void
text(void)
{
	char said[256], want[256];
	u_int rwnd, sndbuf;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		TEST_START("TCP's limits: the buffer and its remedy are named");
		test_subtest_info("%s", cases[i].name);
		strlcpy(said, "unchanged", sizeof(said));
		ASSERT_INT_EQ(tcp_limit_text(&cases[i].limit, "far", said,
		    sizeof(said)), cases[i].shares != NULL);
		if (cases[i].shares == NULL) {
			ASSERT_STRING_EQ(said, "unchanged");
			TEST_DONE();
			continue;
		}
		ASSERT_INT_EQ(sscanf(cases[i].shares, "%u %u", &rwnd,
		    &sndbuf), 2);
		snprintf(want, sizeof(want), "TCP was sending for %s s, "
		    "limited by the receiver's buffer for %u %% of it, by "
		    "the send buffer for %u %%%s", cases[i].busy_s, rwnd,
		    sndbuf, cases[i].remedy);
		ASSERT_STRING_EQ(said, want);
		TEST_DONE();
	}

	TEST_START("TCP's limits: a long name is truncated");
	memset(want, 'x', sizeof(want) - 1);
	want[sizeof(want) - 1] = '\0';
	ASSERT_INT_EQ(tcp_limit_text(&cases[3].limit, want, said, 150), 1);
	ASSERT_SIZE_T_EQ(strlen(said), 149);
	TEST_DONE();
}

#ifdef __linux__
static void
get(void)
{
	struct tcp_info ti;
	struct tcp_limit limit;
	int pair[2];

	TEST_START("TCP's limits: what the kernel counts");
	fake_reset();
	memset(&ti, 0, sizeof(ti));
	ti.tcpi_busy_time = 3;
	ti.tcpi_rwnd_limited = 2;
	ti.tcpi_sndbuf_limited = 1;
	fake.option = &ti;
	fake.option_name = TCP_INFO;
	fake.option_len = sizeof(ti);
	ASSERT_INT_EQ(tcp_limit_get(-1, &limit), 0);
	ASSERT_U64_EQ(limit.busy_us, 3);
	ASSERT_U64_EQ(limit.rwnd_us, 2);
	ASSERT_U64_EQ(limit.sndbuf_us, 1);
	/* A kernel before 4.9 does not know them. */
	fake.option_len = offsetof(struct tcp_info, tcpi_busy_time);
	ASSERT_INT_EQ(tcp_limit_get(-1, &limit), 0);
	ASSERT_U64_EQ(limit.busy_us, 0);
	fake_reset();
	ASSERT_INT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	ASSERT_INT_EQ(tcp_limit_get(pair[0], &limit), -1);
	close(pair[0]);
	close(pair[1]);
	TEST_DONE();
}

/* Returns what was said as a connection ends, at which level. */
static const char *
end(struct heard *heard, int server, int bulk)
{
	struct path_info path;
	struct conn conn;
	struct tcp_info ti;

	memset(&ti, 0, sizeof(ti));
	ti.tcpi_busy_time = 2 * S;
	ti.tcpi_sndbuf_limited = S;
	fixture_open(&conn, &path, server, 0, LIMIT);
	fake.option = &ti;
	fake.option_name = TCP_INFO;
	fake.option_len = sizeof(ti);
	conn_channel(&conn, "session")->isatty = !bulk;
	conn_turn(&conn, conn.channels[0]);
	fixture_listen(heard, "TCP was sending");
	conn_close(&conn);
	fixture_listen_ends();
	fake_reset();
	return heard->lines;
}

static void
ends(void)
{
	static const char *const said = "TCP was sending for 2.0 s, limited "
	    "by the receiver's buffer for 0 % of it, by the send buffer for "
	    "50 %" WMEM "\n";
	struct heard heard;

	TEST_START("TCP's limits: said once, when a connection ends");
	ASSERT_STRING_EQ(end(&heard, 0, 1), said);
	ASSERT_INT_EQ(heard.level, SYSLOG_LEVEL_DEBUG1);
	ASSERT_STRING_EQ(end(&heard, 1, 1), said);
	ASSERT_INT_EQ(heard.level, SYSLOG_LEVEL_VERBOSE);
	ASSERT_STRING_EQ(end(&heard, 0, 0), "");
	TEST_DONE();
}

/* sshd has closed the connection as its process ends after a disconnect. */
static void
closed(void)
{
	struct path_info path;
	struct conn conn;
	int status;
	pid_t pid;

	TEST_START("TCP's limits: a connection that is closed has none");
	fixture_open(&conn, &path, 1, 0, LIMIT);
	conn_turn(&conn, conn_channel(&conn, "session"));
	if ((pid = fork()) == 0) {
		ssh_packet_close(conn.ssh);
		channel_report_all(conn.ssh);
		_exit(0);
	}
	ASSERT_INT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_INT_EQ(status, 0);
	conn_close(&conn);
	fake_reset();
	TEST_DONE();
}
#endif

void
test_tcp_limit(void)
{
	text();
#ifdef __linux__
	get();
	ends();
	closed();
#endif
}
