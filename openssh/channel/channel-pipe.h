/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef CHANNEL_PIPE_H
#define CHANNEL_PIPE_H

/*
 * Enlarges the pipes that bulk channels read from and write to, after they have
 * carried 1 MiB. This saves loop iterations, wake-ups and waiting for the
 * pipe's lock.
 */

struct Channel;

/* In c->sender. It is tried once, whether it works or not. */
#define CHANNEL_OUTPUT_ENLARGED	1
#define CHANNEL_INPUT_ENLARGED	2

/* Enlarges the pipe to the channel's consumer, if the consumer lags. */
void	 channel_pipe_output(struct Channel *c);

/*
 * Enlarges the pipe from the channel's source, if data goes only this way. A
 * source that answers requests, such as sftp-server, would then write more than
 * fits into the CPU's cache: scp was 10 % slower.
 */
void	 channel_pipe_input(struct Channel *c);

#endif /* CHANNEL_PIPE_H */
