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

#include <stdio.h>
#include <string.h>

#include "copy-login.h"
#include "hostfile.h"
#include "kex.h"
#include "packet.h"
#include "quick-start.h"
#include "sshkey.h"
#include "xmalloc.h"

static struct {
	int	asked;		/* somebody was asked for a passphrase */
	int	touched;	/* the last key may want a touch, or a PIN */
	int	other;		/* another method than those below logged in */
	int	before;		/* the same of a method before the last one */
} state;

/* Methods that ask nobody, unless a key does */
static const char *const methods[] = {
	"none", "publickey", "hostbased", "gssapi-with-mic", "gssapi-keyex"
};

void
copy_login_asked(void)
{
	state.asked = 1;
}

void
copy_login_signed(const struct sshkey *key, int in_agent, double took_s)
{
	state.touched = sshkey_is_sk(key) ||
	    (key->flags & SSHKEY_FLAG_EXT) != 0 ||
	    (in_agent && took_s > QUICK_AGENT_S);
}

/* Returns 1 if the method asks somebody by itself. */
static int
is_other(const char *method)
{
	size_t i;

	for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (strcmp(method, methods[i]) == 0)
			return 0;
	}
	return 1;
}

void
copy_login_partly(const char *method)
{
	state.before |= state.touched || is_other(method);
	state.touched = 0;
}

void
copy_login_done(const char *method)
{
	state.other = is_other(method);
}

int
copy_login_asks(void)
{
	return state.asked || state.touched || state.other || state.before;
}

/* Adds the hosts of n files. */
static void
add(struct hostkeys *hosts, const char *host, char *const files[], u_int n)
{
	u_int i;

	for (i = 0; i < n; i++)
		load_hostkeys(hosts, host, files[i], 0);
}

/* Returns 1 if the key is one of the host in the files, else 0. */
static int
has_key(const char *host, struct sshkey *key,
    const struct copy_login_files *files)
{
	struct hostkeys *hosts = init_hostkeys();
	int found;

	add(hosts, host, files->user, files->num_user);
	add(hosts, host, files->global, files->num_global);
	found = check_key_in_hostkeys(hosts, key, NULL) == HOST_OK;
	free_hostkeys(hosts);
	return found;
}

/* The same, also of the host without its port, as ssh looks for it. */
static int
has_key_of_any_port(const char *host, struct sshkey *key,
    const struct copy_login_files *files)
{
	const char *end = strstr(host, "]:");
	char *name;
	int found;

	if (has_key(host, key, files))
		return 1;
	if (host[0] != '[' || end == NULL)
		return 0;
	name = xstrdup(host + 1);
	name[end - host - 1] = '\0';
	found = has_key(name, key, files);
	free(name);
	return found;
}

int
copy_login_is_known(struct ssh *ssh, const char *host,
    const struct copy_login_files *files)
{
	struct sshkey *key = ssh->kex == NULL ? NULL :
	    ssh->kex->initial_hostkey, *plain = NULL;
	int known;

	if (files->elsewhere || key == NULL)
		return 1;
	known = has_key_of_any_port(host, key, files);
	/* A certificate whose CA is in no file counts as its key. */
	if (!known && sshkey_is_cert(key) &&
	    sshkey_from_private(key, &plain) == 0 &&
	    sshkey_drop_cert(plain) == 0)
		known = has_key_of_any_port(host, plain, files);
	sshkey_free(plain);
	return known;
}
