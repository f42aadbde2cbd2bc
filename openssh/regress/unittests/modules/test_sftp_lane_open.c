/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/* How lanes open, are lost and end, and what is said of them. */

#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "packet.h"
#include "channels.h"
#include "log.h"
#include "misc.h"
#include "sshbuf.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-conn.h"
#include "sftp-lanes.h"
#include "tcp-path.h"
#include "conn.h"
#include "fake.h"
#include "fixture.h"

#define S		1000000ULL	/* us */
#define HELLO		"\2\0\0\0\3same"
#define INIT		"\0\0\0\5\1\0\0\0\3"

void test_sftp_lane_open(void);

/* What the source of lanes does, and what it did */
static struct {
	int	 fails;		/* 1: there can be none */
	int	 pipes;		/* 1: two descriptors for a lane */
	void	 (*child)(void);	/* what the process of a lane does */
	u_int	 opened;
	int	 far[SFTP_LANES];	/* the server's ends */
	int	 hears[SFTP_LANES];	/* that of the second descriptor */
} src;

static u_int freed;		/* connections of lanes */
static char first, more;	/* connections stand for themselves */

struct sftp_conn *
sftp_conn_new(const struct sftp_conn *conn, int in, int out)
{
	ASSERT_PTR_EQ((const void *)conn, &first);
	return (struct sftp_conn *)&more;
}

void
sftp_conn_free(struct sftp_conn *conn)
{
	ASSERT_PTR_EQ((void *)conn, &more);
	freed++;
}

static int
open_one(int *in, int *out, pid_t *pid)
{
	int sv[2], to[2];

	if (src.fails)
		return -1;
	ASSERT_INT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	*in = *out = sv[0];
	if (src.pipes) {
		ASSERT_INT_EQ(pipe(to), 0);
		src.hears[src.opened + 1] = to[0];
		*out = to[1];
	}
	*pid = -1;
	if (src.child != NULL && (*pid = fork()) == 0) {
		src.child();
		_exit(0);
	}
	src.far[++src.opened] = sv[1];
	return 0;
}

/* Begins anew, with a source of up to max lanes. */
static void
begin(u_int max)
{
	struct sftp_lane_source source = { .open = open_one };
	struct sshbuf *hello = sshbuf_from(HELLO, sizeof(HELLO) - 1);
	u_int i;

	sftp_lanes_close();
	for (i = 1; i <= src.opened; i++) {
		close(src.far[i]);
		if (src.hears[i] != 0)
			close(src.hears[i]);
	}
	memset(&src, 0, sizeof(src));
	freed = 0;
	fake_reset();
	fake.now_us = 1000 * S;
	sftp_lanes_first((struct sftp_conn *)&first, 0, 1, hello);
	sftp_lanes_source(&source);
	sftp_lanes_max(max);
	sshbuf_free(hello);
}

/* The server of a lane says something. Returns whether the lane is open. */
static int
says(u_int i, const void *s, size_t len)
{
	ASSERT_SIZE_T_EQ(write(src.far[i], s, len), len);
	return sftp_lane_opened(sftp_lane(i));
}

static int
says_hello(u_int i)
{
	return says(i, "\0\0\0\t" HELLO, sizeof(HELLO) + 3);
}

static int
is_closed(int fd)
{
	return fcntl(fd, F_GETFD) == -1 && errno == EBADF;
}

static void
test_ticks(void)
{
	struct sftp_lane_source none = { .open = NULL };

	TEST_START("lanes: none without a source, or if one is enough");
	begin(1);
	ASSERT_INT_EQ(sftp_lanes_tick(), -1);
	begin(4);
	sftp_lanes_source(&none);
	ASSERT_INT_EQ(sftp_lanes_tick(), -1);
	ASSERT_U_INT_EQ(src.opened, 0);
	TEST_DONE();

	TEST_START("lanes: up to the limit");
	begin(4);
	ASSERT_INT_EQ(sftp_lanes_tick(), 100);
	ASSERT_U_INT_EQ(src.opened, 3);
	ASSERT_INT_EQ(says_hello(1) && says_hello(2), 1);
	ASSERT_INT_EQ(sftp_lanes_tick(), 100);	/* the third one opens */
	ASSERT_INT_EQ(says_hello(3), 1);
	ASSERT_INT_EQ(sftp_lanes_tick(), -1);
	ASSERT_U_INT_EQ(src.opened, 3);
	ASSERT_U_INT_EQ(sftp_lanes_open(), 4);
	begin(99);
	(void)sftp_lanes_tick();
	ASSERT_U_INT_EQ(src.opened, SFTP_LANES - 1);
	TEST_DONE();

	TEST_START("lanes: no more after the source has failed");
	begin(4);
	src.fails = 1;
	ASSERT_INT_EQ(sftp_lanes_tick(), -1);
	src.fails = 0;
	ASSERT_INT_EQ(sftp_lanes_tick(), -1);
	ASSERT_U_INT_EQ(src.opened, 0);
	TEST_DONE();
}

static void
test_opens(void)
{
	char init[32];
	int fd;

	TEST_START("lanes: what begins one");
	begin(2);
	(void)sftp_lanes_tick();
	ASSERT_INT_EQ(sftp_lane(1)->state, SFTP_LANE_OPENING);
	ASSERT_SIZE_T_EQ(read(src.far[1], init, sizeof(init)), 9);
	ASSERT_INT_EQ(memcmp(init, INIT, 9), 0);
	fd = sftp_lane(1)->fd_in;
	ASSERT_INT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
	ASSERT_INT_NE(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	TEST_DONE();

	TEST_START("lanes: one whose server says the same, piece by piece");
	ASSERT_INT_EQ(sftp_lane_opened(sftp_lane(1)), 0);
	ASSERT_INT_EQ(says(1, "\0\0", 2), 0);
	ASSERT_INT_EQ(says(1, "\0\t\2\0\0", 5), 0);
	ASSERT_INT_EQ(sftp_lane(1)->state, SFTP_LANE_OPENING);
	ASSERT_U_INT_EQ(sftp_lanes_open(), 1);
	ASSERT_INT_EQ(says(1, "\0\3same", 6), 1);
	ASSERT_INT_EQ(sftp_lane(1)->state, SFTP_LANE_OPEN);
	ASSERT_PTR_EQ((void *)sftp_lane(1)->conn, &more);
	ASSERT_U_INT_EQ(sftp_lanes_open(), 2);
	TEST_DONE();

	TEST_START("lanes: what makes one lost");
	begin(9);
	(void)sftp_lanes_tick();
	ASSERT_INT_EQ(says(1, "\0\0\0\t\2\0\0\0\3samE", 13), 0);
	ASSERT_INT_EQ(says(2, "\0\0\0\10\2\0\0\0\3sam", 12), 0);
	ASSERT_INT_EQ(says(3, "\0\4\0\1", 4), 0);	/* too long */
	close(src.far[4]);
	ASSERT_INT_EQ(sftp_lane_opened(sftp_lane(4)), 0);
	src.far[4] = open("/dev/null", O_RDONLY);
	ASSERT_INT_EQ(says(5, "\0\3\377\377", 4), 0);	/* a long one */
	for (fd = 1; fd <= 4; fd++)
		ASSERT_INT_EQ(sftp_lane(fd)->state, SFTP_LANE_LOST);
	ASSERT_INT_EQ(sftp_lane(5)->state, SFTP_LANE_OPENING);
	ASSERT_U_INT_EQ(sftp_lanes_open(), 1);
	TEST_DONE();

	TEST_START("lanes: 20 s to open");
	for (fd = 0; fd < 20; fd++) {
		fake.now_us += S;
		ASSERT_INT_EQ(sftp_lanes_tick(), 100);
	}
	ASSERT_INT_EQ(sftp_lane(6)->state, SFTP_LANE_OPENING);
	ASSERT_INT_EQ(says_hello(7), 1);
	fake.now_us += 1;
	ASSERT_INT_EQ(sftp_lanes_tick(), -1);
	ASSERT_INT_EQ(sftp_lane(6)->state, SFTP_LANE_LOST);
	ASSERT_INT_EQ(sftp_lane(7)->state, SFTP_LANE_OPEN);
	TEST_DONE();

	TEST_START("lanes: nobody looks while they open (^Z)");
	begin(3);
	(void)sftp_lanes_tick();
	fake.now_us += 60 * S;
	ASSERT_INT_EQ(sftp_lanes_tick(), 100);
	ASSERT_INT_EQ(says_hello(1), 1);
	for (fd = 0; fd < 18; fd++) {
		fake.now_us += S;
		ASSERT_INT_EQ(sftp_lanes_tick(), 100);
	}
	fake.now_us += 1;
	ASSERT_INT_EQ(sftp_lanes_tick(), -1);
	ASSERT_INT_EQ(sftp_lane(2)->state, SFTP_LANE_LOST);
	TEST_DONE();
}

static void
test_ends(void)
{
	int in, out;

	TEST_START("lanes: all descriptors are closed, once");
	begin(3);
	src.pipes = 1;
	(void)sftp_lanes_tick();
	in = sftp_lane(1)->fd_in;
	out = sftp_lane(1)->fd_out;
	sftp_lane_lose(sftp_lane(1), "for a test");
	ASSERT_INT_EQ(is_closed(in) && is_closed(out), 1);
	/* Another one has the numbers now, and keeps them. */
	ASSERT_INT_EQ(dup2(0, in) == in && dup2(0, out) == out, 1);
	ASSERT_INT_EQ(says_hello(2), 1);
	begin(3);
	ASSERT_INT_EQ(is_closed(in) || is_closed(out), 0);
	close(in);
	close(out);
	ASSERT_INT_EQ(sftp_lane(1)->state, SFTP_LANE_CLOSED);
	ASSERT_INT_EQ(sftp_lane(2)->state, SFTP_LANE_CLOSED);
	TEST_DONE();

	TEST_START("lanes: the connection of one is freed at the end");
	(void)sftp_lanes_tick();
	in = sftp_lane(1)->fd_in;
	ASSERT_INT_EQ(says_hello(1), 1);
	ASSERT_INT_EQ(says_hello(2), 1);
	sftp_lane_lose(sftp_lane(2), "for a test");
	ASSERT_U_INT_EQ(freed, 0);
	sftp_lanes_close();
	ASSERT_U_INT_EQ(freed, 2);
	ASSERT_INT_EQ(is_closed(in), 1);
	ASSERT_U_INT_EQ(sftp_lanes_open(), 1);
	TEST_DONE();
}

static void
waits(void)
{
	(void)alarm(600);		/* if a test is aborted */
	for (;;)
		pause();
}

/* Returns the signal that has ended a process, or 0 if it is gone already. */
static int
ended_by(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid ? WTERMSIG(status) : 0;
}

static void
test_processes(void)
{
	struct sftp_lane_source login = { .open = open_one, .logs_in = 1 };
	pid_t pid, other;

	TEST_START("lanes: their processes end, and are waited for");
	begin(2);
	src.child = waits;
	(void)sftp_lanes_tick();
	pid = sftp_lane(1)->pid;
	sftp_lanes_close();
	ASSERT_INT_EQ(ended_by(pid), 0);
	begin(2);
	src.child = waits;
	signal(SIGTERM, SIG_IGN);	/* the process inherits that */
	(void)sftp_lanes_tick();
	signal(SIGTERM, SIG_DFL);
	pid = sftp_lane(1)->pid;
	fake.step_us = S / 2;		/* a second, before it is killed */
	sftp_lanes_close();
	ASSERT_INT_EQ(ended_by(pid), 0);
	ASSERT_INT_EQ(kill(pid, 0), -1);
	TEST_DONE();

	TEST_START("lanes: that of one that is lost ends");
	begin(2);
	src.child = waits;
	(void)sftp_lanes_tick();
	pid = sftp_lane(1)->pid;
	sftp_lane_lose(sftp_lane(1), "for a test");
	ASSERT_INT_EQ(ended_by(pid), SIGTERM);
	TEST_DONE();

	TEST_START("lanes: a signal ends those that are there");
	begin(4);
	src.child = waits;
	(void)sftp_lanes_tick();
	pid = sftp_lane(1)->pid;
	other = sftp_lane(2)->pid;
	ASSERT_INT_EQ(says_hello(2), 1);
	sftp_lane_lose(sftp_lane(3), "for a test");
	sftp_lanes_kill();
	ASSERT_INT_EQ(ended_by(pid), SIGTERM);
	ASSERT_INT_EQ(ended_by(other), SIGTERM);
	TEST_DONE();

	TEST_START("lanes: a login that is under way is left alone");
	begin(3);
	sftp_lanes_source(&login);
	src.child = waits;
	(void)sftp_lanes_tick();
	pid = sftp_lane(1)->pid;
	other = sftp_lane(2)->pid;
	ASSERT_INT_EQ(says_hello(2), 1);
	sftp_lanes_kill();
	ASSERT_INT_EQ(ended_by(other), SIGTERM);
	sftp_lanes_close();
	ASSERT_INT_EQ(waitpid(pid, NULL, WNOHANG), 0);
	ASSERT_INT_EQ(kill(pid, SIGKILL), 0);
	ASSERT_INT_EQ(ended_by(pid), SIGKILL);
	TEST_DONE();
}

/* Returns whether a first server that says so has OpenSSH's extensions. */
static int
are_openssh(const char *hello)
{
	struct sshbuf *b = sshbuf_from(hello, strlen(hello));

	sftp_lanes_first(NULL, 0, 1, b);
	sshbuf_free(b);
	return sftp_lanes_are_openssh();
}

static uint64_t heard;

/* Looks each 10 ms for so many seconds, in which others answer, or don't. */
static int
silent_after(struct sftp_lane *lane, int time_s, int others, int first_due)
{
	int i, silent = sftp_lane_is_silent(lane, 1, heard, first_due);

	for (i = 0; i < 100 * time_s; i++) {
		fake.now_us += S / 100;
		heard += others;
		silent = sftp_lane_is_silent(lane, 1, heard, first_due);
	}
	return silent;
}

/* It is given up after that time, and not before. */
static void
given_up_after(struct sftp_lane *lane, int time_s, int others, int first_due)
{
	ASSERT_INT_EQ(silent_after(lane, time_s - 2, others, first_due), 0);
	ASSERT_INT_EQ(silent_after(lane, 4, others, first_due), 1);
}

static void
test_says(void)
{
	struct sftp_lane_source none = { .open = NULL };
	struct sftp_conn *conn = (struct sftp_conn *)&first;
	struct sftp_lane lane;

	TEST_START("lanes: which copies they are for");
	begin(2);
	ASSERT_PTR_EQ((void *)sftp_lanes_conn(), &first);
	ASSERT_INT_EQ(sftp_lanes_wanted(conn), 1);
	ASSERT_INT_EQ(sftp_lanes_wanted((struct sftp_conn *)&more), 0);
	ASSERT_INT_EQ(sftp_lanes_wanted(NULL), 0);
	sftp_lanes_max(1);
	ASSERT_INT_EQ(sftp_lanes_wanted(conn), 0);
	sftp_lanes_max(2);
	sftp_lanes_source(&none);
	ASSERT_INT_EQ(sftp_lanes_wanted(conn), 0);
	TEST_DONE();

	TEST_START("lanes: one that answers nothing for 20 s");
	memset(&lane, 0, sizeof(lane));
	given_up_after(&lane, 20, 0, 1);
	/* No reply is due any more. */
	ASSERT_INT_EQ(sftp_lane_is_silent(&lane, 0, 0, 0), 0);
	ASSERT_INT_EQ(silent_after(&lane, 19, 0, 0), 0);
	TEST_DONE();

	TEST_START("lanes: one that answers no more for 60 s");
	memset(&lane, 0, sizeof(lane));
	lane.heard = 1;
	given_up_after(&lane, 60, 1, 1);
	lane.silent_s = 0;		/* it does answer */
	given_up_after(&lane, 60, 1, 0);
	TEST_DONE();

	TEST_START("lanes: none answers");
	memset(&lane, 0, sizeof(lane));
	lane.heard = 1;
	ASSERT_INT_EQ(silent_after(&lane, 1000, 0, 1), 0);
	ASSERT_INT_EQ(lane.silent_s == 0, 1);
	/* The first one has nothing to answer. */
	ASSERT_INT_EQ(silent_after(&lane, 290, 0, 0), 0);
	ASSERT_INT_EQ(silent_after(&lane, 20, 0, 0), 1);
	TEST_DONE();

	TEST_START("lanes: nobody looks for a minute (^Z)");
	memset(&lane, 0, sizeof(lane));
	lane.heard = 1;
	ASSERT_INT_EQ(silent_after(&lane, 56, 1, 1), 0);
	fake.now_us += 60 * S;
	ASSERT_INT_EQ(sftp_lane_is_silent(&lane, 1, heard + 1, 1), 0);
	ASSERT_INT_EQ(silent_after(&lane, 4, 1, 1), 1);
	TEST_DONE();

	TEST_START("lanes: servers that are OpenSSH's");
	begin(1);
	ASSERT_INT_EQ(are_openssh("limits@openssh.com expand-path@openssh.com "
	    "users-groups-by-id@openssh.com"), 1);
	ASSERT_INT_EQ(are_openssh("expand-path@openssh.com "
	    "users-groups-by-id@openssh.com"), 0);
	ASSERT_INT_EQ(are_openssh("limits@openssh.com "
	    "expand-path@openssh.com"), 0);
	TEST_DONE();
}

/* A first lane that nobody has: as before these tests */
static void
leave(void)
{
	struct sftp_lane_source none = { .open = NULL };

	begin(1);
	sftp_lanes_source(&none);
	fake_reset();
}

void
test_sftp_lane_open(void)
{
	test_ticks();
	test_opens();
	test_ends();
	test_processes();
	test_says();
	leave();
}
