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

#ifndef QUICK_KEX_H
#define QUICK_KEX_H

#include <sys/types.h>

struct kex;
struct quick_entry;
struct ssh;
struct sshkey;

/*
 * The key exchange with QuickStart: KEXINIT and the first packet behind it go
 * out right behind our banner, without waiting for the server's. A process has
 * one. If the server does not take them, ssh connects again, once, and sends
 * nothing early on that connection.
 */

/* How long (in seconds) the server may take for each answer to what is early */
#define QUICK_KEX_WAIT_S	10

/*
 * Begins a connection, before the banners. algs is our list of key exchanges.
 * proxied: the connection is made by a ProxyCommand. alive_s and alive_count
 * are ServerAliveInterval and ServerAliveCountMax. Returns 1 if the caller is
 * to call ssh_kex2() now, which queues the packets. Else it returns 0, and all
 * is as stock does it.
 */
int	 quick_kex_begin(struct ssh *ssh, const char *algs, int proxied,
	     int alive_s, int alive_count);

/*
 * Returns how long (in ms; 0 or less: for good) ssh is to wait for the server's
 * banner, if it would wait for timeout_ms.
 */
int	 quick_kex_timeout(int timeout_ms);

/*
 * Goes on behind kex_setup() in ssh_kex2(). Returns 1 if ssh_kex2() is to
 * return: it is called again behind the banners, or quick_kex_is_wrong().
 * Returns 0 if stock's code is to go on: from the start, or with the server's
 * NEWKEYS. verify: as in struct kex.
 */
int	 quick_kex_go_on(struct ssh *ssh,
	     int (*verify)(struct sshkey *key, struct ssh *ssh));

/*
 * Returns 1 if the server did not take what was early, else 0. It returns 1
 * once, and closes the connection: ssh is as before it was connected.
 * *timeout_ms: what is left of the time for banners; all of it if the server
 * had less than that.
 */
int	 quick_kex_is_wrong(struct ssh *ssh, int *timeout_ms);

/* Returns the number of round trips that were saved, 0 or 1. */
int	 quick_kex_saved(void);

/* Sets what an entry remembers of a connection whose login has succeeded. */
void	 quick_kex_remember(const struct ssh *ssh, struct quick_entry *entry);

/*
 * Makes the kex one of a name, before the negotiation does (kex.c). Returns 0
 * or an SSH_ERR_* code.
 */
int	 kex_guess(struct kex *kex, char *name);

#endif /* QUICK_KEX_H */
