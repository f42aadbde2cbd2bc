/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SFTP_INFLIGHT_H
#define SFTP_INFLIGHT_H

#include "window-control.h"

/*
 * Limits the bytes of a session that are requested and not yet written. A
 * request is credit for the other end, so the controller of a channel's window
 * sets the limit. The round trip time is that of an OPEN while nothing else is
 * in flight. Pure: times are seconds of monotime_double().
 */
struct sftp_inflight {
	u_int fixed;		/* requests that the user set; 0: none set */
	uint64_t rtt_us;	/* round trip time; 0: unknown */
	uint64_t asked;		/* bytes requested and not yet written */
	uint64_t most;		/* bytes, limit on the target */
	struct window_control cw;
};

/* Requests that stock clients have in flight; maximum bytes of these */
#define SFTP_INFLIGHT_STOCK	64
#define SFTP_INFLIGHT_BASE	(SFTP_INFLIGHT_STOCK * 255 * 1024)

#define SFTP_INFLIGHT_MAX	(256 * 1024 * 1024) /* bytes, of all sessions */
#define SFTP_INFLIGHT_START	(1024 * 1024)	/* bytes of a file, at first */
#define SFTP_INFLIGHT_LEAST	(32 * 1024)	/* bytes, of a request */

/*
 * Starts at time now_s with a limit of `fixed` requests. If this is 0, the
 * limit follows the path, between `base` and `most` bytes.
 */
void	 sftp_inflight_init(struct sftp_inflight *inflight, u_int fixed,
	    uint32_t base, uint64_t most, double now_s);

/* Records that an OPEN sent at asked_s was answered at now_s. */
void	 sftp_inflight_opened(struct sftp_inflight *inflight, double asked_s,
	    double now_s);

/* Records that a reply with `len` bytes of data came at now_s. */
void	 sftp_inflight_got(struct sftp_inflight *inflight, size_t len,
	    double now_s);

/* Returns the controller's target (bytes), at most `most`. */
uint64_t sftp_inflight_depth(const struct sftp_inflight *inflight);

/* Records that `len` bytes are requested; that they are written or unwanted. */
void	 sftp_inflight_ask(struct sftp_inflight *inflight, size_t len);
void	 sftp_inflight_end(struct sftp_inflight *inflight, size_t len);

/*
 * Returns how many bytes of a file may be in flight in a download, after `got`
 * of them have come. An interrupt has to wait for all that is in flight.
 */
uint64_t sftp_inflight_start(const struct sftp_inflight *inflight,
	    uint64_t got);

/* Returns 1 if one more request for `len` bytes may be sent, else 0. */
int	 sftp_inflight_room(const struct sftp_inflight *inflight, size_t len);

#endif /* SFTP_INFLIGHT_H */
