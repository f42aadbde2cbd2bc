/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "misc.h"
#include "sshbuf.h"
#include "ssherr.h"
#include "xmalloc.h"
#include "sftp.h"
#include "sftp-common.h"
#include "sftp-conn.h"
#include "sftp-requests.h"

static struct sshbuf *
new_msg(void)
{
	struct sshbuf *msg;

	if ((msg = sshbuf_new()) == NULL)
		fatal_f("sshbuf_new failed");
	return msg;
}

/* Begins a request in an empty message. Returns its id. */
static u_int
begin(struct sftp_conn *conn, struct sshbuf *msg, u_char type)
{
	u_int id = sftp_conn_id(conn);
	int r;

	sshbuf_consume(msg, sshbuf_len(msg));
	if ((r = sshbuf_put_u8(msg, type)) != 0 ||
	    (r = sshbuf_put_u32(msg, id)) != 0)
		fatal_fr(r, "compose");
	return id;
}

static void
put_string(struct sshbuf *msg, const void *s, size_t len)
{
	int r;

	if ((r = sshbuf_put_string(msg, s, len)) != 0)
		fatal_fr(r, "compose");
}

static void
put_u64_or_fatal(struct sshbuf *msg, uint64_t v)
{
	int r;

	if ((r = sshbuf_put_u64(msg, v)) != 0)
		fatal_fr(r, "compose");
}

static void
put_u32_or_fatal(struct sshbuf *msg, uint32_t v)
{
	int r;

	if ((r = sshbuf_put_u32(msg, v)) != 0)
		fatal_fr(r, "compose");
}

static void
put_attrib(struct sshbuf *msg, const Attrib *a)
{
	int r;

	if ((r = encode_attrib(msg, (Attrib *)a)) != 0)
		fatal_fr(r, "compose");
}

u_char
sftp_request_reply(struct sftp_conn *conn, struct sshbuf *msg, u_int *id,
    u_int *status)
{
	u_char type;
	int r;

	sftp_conn_get(conn, msg);
	if ((r = sshbuf_get_u8(msg, &type)) != 0 ||
	    (r = sshbuf_get_u32(msg, id)) != 0)
		fatal_fr(r, "parse");
	*status = SSH2_FX_OK;
	if (type == SSH2_FXP_STATUS && (r = sshbuf_get_u32(msg, status)) != 0)
		fatal_fr(r, "parse status");
	return type;
}

/* Sends a request and waits for its reply, as sftp_request_reply(). */
static u_char
ask(struct sftp_conn *conn, struct sshbuf *msg, u_int id, u_int *status)
{
	u_int got;
	u_char type;

	sftp_conn_send(conn, msg);
	type = sftp_request_reply(conn, msg, &got, status);
	if (got != id)
		fatal("ID mismatch (%u != %u)", got, id);
	return type;
}

/* Sends a request and frees it. Returns the status that answers it. */
static u_int
ask_status(struct sftp_conn *conn, struct sshbuf *msg, u_int id)
{
	u_int status;

	if (ask(conn, msg, id, &status) != SSH2_FXP_STATUS)
		status = SSH2_FX_BAD_MESSAGE;
	sshbuf_free(msg);
	return status;
}

/* Sends an OPEN. Returns its id. */
static u_int
send_open(struct sftp_conn *conn, struct sshbuf *msg, const char *path,
    u_int flags)
{
	u_int id;
	Attrib none;

	attrib_clear(&none);
	id = begin(conn, msg, SSH2_FXP_OPEN);
	put_string(msg, path, strlen(path));
	put_u32_or_fatal(msg, flags);
	put_attrib(msg, &none);
	sftp_conn_send(conn, msg);
	return id;
}

/* Returns the handle of a reply of a type, or NULL. */
static u_char *
take_handle(struct sshbuf *msg, u_char type, size_t *len)
{
	u_char *handle = NULL;

	if (type != SSH2_FXP_HANDLE ||
	    sshbuf_get_string(msg, &handle, len) != 0)
		return NULL;
	return handle;
}

u_char *
sftp_request_open(struct sftp_conn *conn, const char *path, u_int flags,
    size_t *handle_len)
{
	struct sshbuf *msg = new_msg();
	u_char *handle, type;
	u_int got, id = send_open(conn, msg, path, flags), status;

	type = sftp_request_reply(conn, msg, &got, &status);
	if (got != id)
		fatal("ID mismatch (%u != %u)", got, id);
	handle = take_handle(msg, type, handle_len);
	sshbuf_free(msg);
	return handle;
}

/* Asks for what a look is to tell. */
static void
look_again(struct sftp_conn *conn, const u_char *handle, size_t handle_len,
    struct sftp_request_look *look)
{
	if (look->data != NULL)
		look->got = sftp_request_read(conn, handle, handle_len,
		    look->offset, look->data, look->len);
	else
		look->got = sftp_request_stat(conn, NULL, handle, handle_len,
		    &look->a) == 0;
}

/* Takes the reply of a type that a look has got. */
static void
take_look(struct sshbuf *msg, u_char type, struct sftp_request_look *look)
{
	const u_char *data;
	size_t len;

	look->got = 0;
	if (look->data == NULL)
		look->got = type == SSH2_FXP_ATTRS &&
		    decode_attrib(msg, &look->a) == 0;
	else if (type == SSH2_FXP_DATA &&
	    sshbuf_get_string_direct(msg, &data, &len) == 0 &&
	    len <= look->len) {
		memcpy(look->data, data, len);
		look->got = len;
	}
}

u_char *
sftp_request_open_look(struct sftp_conn *conn, const char *path, u_int flags,
    size_t *handle_len, int guess, struct sftp_request_look *look)
{
	static const u_char first[4];
	struct sshbuf *msg;
	u_char *handle = NULL, type;
	u_int i, id, open_id, look_id, status;

	if (!guess) {
		handle = sftp_request_open(conn, path, flags, handle_len);
		look->opened_s = monotime_double();
		if (handle != NULL)
			look_again(conn, handle, *handle_len, look);
		return handle;
	}
	msg = new_msg();
	open_id = send_open(conn, msg, path, flags);
	if (look->data != NULL) {
		look_id = sftp_request_send_read(conn, first, sizeof(first),
		    look->offset, look->len);
	} else {
		look_id = begin(conn, msg, SSH2_FXP_FSTAT);
		put_string(msg, first, sizeof(first));
		sftp_conn_send(conn, msg);
	}
	for (i = 0; i < 2; i++) {
		type = sftp_request_reply(conn, msg, &id, &status);
		if (id == open_id)
			handle = take_handle(msg, type, handle_len);
		else if (id == look_id)
			take_look(msg, type, look);
		else
			fatal("ID mismatch (%u)", id);
	}
	sshbuf_free(msg);
	look->opened_s = monotime_double();
	if (handle != NULL && (*handle_len != sizeof(first) ||
	    memcmp(handle, first, sizeof(first)) != 0))
		look_again(conn, handle, *handle_len, look);
	return handle;
}

u_int
sftp_request_send_close(struct sftp_conn *conn, const u_char *handle,
    size_t handle_len)
{
	struct sshbuf *msg = new_msg();
	u_int id = begin(conn, msg, SSH2_FXP_CLOSE);

	put_string(msg, handle, handle_len);
	sftp_conn_send(conn, msg);
	sshbuf_free(msg);
	return id;
}

u_int
sftp_request_close_wait(struct sftp_conn *conn, const u_char *handle,
    size_t handle_len)
{
	struct sshbuf *msg = new_msg();
	u_int id;

	id = begin(conn, msg, SSH2_FXP_CLOSE);
	put_string(msg, handle, handle_len);
	return ask_status(conn, msg, id);
}

/* Begins an FSTAT, or a STAT if handle is NULL. Returns its id. */
static u_int
begin_stat(struct sftp_conn *conn, struct sshbuf *msg, const char *path,
    const u_char *handle, size_t handle_len)
{
	u_int id = begin(conn, msg,
	    handle != NULL ? SSH2_FXP_FSTAT : SSH2_FXP_STAT);

	if (handle != NULL)
		put_string(msg, handle, handle_len);
	else
		put_string(msg, path, strlen(path));
	return id;
}

int
sftp_request_stats(struct sftp_conn *conn, const char *path,
    const u_char *handle, size_t handle_len, Attrib *of_path,
    Attrib *of_handle)
{
	struct sshbuf *msg = new_msg();
	u_int first, second, id, status;
	int i, r = 0;

	first = begin_stat(conn, msg, path, NULL, 0);
	sftp_conn_send(conn, msg);
	second = begin_stat(conn, msg, path, handle, handle_len);
	sftp_conn_send(conn, msg);
	for (i = 0; i < 2; i++) {
		if (sftp_request_reply(conn, msg, &id, &status) !=
		    SSH2_FXP_ATTRS || decode_attrib(msg, id == first ?
		    of_path : of_handle) != 0)
			r = id == second || r == -1 ? -1 : 1;
		if (id != first && id != second)
			fatal("ID mismatch (%u)", id);
	}
	sshbuf_free(msg);
	return r;
}

int
sftp_request_stat(struct sftp_conn *conn, const char *path,
    const u_char *handle, size_t handle_len, Attrib *a)
{
	struct sshbuf *msg = new_msg();
	u_int id = begin_stat(conn, msg, path, handle, handle_len), status;
	int r = -1;

	if (ask(conn, msg, id, &status) == SSH2_FXP_ATTRS)
		r = decode_attrib(msg, a) == 0 ? 0 : -1;
	sshbuf_free(msg);
	return r;
}

u_int
sftp_request_size(struct sftp_conn *conn, const u_char *handle,
    size_t handle_len, uint64_t size)
{
	struct sshbuf *msg = new_msg();
	u_int id;
	Attrib a;

	attrib_clear(&a);
	a.flags = SSH2_FILEXFER_ATTR_SIZE;
	a.size = size;
	id = begin(conn, msg, SSH2_FXP_FSETSTAT);
	put_string(msg, handle, handle_len);
	put_attrib(msg, &a);
	return ask_status(conn, msg, id);
}

u_int
sftp_request_dir(struct sftp_conn *conn, const char *path, int make)
{
	struct sshbuf *msg = new_msg();
	u_int id;
	Attrib a;

	attrib_clear(&a);
	a.flags = SSH2_FILEXFER_ATTR_PERMISSIONS;
	a.perm = 0700;
	id = begin(conn, msg, make ? SSH2_FXP_MKDIR : SSH2_FXP_RMDIR);
	put_string(msg, path, strlen(path));
	if (make)
		put_attrib(msg, &a);
	return ask_status(conn, msg, id);
}

u_int
sftp_request_send_read(struct sftp_conn *conn, const u_char *handle,
    size_t handle_len, uint64_t offset, u_int len)
{
	struct sshbuf *msg = new_msg();
	u_int id = begin(conn, msg, SSH2_FXP_READ);

	put_string(msg, handle, handle_len);
	put_u64_or_fatal(msg, offset);
	put_u32_or_fatal(msg, len);
	sftp_conn_send(conn, msg);
	sshbuf_free(msg);
	return id;
}

/* Begins a WRITE. Returns its id. */
static u_int
begin_write(struct sftp_conn *conn, struct sshbuf *msg, const u_char *handle,
    size_t handle_len, uint64_t offset, const u_char *data, size_t len)
{
	u_int id = begin(conn, msg, SSH2_FXP_WRITE);

	put_string(msg, handle, handle_len);
	put_u64_or_fatal(msg, offset);
	put_string(msg, data, len);
	return id;
}

u_int
sftp_request_send_write(struct sftp_conn *conn, const u_char *handle,
    size_t handle_len, uint64_t offset, const u_char *data, size_t len)
{
	struct sshbuf *msg = new_msg();
	u_int id = begin_write(conn, msg, handle, handle_len, offset, data,
	    len);

	sftp_conn_send(conn, msg);
	sshbuf_free(msg);
	return id;
}

u_int
sftp_request_write(struct sftp_conn *conn, const u_char *handle,
    size_t handle_len, uint64_t offset, const u_char *data, size_t len)
{
	struct sshbuf *msg = new_msg();

	return ask_status(conn, msg, begin_write(conn, msg, handle, handle_len,
	    offset, data, len));
}

size_t
sftp_request_read(struct sftp_conn *conn, const u_char *handle,
    size_t handle_len, uint64_t offset, u_char *data, size_t len)
{
	struct sshbuf *msg = new_msg();
	const u_char *got;
	size_t have = 0, n;
	u_int id, want, reply_id, status;

	while (have < len) {
		want = len - have > 32768 ? 32768 : len - have;
		id = sftp_request_send_read(conn, handle, handle_len,
		    offset + have, want);
		if (sftp_request_reply(conn, msg, &reply_id, &status) !=
		    SSH2_FXP_DATA)
			break;
		if (reply_id != id)
			fatal("ID mismatch (%u != %u)", reply_id, id);
		if (sshbuf_get_string_direct(msg, &got, &n) != 0 || n == 0 ||
		    n > want)
			break;
		memcpy(data + have, got, n);
		have += n;
	}
	sshbuf_free(msg);
	return have;
}
