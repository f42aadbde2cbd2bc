/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <stdint.h>
#include <string.h>

#include "sshbuf.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-reply-form.h"

/* A request that lanes have no need of, or whose reply is parsed with care */
#define ANY		255

/*
 * Returns the type of a request's reply that is no status; 0: there is none;
 * ANY: it is not known here.
 */
static u_char
answer(u_char request)
{
	switch (request) {
	case SSH2_FXP_OPEN:
	case SSH2_FXP_OPENDIR:
		return SSH2_FXP_HANDLE;
	case SSH2_FXP_READ:
		return SSH2_FXP_DATA;
	case SSH2_FXP_STAT:
	case SSH2_FXP_LSTAT:
	case SSH2_FXP_FSTAT:
		return SSH2_FXP_ATTRS;
	case SSH2_FXP_READDIR:
	case SSH2_FXP_REALPATH:
	case SSH2_FXP_READLINK:
	case SSH2_FXP_EXTENDED:
		return ANY;
	default:
		return 0;
	}
}

int
sftp_reply_is_formed(u_char request, const struct sshbuf *msg)
{
	struct sshbuf *m = sshbuf_fromb((struct sshbuf *)msg);
	const u_char *data;
	u_int status;
	size_t len;
	u_char type = 0;
	int ok;
	Attrib a;

	if (m == NULL)
		return 0;
	ok = sshbuf_get_u8(m, &type) == 0 && sshbuf_get_u32(m, NULL) == 0;
	if (!ok)
		type = 0;
	else if (type == SSH2_FXP_STATUS)
		ok = sshbuf_get_u32(m, &status) == 0 &&
		    (status != SSH2_FX_OK || answer(request) == 0 ||
		    answer(request) == ANY);
	else if (answer(request) == ANY)
		;
	else if (type != answer(request))
		ok = 0;
	else if (type == SSH2_FXP_ATTRS)
		ok = decode_attrib(m, &a) == 0;
	else
		ok = sshbuf_get_string_direct(m, &data, &len) == 0 &&
		    len != 0;
	sshbuf_free(m);
	return ok;
}

u_char
sftp_reply_request(const struct sshbuf *m)
{
	static const char fsync_name[] = "fsync@openssh.com";
	const u_char *p = sshbuf_ptr(m);
	const size_t name_len = sizeof(fsync_name) - 1;

	if (p[0] == SSH2_FXP_EXTENDED && sshbuf_len(m) >= 9 + name_len &&
	    PEEK_U32(p + 5) == name_len &&
	    memcmp(p + 9, fsync_name, name_len) == 0)
		return SSH2_FXP_FSETSTAT;
	return p[0];
}

/* The least length of a READ: type, id, and at its end the bytes to read */
#define READ_MIN	(1 + 4 + 4)

size_t
sftp_reply_data_max(const struct sshbuf *m)
{
	const u_char *p = sshbuf_ptr(m);

	switch (sftp_reply_request(m)) {
	case SSH2_FXP_READ:
		return sshbuf_len(m) < READ_MIN ? 0 :
		    PEEK_U32(p + sshbuf_len(m) - 4);
	case SSH2_FXP_WRITE:
	case SSH2_FXP_CLOSE:
	case SSH2_FXP_SETSTAT:
	case SSH2_FXP_FSETSTAT:
		return 0;
	default:
		return SFTP_MAX_MSG_LENGTH;
	}
}
