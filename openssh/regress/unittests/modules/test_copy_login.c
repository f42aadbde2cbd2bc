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


/* What ssh notes of its login, for further connections. */

#include "includes.h"

#include <sys/types.h>
#include <sys/wait.h>
#include <malloc.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "copy-login.h"
#include "kex.h"
#include "packet.h"
#include "sshkey.h"

void test_copy_login(void);

/*
 * In a process of its own, as a method that was accepted is never forgotten:
 * returns whether a login asks that has the key and a method in front of it.
 */
static int
asks_behind(const struct sshkey *key, const char *method)
{
	struct sshkey plain = { .type = KEY_ED25519 };
	int status;
	pid_t pid = fork();

	ASSERT_INT_NE(pid, -1);
	if (pid == 0) {
		copy_login_signed(key, 0, 0);
		copy_login_partly(method);
		copy_login_signed(&plain, 0, 0);
		copy_login_done("publickey");
		_exit(copy_login_asks());
	}
	ASSERT_INT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_INT_NE(WIFEXITED(status), 0);
	return WEXITSTATUS(status);
}

static void
test_asks(void)
{
	struct sshkey plain = { .type = KEY_ED25519 };
	struct sshkey touch = { .type = KEY_ED25519_SK };
	struct sshkey token = { .type = KEY_RSA, .flags = SSHKEY_FLAG_EXT };

	TEST_START("copy login: a key that nobody is asked for");
	copy_login_signed(&plain, 0, 5);
	ASSERT_INT_EQ(copy_login_asks(), 0);
	copy_login_signed(&plain, 1, 0.1);
	copy_login_done("publickey");
	ASSERT_INT_EQ(copy_login_asks(), 0);
	TEST_DONE();

	TEST_START("copy login: a key that wants a touch, a token, an agent "
	    "that may ask");
	copy_login_signed(&touch, 0, 0);
	ASSERT_INT_EQ(copy_login_asks(), 1);
	copy_login_signed(&token, 0, 0);
	ASSERT_INT_EQ(copy_login_asks(), 1);
	copy_login_signed(&plain, 1, 1);
	ASSERT_INT_EQ(copy_login_asks(), 1);
	copy_login_signed(&plain, 1, 0);
	ASSERT_INT_EQ(copy_login_asks(), 0);
	TEST_DONE();

	TEST_START("copy login: methods");
	copy_login_done("password");
	ASSERT_INT_EQ(copy_login_asks(), 1);
	copy_login_done("hostbased");
	ASSERT_INT_EQ(copy_login_asks(), 0);
	copy_login_done("keyboard-interactive");
	ASSERT_INT_EQ(copy_login_asks(), 1);
	copy_login_done("gssapi-with-mic");
	ASSERT_INT_EQ(copy_login_asks(), 0);
	TEST_DONE();

	TEST_START("copy login: a method that was not enough");
	copy_login_partly("hostbased");
	copy_login_signed(&plain, 0, 0);
	copy_login_partly("publickey");
	copy_login_done("publickey");
	ASSERT_INT_EQ(copy_login_asks(), 0);
	ASSERT_INT_EQ(asks_behind(&touch, "publickey"), 1);
	ASSERT_INT_EQ(asks_behind(&plain, "password"), 1);
	ASSERT_INT_EQ(asks_behind(&plain, "publickey"), 0);
	TEST_DONE();

	TEST_START("copy login: a passphrase");
	copy_login_asked();
	ASSERT_INT_EQ(copy_login_asks(), 1);
	copy_login_done("publickey");
	ASSERT_INT_EQ(copy_login_asks(), 1);
	TEST_DONE();
}

static void
test_known(void)
{
	size_t before, i;
	char path[64], name[256], *names[] = { "/dev/null", path };
	struct copy_login_files files = { names, names, 1, 1, 0 };
	struct kex kex = { 0 };
	struct ssh ssh = { .kex = &kex };
	struct sshkey *other;
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/test_copy_login.%ld",
	    (long)getpid());
	ASSERT_INT_EQ(sshkey_generate(KEY_ED25519, 0, &kex.initial_hostkey), 0);
	ASSERT_INT_EQ(sshkey_generate(KEY_ED25519, 0, &other), 0);
	ASSERT_PTR_NE(f = fopen(path, "w"), NULL);
	fprintf(f, "host ");
	ASSERT_INT_EQ(sshkey_write(kex.initial_hostkey, f), 0);
	fprintf(f, "\n[host]:22 ");
	ASSERT_INT_EQ(sshkey_write(other, f), 0);
	fprintf(f, "\n");
	ASSERT_INT_EQ(fclose(f), 0);

	TEST_START("copy login: a host's key that is in no file");
	ASSERT_INT_EQ(copy_login_is_known(&ssh, "host", &files), 0);
	files.num_user = 2;
	before = mallinfo2().uordblks;
	for (i = 0; i < 100; i++)
		ASSERT_INT_EQ(copy_login_is_known(&ssh, "host", &files), 1);
	/* Less than what one of these calls has for a while */
	ASSERT_SIZE_T_LT(mallinfo2().uordblks, before + 100 * 64);
	files.num_user = 0;
	files.num_global = 2;
	ASSERT_INT_EQ(copy_login_is_known(&ssh, "host", &files), 1);
	ASSERT_INT_EQ(copy_login_is_known(&ssh, "hosts", &files), 0);
	/* Another key has that name, but the name alone is there, too. */
	ASSERT_INT_EQ(copy_login_is_known(&ssh, "[host]:22", &files), 1);
	ASSERT_INT_EQ(copy_login_is_known(&ssh, "[host]:2222", &files), 1);
	ASSERT_INT_EQ(copy_login_is_known(&ssh, "[hosts]:22", &files), 0);
	memset(name, 'h', sizeof(name));
	name[0] = '[';
	strlcpy(name + sizeof(name) - 4, "]:1", 4);
	before = mallinfo2().uordblks;
	for (i = 0; i < 100; i++)
		ASSERT_INT_EQ(copy_login_is_known(&ssh, name, &files), 0);
	ASSERT_SIZE_T_LT(mallinfo2().uordblks, before + 100 * 64);
	ASSERT_INT_EQ(copy_login_is_known(&ssh, "[host", &files), 0);
	files.elsewhere = 1;
	ASSERT_INT_EQ(copy_login_is_known(&ssh, "hosts", &files), 1);
	TEST_DONE();
	unlink(path);
	sshkey_free(other);
	sshkey_free(kex.initial_hostkey);
}

void
test_copy_login(void)
{
	test_asks();
	test_known();
}
