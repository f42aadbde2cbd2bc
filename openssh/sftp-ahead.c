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

#include "includes.h"

#include <sys/types.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "atomicio.h"
#include "sftp.h"
#include "sftp-ahead.h"
#include "sftp-lanes.h"
#include "sftp-burst.h"
#include "sftp-common.h"
#include "sftp-plan.h"
#include "sshbuf.h"
#include "ssherr.h"
#include "xmalloc.h"

struct ask {
	u_char	type;		/* SSH2_FXP_* */
	char	*path;		/* NULL: somebody has asked */
	u_int	id;
	struct sshbuf *reply;
};

struct sftp_ahead {
	struct ask ask[SFTP_PLAN_ASKS];
	u_int	n;		/* questions */
	u_int	limits_id;
	int	no_limits;	/* nobody takes the server's limits */
	struct ask *used;	/* whose reply is to be taken */
	u_int	used_id;	/* its id for whoever takes it */
	char	*pwd;		/* what the server says of "." */
	struct sftp_burst burst;
	int	file;		/* the burst is there, and nobody has it */
	int	put;		/* it is an upload */
	int	end;		/* nothing follows the file */
	char	*path, *name;	/* of the plan; NULL: no file */
	size_t	bytes;		/* of the upload */
	struct stat source;	/* of the local file that they are from */
};

/* Appends the question for the server's limits. Returns as sshbuf does. */
static int
put_limits(struct sshbuf *msg, u_int id, struct sshbuf *out)
{
	int r;

	if ((r = sshbuf_put_u8(msg, SSH2_FXP_EXTENDED)) != 0 ||
	    (r = sshbuf_put_u32(msg, id)) != 0 ||
	    (r = sshbuf_put_cstring(msg, "limits@openssh.com")) != 0)
		return r;
	return sshbuf_put_stringb(out, msg);
}

/* The same for another question. */
static int
put_ask(struct sshbuf *msg, const struct ask *ask, struct sshbuf *out)
{
	int r;

	sshbuf_reset(msg);
	if ((r = sshbuf_put_u8(msg, ask->type)) != 0 ||
	    (r = sshbuf_put_u32(msg, ask->id)) != 0 ||
	    (r = sshbuf_put_cstring(msg, ask->path)) != 0)
		return r;
	return sshbuf_put_stringb(out, msg);
}

/*
 * Appends the upload of the plan, or its first part. Returns 0, also if the
 * local file can't be read as expected: then it is no part of the plan.
 */
static int
put_file(struct sftp_ahead *a, const struct sftp_plan *plan, u_int id,
    struct sshbuf *out)
{
	struct sftp_burst_put put = { .path = plan->remote,
	    .flags = SSH2_FXF_WRITE|SSH2_FXF_CREAT, .name = plan->name };
	u_char data[SFTP_AHEAD_DATA + 1];
	struct stat st;
	Attrib attrs;
	size_t len;
	int fd, r = 0;

	/* A fifo must not stop us here. */
	if ((fd = open(plan->local, O_RDONLY|O_NONBLOCK)) == -1)
		return 0;
	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
		goto out;
	put.part = st.st_size > SFTP_AHEAD_DATA;
	len = put.part ? SFTP_AHEAD_DATA : st.st_size;
	/* A byte more says that the file has grown. */
	if (atomicio(read, fd, data, put.part ? len : len + 1) != len ||
	    (!put.part && errno != EPIPE))
		goto out;
	/* As sftp_upload() has them */
	stat_to_attrib(&st, &attrs);
	attrs.flags &= ~(SSH2_FILEXFER_ATTR_SIZE|SSH2_FILEXFER_ATTR_UIDGID);
	attrs.perm &= 0777;
	if (!plan->preserve)
		attrs.flags &= ~SSH2_FILEXFER_ATTR_ACMODTIME;
	if (!plan->truncate)
		put.flags |= SSH2_FXF_TRUNC;
	if (put.name == NULL)
		put.name = "";
	put.attrs = &attrs;
	put.data = data;
	put.len = len;
	put.truncate = plan->truncate;
	put.times = plan->preserve ? &attrs : NULL;
	put.end = plan->end;
	if ((r = sftp_burst_put(&a->burst, id, &put, out)) == 0) {
		a->file = 1;
		a->bytes = len;
		a->source = st;
	}
 out:
	close(fd);
	return r;
}

static struct sftp_ahead *last;	/* that of the last connection */

/* Lanes hand over what may be a reply to it. */
static int
last_got(const struct sshbuf *msg)
{
	return sftp_ahead_got(last, msg);
}

struct sftp_ahead *
sftp_ahead_compose(const struct sftp_plan *plan, u_int *id, struct sshbuf *out)
{
	const size_t len[SFTP_BURST_ANY] = SFTP_AHEAD_READS;
	struct sftp_ahead *a = xcalloc(1, sizeof(*a));
	struct sshbuf *msg;
	u_int i;
	int r;

	if ((msg = sshbuf_new()) == NULL)
		goto fail;
	a->limits_id = (*id)++;
	if (put_limits(msg, a->limits_id, out) != 0)
		goto fail;
	for (i = 0; i < plan->n; i++) {
		a->ask[i].type = plan->ask[i].type;
		a->ask[i].path = xstrdup(plan->ask[i].path);
		a->ask[i].id = (*id)++;
		if (put_ask(msg, &a->ask[i], out) != 0)
			goto fail;
	}
	a->n = plan->n;
	if (plan->local != NULL)
		r = put_file(a, plan, *id, out);
	else if (plan->remote != NULL) {
		r = sftp_burst_get_any(&a->burst, *id, plan->remote, len,
		    plan->end, out);
		a->file = 1;
	} else
		r = 0;
	if (r != 0)
		goto fail;
	*id += a->burst.requests;
	if (a->file) {
		a->put = plan->local != NULL;
		a->end = plan->end;
		a->path = xstrdup(plan->remote);
		a->name = plan->name == NULL ? NULL : xstrdup(plan->name);
	}
	sshbuf_free(msg);
	last = a;
	sftp_lane_on_early(last_got);
	return a;
 fail:
	sshbuf_free(msg);
	free(a);
	return NULL;
}

u_int
sftp_ahead_limits(struct sftp_ahead *a, int known)
{
	a->no_limits = !known;
	return known ? a->limits_id : 0;
}

/* Takes the server's own path from the reply to REALPATH. */
static void
learn_pwd(struct sftp_ahead *a, const struct sshbuf *reply)
{
	struct sshbuf *m = sshbuf_fromb((struct sshbuf *)reply);
	u_int count;
	u_char type;

	if (m != NULL && sshbuf_get_u8(m, &type) == 0 &&
	    type == SSH2_FXP_NAME && sshbuf_get_u32(m, NULL) == 0 &&
	    sshbuf_get_u32(m, &count) == 0 && count == 1 && a->pwd == NULL)
		(void)sshbuf_get_cstring(m, &a->pwd, NULL);
	sshbuf_free(m);
}

int
sftp_ahead_got(struct sftp_ahead *a, const struct sshbuf *msg)
{
	u_int id, i;

	if (sshbuf_len(msg) < 5 || sshbuf_peek_u32(msg, 1, &id) != 0)
		return 0;
	if (id == a->limits_id && a->no_limits) {
		a->no_limits = 0;
		return 1;
	}
	for (i = 0; i < a->n; i++) {
		if (a->ask[i].id != id || a->ask[i].reply != NULL)
			continue;
		if ((a->ask[i].reply = sshbuf_new()) == NULL ||
		    sshbuf_putb(a->ask[i].reply, msg) != 0)
			return 0;
		if (a->ask[i].type == SSH2_FXP_REALPATH)
			learn_pwd(a, msg);
		return 1;
	}
	return a->burst.outstanding != 0 &&
	    sftp_burst_reply(&a->burst, msg) == 0;
}

/*
 * Returns 1 if a path of len bytes is the planned one, or that below the
 * server's own, else 0.
 */
static int
is_path(const struct sftp_ahead *a, const char *planned, const char *path,
    size_t len)
{
	size_t pwd;

	if (len == strlen(planned) && memcmp(path, planned, len) == 0)
		return 1;
	if (a->pwd == NULL || planned[0] == '/')
		return 0;
	pwd = strlen(a->pwd);
	if (len < pwd || memcmp(path, a->pwd, pwd) != 0)
		return 0;
	path += pwd;
	len -= pwd;
	if (len != 0 && *path == '/') {
		path++;
		len--;
	}
	return len == strlen(planned) && memcmp(path, planned, len) == 0;
}

int
sftp_ahead_use(struct sftp_ahead *a, u_int id, u_char type, const char *path,
    size_t len)
{
	u_int i;

	for (i = 0; i < a->n && a->used == NULL; i++) {
		/* One answer is for one question. */
		if (a->ask[i].type != type || a->ask[i].path == NULL ||
		    !is_path(a, a->ask[i].path, path, len))
			continue;
		free(a->ask[i].path);
		a->ask[i].path = NULL;
		a->used = &a->ask[i];
		a->used_id = id;
		return 1;
	}
	return 0;
}

int
sftp_ahead_used(const struct sftp_ahead *a)
{
	return a->used != NULL;
}

int
sftp_ahead_take(struct sftp_ahead *a, struct sshbuf *msg)
{
	struct ask *used = a->used;

	if (used == NULL || used->reply == NULL)
		return 0;
	sshbuf_reset(msg);
	if (sshbuf_putb(msg, used->reply) != 0 ||
	    sshbuf_poke_u32(msg, 1, a->used_id) != 0)
		return 0;
	sshbuf_free(used->reply);
	/* Not NULL: a second reply to it would be an error. */
	used->reply = sshbuf_new();
	a->used = NULL;
	return 1;
}

/* Returns 1 if a path (put: of an upload) is that of the plan, else 0. */
static int
is_planned(const struct sftp_ahead *a, int put, const char *path)
{
	size_t dir, len = strlen(path);

	if (a->path == NULL || put != a->put)
		return 0;
	if (is_path(a, a->path, path, len))
		return 1;
	if (a->name == NULL || len <= strlen(a->name))
		return 0;
	dir = len - strlen(a->name);
	return strcmp(path + dir, a->name) == 0 && path[dir - 1] == '/' &&
	    (is_path(a, a->path, path, dir - 1) ||
	    is_path(a, a->path, path, dir));
}

struct sftp_burst *
sftp_ahead_file(struct sftp_ahead *a, int put, const char *path)
{
	u_int i;

	if (!a->file)
		return NULL;
	a->file = 0;
	/* What was asked before its data does not answer what comes after. */
	for (i = 0; i < a->n; i++) {
		free(a->ask[i].path);
		a->ask[i].path = NULL;
	}
	return is_planned(a, put, path) ? &a->burst : NULL;
}

int
sftp_ahead_is_last(const struct sftp_ahead *a, int put, const char *path)
{
	return a->end && is_planned(a, put, path);
}

int
sftp_ahead_is_file(const struct sftp_ahead *a)
{
	return a->file;
}

int
sftp_ahead_may_begin(const struct sftp_burst *b, uint64_t size)
{
	return size > SFTP_AHEAD_ALL && b->handle != NULL && !b->refused &&
	    sftp_burst_read_len(b, 0) == SFTP_AHEAD_FIRST;
}

int
sftp_ahead_lens(struct sftp_burst *b, size_t *len)
{
	const size_t asked[SFTP_BURST_ANY] = SFTP_AHEAD_READS;
	size_t got;
	int i, at_end, r = 0;

	if (b->outstanding == 0 && (r = sftp_burst_cut(b)) < 0)
		return r;
	/* It grew: this is what it was. */
	at_end = b->ended || r > 0;
	for (i = SFTP_BURST_ANY; i-- > 0; ) {
		got = sftp_burst_read_len(b, i);
		len[i] = at_end && got != 0 ? got : asked[i];
		at_end &= got == 0;
	}
	return 0;
}

size_t
sftp_ahead_bytes(const struct sftp_ahead *a)
{
	return a->bytes;
}

int
sftp_ahead_is_source(const struct sftp_ahead *a, const struct stat *st)
{
	return st->st_dev == a->source.st_dev &&
	    st->st_ino == a->source.st_ino &&
	    st->st_size == a->source.st_size &&
	    st->st_mtime == a->source.st_mtime;
}
