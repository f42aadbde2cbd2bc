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

/* What ssh tells the scp that has started it, and what that scp makes of it. */

#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>
#include <sys/wait.h>
#ifdef __linux__
# include <linux/tcp.h>
#endif

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "openbsd-compat/sys-queue.h"

#include "../test_helper/test_helper.h"

#include "bdp-options.h"
#include "channels.h"
#include "channel-window.h"
#include "copy-login.h"
#include "copy-report.h"
#include "kex.h"
#include "log.h"
#include "misc.h"
#include "packet.h"
#include "quick-pair.h"
#include "sshbuf.h"
#include "sshkey.h"
#include "tcp-limit.h"
#include "tcp-path.h"
#include "conn.h"
#include "fake.h"
#include "fixture.h"

#if defined(__linux__) && defined(TCP_INFO)

#define MSS	1448
#define RTT_US	(100 * 1000)

void test_copy_report(void);

/* What is in the ssh process */
static struct conn conn;
static struct path_info path;
static struct bdp_options options;
static struct tcp_info ti;
static Channel *channel;

/* What this process, the scp, has been told */
static struct quick_pair_told told;
static uint64_t held_us, rtt_us;
static int is_wide;

/* Runs `ssh` in a process of its own, at the other end of a pair. */
static void
run(void (*ssh)(void), int watch)
{
	struct heard heard;
	int status;
	pid_t pid;

	quick_pair_open();
	if (watch)
		quick_pair_watch();
	fflush(NULL);
	ASSERT_INT_NE(pid = fork(), -1);
	if (pid == 0) {
		quick_pair_child();
		(void)quick_pair_take();
		memset(&options, 0, sizeof(options));
		options.copy_connections = 3;
		options.channel_window_max = LIMIT;
		fixture_open(&conn, &path, 0, 0, LIMIT);
		fixture_listen(&heard, "bad id");
		ssh();
		_exit(heard.lines[0] != '\0');	/* the user would see it */
	}
	quick_pair_parent();
	ASSERT_INT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_INT_EQ(status, 0);
	/* Each of them takes what has been said. */
	if (watch)
		quick_pair_held(&held_us, &rtt_us);
	quick_pair_told(&told);
	if (!watch)
		quick_pair_held(&held_us, &rtt_us);
	is_wide = quick_pair_is_wide();
	quick_pair_close();
}

static void
start(void)
{
	static char *none[] = { "/dev/null" };
	struct copy_login_files files = { none, none, 1, 1, 0 };

	copy_report_start("host", &files);
}

static void
asked(void)
{
	start();
	copy_login_asked();
	bdp_options_apply(conn.ssh, &options, NULL);
	copy_report_logged_in(conn.ssh);
}

static void
twice(void)
{
	quick_pair_say_again();
	start();
	bdp_options_apply(conn.ssh, &options, NULL);
	copy_report_logged_in(conn.ssh);
}

static void
early(void)
{
	start();
	bdp_options_apply(conn.ssh, &options, NULL);
}

static void
early_then_login(void)
{
	early();
	copy_report_logged_in(conn.ssh);
}

static void
only_login(void)
{
	start();
	copy_report_logged_in(conn.ssh);
}

static void
unknown_host(void)
{
	(void)sshkey_generate(KEY_ED25519, 0,
	    &conn.ssh->kex->initial_hostkey);
	early_then_login();
}

static void
by_proxy(void)
{
	struct ssh *ssh;
	int in[2], out[2];

	if (pipe(in) == -1 || pipe(out) == -1 ||
	    (ssh = ssh_packet_set_connection(NULL, in[0], out[1])) == NULL)
		_exit(1);
	channel_init_channels(ssh);
	start();
	bdp_options_apply(ssh, &options, NULL);
	copy_report_logged_in(ssh);
}

static const struct {
	const char *what;
	void (*ssh)(void);
	struct quick_pair_told told;
} tells[] = {
	{ "no login yet", early, { .here = 1 } },
	{ "no options yet", only_login, { .here = 1 } },
	{ "both", early_then_login,
	    { .here = 1, .own = 1, .connections = 3, .socket = 1 } },
	{ "through a proxy", by_proxy,
	    { .here = 1, .own = 1, .connections = 3 } },
	{ "a login that asked", asked,
	    { .here = 1, .own = 1, .connections = 3, .socket = 1, .asks = 1 } },
	{ "a second connection", twice,
	    { .here = 1, .own = 1, .connections = 3, .socket = 1,
	    .again = 1 } },
	{ "a host that is not known", unknown_host,
	    { .here = 1, .own = 1, .connections = 3, .socket = 1, .asks = 1 } }
};

static void
test_told(void)
{
	const struct quick_pair_told *expected;
	u_int i;

	for (i = 0; i < sizeof(tells) / sizeof(tells[0]); i++) {
		TEST_START("copy report: what scp is told");
		test_subtest_info("%s", tells[i].what);
		expected = &tells[i].told;
		run(tells[i].ssh, 0);
		ASSERT_INT_EQ(told.here, expected->here);
		ASSERT_INT_EQ(told.own, expected->own);
		ASSERT_INT_EQ(told.connections, expected->connections);
		ASSERT_INT_EQ(told.socket, expected->socket);
		ASSERT_INT_EQ(told.asks, expected->asks);
		ASSERT_INT_EQ(told.again, expected->again);
		TEST_DONE();
	}
}

/* The kernel says ti, `us` later. */
static void
glance(uint64_t us, int blocked, uint64_t quiet_us)
{
	fake.now_us += us;
	fake.glance(conn.ssh, &ti, blocked, quiet_us, fake.now_us);
}

/* Begins a connection that sends 1 MB in each round trip, without a queue. */
static void
begin(void)
{
	start();
	if (fake.kernel_max == 0)
		fake.kernel_max = 16 * MIB;
	channel = conn_channel(&conn, "session");
	conn_turn(&conn, channel);
	memset(&ti, 0, sizeof(ti));
	ti.tcpi_rtt = ti.tcpi_min_rtt = RTT_US;
	ti.tcpi_snd_cwnd = 700;
	ti.tcpi_unacked = 100;
	ti.tcpi_rcv_ssthresh = 100 * MIB;
	glance(0, 0, 0);
}

/* n round trips later */
static void
sends(int n, int blocked)
{
	for (; n > 0; n--) {
		ti.tcpi_bytes_acked += 1000000;
		glance(RTT_US, blocked, 0);
	}
}

static void
not_held(void)
{
	begin();
	sends(5, 0);
}

static void
blocked(void)
{
	begin();
	sends(5, 1);
	sends(5, 0);
}

static void
by_buffers(void)
{
	begin();
	ti.tcpi_rwnd_limited += 30000;
	sends(1, 0);
	ti.tcpi_sndbuf_limited += 20000;
	sends(1, 0);
	sends(5, 0);
}

static void
queued(void)
{
	begin();
	ti.tcpi_rtt = 2 * RTT_US;
	glance(2 * RTT_US, 0, 0);
	sends(10, 1);
}

/* Losses that no queue explains, some time apart */
static void
lossy(void)
{
	int i;

	begin();
	for (i = 0; i < 2; i++) {
		ti.tcpi_total_retrans += 3;
		sends(6, 0);
	}
	ti.tcpi_unacked = 700;
	ti.tcpi_total_retrans += 3;
	sends(3, 0);
}

static void
receives_full(void)
{
	int i;

	begin();
	ti.tcpi_rcv_ssthresh = 1000000;
	for (i = 0; i < 4; i++) {
		ti.tcpi_bytes_received += 1000000;
		glance(RTT_US, 0, 0);
	}
}

static void
receives_bursts(void)
{
	int i;

	begin();
	for (i = 1; i <= 6; i++) {
		ti.tcpi_bytes_received += 1000000;
		glance(RTT_US, 0, i * (RTT_US / 2));
	}
}

/* The peer's window of the channel has no room. */
static void
by_window(void)
{
	begin();
	channel->remote_window = 0;
	fake_len(channel->input, 1000000);
	channel_sender_look(conn.ssh, channel, conn.ws);
	sends(5, 0);
}

/* TCP allows several times what is in flight then. */
static void
wide(void)
{
	by_window();
	ti.tcpi_snd_mss = MSS;
	ti.tcpi_snd_wnd = 64 * MIB;
	sends(1, 0);
}

/* Half of the largest send buffer is data. */
static void
small_buffer(void)
{
	fake.kernel_max = 5 * 100 * MSS;
	wide();
}

static void
narrow_again(void)
{
	wide();
	ti.tcpi_snd_wnd = 2 * ti.tcpi_unacked * MSS;
	sends(1, 0);
}

/* More often than once in a round trip nothing is looked at. */
static void
too_often(void)
{
	int i;

	begin();
	for (i = 0; i < 100; i++) {
		ti.tcpi_bytes_acked += 10000;
		glance(RTT_US / 100, 1, 0);
	}
}

static void
test_held(void)
{
	TEST_START("copy report: nothing unless it was asked for");
	run(blocked, 0);
	ASSERT_U64_EQ(rtt_us, 0);
	TEST_DONE();

	TEST_START("copy report: for how long the connection was held up");
	run(not_held, 1);
	ASSERT_U64_EQ(held_us, 0);
	ASSERT_U64_EQ(rtt_us, RTT_US);
	run(blocked, 1);
	ASSERT_U64_EQ(held_us, 5 * RTT_US);
	run(by_buffers, 1);
	ASSERT_U64_EQ(held_us, 30000 + 20000);
	run(queued, 1);
	ASSERT_U64_EQ(held_us, 0);
	run(lossy, 1);
	ASSERT_U64_EQ(held_us, 3 * RTT_US);
	run(receives_full, 1);
	ASSERT_U64_EQ(held_us, 4 * RTT_US);
	run(receives_bursts, 1);
	ASSERT_U64_EQ(held_us, 4 * RTT_US);
	run(by_window, 1);
	ASSERT_U64_EQ(held_us, 5 * RTT_US);
	run(too_often, 1);
	ASSERT_U64_EQ(held_us, RTT_US);
	TEST_DONE();

	TEST_START("copy report: that TCP is wide");
	run(by_window, 1);
	ASSERT_INT_EQ(is_wide, 0);
	run(wide, 1);
	ASSERT_INT_EQ(is_wide, 1);
	run(narrow_again, 1);
	ASSERT_INT_EQ(is_wide, 0);
	run(small_buffer, 1);
	ASSERT_INT_EQ(is_wide, 0);
	TEST_DONE();
}

void
test_copy_report(void)
{
	test_told();
	test_held();
	fake_reset();
}

#else
void test_copy_report(void);

void
test_copy_report(void)
{
}
#endif
