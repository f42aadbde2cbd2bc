/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef COPY_MORE_H
#define COPY_MORE_H

#include "copy-item.h"

/*
 * Further streams of a connection (-X streams=N). They are started for the
 * first copy that has a use for them, and serve later ones. Each is used once
 * it has been shown to have the same files as the primary. Whatever goes wrong
 * with one, the copy goes on without it.
 */
struct copy_more;

/*
 * Returns the further streams of a connection, none of which has been started.
 * NULL if no program was noted for it.
 */
struct copy_more *copy_more_new(void);

/* Ends them; NULL is fine. */
void	 copy_more_free(struct copy_more *more);

/*
 * Starts those that are missing, if the copy has a use for them, leaves out
 * those that are late, and begins to check those that are open.
 */
void	 copy_more_tend(struct copy *copy);

#endif /* COPY_MORE_H */
