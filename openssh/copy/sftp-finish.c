/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include "log.h"
#include "sshbuf.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-finish.h"

u_int
sftp_finish_add(struct sftp_finish *rest, u_int id)
{
	if (rest->n == sizeof(rest->id) / sizeof(rest->id[0]))
		fatal_f("more than %u requests", rest->n);
	rest->status[rest->n] = SSH2_FX_OK;
	return rest->id[rest->n++] = id;
}

int
sftp_finish_got(struct sftp_finish *rest, u_int id, u_int status)
{
	u_int i;

	for (i = 0; i < rest->n; i++) {
		if (rest->id[i] != id)
			continue;
		rest->status[i] = status;
		return 1;
	}
	return 0;
}

int
sftp_finish_take(struct sftp_finish *rest, u_int id, struct sshbuf *msg)
{
	u_int status;
	int r;

	if (!sftp_finish_got(rest, id, SSH2_FX_OK))
		return 0;
	if ((r = sshbuf_get_u32(msg, &status)) != 0)
		fatal_fr(r, "parse status");
	debug3("SSH2_FXP_STATUS %u", status);
	return sftp_finish_got(rest, id, status);
}

int
sftp_finish_end(const struct sftp_finish *rest)
{
	u_int i;

	for (i = 0; i + 1 < rest->n; i++) {
		if (rest->status[i] != SSH2_FX_OK)
			error("remote fsetstat: %s", fx2txt(rest->status[i]));
	}
	if (rest->n == 0 || rest->status[i] == SSH2_FX_OK)
		return 0;
	error("close remote: %s", fx2txt(rest->status[i]));
	return -1;
}
