/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "misc.h"
#include "sshbuf.h"
#include "ssherr.h"
#include "xmalloc.h"
#include "sftp.h"
#include "sftp-conn.h"
#include "copy-ahead.h"

/* The limits, and two requests with a path */
#define AHEAD_MAX	3

enum ahead_state {
	AHEAD_SENT,
	AHEAD_ANSWERED,		/* and the reply is kept */
	AHEAD_DUE,		/* the program waits for the reply */
	AHEAD_DONE
};

struct copy_ahead {
	u_int n;		/* requests that were sent */
	struct {
		enum ahead_state state;
		u_char type;
		char *text;	/* path, or name of the extension */
		u_int id;
		u_int due_id;	/* by which the program knows it */
		struct sshbuf *reply;	/* NULL: has not come */
	} sent[AHEAD_MAX];
};

static int off;			/* -X ahead=no */
static struct copy_ahead *noted;	/* for the next connection, or NULL */

void
copy_ahead_off(void)
{
	off = 1;
}

static void
add(struct copy_ahead *ahead, u_char type, const char *text)
{
	ahead->sent[ahead->n].type = type;
	ahead->sent[ahead->n++].text = xstrdup(text);
}

void
copy_ahead_want(u_char type, const char *path)
{
	u_int i;

	/* The program has something else done about these first. */
	if (off || *path == '~' || strpbrk(path, "*?[]{}\\") != NULL)
		return;
	if (noted == NULL) {
		noted = xcalloc(1, sizeof(*noted));
		add(noted, SSH2_FXP_EXTENDED, "limits@openssh.com");
	}
	if (*path == '\0')
		path = ".";
	for (i = 0; i < noted->n; i++) {
		if (noted->sent[i].type == type &&
		    strcmp(noted->sent[i].text, path) == 0)
			return;
	}
	if (noted->n < AHEAD_MAX)
		add(noted, type, path);
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

/* Returns 1 if a message has a type, any id, and a text only. */
static int
is_request(const struct sshbuf *m, u_char type, const char *text)
{
	const size_t front = 1 + 4 + 4, len = strlen(text);
	const u_char *p = sshbuf_ptr(m);

	return sshbuf_len(m) == front + len && p[0] == type &&
	    memcmp(p + front, text, len) == 0;
}

int
copy_ahead_take(struct sftp_conn *conn, const struct sshbuf *m)
{
	struct copy_ahead *ahead = conn->ahead;
	u_int i, id;

	for (i = 0; ahead != NULL && i < ahead->n; i++) {
		if (ahead->sent[i].state > AHEAD_ANSWERED ||
		    !is_request(m, ahead->sent[i].type, ahead->sent[i].text))
			continue;
		id = PEEK_U32(sshbuf_ptr(m) + 1);
		if (id == ahead->sent[i].id)
			return 0;
		ahead->sent[i].due_id = id;
		ahead->sent[i].state = AHEAD_DUE;
		return 1;
	}
	return 0;
}

/* Hands a reply over under the id that is due. */
static void
hand_over(struct copy_ahead *ahead, u_int i, struct sshbuf *m)
{
	int r;

	if ((r = sshbuf_poke_u32(m, 1, ahead->sent[i].due_id)) != 0)
		fatal_fr(r, "poke");
	ahead->sent[i].state = AHEAD_DONE;
}

int
copy_ahead_give(struct sftp_conn *conn, struct sshbuf *m)
{
	struct copy_ahead *ahead = conn->ahead;
	u_int i;
	int r;

	for (i = 0; ahead != NULL && i < ahead->n; i++) {
		if (ahead->sent[i].state != AHEAD_DUE ||
		    ahead->sent[i].reply == NULL)
			continue;
		sshbuf_reset(m);
		if ((r = sshbuf_putb(m, ahead->sent[i].reply)) != 0)
			fatal_fr(r, "copy");
		hand_over(ahead, i, m);
		return 1;
	}
	return 0;
}

int
copy_ahead_keep(struct sftp_conn *conn, struct sshbuf *m)
{
	struct copy_ahead *ahead = conn->ahead;
	u_int i, id;

	if (ahead == NULL || sshbuf_len(m) < 1 + 4)
		return 0;
	id = PEEK_U32(sshbuf_ptr(m) + 1);
	for (i = 0; i < ahead->n; i++) {
		if (ahead->sent[i].id != id ||
		    ahead->sent[i].state == AHEAD_DONE ||
		    ahead->sent[i].reply != NULL)
			continue;
		if (ahead->sent[i].state == AHEAD_DUE) {
			hand_over(ahead, i, m);
			return 0;
		}
		if ((ahead->sent[i].reply = sshbuf_new()) == NULL ||
		    sshbuf_putb(ahead->sent[i].reply, m) != 0)
			fatal_f("sshbuf_new or sshbuf_putb failed");
		ahead->sent[i].state = AHEAD_ANSWERED;
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
