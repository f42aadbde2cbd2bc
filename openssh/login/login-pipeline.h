/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef LOGIN_PIPELINE_H
#define LOGIN_PIPELINE_H

struct ssh;

/*
 * A client may send authentication requests before the replies to earlier ones
 * (RFC 4252, 5.1). ssh pipelines SSH2_MSG_SERVICE_REQUEST, the request "none"
 * and the query for its first key, if the server is known to read these in
 * order. ssh signs nothing before the server has accepted the key.
 */

/*
 * Returns 1 if the peer with this identification string ("SSH-2.0-...") is
 * known to answer pipelined requests one by one, else 0. Pure.
 */
int	 login_pipeline_peer(const char *banner);

/*
 * Returns 1 if an authentication method lacks credentials (GSSAPI without a
 * ticket), else 0.
 */
int	 login_pipeline_lacks_credentials(const char *method);

/* Records that the login is pipelined. */
void	 login_pipeline_begin(struct ssh *ssh);

/*
 * Call this after ssh_dispatch_init() for the time after the login: makes ssh
 * ignore late replies to pipelined requests.
 */
void	 login_pipeline_end(struct ssh *ssh);

#endif /* LOGIN_PIPELINE_H */
