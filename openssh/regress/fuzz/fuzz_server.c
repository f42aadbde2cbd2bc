/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/*
 * A client of sftp-server over whole conversations: requests of any kind, sane
 * or not, on files of a scratch directory; as many at once as it likes, with
 * replies read or left. sftp-server's own main loop runs. Where it polls, the
 * client has its turn. Its standard input is a socket, its standard output a
 * pipe of which only the length is kept.
 */

#include "includes.h"

#include <sys/types.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bounds.h"
#include "input.h"

static jmp_buf ended;		/* where the end of the server leads */

static int unsafe(const char *);

/* Nothing outside of the scratch directory is written to. */
#define open(path, ...)		(unsafe(path) ? -1 : open(path, __VA_ARGS__))
#define truncate(path, len)	(unsafe(path) ? -1 : truncate(path, len))
#define chmod(path, mode)	(unsafe(path) ? -1 : chmod(path, mode))
#define chown(path, u, g)	(unsafe(path) ? -1 : chown(path, u, g))
#define utimes(path, tv)	(unsafe(path) ? -1 : utimes(path, tv))
#define unlink(path)		(unsafe(path) ? -1 : unlink(path))
#define mkdir(path, mode)	(unsafe(path) ? -1 : mkdir(path, mode))
#define rmdir(path)		(unsafe(path) ? -1 : rmdir(path))
#define link(a, b)		(unsafe(a) || unsafe(b) ? -1 : link(a, b))
#define symlink(a, b)		(unsafe(a) || unsafe(b) ? -1 : symlink(a, b))
#define rename(a, b)		(unsafe(a) || unsafe(b) ? -1 : rename(a, b))
#define fchmodat(at, path, ...)	\
	(unsafe(path) ? -1 : fchmodat(at, path, __VA_ARGS__))
#define fchownat(at, path, ...)	\
	(unsafe(path) ? -1 : fchownat(at, path, __VA_ARGS__))
#define utimensat(at, path, ...) \
	(unsafe(path) ? -1 : utimensat(at, path, __VA_ARGS__))
#define fsync(fd)		0
#define platform_disable_tracing(strict)
#define _exit(status)		longjmp(ended, 1 + (status))
#define exit(status)		longjmp(ended, 1 + (status))

#include "sftp-server.c"

#undef open
#undef rename
#undef symlink
#undef mkdir
#undef unlink
#undef truncate

#define CPU_S		10		/* seconds, for an input */
/* Bytes: a client that goes on sending may leave as much as it asked for. */
#define MEMORY		(48 * 1024 * 1024)
/* Bytes of requests: one read, and one message that is not whole */
#define REQUESTS_MAX	(2 * SFTP_MAX_MSG_LENGTH + 4)
/* Bytes of replies in a turn: that many, and the reply that passes it */
#define REPLIES_MAX	(2 * (SFTP_MAX_MSG_LENGTH + 4))
#define PIPE_SIZE	(64 * 1024)	/* that of standard output */
#define ATOMIC		4096		/* free bytes that poll(2) wants */
#define BATCH		(1024 * 1024)	/* bytes sent ahead at most */
#define TURNS		400		/* of the main loop, for an input */
#define FILE_MAX	(2 * 1024 * 1024)	/* bytes; more is not written */

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);
int LLVMFuzzerInitialize(int *, char ***);
int __real_poll(struct pollfd *, nfds_t, int);
int __wrap_poll(struct pollfd *, nfds_t, int);
ssize_t __real_write(int, const void *, size_t);
ssize_t __wrap_write(int, const void *, size_t);

static int client = -1;		/* its end of the server's standard input */
static struct sshbuf *batch;	/* what it wants to send */
static size_t unread;		/* bytes in the pipe of the standard output */
static size_t waiting;		/* bytes in its queue, a turn before */
static u_int turns;

void
cleanup_exit(int i)
{
	longjmp(ended, 1);
}

static int
unsafe(const char *path)
{
	if (path[0] != '/' && strstr(path, "..") == NULL)
		return 0;
	errno = EACCES;
	return 1;
}

/* Requests are put into the batch. A failure to put something is ignored. */

static void
put_path(struct sshbuf *m)
{
	static const char *paths[] = {
		"a", "b", "d", "d/x", "d/y", "big", "link", ".", "", "none",
		"d/d", "~", "a/b", "dangling"
	};

	(void)sshbuf_put_cstring(m, paths[input_byte() %
	    (sizeof(paths) / sizeof(paths[0]))]);
}

static void
put_handle(struct sshbuf *m)
{
	u_int n = input_byte();

	if (n >= 250) {
		(void)sshbuf_put_string(m, "other", n - 250);
		return;
	}
	(void)sshbuf_put_u32(m, 4);
	(void)sshbuf_put_u32(m, n % 4);
}

static void
put_attrs(struct sshbuf *m)
{
	u_int flags = input_byte();

	(void)sshbuf_put_u32(m, flags & 15);
	if (flags & SSH2_FILEXFER_ATTR_SIZE)
		(void)sshbuf_put_u64(m, input_number());
	if (flags & SSH2_FILEXFER_ATTR_UIDGID) {
		(void)sshbuf_put_u32(m, getuid());
		(void)sshbuf_put_u32(m, getgid());
	}
	if (flags & SSH2_FILEXFER_ATTR_PERMISSIONS)
		(void)sshbuf_put_u32(m, input_number());
	if (flags & SSH2_FILEXFER_ATTR_ACMODTIME) {
		(void)sshbuf_put_u32(m, input_number());
		(void)sshbuf_put_u32(m, input_number());
	}
}

static void
put_raw(struct sshbuf *m)
{
	const uint8_t *raw;
	size_t n;

	raw = input_string(&n);
	(void)sshbuf_put(m, raw, n);
}

static void
put_data(struct sshbuf *m)
{
	static const u_char zeroes[SFTP_MAX_MSG_LENGTH];
	u_int n = input_byte();

	(void)sshbuf_put_string(m, zeroes, n < 64 ? n * 4096 : n);
}

static void
put_extended(struct sshbuf *m)
{
	const struct sftp_handler *h;
	u_int what = input_byte();

	/* The last one is none. */
	h = &extended_handlers[what % (sizeof(extended_handlers) /
	    sizeof(extended_handlers[0]))];
	(void)sshbuf_put_cstring(m, h->name == NULL ? "none" : h->ext_name);
	if (h->handler == process_extended_posix_rename ||
	    h->handler == process_extended_hardlink) {
		put_path(m);
		put_path(m);
	} else if (h->handler == process_extended_lsetstat) {
		put_path(m);
		put_attrs(m);
	} else if (h->handler == process_extended_check_file) {
		put_handle(m);
		(void)sshbuf_put_cstring(m, "sha256");
		(void)sshbuf_put_u64(m, input_number());
		(void)sshbuf_put_u64(m, input_number());
		(void)sshbuf_put_u32(m, input_number());
	} else if (h->handler == process_extended_copy_data) {
		put_handle(m);
		(void)sshbuf_put_u64(m, input_number());
		(void)sshbuf_put_u64(m, input_number());
		put_handle(m);
		(void)sshbuf_put_u64(m, input_number());
	} else if (h->handler == process_extended_fsync ||
	    h->handler == process_extended_fstatvfs)
		put_handle(m);
	else
		put_raw(m);
}

/* Puts what a request of a type has after its id. */
static void
put_body(struct sshbuf *m, u_int type)
{
	switch (type) {
	case SSH2_FXP_OPEN:
		put_path(m);
		(void)sshbuf_put_u32(m, input_byte());
		put_attrs(m);
		break;
	case SSH2_FXP_CLOSE:
	case SSH2_FXP_FSTAT:
	case SSH2_FXP_READDIR:
		put_handle(m);
		break;
	case SSH2_FXP_READ:
		put_handle(m);
		(void)sshbuf_put_u64(m, input_number());
		(void)sshbuf_put_u32(m, input_number());
		break;
	case SSH2_FXP_WRITE:
		put_handle(m);
		(void)sshbuf_put_u64(m, input_number());
		put_data(m);
		break;
	case SSH2_FXP_FSETSTAT:
		put_handle(m);
		put_attrs(m);
		break;
	case SSH2_FXP_SETSTAT:
	case SSH2_FXP_MKDIR:
		put_path(m);
		put_attrs(m);
		break;
	case SSH2_FXP_RENAME:
	case SSH2_FXP_SYMLINK:
		put_path(m);
		put_path(m);
		break;
	case SSH2_FXP_EXTENDED:
		put_extended(m);
		break;
	default:
		put_path(m);
		break;
	}
}

/* Puts one request, as many times as the client likes. */
static void
request(void)
{
	struct sshbuf *m = sshbuf_new();
	u_int type = input_byte(), times = input_byte();

	if (m == NULL)
		abort();
	type = type % 21 == 0 ? SSH2_FXP_EXTENDED : type % 21;
	times = times < 160 ? 1 : times - 159;
	(void)sshbuf_put_u8(m, type);
	if (type == SSH2_FXP_INIT)
		(void)sshbuf_put_u32(m, input_byte());
	else {
		(void)sshbuf_put_u32(m, 0);
		put_body(m, type);
	}
	while (times-- > 0 && sshbuf_len(batch) < BATCH)
		(void)sshbuf_put_stringb(batch, m);
	sshbuf_free(m);
}

static void
put_open(u_int type, const char *path, u_int flags)
{
	struct sshbuf *m = sshbuf_new();

	if (m == NULL)
		abort();
	(void)sshbuf_put_u8(m, type);
	(void)sshbuf_put_u32(m, 0);
	(void)sshbuf_put_cstring(m, path);
	if (type == SSH2_FXP_OPEN) {
		(void)sshbuf_put_u32(m, flags);
		(void)sshbuf_put_u32(m, 0);
	}
	(void)sshbuf_put_stringb(batch, m);
	sshbuf_free(m);
}

/* As most conversations start: it has the handles 0 to 3. */
static void
hello(void)
{
	static const u_char init[] = { SSH2_FXP_INIT, 0, 0, 0, 3 };

	(void)sshbuf_put_string(batch, init, sizeof(init));
	put_open(SSH2_FXP_OPEN, "big", SSH2_FXF_READ);
	put_open(SSH2_FXP_OPEN, "b", SSH2_FXF_WRITE|SSH2_FXF_CREAT);
	put_open(SSH2_FXP_OPEN, "a", SSH2_FXF_READ|SSH2_FXF_WRITE);
	put_open(SSH2_FXP_OPENDIR, "d", 0);
}

/* Until the client has said what it wanted, or wants to see what comes */
static void
compose(void)
{
	u_int what;

	while (input_len() > 0 && sshbuf_len(batch) < BATCH) {
		what = input_byte();
		if (what < 192)
			request();
		else if (what < 200)
			put_raw(batch);
		else if (what < 228) {
			unread = 0;
			break;
		} else
			break;
	}
}

/* What the client does while the server waits. */
static void
client_turn(void)
{
	static size_t replies;
	ssize_t n;

	if (turns == 0)
		input_drop();
	else
		turns--;
	compose();
	n = send(client, sshbuf_ptr(batch), sshbuf_len(batch), MSG_DONTWAIT);
	if (n > 0 && sshbuf_consume(batch, n) != 0)
		abort();
	if (sshbuf_len(iqueue) > REQUESTS_MAX ||
	    sshbuf_len(oqueue) > replies + REPLIES_MAX)
		finding("queues of %zu and %zu bytes, the last of %zu before",
		    sshbuf_len(iqueue), sshbuf_len(oqueue), replies);
	replies = sshbuf_len(oqueue);
	bounds_check();
}

int
__wrap_poll(struct pollfd *pfd, nfds_t npfd, int timeout)
{
	int ret;

	if (npfd != 2)
		return __real_poll(pfd, npfd, timeout);
	client_turn();
	ret = __real_poll(pfd, 1, 0);
	/* It reads what there is where the server would wait for that. */
	if (ret == 0)
		unread = 0;
	/* It leaves once all has been taken, and what is left is no message. */
	if (turns == 0 || (ret == 0 && input_len() == 0 &&
	    sshbuf_len(batch) == 0 && sshbuf_len(iqueue) == waiting)) {
		shutdown(client, SHUT_WR);
		ret = __real_poll(pfd, 1, 0);
	}
	waiting = sshbuf_len(iqueue);
	pfd[1].revents = 0;
	if (pfd[1].fd != -1 && unread <= PIPE_SIZE - ATOMIC)
		pfd[1].revents = POLLOUT;
	return ret + (pfd[1].revents != 0);
}

/* The server waits here until the client has read all but a pipe-full. */
ssize_t
__wrap_write(int fd, const void *buf, size_t len)
{
	if (fd != STDOUT_FILENO)
		return __real_write(fd, buf, len);
	unread = MINIMUM(unread + len, PIPE_SIZE);
	return len;
}

/* What lies in the directory as a conversation starts */
static void
make_files(void)
{
	struct rlimit rl;
	int fd;

	empty_directory(".");
	if (getrlimit(RLIMIT_FSIZE, &rl) == -1)
		abort();
	rl.rlim_cur = rl.rlim_max;	/* for the big one */
	if (setrlimit(RLIMIT_FSIZE, &rl) == -1 || mkdir("d", 0755) == -1 ||
	    symlink("a", "link") == -1 || symlink("none", "dangling") == -1 ||
	    (fd = open("d/x", O_WRONLY|O_CREAT, 0644)) == -1)
		finding("set up: %s", strerror(errno));
	close(fd);
	if ((fd = open("a", O_RDWR|O_CREAT, 0644)) == -1 ||
	    ftruncate(fd, 300000) == -1 || close(fd) == -1 ||
	    (fd = open("big", O_RDWR|O_CREAT, 0644)) == -1 ||
	    ftruncate(fd, 1LL << 40) == -1 || close(fd) == -1)
		finding("set up: %s", strerror(errno));
	signal(SIGXFSZ, SIG_IGN);
	rl.rlim_cur = FILE_MAX;
	if (setrlimit(RLIMIT_FSIZE, &rl) == -1)
		abort();
}

/* Does what the end of the process would have done. */
static void
forget(void)
{
	u_int i;

	for (i = 0; i < num_handles; i++)
		(void)handle_close(i);
	free(handles);
	handles = NULL;
	num_handles = 0;
	first_unused_handle = -1;
	sshbuf_free(iqueue);
	sshbuf_free(oqueue);
	iqueue = oqueue = NULL;
	free(client_addr);
	client_addr = NULL;
	free(request_allowlist);
	free(request_denylist);
	request_allowlist = request_denylist = NULL;
	version = init_done = readonly = 0;
	optind = 1;
}

static void
serve(u_int how)
{
	static char *lists[] = { "read", "check-file", "write,open", "none" };
	char *argv[4] = { "sftp-server", "-R", NULL, NULL };
	struct passwd user = { .pw_name = "fuzz", .pw_dir = ".",
	    .pw_passwd = "", .pw_shell = "", .pw_gecos = "" };
	int argc = 1 + (how & 1);

	if (how & 6) {
		argv[argc++] = how & 2 ? "-P" : "-p";
		argv[argc++] = lists[how >> 3 & 3];
	}
	sftp_server_main(argc, argv, &user);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	scratch_directory();
	log_level = SYSLOG_LEVEL_QUIET;
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	int net[2];
	u_int how;

	make_files();
	bounds_start(CPU_S, MEMORY);
	input_set(input, len);
	turns = TURNS;
	unread = waiting = 0;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, net) == -1 ||
	    dup2(net[0], STDIN_FILENO) == -1 || (batch = sshbuf_new()) == NULL)
		abort();
	close(net[0]);
	client = net[1];
	how = input_byte();
	if ((how & 0x20) == 0)
		hello();
	if (setjmp(ended) == 0)
		serve(how);
	forget();
	sshbuf_free(batch);
	close(client);
	bounds_end(1);
	return 0;
}
