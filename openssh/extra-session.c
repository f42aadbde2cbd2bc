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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <errno.h>
#include <fcntl.h>
#include <paths.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "sshbuf.h"
#include "packet.h"
#include "kex.h"
#include "bounded-input.h"
#include "channels.h"
#include "channel-sender.h"
#include "clientloop.h"
#include "compat.h"
#include "extra-limit.h"
#include "extra-session.h"
#include "log.h"
#include "misc.h"
#include "path-rtt.h"
#include "quick-pair.h"
#include "ssh2.h"
#include "ssherr.h"
#include "tcp-path.h"
#include "window-state.h"

/* Bytes of a message: its length and its type */
#define MESSAGE_LEN	8

/* Bytes of answers that may wait: whoever asks reads them. */
#define ANSWERS_MAX	4096

static struct {
	int	 fd;			/* the socket, or -1 */
	int	 first;			/* channel of the first session */
	int	 control;		/* channel of the socket, or -1 */
	int	 ended;			/* 1: the first session has ended */
	enum extra_limit_by by;		/* who decides on more sessions */
	u_int	 limit;			/* on sessions, with the first */
	int	 ids[EXTRA_LIMIT_MAX - 1];	/* channels of the others */
	u_int	 nids;
	int	 subsystem;
	struct sshbuf *command;
} extra = { .fd = -1, .first = -1, .control = -1 };

/* Returns 0 and sets *by to what the end of the value says, or returns -1. */
static int
decides(const char *end, enum extra_limit_by *by)
{
	if (strcmp(end, EXTRA_SESSION_ASKED) == 0)
		*by = EXTRA_LIMIT_ASKED;
	else if (strcmp(end, EXTRA_SESSION_AUTO) == 0)
		*by = EXTRA_LIMIT_AUTO;
	else if (strcmp(end, EXTRA_SESSION_OPTION) == 0)
		*by = EXTRA_LIMIT_OPTION;
	else
		return -1;
	return 0;
}

/*
 * Returns the socket that the variable's value names, or -1. Sets *by to who
 * decides on more sessions.
 */
static int
socket_of(const char *value, enum extra_limit_by *by)
{
	struct stat st;
	uid_t uid;
	gid_t gid;
	int fd, type = 0, end = 0;
	unsigned long long inode;
	socklen_t len = sizeof(type);

	if (sscanf(value, "%9d:%19llu%n", &fd, &inode, &end) != 2 ||
	    decides(value + end, by) != 0 || fd <= STDERR_FILENO)
		return -1;
	if (fstat(fd, &st) == -1 || !S_ISSOCK(st.st_mode) ||
	    (unsigned long long)st.st_ino != inode)
		return -1;
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == -1 ||
	    type != SOCK_STREAM)
		return -1;
	/* This fails for any but a connected socket of the family AF_UNIX. */
	if (getpeereid(fd, &uid, &gid) == -1 || uid != getuid())
		return -1;
	return fd;
}

int
extra_session_inherit(void)
{
	const char *value = getenv(EXTRA_SESSION_ENV);
	int fd = -1, lowest, kept;

	if (value != NULL)
		fd = socket_of(value, &extra.by);
	unsetenv(EXTRA_SESSION_ENV);
	/* Out of the way of that of quick-pair.h, which goes first */
	kept = fd == -1 ? -1 : fcntl(fd, F_DUPFD, STDERR_FILENO + 3);
	if (kept != -1)
		close(fd);
	lowest = quick_pair_take();
	if (kept == -1 || dup2(kept, lowest) == -1 ||
	    fcntl(lowest, F_SETFD, FD_CLOEXEC) == -1)
		return lowest;
	extra.fd = lowest;
	return lowest + 1;
}

/* A channel of ours has closed: forgets it. */
static void
closed(struct ssh *ssh, int id, int force, void *arg)
{
	u_int i;

	debug_f("channel %d", id);
	channel_cancel_cleanup(ssh, id);
	if (id == extra.control)
		extra.control = -1;
	for (i = 0; i < extra.nids; i++) {
		if (extra.ids[i] == id) {
			extra.ids[i] = extra.ids[--extra.nids];
			break;
		}
	}
}

/*
 * Ends a session. Its channel stays until the server has closed it, as the
 * server may be sending: a packet for no channel would end the connection. ssh
 * need not wait for that before it ends.
 */
static void
end_session(struct ssh *ssh, Channel *c)
{
	channel_force_close(ssh, c, 1);
}

/* The server has opened a session, or refused to. */
static void
opened(struct ssh *ssh, int id, int success, void *arg)
{
	extern char **environ;
	Channel *c;

	debug_f("channel %d: %s", id, success ? "open" : "refused");
	if (!success || (c = channel_by_id(ssh, id)) == NULL)
		return;
	if (extra.ended)
		end_session(ssh, c);
	else
		client_session2_setup(ssh, id, 0, extra.subsystem, NULL, NULL,
		    -1, extra.command, environ);
}

/* Opens a session with the descriptors fds, or closes them. */
static void
open_session(struct ssh *ssh, int fds[2])
{
	Channel *c;
	int err;

	if (extra.nids + 1 >= extra.limit ||
	    (err = open(_PATH_DEVNULL, O_WRONLY)) == -1) {
		debug_f("no session: %u are open", extra.nids);
		close(fds[0]);
		close(fds[1]);
		return;
	}
	c = channel_new(ssh, "session", SSH_CHANNEL_OPENING, fds[0], fds[1],
	    err, CHAN_SES_WINDOW_DEFAULT, CHAN_SES_PACKET_DEFAULT,
	    CHAN_EXTENDED_WRITE, "extra-session", CHANNEL_NONBLOCK_STDIO);
	c->flags |= CHAN_QUIET;
	extra.ids[extra.nids++] = c->self;
	channel_register_cleanup(ssh, c->self, closed, 1);
	channel_send_open(ssh, c->self);
	channel_register_open_confirm(ssh, c->self, opened, NULL);
}

/*
 * Receives a byte with two descriptors. Returns 0, or -1: with errno EAGAIN if
 * it is still to come, else if anything else came. mm_receive_fd() would wait,
 * and ssh with it, and tell the user of an error that ends nothing.
 */
static int
receive_fds(int sock, int fds[2])
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(2 * sizeof(int))];
	} control;
	struct cmsghdr *cmsg;
	struct msghdr msg;
	struct iovec iov;
	char byte;
	size_t i, n = 0;
	ssize_t len;

	memset(&msg, 0, sizeof(msg));
	memset(&control, 0, sizeof(control));
	iov.iov_base = &byte;
	iov.iov_len = 1;
	msg.msg_iov = &iov;
	msg.msg_iovlen = 1;
	msg.msg_control = &control.buf;
	msg.msg_controllen = sizeof(control.buf);
	if ((len = recvmsg(sock, &msg, MSG_DONTWAIT)) == -1)
		return -1;		/* never EINTR: it does not wait */
	if ((cmsg = CMSG_FIRSTHDR(&msg)) != NULL &&
	    cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS) {
		n = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(cmsg), MINIMUM(n, 2) * sizeof(int));
	}
	if (len == 1 && n == 2 && (msg.msg_flags & MSG_CTRUNC) == 0) {
		(void)fcntl(fds[0], F_SETFD, FD_CLOEXEC);
		(void)fcntl(fds[1], F_SETFD, FD_CLOEXEC);
		return 0;
	}
	for (i = 0; i < MINIMUM(n, 2); i++)
		close(fds[i]);
	errno = EINVAL;
	return -1;
}

/* Puts the answer to EXTRA_SESSION_REPORT into m. */
static void
put_report(struct ssh *ssh, struct sshbuf *m)
{
	struct path_info tcp = { 0 };
	uint64_t held_us = 0, rtt_us, now_us = window_now_us();
	Channel *c;
	u_int i, n = 1;
	int r;

	if ((c = channel_by_id(ssh, extra.first)) != NULL)
		held_us = channel_sender_held_us(c, now_us);
	for (i = 0; i < extra.nids; i++) {
		if ((c = channel_by_id(ssh, extra.ids[i])) == NULL)
			continue;
		n += c->type == SSH_CHANNEL_OPEN;
		held_us += channel_sender_held_us(c, now_us);
	}
	if (ssh_packet_connection_is_on_socket(ssh))
		(void)tcp_path_probe(ssh_packet_get_connection_out(ssh), &tcp);
	/*
	 * A peer that is busy answers late in SSH, so this counts only where
	 * there is no socket. With a forwarder behind the socket, the RTT is
	 * that of the way to it: too short, which adds no session.
	 */
	rtt_us = tcp.min_rtt_us;
	if (rtt_us == 0 && ssh->inband != NULL)
		rtt_us = ssh_rtt_least_us(ssh->inband);
	if ((r = sshbuf_put_u32(m, 4 + EXTRA_SESSION_NUMBERS * 8)) != 0 ||
	    (r = sshbuf_put_u32(m, EXTRA_SESSION_REPORT)) != 0 ||
	    (r = sshbuf_put_u64(m, held_us)) != 0 ||
	    (r = sshbuf_put_u64(m, rtt_us)) != 0 ||
	    (r = sshbuf_put_u64(m, n)) != 0)
		fatal_fr(r, "compose");
}

/* Tells the server that no more sessions follow, as ssh.c does. */
static void
no_more_sessions(struct ssh *ssh)
{
	int r;

	if ((ssh->compat & SSH_NEW_OPENSSH) == 0)
		return;
	debug_f("requesting no-more-sessions@openssh.com");
	if ((r = sshpkt_start(ssh, SSH2_MSG_GLOBAL_REQUEST)) != 0 ||
	    (r = sshpkt_put_cstring(ssh, "no-more-sessions@openssh.com")) !=
	    0 ||
	    (r = sshpkt_put_u8(ssh, 0)) != 0 ||
	    (r = sshpkt_send(ssh)) != 0)
		fatal_fr(r, "send packet");
}

/*
 * Handles a message that has come on the socket. Returns 0, or -1 to have the
 * socket closed.
 */
static int
read_message(struct ssh *ssh, Channel *c)
{
	int fds[2];

	if (sshbuf_len(c->input) != MESSAGE_LEN)
		return -1;
	switch (PEEK_U32(sshbuf_ptr(c->input) + 4)) {
	case EXTRA_SESSION_OPEN:
		/* It stays in c->input until the descriptors are here. */
		if (receive_fds(c->rfd, fds) == -1)
			return errno == EAGAIN ? 0 : -1;
		open_session(ssh, fds);
		break;
	case EXTRA_SESSION_REPORT:
		if (sshbuf_len(c->output) > ANSWERS_MAX)
			return -1;
		put_report(ssh, c->output);
		break;
	case EXTRA_SESSION_END:
		no_more_sessions(ssh);
		/* FALLTHROUGH */
	default:
		return -1;
	}
	sshbuf_reset(c->input);
	return 0;
}

/* Returns the limit on this connection's sessions, with the first. */
static u_int
limit_of(struct ssh *ssh, int option)
{
	struct extra_limit_facts f = { .by = extra.by, .option = option };
	struct path_info tcp = { 0 };

	/* The windows of a server with bounded input follow the path. */
	f.is_ours = (ssh->kex->flags & KEX_HAS_BOUNDED_INPUT) != 0;
	f.is_openssh = (ssh->compat & SSH_NEW_OPENSSH) != 0;
	if (ssh_packet_connection_is_on_socket(ssh))
		(void)tcp_path_probe(ssh_packet_get_connection_out(ssh), &tcp);
	f.rtt_us = tcp.min_rtt_us;
	return extra_limit(&f);
}

int
extra_session_start(struct ssh *ssh, int id, struct sshbuf *command,
    int subsystem, int option)
{
	Channel *c;

	if (extra.fd == -1)
		return 0;
	extra.limit = id == -1 || ssh_packet_get_mux(ssh) ? 1 :
	    limit_of(ssh, option);
	if (extra.limit == 1) {
		close(extra.fd);
		extra.fd = -1;
		return 0;
	}
	debug_f("at most %u sessions", extra.limit);
	extra.first = id;
	extra.command = command;
	extra.subsystem = subsystem;
	c = channel_new(ssh, "extra-session", SSH_CHANNEL_MUX_CLIENT, extra.fd,
	    extra.fd, -1, CHAN_SES_WINDOW_DEFAULT, CHAN_SES_PACKET_DEFAULT, 0,
	    "extra-session", 1);
	c->flags |= CHAN_LOCAL;
	c->mux_rcb = read_message;
	channel_register_cleanup(ssh, c->self, closed, 0);
	extra.control = c->self;
	extra.fd = -1;
	return 1;
}

void
extra_session_end(struct ssh *ssh)
{
	Channel *c;
	u_int i;

	extra.ended = 1;
	if (extra.control != -1 &&
	    (c = channel_by_id(ssh, extra.control)) != NULL)
		chan_mark_dead(ssh, c);
	/* From the last one on, as each that ends leaves the list. */
	for (i = extra.nids; i > 0; i--) {
		c = channel_by_id(ssh, extra.ids[i - 1]);
		/* One that the server has yet to open ends once it has. */
		if (c != NULL && c->type == SSH_CHANNEL_OPEN)
			end_session(ssh, c);
	}
}
