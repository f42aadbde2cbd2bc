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

#include <resolv.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digest.h"
#include "hostfile.h"
#include "openbsd-compat/openbsd-compat.h"
#include "quick-entry.h"
#include "sshbuf.h"
#include "ssherr.h"

#define HASH_LEN	60	/* |1|, salt, |, and hash, of 20 bytes each */
#define DIGEST_LEN	44	/* of 32 bytes, in base64 */

#define KEX_MIN_LEN	2	/* a name is longer than "-" */
#define TIME_LEN	16	/* at most, in hexadecimal */

static const char hex[] = "0123456789abcdef";
static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    "abcdefghijklmnopqrstuvwxyz0123456789+/=";

/*
 * Takes the next word, which has min to max bytes, all of a set. Returns 0, or
 * SSH_ERR_INVALID_FORMAT.
 */
static int
take(const char **line, const char *set, size_t min, size_t max, char *word)
{
	size_t len = strspn(*line, set);

	if (len < min || len > max ||
	    ((*line)[len] != ' ' && (*line)[len] != '\0'))
		return SSH_ERR_INVALID_FORMAT;
	memcpy(word, *line, len);
	word[len] = '\0';
	*line += len;
	if (**line == ' ')
		(*line)++;
	return 0;
}

/* Takes "-", which makes the word "", or else as take() does. */
static int
take_or_none(const char **line, const char *set, size_t min, size_t max,
    char *word)
{
	if (take(line, "-", 1, 1, word) != 0)
		return take(line, set, min, max, word);
	word[0] = '\0';
	return 0;
}

int
quick_entry_parse(const char *line, struct quick_entry *entry)
{
	char flags[8 + 1], since[TIME_LEN + 1], set[sizeof(base64) + 4];

	memset(entry, 0, sizeof(*entry));
	snprintf(set, sizeof(set), "|%s", base64);
	if (strncmp(line, "|1|", 3) != 0 ||
	    take(&line, set, HASH_LEN, HASH_LEN, entry->host) != 0 ||
	    take(&line, hex, 1, 8, flags) != 0 ||
	    take(&line, base64, DIGEST_LEN, DIGEST_LEN, entry->user) != 0 ||
	    take_or_none(&line, base64, DIGEST_LEN, DIGEST_LEN,
	    entry->login) != 0)
		return SSH_ERR_INVALID_FORMAT;
	snprintf(set, sizeof(set), "-._@%s", base64);
	if (take_or_none(&line, set, KEX_MIN_LEN, sizeof(entry->kex) - 1,
	    entry->kex) != 0 ||
	    take_or_none(&line, base64, DIGEST_LEN, DIGEST_LEN,
	    entry->algs) != 0 ||
	    take(&line, hex, 1, TIME_LEN, since) != 0 ||
	    take_or_none(&line, base64, DIGEST_LEN, DIGEST_LEN,
	    entry->banner) != 0 || *line != '\0')
		return SSH_ERR_INVALID_FORMAT;
	entry->flags = strtoul(flags, NULL, 16);
	entry->since = strtoull(since, NULL, 16);
	return 0;
}

/* Returns a word as it is in a line. */
static const char *
word(const char *s)
{
	return s[0] == '\0' ? "-" : s;
}

int
quick_entry_put(const struct quick_entry *entry, struct sshbuf *buf)
{
	return sshbuf_putf(buf, "%s %x %s %s %s %s %llx %s\n", entry->host,
	    entry->flags, entry->user, word(entry->login), word(entry->kex),
	    word(entry->algs), (unsigned long long)entry->since,
	    word(entry->banner));
}

int
quick_entry_digest(const char *hashed, const char *user, const char *key,
    const char *hostkey, char *digest, size_t len)
{
	u_char hash[32];
	struct sshbuf *b;
	int r;

	if ((b = sshbuf_new()) == NULL)
		return SSH_ERR_ALLOC_FAIL;
	if ((r = sshbuf_put_cstring(b, hashed)) == 0 &&
	    (r = sshbuf_put_cstring(b, user)) == 0 &&
	    (r = sshbuf_put_cstring(b, key == NULL ? "" : key)) == 0 &&
	    (r = sshbuf_put_cstring(b, hostkey == NULL ? "" : hostkey)) == 0 &&
	    (r = ssh_digest_buffer(SSH_DIGEST_SHA256, b, hash,
	    sizeof(hash))) == 0 &&
	    b64_ntop(hash, sizeof(hash), digest, len) == -1)
		r = SSH_ERR_INTERNAL_ERROR;
	sshbuf_free(b);
	return r;
}

int
quick_entry_new(struct quick_entry *entry, const char *host, const char *user)
{
	char *hashed;

	memset(entry, 0, sizeof(*entry));
	if ((hashed = host_hash(host, NULL, 0)) == NULL)
		return SSH_ERR_INTERNAL_ERROR;
	strlcpy(entry->host, hashed, sizeof(entry->host));
	free(hashed);
	return quick_entry_digest(entry->host, user, NULL, NULL, entry->user,
	    sizeof(entry->user));
}

/*
 * Writes the digest of a list up to a name. Returns 0 or an SSH_ERR_* code,
 * SSH_ERR_INVALID_ARGUMENT if the name isn't there.
 */
static int
algs_digest(const char *hashed, const char *name, const char *algs,
    char *digest, size_t len)
{
	const char *at = algs;
	char *list;
	size_t n;
	int r;

	while ((n = strcspn(at, ",")) != strlen(name) ||
	    strncmp(at, name, n) != 0) {
		if (at[n] == '\0')
			return SSH_ERR_INVALID_ARGUMENT;
		at += n + 1;
	}
	if ((list = strndup(algs, at + n - algs)) == NULL)
		return SSH_ERR_ALLOC_FAIL;
	r = quick_entry_digest(hashed, list, NULL, NULL, digest, len);
	free(list);
	return r;
}

int
quick_entry_set_kex(struct quick_entry *entry, const char *name,
    const char *algs, const char *banner)
{
	int r = SSH_ERR_INVALID_ARGUMENT;

	if (strlen(name) < sizeof(entry->kex) &&
	    (r = algs_digest(entry->host, name, algs, entry->algs,
	    sizeof(entry->algs))) == 0 &&
	    (r = quick_entry_digest(entry->host, banner, NULL, NULL,
	    entry->banner, sizeof(entry->banner))) == 0)
		strlcpy(entry->kex, name, sizeof(entry->kex));
	return r;
}

int
quick_entry_leads_to(const struct quick_entry *entry, const char *algs)
{
	char digest[DIGEST_LEN + 1];

	return entry->kex[0] != '\0' && algs_digest(entry->host, entry->kex,
	    algs, digest, sizeof(digest)) == 0 &&
	    strcmp(digest, entry->algs) == 0;
}

int
quick_entry_may_guess(const struct quick_entry *entry, const char *algs,
    uint64_t now)
{
	uint64_t s;

	/* A clock that was set back does not keep it from being made. */
	s = now > entry->since ? now - entry->since : entry->since - now;
	return (entry->since == 0 || s > QUICK_KEX_RETRY_S) &&
	    quick_entry_leads_to(entry, algs);
}
