/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef BDP_NAMES_H
#define BDP_NAMES_H

/*
 * Names of our own that go over the wire. RFC 4250, 4.6.1 requires a domain of
 * the name's author after the "@". The project has no domain yet; if you take
 * over the series, change this line. If the names of two ends differ, each
 * treats the other as stock OpenSSH.
 */
#define BDP_DOMAIN		"openssh-bdp"

/*
 * Announced in EXT_INFO (RFC 8308), version "0": how far this end reads ahead
 * for a channel does not depend on its credit.
 */
#define BDP_BOUNDED_INPUT	"bounded-input@" BDP_DOMAIN

/* A bit of kex->flags: the peer has announced BDP_BOUNDED_INPUT. */
#define KEX_HAS_BOUNDED_INPUT	0x10000

#endif /* BDP_NAMES_H */
