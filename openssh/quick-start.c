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

#include <stdlib.h>
#include <string.h>

#include "bounded-input.h"
#include "compat.h"
#include "match.h"
#include "quick-start.h"
#include "sshkey.h"
#include "xmalloc.h"

/* Bytes of a message besides its strings: lengths, padding, MAC, type */
#define OVERHEAD	128

int
quick_start_is_share(const char *kex)
{
	static const char *others[] = {
		"gss-", "diffie-hellman-group-exchange-", NULL
	};
	size_t i;

	for (i = 0; others[i] != NULL; i++) {
		if (strncmp(kex, others[i], strlen(others[i])) == 0)
			return 0;
	}
	return 1;
}

int
quick_start_reads_ahead(const char *banner)
{
	/* Tested: test_quick_kex.py and hpn-tests/interop */
	static const char *software[] = {
		"SSH-2.0-OpenSSH_", "SSH-2.0-dropbear_", "SSH-2.0-Go",
		"SSH-2.0-paramiko_", "SSH-2.0-AsyncSSH_", "SSH-2.0-tinyssh_",
		NULL
	};
	size_t i;

	for (i = 0; software[i] != NULL; i++) {
		if (strncmp(banner, software[i], strlen(software[i])) == 0)
			return 1;
	}
	return 0;
}

int
quick_start_key(const struct sshkey *key, int in_agent, u_int flags)
{
	if (key == NULL || sshkey_is_cert(key) || sshkey_is_sk(key) ||
	    (key->flags & SSHKEY_FLAG_EXT) != 0)
		return 0;
	/* Which of its algorithms a user's server takes, only a query tells. */
	if (sshkey_type_plain(key->type) == KEY_RSA)
		return 0;
	return in_agent == ((flags & QUICK_AGENT) != 0);
}

int
quick_start_session(int mode, u_int kex_flags, u_int compat, int logged_in,
    int from_zero)
{
	if (mode == QUICK_START_NO)
		return 0;
	/* Each sshd that bounds its input takes a session early. */
	if ((kex_flags & KEX_HAS_BOUNDED_INPUT) != 0)
		return 1;
	return from_zero && (compat & SSH_NEW_OPENSSH) != 0 &&
	    (logged_in || mode == QUICK_START_ALWAYS);
}

/* Returns 1 if the name of a variable NAME=VALUE matches a pattern. */
static int
is_sent(const char *variable, char **patterns, size_t num)
{
	char *name = xstrdup(variable);
	size_t i;
	int found = 0;

	name[strcspn(name, "=")] = '\0';
	for (i = 0; i < num && !found; i++)
		found = match_pattern(name, patterns[i]) == 1;
	free(name);
	return found;
}

size_t
quick_start_session_bytes(size_t command_len, char **env, char **send_env,
    size_t send_num, char **set_env, size_t set_num)
{
	size_t i, bytes = 2 * OVERHEAD + command_len;

	for (i = 0; env != NULL && env[i] != NULL; i++) {
		if (is_sent(env[i], send_env, send_num))
			bytes += OVERHEAD + strlen(env[i]);
	}
	for (i = 0; i < set_num; i++)
		bytes += OVERHEAD + strlen(set_env[i]);
	return bytes;
}
