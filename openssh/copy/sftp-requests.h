/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SFTP_REQUESTS_H
#define SFTP_REQUESTS_H

#include <sys/types.h>

#include <stdint.h>

struct sftp_conn;
struct sshbuf;

/*
 * Requests of lanes, and what their replies say. None of these logs an error:
 * a lane that can't be used is no error.
 */

/*
 * Opens the file at path, with the SSH2_FXF_* flags. Returns its handle, or
 * NULL if the server refuses. The caller frees it.
 */
u_char	*sftp_request_open(struct sftp_conn *conn, const char *path,
	    u_int flags, size_t *handle_len);

/* What is to be known of a file that is opened: attributes, or bytes of it */
struct sftp_request_look {
	u_char	*data;		/* where the bytes go; NULL: attributes */
	size_t	 len;		/* bytes that are asked for */
	uint64_t offset;	/* of the first */
	size_t	 got;		/* bytes that came; 1: attributes came */
	double	 opened_s;	/* when the file was open */
	Attrib	 a;
};

/*
 * The same as sftp_request_open(), and looks at the file. With `guess`, both
 * take one round trip if the handle is the first of OpenSSH's sftp-server.
 */
u_char	*sftp_request_open_look(struct sftp_conn *conn, const char *path,
	    u_int flags, size_t *handle_len, int guess,
	    struct sftp_request_look *look);

/* Sends a CLOSE and returns its id. */
u_int	 sftp_request_send_close(struct sftp_conn *conn, const u_char *handle,
	    size_t handle_len);

/* The same, and waits for the reply. Returns 0, or the SSH2_FX_* status. */
u_int	 sftp_request_close_wait(struct sftp_conn *conn, const u_char *handle,
	    size_t handle_len);

/*
 * Asks for the attributes of the file with a handle, or of the file at path if
 * handle is NULL. Returns 0, or -1 if the server refuses.
 */
int	 sftp_request_stat(struct sftp_conn *conn, const char *path,
	    const u_char *handle, size_t handle_len, Attrib *a);

/*
 * Asks for the attributes of the file at path, and then of the one with a
 * handle, at once. Returns 0, or 1 if the server refuses that at path only, or
 * -1 if it refuses that of the handle.
 */
int	 sftp_request_stats(struct sftp_conn *conn, const char *path,
	    const u_char *handle, size_t handle_len, Attrib *of_path,
	    Attrib *of_handle);

/* Sets the size (bytes) of a file. Returns 0, or the SSH2_FX_* status. */
u_int	 sftp_request_size(struct sftp_conn *conn, const u_char *handle,
	    size_t handle_len, uint64_t size);

/* Makes or removes a directory. Returns 0, or the SSH2_FX_* status. */
u_int	 sftp_request_dir(struct sftp_conn *conn, const char *path, int make);

/*
 * Reads len bytes from `offset` on. Returns how many came, 0 at the end of the
 * file or if the server refuses.
 */
size_t	 sftp_request_read(struct sftp_conn *conn, const u_char *handle,
	    size_t handle_len, uint64_t offset, u_char *data, size_t len);

/* Sends a READ and returns its id. */
u_int	 sftp_request_send_read(struct sftp_conn *conn, const u_char *handle,
	    size_t handle_len, uint64_t offset, u_int len);

/* Sends a WRITE and returns its id. */
u_int	 sftp_request_send_write(struct sftp_conn *conn, const u_char *handle,
	    size_t handle_len, uint64_t offset, const u_char *data,
	    size_t len);

/* The same, and waits for the reply. Returns 0, or the SSH2_FX_* status. */
u_int	 sftp_request_write(struct sftp_conn *conn, const u_char *handle,
	    size_t handle_len, uint64_t offset, const u_char *data,
	    size_t len);

/*
 * Waits for a reply of any request. Sets its id, and the status: SSH2_FX_OK
 * stands for any reply that is no status, too. `msg` then holds what follows
 * the id, for a status what follows the number. Returns the reply's type.
 */
u_char	 sftp_request_reply(struct sftp_conn *conn, struct sshbuf *msg,
	    u_int *id, u_int *status);

#endif /* SFTP_REQUESTS_H */
