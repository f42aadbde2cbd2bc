/*
 * Copyright (c) 2026 The openssh-bdp authors
 *
 * Permission to use, copy, modify, and distribute this software for any
 * purpose with or without fee is hereby granted, provided that the above
 * copyright notice and this permission notice appear in all copies.
 *
 * THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES
 * WITH REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF
 * MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR
 * ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES
 * WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN
 * ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF
 * OR IN CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.
 */

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

/*
 * A channel request (RFC 4254, 5.4) that every peer refuses. Only the time of
 * the refusal counts.
 */
#define BDP_PATH_PROBE		"path-probe@" BDP_DOMAIN

/*
 * Announced in EXT_INFO, version "0", by a server: channel requests may be for
 * the channel that the client has just opened (PROTOCOL.channels).
 */
#define BDP_LAST_CHANNEL	"last-channel@" BDP_DOMAIN

#endif /* BDP_NAMES_H */
