/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef PACKET_PAD_H
#define PACKET_PAD_H

/*
 * Fills `p` with `len` random bytes, to pad a packet of channel data. Gets them
 * from arc4random(3) a page at a time, as each call is a system call with
 * glibc. Never uses a byte twice.
 */
void	 packet_pad(u_char *p, size_t len);

#endif /* PACKET_PAD_H */
