/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SFTP_INFLIGHT_H
#define SFTP_INFLIGHT_H

#include "window-control.h"

/*
 * How many bytes one sftp session may have asked for that are not yet written.
 * Requests are credit for the other end's data, so the controller of a
 * channel's window says how many. The round trip time is the time that it took
 * to open the file, when nothing else is in flight. Pure: times are seconds
 * (monotime_double()).
 */
struct sftp_inflight {
	u_int fixed;		/* requests that the user set; 0: none set */
	uint64_t rtt_us;	/* round trip time; 0: unknown */
	uint64_t asked;		/* bytes, by all files, and not yet written */
	uint64_t most;		/* bytes, limit on the depth */
	struct window_control cw;
};

/* Requests that stock clients have in flight, and their bytes at most */
#define SFTP_INFLIGHT_STOCK	64
#define SFTP_INFLIGHT_BASE	(SFTP_INFLIGHT_STOCK * 255 * 1024)

/* Bytes that all sessions together have in flight at most */
#define SFTP_INFLIGHT_MAX	(256 * 1024 * 1024)

/* Bytes that a request counts at least: it takes memory, too. */
#define SFTP_INFLIGHT_LEAST	4096

/*
 * Starts at time now_s with a fixed number of requests, or if that is 0 with as
 * many as the path takes: for `base` to `most` bytes.
 */
void	 sftp_inflight_init(struct sftp_inflight *inflight, u_int fixed,
	    uint32_t base, uint64_t most, double now_s);

/* Notes that a file was open at now_s that was asked for at asked_s. */
void	 sftp_inflight_opened(struct sftp_inflight *inflight, double asked_s,
	    double now_s);

/* Notes that a reply with len bytes of data came at now_s. */
void	 sftp_inflight_got(struct sftp_inflight *inflight, size_t len,
	    double now_s);

/* Returns the controller's target (bytes), at most `most`. */
uint64_t sftp_inflight_depth(const struct sftp_inflight *inflight);

/* Notes that a request for len bytes is sent. */
void	 sftp_inflight_ask(struct sftp_inflight *inflight, size_t len);

/* Notes that its data has been written, or is not wanted any more. */
void	 sftp_inflight_end(struct sftp_inflight *inflight, size_t len);

/* Returns 1 if one more request for len bytes may be sent. */
int	 sftp_inflight_room(const struct sftp_inflight *inflight, size_t len);

#endif /* SFTP_INFLIGHT_H */
