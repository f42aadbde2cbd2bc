/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef WINDOW_STATE_H
#define WINDOW_STATE_H

#include "misc.h"
#include "window-control.h"

/*
 * The state of a connection's windows, for this directory and its tests only.
 */

/* Returns the time (us) of a clock that never steps back */
#define WINDOW_NOW_US()	((uint64_t)(monotime_double() * 1000000))

/* The window of a channel */
struct channel_window {
	int bulk;		/* 1: the window follows the path; 0: fixed */
	struct window_budget_share share;
	struct window_control control;
	struct window_facts facts;	/* at the last decision */
	uint32_t seen;	/* c->local_consumed at the last decision (bytes) */
	uint64_t peak_backlog;	/* bytes, largest since it shrank */
};

/* What a connection knows of its path */
struct channel_path {
	int no_tcp;		/* 1: the kernel has no RTT; do not ask again */
	uint64_t sample_us;	/* time of the next sample of TCP_INFO */
	struct path_info tcp;	/* the path as the kernel sees it */
	const struct path_info *ssh;	/* the path by probes; NULL: none */
	const struct path_info *source;	/* &tcp or `ssh`: the one in use */
	struct path_rtt rtt;	/* of that source */
};

/* The windows of a connection */
struct channel_windows {
	struct window_budget budget;	/* limit 0: all windows are fixed */
	struct channel_path path;
};

#endif /* WINDOW_STATE_H */
