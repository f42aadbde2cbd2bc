/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef COPY_PUT_H
#define COPY_PUT_H

#include "copy-file.h"

/* The target of a copy between two servers, on stream 1: */

/* Asks for it to be opened. got() takes the reply. */
void	 put_cross_open(struct file *f, copy_got *got);

/* Writes data to it. */
void	 put_cross_write(struct file *f, uint64_t offset, const u_char *data,
	    size_t len);

/* Sends what completes it, or after an error empties it. */
void	 put_cross_finish(struct file *f);

#endif /* COPY_PUT_H */
