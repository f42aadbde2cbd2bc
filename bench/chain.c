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

/*
 * chain seal CIPHER | open CIPHER | copy: one process of those that SSH has its
 * data go through, and nothing else of SSH: no channels, no windows, no login.
 * What they take together is what ssh and scp could come down to. Standard
 * input to standard output: sealed in packets of a length, the data and a tag;
 * opened again; or as it is. CIPHER is an AEAD of OpenSSL's. The key is no
 * secret.
 */

#include <sys/types.h>

#include <err.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/evp.h>

#define DATA_MAX	(32 * 1024)	/* bytes of a packet, as in SSH */
#define LEN_LEN		4
#define TAG_LEN		16
#define IV_LEN		12
#define PACKET_MAX	(LEN_LEN + DATA_MAX + TAG_LEN)

struct seal {
	EVP_CIPHER_CTX	*ctx;
	uint64_t	 packets;	/* so far */
};

static size_t
read_some(u_char *buf, size_t len)
{
	ssize_t n;

	do {
		n = read(STDIN_FILENO, buf, len);
	} while (n == -1 && errno == EINTR);
	if (n == -1)
		err(1, "read");
	return n;
}

static void
write_all(const u_char *buf, size_t len)
{
	ssize_t n;

	for (; len > 0; buf += n, len -= n) {
		n = write(STDOUT_FILENO, buf, len);
		if (n == -1 && errno == EINTR)
			n = 0;
		else if (n == -1)
			err(1, "write");
	}
}

static void
start(struct seal *s, const char *name, int sealing)
{
	static const u_char key[EVP_MAX_KEY_LENGTH];
	const EVP_CIPHER *cipher = EVP_get_cipherbyname(name);

	if (cipher == NULL ||
	    (EVP_CIPHER_flags(cipher) & EVP_CIPH_FLAG_AEAD_CIPHER) == 0 ||
	    EVP_CIPHER_iv_length(cipher) != IV_LEN)
		errx(1, "no such AEAD: %s", name);
	s->packets = 0;
	if ((s->ctx = EVP_CIPHER_CTX_new()) == NULL ||
	    EVP_CipherInit_ex(s->ctx, cipher, NULL, key, NULL, sealing) != 1)
		errx(1, "OpenSSL won't have %s", name);
}

/* Each packet has a nonce of its own; its length is authenticated. */
static int
begin(struct seal *s, const u_char *packet)
{
	u_char iv[IV_LEN] = { 0 };
	int n;

	s->packets++;
	memcpy(iv, &s->packets, sizeof(s->packets));
	return EVP_CipherInit_ex(s->ctx, NULL, NULL, NULL, iv, -1) == 1 &&
	    EVP_CipherUpdate(s->ctx, NULL, &n, packet, LEN_LEN) == 1;
}

static void
seal(struct seal *s)
{
	static u_char data[DATA_MAX], packet[PACKET_MAX];
	u_char *out = packet + LEN_LEN;
	uint32_t len;
	int n;

	while ((len = read_some(data, sizeof(data))) != 0) {
		memcpy(packet, &len, LEN_LEN);
		if (!begin(s, packet) ||
		    EVP_CipherUpdate(s->ctx, out, &n, data, len) != 1 ||
		    EVP_CipherFinal_ex(s->ctx, out + n, &n) != 1 ||
		    EVP_CIPHER_CTX_ctrl(s->ctx, EVP_CTRL_AEAD_GET_TAG, TAG_LEN,
		    out + len) != 1)
			errx(1, "a packet wasn't sealed");
		write_all(packet, LEN_LEN + len + TAG_LEN);
	}
}

/* The packet's data into out; the bytes that it took, 0 if more must come */
static size_t
open_one(struct seal *s, u_char *packet, size_t have, u_char *out)
{
	u_char *in = packet + LEN_LEN;
	uint32_t len;
	int n;

	if (have < LEN_LEN)
		return 0;
	memcpy(&len, packet, LEN_LEN);
	if (len > DATA_MAX)
		errx(1, "a packet of %u bytes", len);
	if (have < LEN_LEN + len + TAG_LEN)
		return 0;
	if (!begin(s, packet) ||
	    EVP_CIPHER_CTX_ctrl(s->ctx, EVP_CTRL_AEAD_SET_TAG, TAG_LEN,
	    in + len) != 1 ||
	    EVP_CipherUpdate(s->ctx, out, &n, in, len) != 1 ||
	    EVP_CipherFinal_ex(s->ctx, out + n, &n) != 1)
		errx(1, "a packet is not what was sealed");
	write_all(out, len);
	return LEN_LEN + len + TAG_LEN;
}

static void
open_all(struct seal *s)
{
	static u_char buf[2 * PACKET_MAX], data[DATA_MAX];
	size_t have = 0, at, n;

	while ((n = read_some(buf + have, sizeof(buf) - have)) != 0) {
		have += n;
		for (at = 0; (n = open_one(s, buf + at, have - at, data)) != 0;
		    at += n)
			;
		have -= at;
		memmove(buf, buf + at, have);
	}
	if (have != 0)
		errx(1, "the last packet is cut short");
}

static void
copy(void)
{
	static u_char data[DATA_MAX];
	size_t n;

	while ((n = read_some(data, sizeof(data))) != 0)
		write_all(data, n);
}

int
main(int argc, char **argv)
{
	struct seal s;

	if (argc == 2 && strcmp(argv[1], "copy") == 0)
		copy();
	else if (argc == 3 && strcmp(argv[1], "seal") == 0) {
		start(&s, argv[2], 1);
		seal(&s);
	} else if (argc == 3 && strcmp(argv[1], "open") == 0) {
		start(&s, argv[2], 0);
		open_all(&s);
	} else {
		fprintf(stderr,
		    "usage: chain seal CIPHER | open CIPHER | copy\n");
		exit(1);
	}
	exit(0);
}
