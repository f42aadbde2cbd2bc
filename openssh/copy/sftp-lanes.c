/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "misc.h"
#include "sshbuf.h"
#include "ssherr.h"
#include "xmalloc.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-conn.h"
#include "sftp-lanes.h"

/* Time (s) after which a lane that has not opened, or answered, is given up */
#define OPEN_MAX_S	20

/* Time (s) after which one that did answer, and does no more, is given up */
#define SILENT_MAX_S	60

/* If all are silent, each second counts as so much less: a disk may be slow. */
#define ALL_SILENT	5

/* Time (s) between two looks at whether one answers */
#define LOOK_S		1

/* No more time (s) than this counts between two looks: ^Z stops this process */
#define LOOK_MAX_S	2

/* Time (s) in which a lane's process may end by itself at the end */
#define KILL_S		1

/* Time (ms) between two looks at whether it has */
#define WAIT_MS		5

/* Time (ms) between two looks at lanes that open */
#define TICK_MS		100

static u_int lanes_max = 1;
static struct sftp_lane_source source;
static struct sftp_lane lanes[SFTP_LANES];
static u_int tried = 1;		/* lanes that were opened, with the first */
static double ticked_s;		/* time of the last sftp_lanes_tick() */
static struct sshbuf *first_hello;

void
sftp_lanes_max(u_int max)
{
	lanes_max = MINIMUM(max, SFTP_LANES);
}

void
sftp_lanes_source(const struct sftp_lane_source *s)
{
	source = *s;
}

static void
new_buffers(struct sftp_lane *lane)
{
	if ((lane->in = sshbuf_new()) == NULL ||
	    (lane->out = sshbuf_new()) == NULL)
		fatal_f("sshbuf_new failed");
}

void
sftp_lanes_first(struct sftp_conn *conn, int in, int out,
    const struct sshbuf *hello)
{
	int r;

	sshbuf_free(lanes[0].in);
	sshbuf_free(lanes[0].out);
	sshbuf_free(first_hello);
	memset(&lanes[0], 0, sizeof(lanes[0]));
	lanes[0].state = SFTP_LANE_OPEN;
	lanes[0].conn = conn;
	lanes[0].fd_in = in;
	lanes[0].fd_out = out;
	lanes[0].pid = -1;
	new_buffers(&lanes[0]);
	if ((first_hello = sshbuf_new()) == NULL)
		fatal_f("sshbuf_new failed");
	if ((r = sshbuf_putb(first_hello, hello)) != 0)
		fatal_fr(r, "sshbuf_putb");
}

int
sftp_lanes_are_openssh(void)
{
	static const char *const names[] = { "limits@openssh.com",
	    "expand-path@openssh.com", "users-groups-by-id@openssh.com" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (first_hello == NULL || memmem(sshbuf_ptr(first_hello),
		    sshbuf_len(first_hello), names[i], strlen(names[i])) ==
		    NULL)
			return 0;
	}
	return 1;
}

struct sftp_conn *
sftp_lanes_conn(void)
{
	return lanes[0].conn;
}

int
sftp_lanes_wanted(const struct sftp_conn *conn)
{
	return lanes_max > 1 && source.open != NULL && lanes[0].conn == conn &&
	    conn != NULL;
}

struct sftp_lane *
sftp_lane(u_int i)
{
	return &lanes[i];
}

u_int
sftp_lanes_open(void)
{
	u_int i, n = 0;

	for (i = 0; i < SFTP_LANES; i++)
		n += lanes[i].state == SFTP_LANE_OPEN;
	return n;
}

/* Closes a lane's descriptors, and ends its process if `end` is 1. */
static void
hang_up(struct sftp_lane *lane, int end)
{
	close(lane->fd_in);
	if (lane->fd_out != lane->fd_in)
		close(lane->fd_out);
	if (end && lane->pid > 1)
		kill(lane->pid, SIGTERM);
	sshbuf_free(lane->in);
	sshbuf_free(lane->out);
	lane->in = lane->out = NULL;
}

void
sftp_lane_lose(struct sftp_lane *lane, const char *why)
{
	debug("lane %d: %s", (int)(lane - lanes), why);
	hang_up(lane, 1);
	lane->state = SFTP_LANE_LOST;
}

/* Sends INIT, which fits into any pipe, and marks the lane as opening. */
static void
begin_lane(struct sftp_lane *lane, double now_s)
{
	struct sshbuf *msg;
	int r;

	lane->state = SFTP_LANE_OPENING;
	lane->began_s = now_s;
	new_buffers(lane);
	set_nonblock(lane->fd_in);
	set_nonblock(lane->fd_out);
	(void)fcntl(lane->fd_in, F_SETFD, FD_CLOEXEC);
	(void)fcntl(lane->fd_out, F_SETFD, FD_CLOEXEC);
	if ((msg = sshbuf_new()) == NULL)
		fatal_f("sshbuf_new failed");
	if ((r = sshbuf_put_u8(msg, SSH2_FXP_INIT)) != 0 ||
	    (r = sshbuf_put_u32(msg, SSH2_FILEXFER_VERSION)) != 0)
		fatal_fr(r, "compose");
	sftp_lane_queue(lane, msg);
	sshbuf_free(msg);
	if (sftp_lane_write(lane) == -1)
		sftp_lane_lose(lane, "it did not start");
}

int
sftp_lanes_tick(void)
{
	struct sftp_lane *lane;
	double now_s = monotime_double();
	double unseen_s = MAXIMUM(now_s - ticked_s - LOOK_MAX_S, 0);
	u_int i, opening = 0;

	if (lanes_max <= 1 || source.open == NULL)
		return -1;
	ticked_s = now_s;
	for (i = 1; i < tried; i++) {
		if (lanes[i].state != SFTP_LANE_OPENING)
			continue;
		lanes[i].began_s += unseen_s;
		if (now_s - lanes[i].began_s > OPEN_MAX_S)
			sftp_lane_lose(&lanes[i], "it took too long");
		else
			opening++;
	}
	while (tried < lanes_max) {
		lane = &lanes[tried++];
		if (source.open(&lane->fd_in, &lane->fd_out,
		    &lane->pid) == -1) {
			tried = lanes_max;
			break;
		}
		begin_lane(lane, now_s);
		opening++;
	}
	return opening != 0 ? TICK_MS : -1;
}

int
sftp_lane_opened(struct sftp_lane *lane)
{
	struct sshbuf *msg;
	ssize_t n;
	int r;

	if ((msg = sshbuf_new()) == NULL)
		fatal_f("sshbuf_new failed");
	n = sftp_lane_read(lane);
	r = n == -1 ? -1 : sftp_lane_message(lane, msg);
	if (r == -1)
		sftp_lane_lose(lane, "it was refused");
	else if (r == 1 && (sshbuf_len(msg) != sshbuf_len(first_hello) ||
	    memcmp(sshbuf_ptr(msg), sshbuf_ptr(first_hello),
	    sshbuf_len(msg)) != 0)) {
		sftp_lane_lose(lane, "it has another server");
		r = 0;
	}
	if (r == 1) {
		lane->conn = sftp_conn_new(lanes[0].conn, lane->fd_in,
		    lane->fd_out);
		lane->state = SFTP_LANE_OPEN;
		debug("lane %d is open after %.2f s", (int)(lane - lanes),
		    monotime_double() - lane->began_s);
	}
	sshbuf_free(msg);
	return r == 1;
}

int
sftp_lane_is_silent(struct sftp_lane *lane, int due, uint64_t heard,
    int first_due)
{
	double now_s = monotime_double(), passed_s = now_s - lane->looked_s;

	if (!due || lane->looked_s == 0) {
		lane->looked_s = due ? now_s : 0;
		lane->silent_s = 0;
	} else if (passed_s >= LOOK_S) {
		lane->looked_s = now_s;
		passed_s = MINIMUM(passed_s, LOOK_MAX_S);
		if (!lane->heard || heard != lane->heard_then)
			lane->silent_s += passed_s;
		else if (!first_due)
			lane->silent_s += passed_s / ALL_SILENT;
	} else
		return 0;
	lane->heard_then = heard;
	return lane->silent_s > (lane->heard ? SILENT_MAX_S : OPEN_MAX_S);
}

/* Waits for a process. From kill_s on, it is killed. */
static void
wait_for(pid_t pid, double kill_s)
{
	int killed = 0;
	pid_t r;

	while ((r = waitpid(pid, NULL, killed ? 0 : WNOHANG)) == 0 ||
	    (r == -1 && errno == EINTR)) {
		if (monotime_double() < kill_s) {
			(void)poll(NULL, 0, WAIT_MS);
			continue;
		}
		if (!killed++)
			kill(pid, SIGKILL);
	}
}

void
sftp_lanes_close(void)
{
	struct sftp_lane *lane;
	double kill_s;
	u_int i;

	for (i = 1; i < SFTP_LANES; i++) {
		lane = &lanes[i];
		/*
		 * A login that is under way is completed, and its process ends
		 * by itself then. sshd refuses a host for a while that has
		 * closed several connections before it had authenticated
		 * (PerSourcePenalties).
		 */
		if (lane->state == SFTP_LANE_OPENING && source.logs_in) {
			hang_up(lane, 0);
			lane->state = SFTP_LANE_CLOSED;
		} else if (lane->state == SFTP_LANE_OPENING ||
		    lane->state == SFTP_LANE_OPEN)
			hang_up(lane, 1);
	}
	kill_s = monotime_double() + KILL_S;
	for (i = 1; i < SFTP_LANES; i++) {
		lane = &lanes[i];
		if (lane->state != SFTP_LANE_CLOSED && lane->pid > 1)
			wait_for(lane->pid, kill_s);
		if (lane->conn != NULL)
			sftp_conn_free(lane->conn);
		memset(lane, 0, sizeof(*lane));
	}
	tried = 1;
}

void
sftp_lanes_kill(void)
{
	u_int i;

	/* Leave logins under way alone, as sftp_lanes_close() does. */
	for (i = 1; i < SFTP_LANES; i++) {
		if (((lanes[i].state == SFTP_LANE_OPENING && !source.logs_in) ||
		    lanes[i].state == SFTP_LANE_OPEN) && lanes[i].pid > 1)
			kill(lanes[i].pid, SIGTERM);
	}
}
