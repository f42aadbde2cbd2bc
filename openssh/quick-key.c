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
#include <sys/stat.h>

#include <stdlib.h>
#include <unistd.h>

#include "authfile.h"
#include "digest.h"
#include "kex.h"
#include "packet.h"
#include "quick-entry.h"
#include "quick-key.h"
#include "ssherr.h"
#include "sshkey.h"
#include "xmalloc.h"

int
quick_key_digest(const struct ssh *ssh, const char *hashed, const char *user,
    const char *text, char *digest, size_t len)
{
	char *hostkey;
	int r;

	if (ssh->kex->initial_hostkey == NULL || (hostkey = sshkey_fingerprint(
	    ssh->kex->initial_hostkey, SSH_DIGEST_SHA256,
	    SSH_FP_BASE64)) == NULL)
		return SSH_ERR_INTERNAL_ERROR;
	r = quick_entry_digest(hashed, user, text, hostkey, digest, len);
	free(hostkey);
	return r;
}

int
quick_key_is_in_file(const struct sshkey *key, const char *file)
{
	struct sshkey *found = NULL;
	struct stat st;
	int same;

	/* Upstream warns about such a file. Do not repeat the warning. */
	if (stat(file, &st) == -1 || (st.st_uid == getuid() &&
	    (st.st_mode & 077) != 0))
		return 0;
	same = sshkey_load_private_type(KEY_UNSPEC, file, "", &found,
	    NULL) == 0 && sshkey_equal_public(found, key);
	sshkey_free(found);
	return same;
}

char *
quick_key_text(const struct sshkey *key, const char *alg)
{
	char *fp, *text = NULL;

	if ((fp = sshkey_fingerprint(key, SSH_DIGEST_SHA256,
	    SSH_FP_BASE64)) != NULL)
		xasprintf(&text, "%s %s", alg, fp);
	free(fp);
	return text;
}
