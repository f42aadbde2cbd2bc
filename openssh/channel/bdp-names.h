/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef BDP_NAMES_H
#define BDP_NAMES_H

/*
 * Names of our own that go over the wire. RFC 4250, 4.6.1 wants the part behind
 * the "@" to be a domain of whoever defines the name. The project has no domain
 * yet, so this is not one; whoever takes the series over changes this line.
 * If two ends have different names, each takes the other for stock OpenSSH.
 */
#define BDP_DOMAIN		"openssh-bdp"

/*
 * Announced in EXT_INFO (RFC 8308), version "0": what the sender reads ahead
 * for a channel does not grow with the credit that it holds.
 */
#define BDP_BOUNDED_INPUT	"bounded-input@" BDP_DOMAIN

/* In kex->flags: the peer has announced that. */
#define KEX_HAS_BOUNDED_INPUT	0x10000

#endif /* BDP_NAMES_H */
