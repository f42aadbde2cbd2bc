/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include "../test_helper/test_helper.h"

void test_window_control(void);
void test_queue(void);
void test_window_link(void);
void test_window_budget(void);
void test_channel_path(void);
void test_tcp_path(void);
void test_path_rtt(void);
void test_ssh_rtt(void);
void test_tcp_limit(void);
void test_tcp_unsent(void);
void test_channel_report(void);
void test_read_ahead(void);
void test_window_max(void);
void test_bdp_options(void);
void test_send_account(void);
void test_poly1305(void);
void test_sftp_inflight(void);
void test_no_room(void);
void test_sftp_incomplete(void);
void test_copy_file(void);
void test_copy_stream(void);
void test_session_end(void);
void test_login(void);
void test_progress_rate(void);
void test_channel_window(void);
void test_channel_sender(void);
void test_sshbuf_mem(void);
void test_wipes(void);
void test_walk(void);

/* Of what the core of the series has: the first part of it, alone */
static void
tests_core(void)
{
	test_channel_window();
	test_channel_path();
	test_read_ahead();
	test_window_budget();
	test_tcp_path();
	test_path_rtt();
	test_ssh_rtt();
}

/* Those that take their time */
static void
tests_long(void)
{
	test_window_control();
	test_window_link();
	test_walk();
	test_queue();
}

void
tests(void)
{
#ifndef BDP_CORE
	/* Before a channel of another test is bulk */
	test_poly1305();
#endif
	tests_core();
#ifndef BDP_CORE
	test_channel_report();
	test_channel_sender();
	test_send_account();
	test_sshbuf_mem();
	test_tcp_limit();
	test_tcp_unsent();
	test_wipes();
	test_window_max();
	test_bdp_options();
	test_sftp_inflight();
	test_no_room();
	test_sftp_incomplete();
	test_copy_file();
	test_copy_stream();
	test_progress_rate();
	test_session_end();
	test_login();
#endif
	tests_long();
}

/* The framework of 10.1 and later asks for this. */
void benchmarks(void);

void
benchmarks(void)
{
}
