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


#ifndef SFTP_GROW_H
#define SFTP_GROW_H

#include <sys/types.h>

#include <stdint.h>

/*
 * Decides when a copy gets more lanes. A lane is one sftp session: one more
 * channel of the connection, or one of a connection of its own. Pure: times are
 * us of a clock that doesn't step back, and totals are since the copy began.
 *
 * Lanes are added while all of this holds, over a few round trips at a time:
 *
 * - The lanes that there are wait for what one more lane would bring.
 * - The last lanes that were added have raised the goodput enough.
 * - What is left to copy takes longer than a lane takes to be of use.
 *
 * A path that is full, a LAN, a slow disk, a limit that the user set: there
 * the first condition fails, and there is one lane.
 *
 * To use it: call sftp_grow_init() once for a session of copies, then
 * sftp_grow_step() whenever a reply has come or ten times a second. Open as
 * many lanes as it returns, all at once. Meanwhile say in facts.opening how
 * many are neither open nor refused. Call sftp_grow_refused() if one is
 * refused. Call sftp_grow_restart() when copying goes on after a pause.
 */

/* The largest number of lanes, with the first */
#define SFTP_GROW_LANES		10

/* What kind of lanes are added, and what they must be worth */
struct sftp_grow_params {
	u_int	 lanes_max;	/* limit on lanes, at most SFTP_GROW_LANES */
	/*
	 * %: the least part of their time that lanes wait for what one more
	 * would bring.
	 */
	u_int	 held_percent;
	/*
	 * %: the least that an added lane carries, of what one carried before
	 * it was added.
	 */
	u_int	 lane_percent;
	/* %: the least that the total goodput grows when lanes are added. */
	u_int	 total_percent;
	/* %: how many are added at once, of those that there are; rounded up */
	u_int	 step_percent;
	u_int	 burst;		/* limit on lanes that are added in burst_us */
	uint64_t burst_us;	/* 0: no such limit */
	uint64_t measure_us;	/* least time that a measurement takes */
	/*
	 * The round trips, and the time (us), that what is left takes at least
	 * if lanes are added
	 */
	u_int	 worth_rounds;
	uint64_t worth_us;
	/* An RTT (us) below which no lane is added. */
	uint64_t rtt_min_us;
};

/*
 * More channels of one connection: the lanes wait for the peer's window.
 * Sessions cost neither a login nor a TCP connection. sshd allows 10
 * (MaxSessions).
 */
extern const struct sftp_grow_params sftp_grow_sessions;

/*
 * More connections (connections=auto): the lanes wait for TCP's buffers, or for
 * a congestion window that losses keep small, or for the peer's window. Common
 * firewalls refuse the 6th connection in 30 s.
 */
extern const struct sftp_grow_params sftp_grow_connections;

/* What the caller sees now */
struct sftp_grow_facts {
	uint64_t now_us;	/* time */
	uint64_t rtt_us;	/* least RTT; 0: unknown */
	/* Total of bytes acknowledged (put) or received (get), of all lanes */
	uint64_t bytes;
	/*
	 * Total time that lanes waited for what one more would bring, each
	 * lane's added up.
	 */
	uint64_t held_us;
	/* Total time that the copy had nothing else to do than to wait */
	uint64_t waited_us;
	uint64_t left;		/* bytes still to copy; UINT64_MAX: unknown */
	u_int	 lanes;		/* open, with the first */
	u_int	 opening;	/* asked for, and neither open nor refused */
};

struct sftp_grow {
	/* configuration */
	struct sftp_grow_params p;

	/* state */
	int	 done;		/* 1: no lane will be added */
	struct sftp_grow_facts since;	/* the facts when measuring began */
	uint64_t settle_us;	/* time at which measuring may begin */
	u_int	 added;		/* lanes whose gain is not yet known */
	u_int	 before_lanes;	/* lanes before they were added */
	uint64_t before_rate;	/* goodput (bytes/s) before, of all lanes */
	u_int	 tries;		/* measurements without the gain */
	u_int	 nadds;		/* lanes asked for in all */
	uint64_t adds_us[SFTP_GROW_LANES];	/* when each was asked for */
};

/*
 * Starts with the parameters `params`. `lanes_max` is a limit on lanes that is
 * lower than theirs, or 0.
 */
void	 sftp_grow_init(struct sftp_grow *g,
	    const struct sftp_grow_params *params, u_int lanes_max);

/*
 * Takes the facts of now into account. Returns the number of lanes to add at
 * once, usually 0.
 */
u_int	 sftp_grow_step(struct sftp_grow *g, const struct sftp_grow_facts *f);

/* Notes that a lane was refused or has failed: no more are added. */
void	 sftp_grow_refused(struct sftp_grow *g);

/* Notes that copying pauses: what was measured so far doesn't count. */
void	 sftp_grow_restart(struct sftp_grow *g);

/* Returns 1 if no lane will be added any more, whatever comes. */
int	 sftp_grow_done(const struct sftp_grow *g);

#endif /* SFTP_GROW_H */
