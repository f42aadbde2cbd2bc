/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>
#include <sys/stat.h>

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef HAVE_SHA2_H
# include <sha2.h>
#endif

#include "misc.h"
#include "sshbuf.h"
#include "ssherr.h"
#include "sftp-check-file.h"

#define READ_SIZE	(64 * 1024)	/* bytes, on the stack */

/* A file to digest, and the client that wants it */
struct source {
	int fd;			/* descriptor of the file */
	int in;			/* descriptor of the client's requests, or -1 */
	int out;		/* descriptor for our replies, or -1 */
};

/*
 * Returns 1 if the client has closed either direction, even if some of its
 * requests are still unread.
 */
static int
client_gone(const struct source *s)
{
#ifdef POLLRDHUP
	const short hangup = POLLRDHUP;
#else
	const short hangup = 0;
#endif
	struct pollfd pfd[2] = { { .fd = s->in, .events = hangup },
	    { .fd = s->out } };

	return poll(pfd, 2, 0) > 0;
}

/*
 * Puts the digest of up to len bytes from offset into d; fewer at the end of
 * the file. *got is the number of bytes digested.
 */
static int
digest(const struct source *s, uint64_t offset, uint64_t len,
    u_char d[SFTP_CHECK_LEN], uint64_t *got)
{
	u_char buf[READ_SIZE];
	SHA2_CTX ctx;
	ssize_t n = 1;

	SHA256Init(&ctx);
	for (*got = 0; *got < len && n != 0; ) {
		if (client_gone(s))
			return SSH_ERR_CONN_CLOSED;
		n = pread(s->fd, buf, MINIMUM(len - *got, READ_SIZE),
		    offset + *got);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return SSH_ERR_SYSTEM_ERROR;
		SHA256Update(&ctx, buf, n);
		*got += n;
	}
	SHA256Final(d, &ctx);
	return 0;
}

static int
digest_blocks(const struct source *s, uint64_t start, uint64_t len,
    uint32_t block, struct sshbuf *reply, uint64_t *total)
{
	u_char d[SFTP_CHECK_LEN];
	uint64_t size, got;
	u_int n = 0;
	int r;

	do {
		size = block == 0 ? len : MINIMUM(len, block);
		if ((r = digest(s, start, size, d, &got)) != 0)
			return r;
		if (got == 0 && block != 0)
			break;
		if (n++ == SFTP_CHECK_MAX)
			return SSH_ERR_INVALID_ARGUMENT;
		if ((r = sshbuf_put(reply, d, sizeof(d))) != 0)
			return r;
		start += got;
		len -= got;
		*total += got;
	} while (len != 0 && got == size);
	return 0;
}

/*
 * Checks the type of the file, and limits *len to the end of the file. A digest
 * of a few bytes reveals them: only at the end of the file may a block be
 * shorter than SFTP_CHECK_BLOCK_MIN. Returns 0, INVALID_ARGUMENT, or
 * SYSTEM_ERROR with read(2)'s errno.
 */
static int
check_range(int fd, uint64_t start, uint64_t *len, uint32_t block)
{
	struct stat st;
	uint64_t size, last;
	u_char byte;

	if (fstat(fd, &st) == -1)
		return SSH_ERR_SYSTEM_ERROR;
	if (!S_ISREG(st.st_mode) || start > INT64_MAX)
		return SSH_ERR_INVALID_ARGUMENT;
	if (pread(fd, &byte, 1, 0) == -1)
		return SSH_ERR_SYSTEM_ERROR;
	size = (uint64_t)st.st_size > start ? st.st_size - start : 0;
	if (*len == 0 || *len > size)
		*len = size;
	last = block == 0 ? *len : *len % block;
	if (*len < size && last < SFTP_CHECK_BLOCK_MIN &&
	    (block == 0 || last != 0))
		return SSH_ERR_INVALID_ARGUMENT;
	return *len <= SFTP_CHECK_BYTES ? 0 : SSH_ERR_INVALID_ARGUMENT;
}

int
sftp_check_file(int fd, uint64_t start, uint64_t len, uint32_t block,
    int in, int out, struct sshbuf *reply, uint64_t *total)
{
	struct source s = { .fd = fd, .in = in, .out = out };
	int r;

	*total = 0;
	if (block != 0 && block < SFTP_CHECK_BLOCK_MIN)
		return SSH_ERR_INVALID_ARGUMENT;
	if ((r = check_range(fd, start, &len, block)) != 0)
		return r;
	return digest_blocks(&s, start, len, block, reply, total);
}

int
sftp_check_reply(struct sshbuf *m, u_char d[SFTP_CHECK_LEN])
{
	char *s;
	int r;

	if ((r = sshbuf_get_cstring(m, &s, NULL)) != 0)
		return r;
	/* One of two drafts has the extension's name here. */
	if (strcmp(s, "check-file") == 0) {
		free(s);
		if ((r = sshbuf_get_cstring(m, &s, NULL)) != 0)
			return r;
	}
	r = strcmp(s, SFTP_CHECK_ALG) == 0 && sshbuf_len(m) == SFTP_CHECK_LEN ?
	    sshbuf_get(m, d, SFTP_CHECK_LEN) : SSH_ERR_INVALID_FORMAT;
	free(s);
	return r;
}
