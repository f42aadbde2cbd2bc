/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef COPY_COMPARE_H
#define COPY_COMPARE_H

#include "copy-file.h"

/*
 * Finds out how much of a target its source begins with, for -Z. If the server
 * can compute digests, all that is there is compared, in ranges. Otherwise the
 * last MiB of it is read and compared.
 *
 * Several streams may have left gaps in the last FILE_SPAN bytes of a target
 * that is shorter than its source. Digests find them. Where there are none,
 * these bytes are not kept.
 */

/*
 * Starts to compare the f->have bytes of the target of a file, whose source has
 * f->size bytes. The local file is f->fd, and the handle is that of the home
 * stream. done() gets the number of bytes to keep.
 */
void	 copy_compare(struct file *f,
	    void (*done)(struct file *f, uint64_t keep));

/* As item_ops->send, for a file that is being compared */
int	 copy_compare_send(struct file *f, struct stream *s);

/* Ends it if all replies are there: after an error or an interrupt, too. */
void	 copy_compare_check(struct file *f);

#endif /* COPY_COMPARE_H */
