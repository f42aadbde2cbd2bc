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

/* Bits of c->sender: the pipe was enlarged, or could not be. */
#define CHANNEL_OUTPUT_ENLARGED	1
#define CHANNEL_INPUT_ENLARGED	2

/* Enlarges the pipe to the channel's consumer, if that is slow. */
void	 channel_pipe_output(struct Channel *c);

/*
 * Enlarges the pipe from the channel's source, if the peer sends no data. With
 * a larger pipe, a source that answers requests, such as sftp-server, writes
 * more than fits into the CPU's cache: scp was 10 % slower.
 */
void	 channel_pipe_input(struct Channel *c);

#endif /* CHANNEL_PIPE_H */
