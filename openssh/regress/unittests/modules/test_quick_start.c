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

/* What QuickStart remembers, and what it decides */

#include "includes.h"

#include <sys/types.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "openbsd-compat/sys-queue.h"

#include "../test_helper/test_helper.h"

#include "bdp-options.h"
#include "bounded-input.h"
#include "channels.h"
#include "compat.h"
#include "conn.h"
#include "kex.h"
#include "last-channel.h"
#include "log.h"
#include "misc.h"
#include "packet.h"
#include "quick-data.h"
#include "quick-gss.h"
#include "quick-hold.h"
#include "quick-known.h"
#include "quick-login.h"
#include "quick-pair.h"
#include "quick-ping.h"
#include "quick-start.h"
#include "ssherr.h"
#include "sshbuf.h"
#include "sshkey.h"

void test_quick_start(void);

static struct quick_known known, other;

/* Appends an entry. */
static void
add(const char *host, const char *user, const char *key)
{
	struct quick_entry e;

	ASSERT_INT_EQ(quick_entry_new(&e, host, user), 0);
	ASSERT_INT_EQ(quick_entry_digest(e.host, user, key, "host key",
	    e.login, sizeof(e.login)), 0);
	e.flags = QUICK_AGENT;
	ASSERT_INT_EQ(quick_entry_set_kex(&e, "k1", "k0,k1,k2", "banner"), 0);
	quick_known_add(&known, &e);
}

static void
lines(void)
{
	struct sshbuf *b = sshbuf_new();
	struct quick_entry e;
	char *text, *bad;
	size_t len, i;

	TEST_START("quick_hosts, a line is read as it was written");
	known.num = 0;
	add("h", "u", "k");
	ASSERT_INT_EQ(quick_entry_put(&known.entry[0], b), 0);
	len = sshbuf_len(b) - 1;
	ASSERT_SIZE_T_LT(len + 1, QUICK_LINE_MAX);
	text = sshbuf_dup_string(b);
	text[len] = '\0';
	ASSERT_INT_EQ(quick_entry_parse(text, &e), 0);
	ASSERT_INT_EQ(memcmp(&e, &known.entry[0], sizeof(e)), 0);
	TEST_DONE();

	TEST_START("quick_hosts, what is not known is -");
	memset(known.entry[0].login, 0, sizeof(e.login));
	memset(known.entry[0].kex, 0, sizeof(e.kex));
	memset(known.entry[0].algs, 0, sizeof(e.algs));
	known.entry[0].since = UINT64_MAX;
	sshbuf_reset(b);
	ASSERT_INT_EQ(quick_entry_put(&known.entry[0], b), 0);
	free(text);
	len = sshbuf_len(b) - 1;
	text = sshbuf_dup_string(b);
	text[len] = '\0';
	ASSERT_INT_EQ(strstr(text, " - - - ffffffffffffffff ") != NULL, 1);
	ASSERT_INT_EQ(quick_entry_parse(text, &e), 0);
	ASSERT_INT_EQ(memcmp(&e, &known.entry[0], sizeof(e)), 0);
	TEST_DONE();

	TEST_START("quick_hosts, no other line is taken");
	for (i = 0; i < len; i++) {
		bad = strdup(text);
		bad[i] = '\0';
		ASSERT_INT_EQ(quick_entry_parse(bad, &e),
		    SSH_ERR_INVALID_FORMAT);
		bad[i] = '!';
		ASSERT_INT_EQ(quick_entry_parse(bad, &e),
		    SSH_ERR_INVALID_FORMAT);
		free(bad);
	}
	ASSERT_INT_GT(asprintf(&bad, "%s x", text), 0);
	ASSERT_INT_EQ(quick_entry_parse(bad, &e), SSH_ERR_INVALID_FORMAT);
	free(bad);
	free(text);
	TEST_DONE();

	TEST_START("quick_hosts, a file is whole lines, not too many");
	ASSERT_INT_EQ(quick_known_parse(&other, (const char *)sshbuf_ptr(b),
	    sshbuf_len(b)), 0);
	ASSERT_SIZE_T_EQ(other.num, 1);
	ASSERT_INT_EQ(quick_known_parse(&other, (const char *)sshbuf_ptr(b),
	    sshbuf_len(b) - 1), SSH_ERR_INVALID_FORMAT);
	ASSERT_SIZE_T_EQ(other.num, 0);
	for (i = 0; i < QUICK_KNOWN_MAX; i++)
		ASSERT_INT_EQ(quick_entry_put(&known.entry[0], b), 0);
	ASSERT_INT_EQ(quick_known_parse(&other, (const char *)sshbuf_ptr(b),
	    sshbuf_len(b)), SSH_ERR_INVALID_FORMAT);
	ASSERT_SIZE_T_EQ(other.num, 0);
	ASSERT_INT_EQ(quick_known_parse(&other, "", 0), 0);
	sshbuf_free(b);
	TEST_DONE();
}

static void
guesses(void)
{
	static const char *many = "k0,k1,k2,k3";
	char name[sizeof(((struct quick_entry *)NULL)->kex) + 1];
	struct quick_entry e;
	size_t before, i;

	TEST_START("key exchange, the list decides up to the one negotiated");
	ASSERT_INT_EQ(quick_entry_new(&e, "h", "u"), 0);
	ASSERT_INT_EQ(quick_entry_leads_to(&e, many), 0);
	ASSERT_INT_EQ(quick_entry_leads_to(&e, ""), 0);
	ASSERT_INT_EQ(quick_entry_set_kex(&e, "k1", many, "banner"), 0);
	ASSERT_STRING_EQ(e.kex, "k1");
	ASSERT_INT_EQ(quick_entry_leads_to(&e, many), 1);
	ASSERT_INT_EQ(quick_entry_leads_to(&e, "k0,k1"), 1);
	ASSERT_INT_EQ(quick_entry_leads_to(&e, "k0,k1,k9"), 1);
	ASSERT_INT_EQ(quick_entry_leads_to(&e, "k1"), 0);
	ASSERT_INT_EQ(quick_entry_leads_to(&e, "k1,k0"), 0);
	ASSERT_INT_EQ(quick_entry_leads_to(&e, "k0,k2,k1"), 0);
	ASSERT_INT_EQ(quick_entry_leads_to(&e, "k0,k11"), 0);
	ASSERT_INT_EQ(quick_entry_leads_to(&e, "k0,k"), 0);
	ASSERT_INT_EQ(quick_entry_leads_to(&e, "k0"), 0);
	TEST_DONE();

	TEST_START("key exchange, what is not in the list or too long");
	ASSERT_INT_EQ(quick_entry_set_kex(&e, "k4", many, "b"),
	    SSH_ERR_INVALID_ARGUMENT);
	memset(name, 'k', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	ASSERT_INT_EQ(quick_entry_set_kex(&e, name, name, "b"),
	    SSH_ERR_INVALID_ARGUMENT);
	name[sizeof(name) - 2] = '\0';
	ASSERT_INT_EQ(quick_entry_set_kex(&e, name, name, "b"), 0);
	TEST_DONE();

	TEST_START("quick_hosts, an entry leaves no memory behind");
	before = mallinfo2().uordblks;
	for (i = 0; i < 100; i++) {
		ASSERT_INT_EQ(quick_entry_new(&e, "h", "u"), 0);
		ASSERT_INT_EQ(quick_entry_digest(e.host, "u", "k", "host key",
		    e.login, sizeof(e.login)), 0);
		ASSERT_INT_EQ(quick_entry_set_kex(&e, "k1", many, "b"), 0);
		ASSERT_INT_EQ(quick_entry_leads_to(&e, many), 1);
	}
	/* Less than the smallest piece for each */
	ASSERT_SIZE_T_LT(mallinfo2().uordblks, before + 100 * 24);
	TEST_DONE();

	TEST_START("key exchange, not guessed for a day after a wrong guess");
	ASSERT_INT_EQ(quick_entry_set_kex(&e, "k0", many, "banner"), 0);
	ASSERT_INT_EQ(quick_entry_may_guess(&e, many, 0), 1);
	ASSERT_INT_EQ(quick_entry_may_guess(&e, "k1", 0), 0);
	e.since = 1000000;
	ASSERT_INT_EQ(quick_entry_may_guess(&e, many, 1000000), 0);
	ASSERT_INT_EQ(quick_entry_may_guess(&e, many,
	    1000000 + QUICK_KEX_RETRY_S), 0);
	ASSERT_INT_EQ(quick_entry_may_guess(&e, many,
	    1000000 - QUICK_KEX_RETRY_S), 0);
	ASSERT_INT_EQ(quick_entry_may_guess(&e, many,
	    1000000 + QUICK_KEX_RETRY_S + 1), 1);
	ASSERT_INT_EQ(quick_entry_may_guess(&e, many,
	    1000000 - QUICK_KEX_RETRY_S - 1), 1);
	ASSERT_INT_EQ(quick_entry_may_guess(&e, "k1", 9000000), 0);
	TEST_DONE();

	TEST_START("key exchange, which are a share at once");
	ASSERT_INT_EQ(quick_start_is_share("mlkem768x25519-sha256"), 1);
	ASSERT_INT_EQ(quick_start_is_share("diffie-hellman-group16-sha512"), 1);
	ASSERT_INT_EQ(quick_start_is_share("ecdh-sha2-nistp256"), 1);
	ASSERT_INT_EQ(quick_start_is_share(
	    "diffie-hellman-group-exchange-sha256"), 0);
	ASSERT_INT_EQ(quick_start_is_share("gss-group14-sha256-xyz"), 0);
	TEST_DONE();

	TEST_START("key exchange, which servers read ahead");
	ASSERT_INT_EQ(quick_start_reads_ahead("SSH-2.0-OpenSSH_9.2p1 x"), 1);
	ASSERT_INT_EQ(quick_start_reads_ahead("SSH-2.0-dropbear_2022.83"), 1);
	ASSERT_INT_EQ(quick_start_reads_ahead("SSH-2.0-Go"), 1);
	ASSERT_INT_EQ(quick_start_reads_ahead("SSH-2.0-Cisco-1.25"), 0);
	ASSERT_INT_EQ(quick_start_reads_ahead("SSH-1.99-OpenSSH_9.2"), 0);
	ASSERT_INT_EQ(quick_start_reads_ahead("x SSH-2.0-OpenSSH_9.2"), 0);
	ASSERT_INT_EQ(quick_start_reads_ahead(""), 0);
	TEST_DONE();
}

static void
entries(void)
{
	struct quick_entry *e;
	char digest[48], name[16];
	int i;

	TEST_START("quick_hosts, found by host and user only");
	known.num = 0;
	add("a", "u", "k");
	add("b", "u", "k");
	add("a", "v", "k");
	ASSERT_PTR_EQ(quick_known_find(&known, "a", "u"), &known.entry[0]);
	ASSERT_PTR_EQ(quick_known_find(&known, "b", "u"), &known.entry[1]);
	ASSERT_PTR_EQ(quick_known_find(&known, "a", "v"), &known.entry[2]);
	ASSERT_PTR_EQ(quick_known_find(&known, "b", "v"), NULL);
	ASSERT_PTR_EQ(quick_known_find(&known, "c", "u"), NULL);
	TEST_DONE();

	TEST_START("quick_hosts, the digest is of user, key and host key");
	e = &known.entry[0];
	ASSERT_INT_EQ(quick_entry_digest(e->host, "u", "k", "host key", digest,
	    sizeof(digest)), 0);
	ASSERT_STRING_EQ(digest, e->login);
	ASSERT_INT_EQ(quick_entry_digest(e->host, "u", "l", "host key", digest,
	    sizeof(digest)), 0);
	ASSERT_STRING_NE(digest, e->login);
	ASSERT_INT_EQ(quick_entry_digest(e->host, "u", "k", "another", digest,
	    sizeof(digest)), 0);
	ASSERT_STRING_NE(digest, e->login);
	ASSERT_STRING_NE(known.entry[2].login, e->login);
	TEST_DONE();

	TEST_START("quick_hosts, the oldest goes");
	quick_known_remove(&known, &known.entry[1]);
	ASSERT_SIZE_T_EQ(known.num, 2);
	ASSERT_PTR_EQ(quick_known_find(&known, "a", "v"), &known.entry[1]);
	for (i = 0; i < QUICK_KNOWN_MAX - 1; i++) {
		snprintf(name, sizeof(name), "h%d", i);
		add(name, "u", "k");
	}
	ASSERT_SIZE_T_EQ(known.num, QUICK_KNOWN_MAX);
	ASSERT_PTR_EQ(quick_known_find(&known, "a", "u"), NULL);
	ASSERT_PTR_EQ(quick_known_find(&known, "a", "v"), &known.entry[0]);
	ASSERT_PTR_EQ(quick_known_find(&known, name, "u"),
	    &known.entry[QUICK_KNOWN_MAX - 1]);
	TEST_DONE();
}

static void
files(void)
{
	char dir[] = "/tmp/quick.XXXXXXXXXX", path[64], hosts[64], fresh[80];
	char *found;
	int fd;
	size_t before;
	struct rlimit was, small;
	struct stat st;

	TEST_START("quick_hosts, the file");
	ASSERT_PTR_NE(mkdtemp(dir), NULL);
	snprintf(path, sizeof(path), "%s/quick_hosts", dir);
	ASSERT_INT_EQ(quick_known_load(&other, path), 0);
	ASSERT_INT_EQ(quick_known_store(&known, path), 0);
	ASSERT_INT_EQ(stat(path, &st), 0);
	ASSERT_INT_EQ(st.st_mode & 07777, 0600);
	ASSERT_INT_EQ(quick_known_load(&other, path), 0);
	ASSERT_INT_EQ(memcmp(&known, &other, sizeof(known)), 0);
	snprintf(hosts, sizeof(hosts), "%s/known_hosts", dir);
	quick_known_forget(hosts, "a");
	ASSERT_INT_EQ(quick_known_load(&other, path), 0);
	ASSERT_SIZE_T_EQ(other.num, known.num - 1);
	quick_known_forget(hosts, "H0");	/* as ssh-keygen was told */
	ASSERT_INT_EQ(quick_known_load(&other, path), 0);
	ASSERT_SIZE_T_EQ(other.num, known.num - 2);
	TEST_DONE();

	TEST_START("quick_hosts, what a killed process left");
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	ASSERT_INT_EQ(symlink(hosts, fresh), 0);
	ASSERT_INT_EQ(quick_known_store(&other, path), 0);
	ASSERT_INT_EQ(lstat(fresh, &st), -1);
	ASSERT_INT_EQ(stat(hosts, &st), -1);
	TEST_DONE();

	TEST_START("quick_hosts, no file may be so large");
	ASSERT_INT_EQ(getrlimit(RLIMIT_FSIZE, &was), 0);
	small = was;
	small.rlim_cur = 100;
	ASSERT_INT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
	known = other;
	quick_known_remove(&known, &known.entry[0]);
	ASSERT_INT_EQ(quick_known_store(&known, path), SSH_ERR_SYSTEM_ERROR);
	ASSERT_INT_EQ(setrlimit(RLIMIT_FSIZE, &was), 0);
	ASSERT_INT_EQ(lstat(fresh, &st), -1);
	ASSERT_INT_EQ(quick_known_load(&known, path), 0);
	ASSERT_SIZE_T_EQ(known.num, other.num);		/* it is as before */
	TEST_DONE();

	TEST_START("quick_hosts, a file that others may read");
	ASSERT_INT_EQ(chmod(path, 0640), 0);
	ASSERT_INT_EQ(quick_known_load(&other, path),
	    SSH_ERR_KEY_BAD_PERMISSIONS);
	ASSERT_SIZE_T_EQ(other.num, 0);
	TEST_DONE();

	TEST_START("quick_hosts, beside a file of known hosts");
	found = quick_known_path(hosts);
	ASSERT_STRING_EQ(found, path);
	free(found);
	ASSERT_PTR_EQ(quick_known_path(NULL), NULL);
	ASSERT_PTR_EQ(quick_known_path("none"), NULL);
	ASSERT_PTR_EQ(quick_known_path("/dev/null"), NULL);
	ASSERT_PTR_EQ(quick_known_path(path), NULL);
	ASSERT_PTR_EQ(quick_known_path(dir), NULL);
	ASSERT_INT_EQ(link(path, hosts), 0);
	ASSERT_PTR_EQ(quick_known_path(hosts), NULL);
	ASSERT_INT_EQ(unlink(hosts), 0);
	ASSERT_INT_EQ(chmod(dir, 0720), 0);
	ASSERT_PTR_EQ(quick_known_path(hosts), NULL);
	ASSERT_INT_EQ(quick_known_replace(path, "a", "u", NULL, 0,
	    QUICK_KNOWN_WAIT_MS),
	    SSH_ERR_KEY_BAD_PERMISSIONS);
	ASSERT_INT_EQ(chmod(dir, 0700), 0);
	ASSERT_INT_NE(fd = open(dir, O_RDONLY), -1);
	ASSERT_INT_EQ(flock(fd, LOCK_EX), 0);
	before = mallinfo2().uordblks;
	errno = 0;
	ASSERT_INT_EQ(quick_known_replace(path, "a", "u", NULL, 0, 1),
	    SSH_ERR_SYSTEM_ERROR);
	ASSERT_INT_EQ(errno, EWOULDBLOCK);
	ASSERT_SIZE_T_EQ(mallinfo2().uordblks, before);
	close(fd);
	ASSERT_INT_EQ(unlink(path), 0);
	ASSERT_INT_EQ(rmdir(dir), 0);
	ASSERT_INT_EQ(quick_known_store(&known, path), SSH_ERR_SYSTEM_ERROR);
	TEST_DONE();
}

/* Whether the server says that it knows which channel is the last */
static void
last(void)
{
	TEST_START("last channel: the server's answer");
	ASSERT_INT_EQ(last_channel_may(), 0);
	last_channel_answered(1);
	ASSERT_INT_EQ(last_channel_may(), 1);
	last_channel_answered(0);
	ASSERT_INT_EQ(last_channel_may(), 0);
	TEST_DONE();
}

static void
decisions(void)
{
	struct sshkey *key = sshkey_new(KEY_ED25519);
	char *env[] = { "LC_A=1", "LD_B=23", "LC_C", NULL };
	char *send[] = { "X*", "LC_*" }, *set[] = { "S=12345678" };
	size_t none;

	TEST_START("QuickStart, keys that need nobody, where they were");
	ASSERT_INT_EQ(quick_start_key(NULL, 0, 0), 0);
	ASSERT_INT_EQ(quick_start_key(key, 0, 0), 1);
	ASSERT_INT_EQ(quick_start_key(key, 1, 0), 0);
	ASSERT_INT_EQ(quick_start_key(key, 0, QUICK_AGENT), 0);
	ASSERT_INT_EQ(quick_start_key(key, 1, QUICK_AGENT), 1);
	key->flags = SSHKEY_FLAG_EXT;
	ASSERT_INT_EQ(quick_start_key(key, 0, 0), 0);
	key->flags = 0;
	key->type = KEY_ED25519_SK;
	ASSERT_INT_EQ(quick_start_key(key, 0, 0), 0);
	key->type = KEY_ED25519_CERT;
	ASSERT_INT_EQ(quick_start_key(key, 0, 0), 0);
	key->type = KEY_RSA;
	ASSERT_INT_EQ(quick_start_key(key, 0, 0), 0);
	key->type = KEY_ED25519;
	sshkey_free(key);
	TEST_DONE();

	TEST_START("QuickStart, who gets a session before the login");
	ASSERT_INT_EQ(quick_start_session(QUICK_START_NO,
	    KEX_HAS_BOUNDED_INPUT, SSH_NEW_OPENSSH, 1, 1), 0);
	ASSERT_INT_EQ(quick_start_session(QUICK_START_YES,
	    KEX_HAS_BOUNDED_INPUT, 0, 0, 0), 1);
	ASSERT_INT_EQ(quick_start_session(QUICK_START_YES, 0,
	    SSH_NEW_OPENSSH, 0, 1), 0);
	ASSERT_INT_EQ(quick_start_session(QUICK_START_YES, 0,
	    SSH_NEW_OPENSSH, 1, 1), 1);
	ASSERT_INT_EQ(quick_start_session(QUICK_START_ALWAYS, 0,
	    SSH_NEW_OPENSSH, 0, 1), 1);
	ASSERT_INT_EQ(quick_start_session(QUICK_START_ALWAYS, 0,
	    SSH_NEW_OPENSSH, 1, 0), 0);
	ASSERT_INT_EQ(quick_start_session(QUICK_START_ALWAYS, 0, 0, 1, 1), 0);
	TEST_DONE();

	TEST_START("QuickStart, the bytes of a session");
	none = quick_start_session_bytes(0, NULL, NULL, 0, NULL, 0);
	ASSERT_SIZE_T_EQ(quick_start_session_bytes(100, NULL, NULL, 0, NULL,
	    0), none + 100);
	ASSERT_SIZE_T_EQ(quick_start_session_bytes(0, env, send, 1, NULL, 0),
	    none);
	ASSERT_SIZE_T_GT(quick_start_session_bytes(0, env, send, 2, NULL, 0),
	    none + strlen(env[0]) + strlen(env[2]));
	ASSERT_SIZE_T_GT(quick_start_session_bytes(0, env, send, 1, set, 1),
	    none + strlen(set[0]));
	TEST_DONE();
}

/* Replaces entries of a host of its own, again and again. */
static void
writer(const char *path, int number)
{
	struct quick_entry e;
	char host[16];
	int i;

	snprintf(host, sizeof(host), "w%d", number);
	if (quick_entry_new(&e, host, "u") != 0 ||
	    quick_entry_set_kex(&e, "k1", "k1", "banner") != 0)
		_exit(1);
	for (i = 0; i < 10; i++) {
		e.since = i;
		if (quick_known_replace(path, host, "u", &e, 0, 1000) != 0)
			_exit(1);
	}
	_exit(0);
}

/* Replaces the entry of "h". */
static int
replace(const char *path, const struct quick_entry *e, u_int how)
{
	return quick_known_replace(path, "h", "u", e, how,
	    QUICK_KNOWN_WAIT_MS);
}

/* Returns the flags of the file's only entry, 0 if there is none. */
static u_int
only_flags(const char *path)
{
	return quick_known_load(&known, path) == 0 && known.num == 1 ?
	    known.entry[0].flags : 0;
}

static void
merges(void)
{
	char folder[] = "/tmp/quick.XXXXXX", path[64];
	struct quick_entry e;

	TEST_START("quick_hosts, what another process found out stays");
	ASSERT_PTR_NE(mkdtemp(folder), NULL);
	snprintf(path, sizeof(path), "%s/quick_hosts", folder);
	ASSERT_INT_EQ(quick_entry_new(&e, "h", "u"), 0);
	strlcpy(e.login, e.user, sizeof(e.login));	/* any digest */
	e.flags = QUICK_SFTP;
	ASSERT_INT_EQ(replace(path, &e, QUICK_IF_SAME), 0);
	ASSERT_INT_EQ(quick_known_load(&known, path), 0);
	ASSERT_SIZE_T_EQ(known.num, 0);			/* nothing there */
	ASSERT_INT_EQ(replace(path, &e, QUICK_KEEP_FLAGS), 0);
	ASSERT_U_INT_EQ(only_flags(path), QUICK_SFTP);
	e.flags = QUICK_AGENT;
	ASSERT_INT_EQ(replace(path, &e, QUICK_KEEP_FLAGS), 0);
	ASSERT_U_INT_EQ(only_flags(path), QUICK_SFTP | QUICK_AGENT);
	ASSERT_INT_EQ(replace(path, &e, QUICK_IF_SAME), 0);
	ASSERT_U_INT_EQ(only_flags(path), QUICK_AGENT);
	/* Another key's: one that base64 has, too */
	e.login[0] = e.login[0] == 'A' ? 'B' : 'A';
	e.flags = QUICK_FROM_ZERO;
	ASSERT_INT_EQ(replace(path, &e, QUICK_IF_SAME), 0);
	ASSERT_U_INT_EQ(only_flags(path), QUICK_AGENT);
	ASSERT_INT_EQ(replace(path, &e, QUICK_KEEP_FLAGS), 0);
	ASSERT_U_INT_EQ(only_flags(path), QUICK_FROM_ZERO);
	e.login[0] = '\0';				/* none may sign */
	e.flags = QUICK_WRONG;
	ASSERT_INT_EQ(replace(path, &e, QUICK_KEEP_FLAGS), 0);
	ASSERT_U_INT_EQ(only_flags(path), QUICK_WRONG);
	ASSERT_INT_EQ(replace(path, &e, QUICK_KEEP_FLAGS), 0);
	ASSERT_U_INT_EQ(only_flags(path), QUICK_WRONG);
	ASSERT_INT_EQ(unlink(path), 0);
	ASSERT_INT_EQ(rmdir(folder), 0);
	TEST_DONE();
}

static void
together(void)
{
	char folder[] = "/tmp/quick.XXXXXX", path[64], host[16];
	struct quick_entry e, *found;
	int i, status;

	ASSERT_PTR_NE(mkdtemp(folder), NULL);
	snprintf(path, sizeof(path), "%s/quick_hosts", folder);

	TEST_START("quick_hosts, the time of a guess is another's to change");
	ASSERT_INT_EQ(quick_entry_new(&e, "h", "u"), 0);
	ASSERT_INT_EQ(quick_entry_set_kex(&e, "k1", "k1,k2", "banner"), 0);
	e.since = 5;
	ASSERT_INT_EQ(replace(path, &e, QUICK_KEEP_SINCE), 0);
	e.since = 7;
	ASSERT_INT_EQ(replace(path, &e, QUICK_KEEP_SINCE), 0);
	ASSERT_INT_EQ(quick_known_load(&known, path), 0);
	ASSERT_LONG_EQ(known.entry[0].since, 5);
	ASSERT_INT_EQ(replace(path, &e, 0), 0);
	ASSERT_INT_EQ(quick_known_load(&known, path), 0);
	ASSERT_LONG_EQ(known.entry[0].since, 7);
	ASSERT_INT_EQ(quick_entry_set_kex(&e, "k2", "k1,k2", "banner"), 0);
	e.since = 0;
	ASSERT_INT_EQ(replace(path, &e, QUICK_KEEP_SINCE), 0);
	ASSERT_INT_EQ(quick_known_load(&known, path), 0);
	ASSERT_LONG_EQ(known.entry[0].since, 0);
	TEST_DONE();

	TEST_START("quick_hosts, nobody's entry is lost to another's");
	for (i = 0; i < 4; i++) {
		if (fork() == 0)
			writer(path, i);
	}
	for (i = 0; i < 4; i++) {
		ASSERT_INT_NE(wait(&status), -1);
		ASSERT_INT_EQ(status, 0);
	}
	ASSERT_INT_EQ(quick_known_load(&known, path), 0);
	ASSERT_SIZE_T_EQ(known.num, 5);
	for (i = 0; i < 4; i++) {
		snprintf(host, sizeof(host), "w%d", i);
		found = quick_known_find(&known, host, "u");
		ASSERT_PTR_NE(found, NULL);
		ASSERT_LONG_EQ(found->since, 9);
	}
	unlink(path);
	rmdir(folder);
	TEST_DONE();
}

#ifdef KEX_HAS_PING		/* 9.5 and later */
/* Returns the bytes of a ping to a server with a banner that takes pings. */
static size_t
ping(const char *banner, int segment)
{
	return quick_ping_bytes(banner, KEX_HAS_PING, SSH_NEW_OPENSSH,
	    segment);
}

static void
pings(void)
{
	TEST_START("QuickStart: a ping where sshd keeps its answer back");
	ASSERT_SIZE_T_EQ(ping("SSH-2.0-OpenSSH_10.0", 1448), 1448);
	ASSERT_SIZE_T_EQ(ping("SSH-2.0-OpenSSH_10.0p2 Debian-7", 536), 536);
	ASSERT_SIZE_T_EQ(ping("SSH-2.0-OpenSSH_9.9p1", QUICK_PING_MAX),
	    QUICK_PING_MAX);
	ASSERT_SIZE_T_EQ(ping("SSH-2.0-OpenSSH_9.9p1", QUICK_PING_MAX + 1),
	    0);
	ASSERT_SIZE_T_EQ(ping("SSH-2.0-OpenSSH_9.9p1", 0), 0);
	ASSERT_SIZE_T_EQ(ping("SSH-2.0-OpenSSH_9.9p1", -1), 0);
	ASSERT_SIZE_T_EQ(ping("SSH-2.0-OpenSSH_10.1", 1448), 0);
	ASSERT_SIZE_T_EQ(ping("SSH-2.0-OpenSSH_11.0", 1448), 0);
	ASSERT_SIZE_T_EQ(ping("SSH-2.0-OpenSSH_for_Windows_9.5", 1448), 0);
	ASSERT_SIZE_T_EQ(ping("SSH-2.0-OpenSSH_", 1448), 0);
	ASSERT_SIZE_T_EQ(ping("SSH-2.0-dropbear_2022.83", 1448), 0);
	ASSERT_SIZE_T_EQ(quick_ping_bytes("SSH-2.0-OpenSSH_10.0", 0,
	    SSH_NEW_OPENSSH, 1448), 0);
	ASSERT_SIZE_T_EQ(quick_ping_bytes("SSH-2.0-OpenSSH_10.0",
	    KEX_HAS_PING, 0, 1448), 0);
	TEST_DONE();
}
#else
static void
pings(void)
{
}
#endif

static void
option(void)
{
	struct bdp_options o;

	TEST_START("QuickStart, the option");
	bdp_options_init(&o);
	ASSERT_PTR_EQ((void *)bdp_options_parse(&o, "quickstart", "Always", 0),
	    NULL);
	ASSERT_PTR_EQ((void *)bdp_options_parse(&o, "quickstart", "yes", 1),
	    NULL);
	ASSERT_PTR_EQ((void *)bdp_options_parse(&o, "quickstart", "no", 1),
	    NULL);
	ASSERT_INT_EQ(o.quick_start, QUICK_START_YES);
	ASSERT_STRING_EQ(bdp_options_quick_start(o.quick_start), "yes");
	ASSERT_STRING_EQ(bdp_options_parse(&o, "quickstart", NULL, 1),
	    "must be no, yes or always");
	bdp_options_init(&o);
	bdp_options_fill(&o);
	ASSERT_INT_EQ(o.quick_start, QUICK_START_YES);
	bdp_options_free(&o);
	TEST_DONE();
}

/* Logs messages, of which some are held. Returns what they wrote. */
static char *
logged(void)
{
	static char text[1024];
	FILE *f = tmpfile();
	int saved = dup(STDERR_FILENO);
	size_t len;

	ASSERT_PTR_NE(f, NULL);
	ASSERT_INT_NE(dup2(fileno(f), STDERR_FILENO), -1);
	log_init("unit", SYSLOG_LEVEL_INFO, SYSLOG_FACILITY_AUTH, 1);
	quick_hold_begin();
	error("dropped");
	quick_hold_end(1);
	quick_hold_begin();
	error("held");
	quick_hold_end(0);
	quick_hold_begin();
	error("before");
	error("Disconnecting of x");
	error("after");
	quick_hold_end(0);
	ASSERT_INT_NE(dup2(saved, STDERR_FILENO), -1);
	close(saved);
	rewind(f);
	len = fread(text, 1, sizeof(text) - 1, f);
	text[len] = '\0';
	fclose(f);
	return text;
}

static void
messages(void)
{
	struct timespec start, end;
	int64_t took_ns, least_ns = INT64_MAX;
	int i;

	TEST_START("QuickStart, messages that are held");
	ASSERT_STRING_EQ(logged(), "held\r\nbefore\r\n"
	    "Disconnecting of x\r\nafter\r\n");
	TEST_DONE();

	TEST_START("QuickStart, an ssh without scp waits for none");
	for (i = 0; i < 5; i++) {
		clock_gettime(CLOCK_MONOTONIC, &start);
		ASSERT_INT_EQ(quick_pair_offer(), 0);
		clock_gettime(CLOCK_MONOTONIC, &end);
		took_ns = (end.tv_sec - start.tv_sec) * 1000000000LL +
		    end.tv_nsec - start.tv_nsec;
		least_ns = MINIMUM(least_ns, took_ns);
	}
	ASSERT_INT_LT(least_ns / 1000000, QUICK_PAIR_MS);
	TEST_DONE();
}

/* Tells ssh of a descriptor and an inode. Returns what it does not need. */
static int
take(int fd, unsigned long long ino, const char *behind)
{
	char text[64];

	snprintf(text, sizeof(text), "%d.%llu%s", fd, ino, behind);
	ASSERT_INT_EQ(setenv(QUICK_PAIR_ENV, text, 1), 0);
	return quick_pair_take();
}

/*
 * Calls fn() in a process of its own, as it may take or close descriptors.
 * Returns that process's status: 0 if fn() returned 0.
 */
static int
apart(int (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(fn());
	ASSERT_INT_EQ(waitpid(pid, &status, 0), pid);
	return status;
}

/* Returns 0 if only the right socket is taken. */
static int
take_right(void)
{
	const int lowest = STDERR_FILENO + 1;
	int sv[2], other[2], kept;
	struct stat st, other_st;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == -1 ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, other) == -1 ||
	    fstat(sv[1], &st) == -1 || fstat(other[1], &other_st) == -1 ||
	    (kept = fcntl(sv[1], F_DUPFD, 20)) == -1)
		return 1;
	/* Inherited by way of an ssh that does not know of it */
	if (take(sv[1], other_st.st_ino, "") != lowest ||
	    quick_pair_is_there() || getenv(QUICK_PAIR_ENV) != NULL)
		return 2;
	if (take(kept, st.st_ino, "x") != lowest ||
	    take(-1, st.st_ino, "") != lowest ||
	    take(STDIN_FILENO, st.st_ino, "") != lowest ||
	    take(99, st.st_ino, "") != lowest || quick_pair_is_there())
		return 3;
	if (setenv(QUICK_PAIR_ENV, "20", 1) != 0 ||
	    quick_pair_take() != lowest || quick_pair_is_there())
		return 4;
	if (take(kept, st.st_ino, "") != lowest + 1 ||
	    !quick_pair_is_there() || getenv(QUICK_PAIR_ENV) != NULL)
		return 5;
	return 0;
}

/* Returns 0 if scp's child finds the socket that scp has made. */
static int
take_scps(void)
{
	quick_pair_open();
	quick_pair_child();
	return quick_pair_take() == STDERR_FILENO + 2 &&
	    quick_pair_is_there() ? 0 : 1;
}

static void
pairs(void)
{
	TEST_START("QuickStart: ssh takes the socket of its scp only");
	ASSERT_INT_EQ(apart(take_right), 0);
	ASSERT_INT_EQ(apart(take_scps), 0);
	TEST_DONE();
}

/*
 * Returns 0 if the mark of a guess is taken back that was not made: GSSAPI's
 * key exchanges come before those of the option, as the proposal shows. The
 * next login may guess.
 */
static int
takes_back(void)
{
	char folder[] = "/tmp/quick.XXXXXX", hosts[64], path[64];
	char *proposal[PROPOSAL_MAX] = { "gss-x,k1" };
	struct quick_entry *e;
	struct conn conn;
	int r = 0;

	if (mkdtemp(folder) == NULL)
		return 1;
	snprintf(hosts, sizeof(hosts), "%s/known_hosts", folder);
	snprintf(path, sizeof(path), "%s/quick_hosts", folder);
	conn_open(&conn, 0, 0, 0);
	quick_login_start(QUICK_START_YES, hosts, "h", "u");
	if ((e = quick_login_entry()) == NULL ||
	    quick_entry_new(e, "h", "u") != 0 ||
	    quick_entry_set_kex(e, "k1", "k1,k2", "banner") != 0)
		r = 2;
	else if (!quick_kex_begin(conn.ssh, "k1,k2", 0, 0, 0) || e->since == 0)
		r = 3;
	else if (conn.ssh->kex->setup(conn.ssh, proposal) != 0 ||
	    e->since != 0)
		r = 4;
	/* And with what is written next, the file has it. */
	else if (quick_login_save() != 0 ||
	    quick_known_load(&known, path) != 0 || known.num != 1 ||
	    known.entry[0].since != 0)
		r = 5;
	unlink(path);
	rmdir(folder);
	return r;
}

static void
no_guess(void)
{
	TEST_START("key exchange, a guess that is not made after all");
	ASSERT_INT_EQ(apart(takes_back), 0);
	TEST_DONE();
}

/* What an early session sends of its input */
static void
early_data(void)
{
	struct conn conn;
	Channel *c;
	int fds[2];

	TEST_START("QuickStart: data that was refused is sent again, in order");
	conn_open(&conn, 0, 0, 0);
	ASSERT_INT_EQ(pipe(fds), 0);
	c = conn_channel(&conn, "session");
	c->rfd = fds[0];
	ASSERT_INT_EQ(write(fds[1], "one", 3), 3);
	quick_data_send(conn.ssh, c);
	quick_data_send(conn.ssh, c);	/* nothing is there twice */
	quick_data_again(c);		/* it is on its way */
	ASSERT_SIZE_T_EQ(sshbuf_len(c->input), 0);
	quick_data_refused();
	quick_data_taken();		/* that was another session */
	quick_data_again(c);
	ASSERT_SIZE_T_EQ(sshbuf_len(c->input), 3);
	ASSERT_MEM_EQ(sshbuf_ptr(c->input), "one", 3);
	quick_data_again(c);
	ASSERT_SIZE_T_EQ(sshbuf_len(c->input), 3);
	ASSERT_INT_EQ(write(fds[1], "two", 3), 3);
	quick_data_send(conn.ssh, c);	/* behind "one", not in front */
	quick_data_refused();
	quick_data_again(c);
	ASSERT_SIZE_T_EQ(sshbuf_len(c->input), 3);
	sshbuf_reset(c->input);
	quick_data_send(conn.ssh, c);
	quick_data_taken();
	quick_data_refused();
	quick_data_again(c);
	ASSERT_SIZE_T_EQ(sshbuf_len(c->input), 0);
	c->rfd = -1;
	close(fds[0]);
	close(fds[1]);
	conn_close(&conn);
	TEST_DONE();
}

/* Without credentials, built with GSSAPI or without it */
static void
gssapi(void)
{
	TEST_START("quick gss");
	ASSERT_INT_EQ(setenv("KRB5CCNAME", "FILE:/nonexistent", 1), 0);
	ASSERT_INT_EQ(setenv("KRB5_CLIENT_KTNAME", "/nonexistent", 1), 0);
	ASSERT_INT_EQ(quick_gss_is_idle("gssapi-with-mic"), 1);
	ASSERT_INT_EQ(quick_gss_is_idle("gssapi-keyex"), 1);
	ASSERT_INT_EQ(quick_gss_is_idle("publickey"), 0);
	ASSERT_INT_EQ(quick_gss_is_idle("hostbased"), 0);
	ASSERT_INT_EQ(quick_gss_is_idle("gss"), 0);
	TEST_DONE();
}

void
test_quick_start(void)
{
	gssapi();
	messages();
	lines();
	guesses();
	entries();
	files();
	merges();
	together();
	last();
	decisions();
	pings();
	pairs();
	no_guess();
	early_data();
	option();
}
