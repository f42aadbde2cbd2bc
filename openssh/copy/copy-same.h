/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef COPY_SAME_H
#define COPY_SAME_H

#include "copy-file.h"

/*
 * Checks that a further stream has the same files as the primary: there may be
 * several machines behind a name.
 *
 * A download asks the stream for the attributes of a source, which have to be
 * those that the primary has told.
 *
 * An upload watches a target that the primary is changing: the stream has to
 * see it grow, and no more of it than the primary sees. A file that does not
 * change can't pass.
 */
struct same {
	struct item item;	/* counts its requests; must be the first */
	struct stream *s;
	double next_s, pause_s;	/* no look before that time; the pause before */
	u_int targets, looks;	/* targets before, and looks at this one */
	u_int wrong;		/* looks that saw what can't be */
	uint64_t first;		/* bytes of the target that the stream saw */
	uint64_t last;		/* first and last */
	uint64_t primary;	/* bytes that the primary saw before `last` */
};

/* Begins the check of a stream, perhaps again. c is zero at first. */
void	 copy_same_begin(struct same *c, struct stream *s);

/* Goes on with a check. At its end, the stream is STREAM_UP or STREAM_LOST. */
void	 copy_same_tend(struct copy *copy, struct same *c);

#endif /* COPY_SAME_H */
