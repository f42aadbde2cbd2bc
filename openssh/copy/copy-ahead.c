/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "sshbuf.h"
#include "ssherr.h"
#include "xmalloc.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-conn.h"

#define AHEAD_MAX	3	/* limits, and two requests with a path */

struct copy_ahead {
	u_int n;		/* requests that were sent */
	struct {
		u_char type;
		char *text;	/* path, or name of the extension */
		u_int id;	/* 0: not sent */
		u_int due_id;	/* with which the program waits for it, or 0 */
		struct sshbuf *reply;	/* NULL: not received, or passed on */
	} sent[AHEAD_MAX];
};

int copy_ahead_off;

static struct copy_ahead *noted;	/* for the next connection, or NULL */

static void
add(u_char type, const char *text)
{
	u_int i;

	if (noted == NULL)
		noted = xcalloc(1, sizeof(*noted));
	/* Each is sent once, so the text identifies it. */
	for (i = 0; i < noted->n; i++) {
		if (noted->sent[i].type == type &&
		    strcmp(noted->sent[i].text, text) == 0)
			return;
	}
	if (noted->n == AHEAD_MAX)
		return;
	noted->sent[noted->n].type = type;
	noted->sent[noted->n++].text = xstrdup(text);
}

void
copy_ahead_want(u_char type, const char *path)
{
	/* The program needs other requests before these. */
	if (copy_ahead_off || *path == '~' || strpbrk(path, "*?[]{}\\") != NULL)
		return;
	if (noted == NULL)
		add(SSH2_FXP_EXTENDED, "limits@openssh.com");
	add(type, *path == '\0' ? "." : path);
}

int
copy_ahead_next(struct sftp_conn *conn, struct sshbuf *m)
{
	struct copy_ahead *ahead = conn->ahead;
	u_int i;
	int r;

	if (ahead == NULL && (ahead = conn->ahead = noted) == NULL)
		return 0;
	noted = NULL;
	for (i = 0; i < ahead->n && ahead->sent[i].id != 0; i++)
		;
	if (i == ahead->n)
		return 0;
	ahead->sent[i].id = conn->msg_id++;
	if ((r = sshbuf_put_u8(m, ahead->sent[i].type)) != 0 ||
	    (r = sshbuf_put_u32(m, ahead->sent[i].id)) != 0 ||
	    (r = sshbuf_put_cstring(m, ahead->sent[i].text)) != 0)
		fatal_fr(r, "compose");
	return 1;
}

int
copy_ahead_take(struct sftp_conn *conn, const struct sshbuf *m)
{
	struct copy_ahead *ahead = conn->ahead;
	const size_t front = 1 + 4 + 4;
	const u_char *p = sshbuf_ptr(m);
	u_int i;

	for (i = 0; ahead != NULL && i < ahead->n; i++) {
		/* Type, any id, and at the end the text */
		if (ahead->sent[i].due_id != 0 || p[0] != ahead->sent[i].type ||
		    sshbuf_len(m) != front + strlen(ahead->sent[i].text) ||
		    memcmp(p + front, ahead->sent[i].text,
		    sshbuf_len(m) - front) != 0)
			continue;
		if (PEEK_U32(p + 1) == ahead->sent[i].id)
			return 0;
		ahead->sent[i].due_id = PEEK_U32(p + 1);
		return 1;
	}
	return 0;
}

int
copy_ahead_give(struct sftp_conn *conn, struct sshbuf *m)
{
	struct copy_ahead *ahead = conn->ahead;
	u_int i;
	int r;

	for (i = 0; ahead != NULL && i < ahead->n; i++) {
		if (ahead->sent[i].due_id == 0 || ahead->sent[i].reply == NULL)
			continue;
		sshbuf_reset(m);
		if ((r = sshbuf_putb(m, ahead->sent[i].reply)) != 0 ||
		    (r = sshbuf_poke_u32(m, 1, ahead->sent[i].due_id)) != 0)
			fatal_fr(r, "copy");
		sshbuf_free(ahead->sent[i].reply);
		ahead->sent[i].reply = NULL;
		return 1;
	}
	return 0;
}

int
copy_ahead_keep(struct sftp_conn *conn, const struct sshbuf *m)
{
	struct copy_ahead *ahead = conn->ahead;
	u_int i;

	for (i = 0; ahead != NULL && i < ahead->n; i++) {
		if (sshbuf_len(m) < 1 + 4 || ahead->sent[i].id == 0 ||
		    PEEK_U32(sshbuf_ptr(m) + 1) != ahead->sent[i].id)
			continue;
		/* It comes once. */
		ahead->sent[i].id = 0;
		if ((ahead->sent[i].reply = sshbuf_new()) == NULL ||
		    sshbuf_putb(ahead->sent[i].reply, m) != 0)
			fatal_f("sshbuf_new or sshbuf_putb failed");
		return 1;
	}
	return 0;
}

void
copy_ahead_free(struct copy_ahead *ahead)
{
	u_int i;

	for (i = 0; ahead != NULL && i < ahead->n; i++) {
		free(ahead->sent[i].text);
		sshbuf_free(ahead->sent[i].reply);
	}
	free(ahead);
}
