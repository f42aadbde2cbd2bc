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

#ifndef PATHPROBE_H
#define PATHPROBE_H

/* What the kernel knows of the path behind a socket. */
struct path_info {
	uint64_t rtt_us;	/* smoothed round trip time */
	uint64_t min_rtt_us;	/* least seen; 0 = the kernel doesn't say */
};

/*
 * Ask the kernel about the TCP connection behind fd (tcp(7), TCP_INFO).
 * Returns 0, or SSH_ERR_SYSTEM_ERROR with errno set when there is no TCP
 * socket, no such interface, or no RTT measured yet.
 */
int	 path_probe(int fd, struct path_info *);

/*
 * The round trip time (us) to take a BDP over: the smoothed one, so that a
 * queue which other flows keep on the path counts, but at most twice the
 * least, so that a queue of our own making can't feed on itself.
 */
uint64_t path_rtt_us(const struct path_info *);

#endif /* PATHPROBE_H */
