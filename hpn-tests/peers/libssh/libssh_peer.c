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

/*
 * A client of libssh:
 *	libssh_peer sftp|exec get|put HOST PORT KEY SOURCE COPY
 */
#include <sys/types.h>

#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libssh/libssh.h>
#include <libssh/sftp.h>

#define CHUNK	32000		/* bytes: fits every server's packets */
#define AHEAD	64		/* requests under way, as OpenSSH's sftp */

static char	buf[CHUNK];

static int
xopen(const char *path, int flags)
{
	int fd;

	if ((fd = open(path, flags, 0644)) == -1)
		err(1, "%s", path);
	return fd;
}

static void
xwrite(int fd, size_t len)
{
	if (write(fd, buf, len) != (ssize_t)len)
		err(1, "write");
}

static void
sftp_get(sftp_session sftp, const char *source, const char *copy)
{
	int fd = xopen(copy, O_WRONLY | O_CREAT | O_TRUNC), n;
	int id[AHEAD], oldest = 0, i;
	sftp_file file;

	if ((file = sftp_open(sftp, source, O_RDONLY, 0)) == NULL)
		errx(1, "sftp_open: %d", sftp_get_error(sftp));
	for (i = 0; i < AHEAD; i++)
		id[i] = sftp_async_read_begin(file, CHUNK);
	while ((n = sftp_async_read(file, buf, CHUNK, id[oldest])) > 0) {
		xwrite(fd, n);
		id[oldest] = sftp_async_read_begin(file, CHUNK);
		oldest = (oldest + 1) % AHEAD;
	}
	if (n < 0)
		errx(1, "sftp_async_read: %d", n);
	close(fd);
	sftp_close(file);
}

static void
sftp_put(sftp_session sftp, const char *source, const char *copy)
{
	int fd = xopen(source, O_RDONLY);
	sftp_file file;
	ssize_t n;

	file = sftp_open(sftp, copy, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (file == NULL)
		errx(1, "sftp_open: %d", sftp_get_error(sftp));
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		if (sftp_write(file, buf, n) != n)
			errx(1, "sftp_write: %d", sftp_get_error(sftp));
	close(fd);
	if (sftp_close(file) != SSH_OK)
		errx(1, "sftp_close: %d", sftp_get_error(sftp));
}

static void
copy_sftp(ssh_session ssh, int get, const char *source, const char *copy)
{
	sftp_session sftp;

	if ((sftp = sftp_new(ssh)) == NULL || sftp_init(sftp) != SSH_OK)
		errx(1, "sftp: %s", ssh_get_error(ssh));
	if (get)
		sftp_get(sftp, source, copy);
	else
		sftp_put(sftp, source, copy);
	sftp_free(sftp);
}

static void
copy_exec(ssh_session ssh, int get, const char *source, const char *copy)
{
	ssh_channel channel;
	char command[1024];
	ssize_t n;
	int fd;

	snprintf(command, sizeof(command), get ? "cat %s" : "cat > %s",
	    get ? source : copy);
	if ((channel = ssh_channel_new(ssh)) == NULL ||
	    ssh_channel_open_session(channel) != SSH_OK ||
	    ssh_channel_request_exec(channel, command) != SSH_OK)
		errx(1, "exec: %s", ssh_get_error(ssh));
	if (get) {
		fd = xopen(copy, O_WRONLY | O_CREAT | O_TRUNC);
		while ((n = ssh_channel_read(channel, buf, sizeof(buf), 0)) > 0)
			xwrite(fd, n);
	} else {
		fd = xopen(source, O_RDONLY);
		while ((n = read(fd, buf, sizeof(buf))) > 0)
			if (ssh_channel_write(channel, buf, n) != n)
				errx(1, "write: %s", ssh_get_error(ssh));
		ssh_channel_send_eof(channel);
		/* Until the command has ended */
		while (ssh_channel_read(channel, buf, sizeof(buf), 0) > 0)
			;
	}
	if (n < 0)
		errx(1, "read: %s", ssh_get_error(ssh));
	close(fd);
	if (ssh_channel_get_exit_status(channel) != 0)
		errx(1, "the command failed");
	ssh_channel_free(channel);
}

int
main(int argc, char **argv)
{
	ssh_session ssh;
	ssh_key key;
	int get, no = 0;

	if (argc != 8)
		errx(1, "usage: libssh_peer sftp|exec get|put HOST PORT KEY "
		    "SOURCE COPY");
	get = strcmp(argv[2], "get") == 0;
	if ((ssh = ssh_new()) == NULL)
		errx(1, "ssh_new");
	ssh_options_set(ssh, SSH_OPTIONS_PROCESS_CONFIG, &no);
	ssh_options_set(ssh, SSH_OPTIONS_HOST, argv[3]);
	ssh_options_set(ssh, SSH_OPTIONS_PORT_STR, argv[4]);
	ssh_options_set(ssh, SSH_OPTIONS_USER, "root");
	if (ssh_connect(ssh) != SSH_OK)
		errx(1, "connect: %s", ssh_get_error(ssh));
	if (ssh_pki_import_privkey_file(argv[5], NULL, NULL, NULL,
	    &key) != SSH_OK ||
	    ssh_userauth_publickey(ssh, NULL, key) != SSH_AUTH_SUCCESS)
		errx(1, "login: %s", ssh_get_error(ssh));
	if (strcmp(argv[1], "sftp") == 0)
		copy_sftp(ssh, get, argv[6], argv[7]);
	else
		copy_exec(ssh, get, argv[6], argv[7]);
	ssh_disconnect(ssh);
	return 0;
}
