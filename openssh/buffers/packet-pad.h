/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef PACKET_PAD_H
#define PACKET_PAD_H

/*
 * Fills p with len random bytes, to pad a packet of channel data. They come
 * from arc4random(3), a page at once: with glibc each call of that is a system
 * call. No byte is given out twice.
 */
void	 packet_pad(u_char *p, size_t len);

#endif /* PACKET_PAD_H */
