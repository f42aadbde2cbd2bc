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
#include <sys/resource.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bdp-options.h"
#include "copy-lane.h"
#include "log.h"
#include "misc.h"
#include "quick-pair.h"
#include "xmalloc.h"
#include "sftp-auto.h"
#include "sftp-connections.h"
#include "sftp-lanes.h"
#include "sftp-lane-sessions.h"
#include "sftp-plan.h"
#include "sftp-spacing.h"

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
	/* Others take over what one that falls silent has left. */
	"-oServerAliveInterval=10",
	"-oServerAliveCountMax=3",
};
#define OPTIONS		(sizeof(ssh_options) / sizeof(ssh_options[0]))

/*
 * Our ssh finds out by itself (copy-lane.h). For others this replaces what the
 * user has set.
 */
#define NO_TOUCH	"-oPubkeyAcceptedAlgorithms=-sk-*"

/* Descriptors that stay free for files, and to wait for lanes */
#define SPARE		16

static struct {
	char *program;
	char **argv;
} first;
static struct sftp_spacing spacing;
static int again;		/* 1: ssh's second connection is in there */
static int direct;		/* 1: it is an sftp server */
static int asked = -1;		/* -X connections=; 0: auto; -1: not given */
static int paced = 1;		/* 0: -X pace=off */
static int automatic;		/* 1: sftp-auto.c decides */

/* Returns 1 if a lane was refused or is lost, else 0. */
static int
is_refused(void)
{
	u_int i;

	for (i = 0; i < SFTP_LANES; i++) {
		if (sftp_lane(i)->state == SFTP_LANE_LOST)
			return 1;
	}
	return 0;
}

/*
 * With auto: returns 1 if sessions of the first connection help more than
 * connections would, and makes them the lanes once more of them are of use.
 * They share TCP's buffers, so they help only if TCP is wide. How many are of
 * use is asked in any case, as that measures.
 */
static int
are_sessions(double now_s)
{
	u_int wanted;

	if (!automatic || !sftp_lane_sessions_are_there())
		return 0;
	wanted = sftp_lane_sessions_want(now_s);
	if (!quick_pair_is_wide())
		return 0;
	if (wanted != 0 && sftp_lane_sessions_use())
		debug("%u more sessions, beside 1", wanted);
	return 1;
}

static int
may_connect(void *ctx, double now_s)
{
	if (are_sessions(now_s))
		return 0;
	if (!automatic && is_refused())
		return 0;
	if (paced && !direct && !sftp_spacing_may(&spacing, now_s))
		return 0;
	if (automatic && !sftp_auto_wants(now_s))
		return 0;
	sftp_lane_sessions_end();
	sftp_spacing_begin(&spacing, now_s);
	return 1;
}

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
	setenv(COPY_LANE_ENV, "1", 1);
	execvp(first.program, first.argv);
	_exit(1);
}

static int
connect_more(void *ctx, int *in, int *out, pid_t *pid)
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

/* Allows so many connections; 0: as many as help; -1: as if it were 1. */
static void
set_number(int n)
{
	struct sftp_lane_source source = {
		.open = connect_more, .may_open = may_connect, .later = n == 0,
		.logs_in = !direct
	};

	automatic = n == 0;
	if (automatic)
		sftp_auto_begin(paced);
	sftp_lanes_source(&source);
	sftp_lanes_max(automatic ? BDP_OPTIONS_CONNECTIONS : MAXIMUM(n, 1));
}

/* With auto: there are no sessions after all. */
static void
without_sessions(void)
{
	set_number(0);
	/* The session that was refused has used up a lane. */
	sftp_lanes_max(BDP_OPTIONS_CONNECTIONS + 1);
}

/* The program is our ssh: takes NO_TOUCH back. */
static void
forget_no_touch(void)
{
	char **argv = first.argv;

	if (argv == NULL || argv[1] == NULL || strcmp(argv[1], NO_TOUCH) != 0)
		return;
	free(argv[1]);
	for (argv++; argv[0] != NULL; argv++)
		argv[0] = argv[1];
}

/*
 * Returns how many connections there are to be, by what the user and ssh have
 * said; 0: as many as help.
 */
static int
number(void)
{
	struct quick_pair_told told;
	int n = asked;

	quick_pair_told(&told);
	if (told.again && !again)
		sftp_spacing_begin(&spacing, monotime_double());
	again |= told.again;
	if (n == -1)
		n = told.own ? told.connections : 1;
	if (told.here)
		forget_no_touch();
	if (n != 1 && told.here && !told.own) {
		debug("one connection, which is that of a ControlMaster");
		return 1;
	}
	if (n != 1 && told.asks) {
		debug("one connection, as further logins would ask or fail");
		return 1;
	}
	if (n == 0 && !told.socket) {
		debug("one connection, as nothing is known of its path");
		return 1;
	}
	return n;
}

/* The user has logged in. What is certain to be of use begins at once. */
static void
logged_in(void)
{
	if (!sftp_plan_is_large() || number() < 2)
		return;
	set_number(number());
	(void)sftp_lanes_tick();
}

void
sftp_connections_first(const char *program, char *const argv[])
{
	size_t i, n = 0, k;

	sftp_lanes_close();
	sftp_lane_on_early(NULL);
	quick_pair_on_own(logged_in);
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
	first.argv = xcalloc(k + OPTIONS + 2, sizeof(*first.argv));
	/* ssh starts that of a ProxyJump by the name of its own. */
	first.argv[n++] = xstrdup(direct ? argv[0] : program);
	if (!direct)
		first.argv[n++] = xstrdup(NO_TOUCH);
	for (i = 0; !direct && i < OPTIONS; i++)
		first.argv[n++] = xstrdup(ssh_options[i]);
	for (i = 1; i < k; i++) {
		/* No option that comes first takes this back. */
		if (direct || strcmp(argv[i], "-A") != 0)
			first.argv[n++] = xstrdup(argv[i]);
	}
	sftp_spacing_begin(&spacing, monotime_double());
	again = 0;
	/* A server of -D doesn't say what it waits for. */
	set_number(direct && asked == 0 ? 1 : asked);
}

void
sftp_connections_follow(u_int n)
{
	spacing.kept = n;
}

int
sftp_connections_is_one(void)
{
	return !direct && asked < 2;
}

void
sftp_connections_ready(void)
{
	struct quick_pair_told told;
	int n;

	if (direct)
		return;
	n = number();
	quick_pair_told(&told);
	sftp_lane_sessions_on_none(n == 0 ? without_sessions : NULL);
	if (n > 1 || !told.own)
		sftp_lane_sessions_end();
	else if (n == 1 && sftp_lane_sessions_use()) {
		quick_pair_close();
		return;
	}
	set_number(n);
	if (n == 0) {
		quick_pair_watch();
		return;
	}
	quick_pair_close();
	if (sftp_plan_is_large())
		(void)sftp_lanes_tick();
}

/* Fails if the value of an option is wrong. */
static void
check(const char *what, const char *value, const char *errstr)
{
	if (errstr != NULL)
		fatal("Invalid %s \"%s\": %s", what, value, errstr);
}

int
sftp_connections_option(const char *option)
{
	const char *value;

	if (sftp_lane_sessions_option(option))
		return 1;
	if ((value = strchr(option, '=')) == NULL)
		return 0;
	value++;
	if (strncmp(option, "connections=", value - option) == 0) {
		check("number of connections", value,
		    bdp_options_number(value, BDP_OPTIONS_CONNECTIONS,
		    &asked));
		return 1;
	}
	if (strncmp(option, "pace=", value - option) == 0) {
		paced = strcmp(value, "off") != 0;
		check("pace", value, paced && strcmp(value, "on") != 0 ?
		    "must be on or off" : NULL);
		return 1;
	}
	return 0;
}
