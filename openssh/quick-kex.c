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

#include "includes.h"

#include <sys/types.h>

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "openbsd-compat/sys-queue.h"

#include "copy-lane.h"
#include "dispatch.h"
#include "kex.h"
#include "log.h"
#include "misc.h"
#include "packet.h"
#include "quick-hold.h"
#include "quick-kex.h"
#include "quick-known.h"
#include "quick-login.h"
#include "quick-pair.h"
#include "quick-start.h"
#include "ssh2.h"
#include "sshbuf.h"
#include "ssherr.h"
#include "sshkey.h"
#include "xmalloc.h"

static struct {
	enum { STOCK, CHOSEN, SENT, RIGHT, WRONG, AGAIN } state;
	char	*algs;		/* our key exchanges, of this connection */
	char	*name;		/* the one that was negotiated */
	char	*guess;		/* the one that went out early */
	int	paused;		/* ssh_kex2() is to be called again */
	int	nid;		/* kex->ec_nid of the guess */
	u_int	type;		/* kex->kex_type of the guess */
	dispatch_fn *kexinit;	/* takes the server's KEXINIT */
	dispatch_fn *reply;	/* takes the answer to the guess */
	int	answered;	/* it has come */
	sig_atomic_t done;	/* and was taken */
	int	proxied;	/* by a ProxyCommand */
	double	begun_s;
	int	given_ms;	/* time for the banner, <= 0: no limit */
	int	limited;	/* the time that ssh waits for is ours */
	int	alive_s, alive_count;	/* ServerAlive*, if they are set */
} q;

/* Notes that the guess was wrong, with the error r. */
static void
note_wrong(int r)
{
	debug_r(r, "QuickStart: the server did not take %s early", q.guess);
	quick_hold_end(1);
	q.state = WRONG;
}

/* Returns 1 if stock's connection would have failed with an error r, too. */
static int
is_final(int r)
{
	switch (r) {
	case SSH_ERR_CONN_TIMEOUT:
		return !q.limited;
	case SSH_ERR_NO_CIPHER_ALG_MATCH:
	case SSH_ERR_NO_MAC_ALG_MATCH:
	case SSH_ERR_NO_COMPRESS_ALG_MATCH:
	case SSH_ERR_NO_KEX_ALG_MATCH:
	case SSH_ERR_NO_HOSTKEY_ALG_MATCH:
	case SSH_ERR_NO_PROTOCOL_VERSION:
		return 1;
	default:
		return 0;
	}
}

/*
 * kex->failed: the exchange of banners failed with r. Returns r, or 0 if
 * ssh is to connect again.
 */
static int
banner_failed(struct ssh *ssh, int r)
{
	if (q.state != SENT)
		return r;
	/*
	 * A server that says why it takes nobody is not asked twice, but one
	 * that is slow to say more is. A proxy ends if it does not reach the
	 * server.
	 */
	if (is_final(r) || q.proxied ||
	    (ssh->kex->lines != 0 && r != SSH_ERR_CONN_TIMEOUT)) {
		quick_hold_end(0);
		return r;
	}
	note_wrong(r);
	return 0;
}

/* Returns what takes messages of a type now. */
static dispatch_fn *
handler(const struct ssh *ssh, int type)
{
	dispatch_fn *const *table = ssh->dispatch;

	return table[type];
}

/* Queues the share. Until KEXINIT has come, its answer is an error. */
static int
send_share(struct ssh *ssh)
{
	int r;

	if ((r = kex_guess(ssh->kex, q.guess)) != 0 ||
	    (r = kex_gen_client(ssh)) != 0)
		return r;
	q.type = ssh->kex->kex_type;
	q.nid = ssh->kex->ec_nid;
	q.reply = handler(ssh, SSH2_MSG_KEX_ECDH_REPLY);
	ssh_dispatch_set(ssh, SSH2_MSG_KEX_ECDH_REPLY, &kex_protocol_error);
	debug("QuickStart: KEXINIT and the first packet of %s sent early",
	    q.guess);
	quick_hold_begin();
	q.state = SENT;
	return 0;
}

/* Returns 1 if a proposal is what has gone out as KEXINIT, else 0. */
static int
is_sent(struct ssh *ssh, char **proposal)
{
	const struct sshbuf *my = ssh->kex->my;
	struct sshbuf *b;
	size_t len;
	int same;

	if ((b = sshbuf_new()) == NULL || kex_prop2buf(b, proposal) != 0)
		fatal_f("proposal");
	len = sshbuf_len(b);
	same = len == sshbuf_len(my) && len > KEX_COOKIE_LEN &&
	    memcmp(sshbuf_ptr(b) + KEX_COOKIE_LEN, sshbuf_ptr(my) +
	    KEX_COOKIE_LEN, len - KEX_COOKIE_LEN) == 0;
	sshbuf_free(b);
	return same;
}

/* The server's KEXINIT: notes what was negotiated. */
static int
input_kexinit(int type, u_int32_t seq, struct ssh *ssh)
{
	int r;

	if ((r = q.kexinit(type, seq, ssh)) == 0 && ssh->kex->name != NULL) {
		free(q.name);
		q.name = xstrdup(ssh->kex->name);
	}
	return r;
}

/* kex->setup: in place of kex_setup(), and like it. */
static int
setup(struct ssh *ssh, char **proposal)
{
	struct quick_entry *e = quick_login_entry();
	int r;

	if (q.state == WRONG)
		return 0;
	if (q.state == SENT) {
		/* The banner may call for another proposal (compat.c). */
		if (!is_sent(ssh, proposal))
			note_wrong(SSH_ERR_INVALID_ARGUMENT);
		return 0;
	}
	free(q.algs);
	q.algs = xstrdup(proposal[PROPOSAL_KEX_ALGS]);
	if (q.state == CHOSEN) {
		q.paused = 1;
		/* GSSAPI's come first, whatever the option says. */
		if (!quick_entry_leads_to(e, q.algs)) {
			q.state = STOCK;
			quick_login_guessed(0);
			return 0;
		}
	}
	ssh->kex->setup = NULL;
	if ((r = kex_setup(ssh, proposal)) != 0)
		return r;
	ssh->kex->setup = setup;
	q.kexinit = handler(ssh, SSH2_MSG_KEXINIT);
	ssh_dispatch_set(ssh, SSH2_MSG_KEXINIT, &input_kexinit);
	return q.state == CHOSEN ? send_share(ssh) : 0;
}

int
quick_kex_begin(struct ssh *ssh, const char *algs, int proxied, int alive_s,
    int alive_count)
{
	struct quick_entry *e = quick_login_entry();
	uint64_t since;

	if (e == NULL)
		return 0;
	since = e->since;
	ssh->kex->setup = setup;
	ssh->kex->failed = banner_failed;
	q.proxied = proxied;
	q.alive_s = alive_s;
	q.alive_count = alive_count;
	if (q.state != STOCK || algs == NULL ||
	    !quick_entry_may_guess(e, algs, time(NULL)))
		return 0;
	/* A day is over, and so is what went wrong before. */
	if (e->since != 0)
		e->flags &= ~QUICK_WRONG_MAX;
	/* Unless the server takes it, the next login does not guess. */
	quick_login_guessed(time(NULL));
	if (quick_login_save() != 0) {
		quick_login_not_guessed(since);
		return 0;
	}
	q.guess = xstrdup(e->kex);
	q.state = CHOSEN;
	return 1;
}

int
quick_kex_timeout(int timeout_ms)
{
	const int ours_ms = QUICK_KEX_WAIT_S * 1000;

	q.begun_s = monotime_double();
	q.given_ms = timeout_ms;
	/* Somebody may have to type a password for the proxy. */
	q.limited = q.state == SENT && !q.proxied &&
	    (timeout_ms <= 0 || timeout_ms > ours_ms);
	return q.limited ? ours_ms : timeout_ms;
}

/* The answer to the guess: from here on, all is as stock does it. */
static int
input_reply(int type, u_int32_t seq, struct ssh *ssh)
{
	int r;

	quick_hold_end(0);
	q.answered = 1;
	if ((r = q.reply(type, seq, ssh)) == 0)
		q.done = 1;
	return r;
}

/* kex->kex[] of the guess: the server's KEXINIT has come. */
static int
negotiated(struct ssh *ssh)
{
	if (ssh->kex->ec_nid != q.nid) {
		error_f("%s", ssh->kex->name);
		return SSH_ERR_INVALID_ARGUMENT;
	}
	ssh_dispatch_set(ssh, SSH2_MSG_KEX_ECDH_REPLY, &input_reply);
	return 0;
}

/* Returns 1 if a server is known to read in order, by its banner, else 0. */
static int
reads_ahead(struct ssh *ssh)
{
	char *banner = sshbuf_dup_string(ssh->kex->server_version);
	int r = banner != NULL && quick_start_reads_ahead(banner);

	free(banner);
	return r;
}

int
quick_kex_go_on(struct ssh *ssh, int (*verify)(struct sshkey *, struct ssh *))
{
	int r;

	if (q.paused) {
		q.paused = 0;
		return 1;
	}
	if (q.state == SENT && !reads_ahead(ssh))
		note_wrong(SSH_ERR_INVALID_ARGUMENT);
	if (q.state != SENT)
		return q.state == WRONG;
	ssh->kex->verify_host_key = verify;
	ssh->kex->kex[q.type] = &negotiated;
	q.limited = q.alive_s <= 0 || q.alive_count <= 0 ||
	    (double)q.alive_s * q.alive_count > QUICK_KEX_WAIT_S;
	if (q.limited)
		ssh_packet_set_timeout(ssh, QUICK_KEX_WAIT_S, 1);
	r = ssh_dispatch_run(ssh, DISPATCH_BLOCK, &q.done);
	ssh_packet_set_timeout(ssh, q.alive_s, q.alive_count);
	if (r != 0 && (q.answered || is_final(r))) {
		quick_hold_end(0);
		sshpkt_fatal(ssh, r, "%s", "ssh_dispatch_run_fatal");
	}
	if (r != 0) {
		note_wrong(r);
		return 1;
	}
	q.state = RIGHT;
	quick_login_guessed(0);
	return 0;
}

int
quick_kex_is_wrong(struct ssh *ssh, int *timeout_ms)
{
	struct ssh *fresh;
	int ms;

	if (q.state != WRONG)
		return 0;
	/* One place is kept for each further connection (sftp-spacing.h). */
	if (copy_lane_is_one())
		fatal("The server is not as it was remembered");
	quick_pair_say_again();
	q.state = AGAIN;
	*timeout_ms = q.given_ms;
	/* A server that was given less than the user's time gets all of it. */
	if (*timeout_ms > 0 && !q.limited) {
		ms = (monotime_double() - q.begun_s) * 1000;
		*timeout_ms = MAXIMUM(1, q.given_ms - ms);
	}
	ssh_packet_close(ssh);
	fresh = ssh_alloc_session_state();
	if (fresh != NULL) {
		ssh->state = fresh->state;
		ssh->kex = fresh->kex;
		ssh->dispatch_skip_packets = 0;
		free(fresh);
		return 1;
	}
	fatal_f("could not allocate state");
}

int
quick_kex_saved(void)
{
	return q.state == RIGHT;
}

void
quick_kex_remember(const struct ssh *ssh, struct quick_entry *entry)
{
	const struct quick_entry *known = quick_login_entry();
	char *banner;

	memset(entry->kex, 0, sizeof(entry->kex));
	memset(entry->algs, 0, sizeof(entry->algs));
	memset(entry->banner, 0, sizeof(entry->banner));
	entry->since = known->since;
	if (ssh->kex != NULL && q.name != NULL && q.algs != NULL &&
	    quick_start_is_share(q.name) && (banner =
	    sshbuf_dup_string(ssh->kex->server_version)) != NULL) {
		if (quick_start_reads_ahead(banner))
			(void)quick_entry_set_kex(entry, q.name, q.algs,
			    banner);
		free(banner);
	}
	/* A guess is not made again soon if it was wrong here. */
	if (strcmp(entry->kex, known->kex) == 0 &&
	    strcmp(entry->banner, known->banner) == 0)
		return;
	/* Several machines may take turns: after some guesses, wait, too. */
	if ((entry->flags & QUICK_WRONG_MAX) == QUICK_WRONG_MAX)
		return;
	if (q.state == AGAIN)
		entry->flags += QUICK_WRONG;
	entry->since = 0;
}
