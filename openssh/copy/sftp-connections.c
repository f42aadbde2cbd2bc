/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "misc.h"
#include "xmalloc.h"
#include "sftp-connections.h"
#include "sftp-lanes.h"

/*
 * What a login of a further connection must not do, in front of the user's own
 * options, as the first value counts: ask, need a touch, wait for long, share
 * another connection or let others share it, forward, run a local command.
 */
static const char *const ssh_options[] = {
	"-oBatchMode=yes",
	"-oNumberOfPasswordPrompts=0",
	"-oPasswordAuthentication=no",
	"-oKbdInteractiveAuthentication=no",
	"-oStrictHostKeyChecking=yes",
	"-oUpdateHostKeys=no",
	"-oAddKeysToAgent=no",
	"-oConnectTimeout=5",
	"-oConnectionAttempts=1",
	"-oControlMaster=no",
	"-oControlPath=none",
	"-oClearAllForwardings=yes",
	"-oForwardAgent=no",
	"-oPermitLocalCommand=no",
	"-oRequestTTY=no",
	"-oRemoteCommand=none",
	/* A key that wants a touch would wait for one. */
	"-oPubkeyAcceptedAlgorithms=-sk-*",
	/* Others take over what one that falls silent has left. */
	"-oServerAliveInterval=10",
	"-oServerAliveCountMax=3",
};
#define OPTIONS		(sizeof(ssh_options) / sizeof(ssh_options[0]))

/* Descriptors that stay free for files, and to wait for lanes */
#define SPARE		16

static struct {
	char *program;
	char **argv;
} first;
static int direct;		/* 1: it is an sftp server */
static int wanted = 1;		/* -X connections= */
static const char *ignored;	/* an option of -X, or NULL */

/* Runs the program in the child. Nothing that it says or asks is seen. */
static void
run(int fd)
{
	sigset_t none;
	int null;

	/* Our handlers would end the first connection. */
	ssh_signal(SIGPIPE, SIG_DFL);
	ssh_signal(SIGINT, SIG_IGN);
	ssh_signal(SIGTERM, SIG_DFL);
	ssh_signal(SIGHUP, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);

	if (dup2(fd, STDIN_FILENO) == -1 || dup2(fd, STDOUT_FILENO) == -1)
		_exit(1);
	if (log_level_get() < SYSLOG_LEVEL_DEBUG1 &&
	    (null = open("/dev/null", O_RDWR)) != -1)
		(void)dup2(null, STDERR_FILENO);
	closefrom(STDERR_FILENO + 1);
	/* Without a terminal, or a program that asks, there is no question. */
	(void)setsid();
	setenv("SSH_ASKPASS_REQUIRE", "never", 1);
	execvp(first.program, first.argv);
	_exit(1);
}

static int
connect_more(int *in, int *out, pid_t *pid)
{
	sigset_t all, before;
	struct rlimit rl;
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == -1) {
		debug_f("socketpair: %s", strerror(errno));
		return -1;
	}
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0 &&
	    rl.rlim_cur < (rlim_t)sv[1] + SPARE) {
		debug_f("descriptors are scarce");
		close(sv[0]);
		close(sv[1]);
		return -1;
	}
	(void)fcntl(sv[0], F_SETFD, FD_CLOEXEC);
	/* The child takes none of them before it has handlers of its own. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	if ((*pid = fork()) == 0)
		run(sv[1]);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(sv[1]);
	if (*pid == -1) {
		debug_f("fork: %s", strerror(errno));
		close(sv[0]);
		return -1;
	}
	*in = *out = sv[0];
	return 0;
}

void
sftp_connections_direct(void)
{
	direct = 1;
}

void
sftp_connections_first(const char *program, char *const argv[])
{
	struct sftp_lane_source source = {
		.open = connect_more, .logs_in = !direct
	};
	size_t i, n = 0, k;

	sftp_lanes_close();
	/* The log was not there when options were parsed. */
	if (ignored != NULL)
		debug("-X %s is ignored", ignored);
	if (first.argv != NULL) {
		for (i = 0; first.argv[i] != NULL; i++)
			free(first.argv[i]);
		free(first.argv);
		free(first.program);
	}
	memset(&first, 0, sizeof(first));
	first.program = xstrdup(program);
	for (k = 0; argv[k] != NULL; k++)
		;
	first.argv = xcalloc(k + OPTIONS + 1, sizeof(*first.argv));
	/* ssh starts that of a ProxyJump by the name of its own. */
	first.argv[n++] = xstrdup(direct ? argv[0] : program);
	for (i = 0; !direct && i < OPTIONS; i++)
		first.argv[n++] = xstrdup(ssh_options[i]);
	for (i = 1; i < k; i++) {
		/* No option that comes first takes this back. */
		if (direct || strcmp(argv[i], "-A") != 0)
			first.argv[n++] = xstrdup(argv[i]);
	}
	sftp_lanes_source(&source);
	sftp_lanes_max(wanted);
}

/* Returns 1 if an option, or its value, is of an earlier version, else 0. */
static int
is_ignored(const char *option)
{
	return strncmp(option, "sessions=", 9) == 0 ||
	    strncmp(option, "pace=", 5) == 0 ||
	    strcasecmp(option, "connections=auto") == 0;
}

int
sftp_connections_option(const char *option)
{
	const char *errstr, *value;

	if (is_ignored(option)) {
		ignored = option;
		return 1;
	}
	if (strncmp(option, "connections=", 12) != 0)
		return 0;
	value = option + 12;
	wanted = strtonum(value, 1, SFTP_CONNECTIONS_MAX, &errstr);
	if (errstr != NULL)
		fatal("Invalid number of connections \"%s\": %s", value,
		    errstr);
	return 1;
}
