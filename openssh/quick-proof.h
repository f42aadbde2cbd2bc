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

#ifndef QUICK_PROOF_H
#define QUICK_PROOF_H

#include <signal.h>

struct ssh;

/*
 * A server that has new host keys is asked to prove that it has them
 * (UpdateHostKeys). In stock's login, the proof comes before a command can end.
 * A command that went out early may have ended by then: ssh waits for the
 * proof, as else it would never learn the keys.
 */

#define QUICK_PROOF_S	5	/* seconds that ssh waits at most */

/*
 * Notes that the server was asked. Nothing waits if the session's requests went
 * out once it had its number: the proof comes first then.
 */
void	 quick_proof_asked(void);

/* Notes that the server has answered. */
void	 quick_proof_answered(void);

/*
 * Takes what the server sends, until it has answered, the connection fails,
 * *quit is set by a signal, or QUICK_PROOF_S are over. Returns at once if
 * nothing was asked. No failure is told: the session has ended.
 */
void	 quick_proof_wait(struct ssh *ssh, volatile sig_atomic_t *quit);

#endif /* QUICK_PROOF_H */
