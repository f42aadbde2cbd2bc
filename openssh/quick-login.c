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
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "openbsd-compat/sys-queue.h"

#include "channels.h"
#include "copy-lane.h"
#include "copy-login.h"
#include "copy-report.h"
#include "kex.h"
#include "log.h"
#include "misc.h"
#include "packet.h"
#include "quick-data.h"
#include "quick-key.h"
#include "quick-known.h"
#include "quick-login.h"
#include "quick-pair.h"
#include "quick-ping.h"
#include "ssherr.h"
#include "sshkey.h"
#include "xmalloc.h"

static struct {
	int	mode;
	char	*host, *user, *path;
	struct quick_entry known;	/* host is "" if there is none */
	int	may_write;	/* the file is ours to replace, and could be */
	int	remembered;	/* the file had something of the host */
	char	login[48];	/* known.login, as the file had it */
	int	same;		/* host key, user and key are those of it */
	int	changed;	/* known is not what the file has */
	int	unsaved;	/* it was to have it, but others wrote to it */
	int	guessed;	/* known.since is not what the file has */
	int	early;		/* a signature went out unasked */
	int	failures;	/* requests that were refused */
	int	partial;	/* one of them partly accepted */
	double	signing_s;	/* when the signing began */
	char	*key;		/* fingerprint of the last that signed */
	u_int	flags;		/* QUICK_*, of that signature */
	int	from_zero;	/* the server numbers its channels from 0 */
	int	sftp;		/* its sftp takes requests at once */
	int	offered;	/* scp knows that */
	int	presumed;	/* a channel was used before it had a number */
	int	session;	/* channel sent early, or -1 */
	int	saved;		/* round trips */
} quick = { .session = -1 };

/* Reads what the file has of the host and user. */
static void
load(struct quick_entry *entry)
{
	struct quick_known *file = xcalloc(1, sizeof(*file));
	struct quick_entry *e;
	int r = quick_known_load(file, quick.path);

	if (r != 0)
		debug_r(r, "QuickStart: %s ignored", quick.path);
	quick.may_write = r == 0 || r == SSH_ERR_INVALID_FORMAT;
	memset(entry, 0, sizeof(*entry));
	if ((e = quick_known_find(file, quick.host, quick.user)) != NULL)
		*entry = *e;
	free(file);
}

void
quick_login_start(int mode, const char *hostfile, const char *host,
    const char *user)
{
	if (mode == QUICK_START_NO ||
	    (quick.path = quick_known_path(hostfile)) == NULL)
		return;
	quick.mode = mode;
	quick.host = xstrdup(host);
	quick.user = xstrdup(user);
	load(&quick.known);
	quick.remembered = quick.known.host[0] != '\0';
	memcpy(quick.login, quick.known.login, sizeof(quick.login));
	quick.from_zero = (quick.known.flags & QUICK_FROM_ZERO) != 0;
	quick.sftp = (quick.known.flags & QUICK_SFTP) != 0;
}

int
quick_login_is_remembered(void)
{
	return quick.remembered;
}

struct quick_entry *
quick_login_entry(void)
{
	return quick.mode == QUICK_START_NO ? NULL : &quick.known;
}

/*
 * Writes what is known of the host, as quick_known_replace() does. If others
 * held the lock for too long once, only the end of ssh waits for it again.
 * Returns 0, or an SSH_ERR_* code if the file has not it.
 */
static int
save(u_int how, int at_end)
{
	const struct quick_entry *e = &quick.known;
	int r = SSH_ERR_KEY_BAD_PERMISSIONS;

	if (quick.unsaved && !at_end)
		return SSH_ERR_SYSTEM_ERROR;
	quick.changed = 0;
	/* Another login may have found its guess right or wrong meanwhile. */
	if (!quick.guessed)
		how |= QUICK_KEEP_SINCE;
	if (quick.may_write && (r = quick_known_replace(quick.path, quick.host,
	    quick.user, e->login[0] == '\0' && e->kex[0] == '\0' &&
	    e->flags == 0 ? NULL : e, how,
	    at_end ? QUICK_KNOWN_END_MS : QUICK_KNOWN_WAIT_MS)) != 0) {
		quick.unsaved = r == SSH_ERR_SYSTEM_ERROR &&
		    errno == EWOULDBLOCK;
		debug_r(r, "QuickStart: %s not written", quick.path);
		if (quick.unsaved)
			return r;
		quick.may_write = 0;	/* It may take long each time. */
	}
	quick.guessed = quick.unsaved = 0;
	return r;
}

int
quick_login_save(void)
{
	return save(0, 0);
}

void
quick_login_guessed(uint64_t since)
{
	quick.known.since = since;
	quick.changed = quick.guessed = 1;
}

void
quick_login_not_guessed(uint64_t since)
{
	quick.known.since = since;
	quick.changed = quick.guessed = 0;
}

/*
 * Forgets the key, until it logs in again. Returns 0, or an SSH_ERR_* code if
 * the file still has it.
 */
static int
forget_key(void)
{
	memset(quick.known.login, 0, sizeof(quick.known.login));
	quick.known.flags &= QUICK_WRONG_MAX;
	return quick.known.host[0] == '\0' ? 0 : quick_login_save();
}

int
quick_login_may_sign(const struct ssh *ssh)
{
	return quick.known.login[0] != '\0' && !quick.early &&
	    quick.failures == 0 && ssh->kex->server_sig_algs != NULL &&
	    ssh->kex->initial_hostkey != NULL;
}

int
quick_login_is_key(const struct ssh *ssh, const struct sshkey *key,
    int in_agent, int is_private, const char *file, const char *alg)
{
	char digest[sizeof(quick.known.login)], *fp;
	int r;

	if (alg == NULL ||
	    !quick_start_key(key, in_agent, quick.known.flags) ||
	    (fp = quick_key_text(key, alg)) == NULL)
		return 0;
	r = quick_key_digest(ssh, quick.known.host, quick.user, fp, digest,
	    sizeof(digest));
	free(fp);
	if (r != 0 || strcmp(digest, quick.known.login) != 0) {
		debug("QuickStart: another key, or another host key");
		return 0;
	}
	return in_agent || is_private || quick_key_is_in_file(key, file);
}

int
quick_login_mark_early(void)
{
	/* Unless this login succeeds, the next one is to ask first. */
	if (forget_key() != 0)
		return 0;
	debug("QuickStart: signing at once, as this key logged in last");
	quick.early = 1;
	quick.saved += 3;	/* SERVICE_ACCEPT, none, and the query */
	return 1;
}

void
quick_login_cancel_early(void)
{
	debug("QuickStart: the key did not sign");
	quick.early = 0;
	quick.saved = 0;
}

int
quick_login_is_early(void)
{
	return quick.early;
}

void
quick_login_sign_begin(void)
{
	quick.signing_s = monotime_double();
}

void
quick_login_sign_end(const struct ssh *ssh, const struct sshkey *key,
    const char *alg, int in_agent)
{
	double took_s = monotime_double() - quick.signing_s;

	copy_login_signed(key, in_agent, took_s);
	if (quick.mode == QUICK_START_NO)
		return;
	free(quick.key);
	quick.key = NULL;
	quick.flags = in_agent ? QUICK_AGENT : 0;
	if (in_agent && took_s > QUICK_AGENT_S) {
		debug("QuickStart: the agent was slow, it may have asked");
		return;
	}
	if (quick_start_key(key, in_agent, quick.flags))
		quick.key = quick_key_text(key, alg);
}

void
quick_login_failed(struct ssh *ssh, const char *partly)
{
	Channel *c;

	if (partly != NULL)
		copy_login_partly(partly);
	if (quick.mode == QUICK_START_NO)
		return;
	quick.failures++;
	quick.partial |= partly != NULL;
	if (quick.changed)
		quick_login_save();
	if (quick.early && quick.failures == 1) {
		debug("QuickStart: the signature was not enough");
		quick.saved = 0;
	}
	if (quick.session != -1 &&
	    (c = channel_lookup(ssh, quick.session)) != NULL)
		channel_free(ssh, c);
	quick.session = -1;
	quick_data_refused();
}

void
quick_login_done(struct ssh *ssh, const char *method)
{
	struct quick_entry e;

	copy_login_done(method);
	copy_lane_logged_in();
	copy_report_logged_in(ssh);
	if (quick.mode == QUICK_START_NO)
		return;
	debug("QuickStart: %d round trips saved",
	    quick.saved + quick_kex_saved() + quick_ping_saved());
	quick_data_taken();
	e = quick.known;
	if (e.host[0] == '\0' && quick_entry_new(&e, quick.host,
	    quick.user) != 0)
		return;
	memset(e.login, 0, sizeof(e.login));
	e.flags &= QUICK_WRONG_MAX;
	/* Stock's login is "none", which fails, and then the first key. */
	if (strcmp(method, "publickey") == 0 && quick.key != NULL &&
	    !quick.partial && quick.failures == (quick.early ? 0 : 1)) {
		if (quick_key_digest(ssh, e.host, quick.user, quick.key,
		    e.login, sizeof(e.login)) != 0)
			memset(e.login, 0, sizeof(e.login));
		/* What is known of another host key's server is not of this. */
		quick.same = e.login[0] != '\0' &&
		    strcmp(e.login, quick.login) == 0;
		quick.from_zero &= quick.same;
		e.flags |= quick.flags |
		    (quick.from_zero ? QUICK_FROM_ZERO : 0) |
		    (quick.sftp && quick.early ? QUICK_SFTP : 0);
	}
	quick_kex_remember(ssh, &e);
	if ((quick.known.host[0] == '\0' && e.login[0] == '\0' &&
	    e.kex[0] == '\0') ||
	    (memcmp(&e, &quick.known, sizeof(e)) == 0 && !quick.changed))
		return;
	quick.known = e;
	save(QUICK_KEEP_FLAGS, 0);
}

int
quick_login_may_open(const struct ssh *ssh)
{
	/* A proxy of a ControlMaster exchanges no keys. */
	if (ssh->kex == NULL || !quick.remembered)
		return 0;
	return quick_start_session(quick.mode, ssh->kex->flags, ssh->compat,
	    ssh->authctxt == NULL, quick.from_zero &&
	    (quick.early || quick.same));
}

int
quick_login_opened_early(void)
{
	return quick.presumed;
}

void
quick_login_confirmed(struct ssh *ssh, int id)
{
	Channel *c;

	if (quick.known.login[0] == '\0' || quick.presumed ||
	    quick.from_zero || (c = channel_lookup(ssh, id)) == NULL ||
	    c->remote_id != 0)
		return;
	quick.known.flags |= QUICK_FROM_ZERO;
	save(QUICK_IF_SAME, 0);
}

/* Checks the number of a channel that was presumed, once it is confirmed. */
static void
answered(struct ssh *ssh, int id, int success, void *ctx)
{
	Channel *c = channel_lookup(ssh, id);

	if (success && c != NULL && c->remote_id == 0)
		return;
	if (success)
		error("QuickStart: the server numbers its channels otherwise");
	(void)forget_key();
	/* The server ends the connection because of the requests behind. */
	cleanup_exit(255);
}

void
quick_login_presume_channel(struct ssh *ssh, Channel *c)
{
	c->remote_id = 0;
	c->have_remote_id = 1;
	quick.presumed = 1;
	channel_register_open_confirm(ssh, c->self, answered, NULL);
	debug("QuickStart: requests right behind the session's opening");
	quick.saved++;
}

/*
 * Sets the mode of a channel's descriptors. Until the login has succeeded they
 * block, as ours and stock's messages go to the same files.
 */
static void
set_blocking(struct ssh *ssh, int id, int (*set)(int))
{
	Channel *c;

	if (id == -1 || (c = channel_lookup(ssh, id)) == NULL)
		return;
	if ((c->restore_block & CHANNEL_RESTORE_RFD) != 0)
		set(c->rfd);
	if ((c->restore_block & CHANNEL_RESTORE_WFD) != 0)
		set(c->wfd);
	if ((c->restore_block & CHANNEL_RESTORE_EFD) != 0)
		set(c->efd);
}

void
quick_login_session_sent(struct ssh *ssh, int id)
{
	set_blocking(ssh, id, unset_nonblock);
	debug("QuickStart: session sent with the signature");
	quick.session = id;
	quick.saved++;
}

void
quick_login_offer(void)
{
	if (!quick.sftp || !quick.early || quick.failures != 0 ||
	    quick.offered)
		return;
	quick.offered = 1;
	if (quick_pair_offer()) {
		debug("QuickStart: sftp's requests sent at once");
		quick.saved++;
	}
}

void
quick_login_send_data(struct ssh *ssh, int id)
{
	Channel *c;

	if (!quick_pair_is_there() || (c = channel_lookup(ssh, id)) == NULL)
		return;
	quick_data_send(ssh, c);
}

void
quick_login_end(void)
{
	u_int how = quick.unsaved ? QUICK_KEEP_FLAGS : QUICK_IF_SAME;
	int takes, learned;

	learned = quick.known.login[0] != '\0' &&
	    (takes = quick_pair_learned()) != -1 &&
	    takes != ((quick.known.flags & QUICK_SFTP) != 0);
	if (learned)
		quick.known.flags ^= QUICK_SFTP;
	if (learned || quick.unsaved)
		save(how, 1);
}

int
quick_login_take_session(struct ssh *ssh)
{
	int id = quick.session;

	set_blocking(ssh, id, set_nonblock);
	quick.session = -1;
	return id;
}
