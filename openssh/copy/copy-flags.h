/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef COPY_FLAGS_H
#define COPY_FLAGS_H

/* The flags of sftp_download() and the like: 1 or 0 */
struct copy_flags {
	int preserve, resume, fsync, inplace, print, follow;
};

/* Value of `resume` besides 0 and 1: keep what the source begins with (-Z) */
#define COPY_RESUME_CHECKED	2

#endif /* COPY_FLAGS_H */
