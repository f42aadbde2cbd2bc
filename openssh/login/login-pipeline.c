/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <string.h>

#include "dispatch.h"
#include "kex.h"
#include "log.h"
#include "login-pipeline.h"
#include "match.h"
#include "packet.h"
#include "ssh2.h"
#ifdef GSSAPI
# include "ssh-gss.h"
#endif

/*
 * Servers that hpn-tests/peers has shown to read requests in order, and to
 * ignore the rest once they have accepted one (those of Go and libssh end the
 * connection)
 */
static const char peers[] = "SSH-2.0-OpenSSH_*,SSH-2.0-dropbear*,"
    "SSH-2.0-paramiko_*,SSH-2.0-tinyssh*";

/* In kex->flags: the login was pipelined. */
#define KEX_PIPELINED	0x40000

int
login_pipeline_peer(const char *banner)
{
	return match_pattern_list(banner, peers, 0) == 1;
}

int
login_pipeline_lacks_credentials(const char *method)
{
#ifdef GSSAPI
	gss_cred_id_t cred = GSS_C_NO_CREDENTIAL;
	OM_uint32 major, minor;

	if (strncmp(method, "gssapi-", 7) != 0)
		return 0;
	major = gss_acquire_cred(&minor, GSS_C_NO_NAME, 0, GSS_C_NO_OID_SET,
	    GSS_C_INITIATE, &cred, NULL, NULL);
	if (cred != GSS_C_NO_CREDENTIAL)
		(void)gss_release_cred(&minor, &cred);
	return GSS_ERROR(major) == GSS_S_NO_CRED;
#else
	return 0;
#endif
}

void
login_pipeline_begin(struct ssh *ssh)
{
	ssh->kex->flags |= KEX_PIPELINED;
}

static int
ignore(int type, uint32_t seq, struct ssh *ssh)
{
	debug2_f("late answer of type %d", type);
	return 0;
}

void
login_pipeline_end(struct ssh *ssh)
{
	/* A client of a master's connection has no kex of its own. */
	if (ssh->kex == NULL || (ssh->kex->flags & KEX_PIPELINED) == 0)
		return;
	ssh_dispatch_set(ssh, SSH2_MSG_USERAUTH_FAILURE, &ignore);
	ssh_dispatch_set(ssh, SSH2_MSG_USERAUTH_PK_OK, &ignore);
}
