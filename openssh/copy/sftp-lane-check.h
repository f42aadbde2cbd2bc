/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SFTP_LANE_CHECK_H
#define SFTP_LANE_CHECK_H

/*
 * Whether a lane's server has the files of the first lane: behind one name
 * there may be several machines. Both are jobs of sftp_tree_use_lanes(), whose
 * path is that of the tree at the server. Neither logs an error.
 *
 * For a download: the directory has the same attributes for both.
 */
struct sftp_job;

int	 sftp_lane_check_get(struct sftp_job *job);

/*
 * For an upload: the lane sees a directory with a random name that the first
 * lane has made in it, and that is removed at once.
 */
int	 sftp_lane_check_put(struct sftp_job *job);

#endif /* SFTP_LANE_CHECK_H */
