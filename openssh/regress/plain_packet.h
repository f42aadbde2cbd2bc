/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef PLAIN_PACKET_H
#define PLAIN_PACKET_H

#include <string.h>

#include "sshbuf.h"		/* for POKE_U32 */

#define PLAIN_PACKET_MORE	32	/* bytes, at most, beside the payload */

/*
 * Makes a packet as it is on the wire before there are keys (RFC 4253, 6). wire
 * holds len + PLAIN_PACKET_MORE bytes. Returns the bytes used.
 */
static inline size_t
plain_packet(u_char *wire, u_char type, const u_char *payload, size_t len)
{
	size_t pad = 8 - (4 + 1 + 1 + len) % 8;

	if (pad < 4)
		pad += 8;
	POKE_U32(wire, 1 + 1 + len + pad);
	wire[4] = pad;
	wire[5] = type;
	memcpy(wire + 6, payload, len);
	memset(wire + 6 + len, 0, pad);
	return 6 + len + pad;
}

#endif /* PLAIN_PACKET_H */
