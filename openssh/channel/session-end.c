/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sshbuf.h"
#include "packet.h"
#include "channels.h"
#include "compat.h"
#include "log.h"
#include "ssherr.h"
#include "xmalloc.h"
#include "session-end.h"

/* Maximum time (ms) until a signal just before a wait is noticed */
#define STOP_LOOK_MS	100

static int
is_terminal(int fd)
{
	struct stat st;

	/* One that has gone is known by EIO. Other devices have ENOTTY. */
	return isatty(fd) || (errno == EIO && fstat(fd, &st) == 0 &&
	    S_ISCHR(st.st_mode));
}

static int
is_local_socket(int fd)
{
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);

	memset(&name, 0, sizeof(name));
	return getsockname(fd, (struct sockaddr *)&name, &len) == 0 &&
	    name.ss_family == AF_UNIX;
}

int
session_read_errno(int fd, int error)
{
	/* sshbuf_read() has EPIPE for the end of file. */
	if (error == EPIPE)
		return 0;
	/* The program has ended without reading all of our output */
	if (error == ECONNRESET && is_local_socket(fd))
		return 0;
	/*
	 * Not open for reading, as daemons leave it, or a directory, or a
	 * socket that listens: there is no input.
	 */
	if (error == EBADF || error == EISDIR || error == EINVAL ||
	    error == ENOTCONN)
		return 0;
	return error != ENOMEM && is_terminal(fd) ? 0 : error;
}

int
session_write_errno(int fd, int error)
{
	/* Not open for writing, as daemons leave it: nobody reads. */
	if (error == EPIPE || error == ECONNRESET || error == EBADF)
		return 0;
	return error == EIO && is_terminal(fd) ? 0 : error;
}

char *
session_failure(const Channel *c)
{
	char *what = NULL;

	if (c->write_errno != 0)
		xasprintf(&what, "write to standard output: %s",
		    strerror(c->write_errno));
	else if (c->read_errno != 0 && !c->isatty)
		xasprintf(&what, "read from standard input: %s",
		    strerror(c->read_errno));
	return what;
}

void
session_report_failure(struct ssh *ssh, const Channel *c, u_int type)
{
	Channel *control = channel_by_id(ssh, c->ctl_chan);
	struct sshbuf *m;
	char *what;
	int r;

	/* That of ssh -W takes no message. */
	if (control == NULL || strcmp(c->ctype, "session") != 0 ||
	    (what = session_failure(c)) == NULL)
		return;
	if ((m = sshbuf_new()) == NULL)
		fatal_f("sshbuf_new");
	if ((r = sshbuf_put_u32(m, type)) != 0 ||
	    (r = sshbuf_put_cstring(m, what)) != 0 ||
	    (r = sshbuf_put_stringb(control->output, m)) != 0)
		fatal_fr(r, "channel %d", c->self);
	sshbuf_free(m);
	free(what);
}

/*
 * Returns 1 if all output has come. OpenSSH's sshd may send the exit status
 * before the end of the output, so only EOF shows that all has come. Other
 * servers send the status last, and some send no EOF.
 */
static int
all_has_come(const struct ssh *ssh, const Channel *c)
{
	return (c->flags & (CHAN_EOF_RCVD|CHAN_CLOSE_RCVD)) != 0 ||
	    (ssh->compat & SSH_NEW_OPENSSH) == 0;
}

/* Writes `buf` to `fd`. Returns 0 if nothing is left, else 1. */
static int
drain(struct sshbuf *buf, int fd, const volatile sig_atomic_t *stop)
{
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };
	ssize_t len;

	/* A failed write to standard error closes it, and is no error. */
	while (fd != -1 && sshbuf_len(buf) != 0) {
		if (*stop)
			return 1;
		if (poll(&pfd, 1, STOP_LOOK_MS) <= 0)
			continue;
		len = write(fd, sshbuf_ptr(buf), sshbuf_len(buf));
		if (len == -1 && errno != EINTR && errno != EAGAIN &&
		    errno != EWOULDBLOCK)
			return session_write_errno(fd, errno) != 0;
		if (len > 0 && sshbuf_consume(buf, len) != 0)
			return 1;
	}
	return 0;
}

int
session_output_lost(const struct ssh *ssh, Channel *c,
    const volatile sig_atomic_t *stop)
{
	int lost;

	/* The reader has gone, or all is written */
	if (c->ostate == CHAN_OUTPUT_CLOSED)
		return 0;
	if (!all_has_come(ssh, c))
		return 1;
	debug2_f("channel %d: %zu bytes left, stderr %zu", c->self,
	    sshbuf_len(c->output), sshbuf_len(c->extended));
	lost = drain(c->output, c->wfd, stop);
	if (c->extended_usage == CHAN_EXTENDED_WRITE)
		lost |= drain(c->extended, c->efd, stop);
	return lost;
}
