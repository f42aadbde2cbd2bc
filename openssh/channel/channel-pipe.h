/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef CHANNEL_PIPE_H
#define CHANNEL_PIPE_H

/*
 * Enlarges the pipes that bulk channels read from and write to, once they have
 * carried 1 MiB: fewer turns of the main loop, and fewer times that one process
 * wakes the other or waits for its lock.
 */

struct Channel;

/* In c->sender. Once is enough, whether it worked or not. */
#define CHANNEL_OUTPUT_ENLARGED	1
#define CHANNEL_INPUT_ENLARGED	2

/* Enlarges the pipe to the channel's consumer, if that lags. */
void	 channel_pipe_output(struct Channel *c);

/*
 * Enlarges the pipe from the channel's source, if all data goes that way. A
 * source that answers, as sftp-server does, writes more than it finds in the
 * cache again: scp got 10 % slower.
 */
void	 channel_pipe_input(struct Channel *c);

#endif /* CHANNEL_PIPE_H */
