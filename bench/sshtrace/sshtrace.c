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
 * sshtrace: shows once a second how each SSH connection does, and what limits
 * it. See sshtrace(1).
 */

#include <sys/types.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "conns.h"
#include "events.h"
#include "table.h"

#define SSH_PORT	22
#define INTERVAL_US	1000000
#define LOOK_US		100000		/* between two looks */
#define REMEDY_LEAST	10		/* %: the sum-up says what to do */

static struct {
	int json;
	int tcp_info;		/* no BPF */
	int port;		/* 0: any */
	pid_t pid;		/* 0: any */
	char **command;
} options;

static sigset_t caught, before;

static void __attribute__((noreturn))
usage(void)
{
	fprintf(stderr, "usage: sshtrace [--json] [--pid pid] [--port port] "
	    "[--ss] [-- command [argument ...]]\n");
	exit(2);
}

static int
number(const char *what, const char *s, long max)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(s, &end, 10);
	if (errno != 0 || end == s || *end != '\0' || n < 1 || n > max)
		errx(2, "%s is to be a number from 1 to %ld, not \"%s\"",
		    what, max, s);
	return n;
}

static void
parse(int argc, char **argv)
{
	static const struct option names[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "pid", required_argument, NULL, 'p' },
		{ "port", required_argument, NULL, 'P' },
		{ "ss", no_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 }
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "+", names, NULL)) != -1) {
		switch (opt) {
		case 'j':
			options.json = 1;
			break;
		case 'p':
			options.pid = number("a pid", optarg, INT32_MAX);
			break;
		case 'P':
			options.port = number("a port", optarg, UINT16_MAX);
			break;
		case 's':
			options.tcp_info = 1;
			break;
		default:
			usage();
		}
	}
	if (optind < argc) {
		/* "sshtrace scp" is more likely a slip than a command */
		if (strcmp(argv[optind - 1], "--") != 0)
			usage();
		options.command = argv + optind;
	}
	if (options.command != NULL && options.pid != 0)
		errx(2, "--pid and a command exclude each other");
	if (options.pid != 0 && kill(options.pid, 0) == -1 && errno == ESRCH)
		errx(2, "there is no process %d", (int)options.pid);
	/* A command's own connections are told by their process. */
	if (options.port == 0 && options.command == NULL && options.pid == 0)
		options.port = SSH_PORT;
}

static uint64_t
now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ULL + ts.tv_nsec / 1000;
}

/* What is shown */

static unsigned int
cpu_percent(const struct verdict_in *in)
{
	return in->interval_us == 0 ? 0 : in->cpu_us * 100 / in->interval_us;
}

/* In the place of the last table, and no larger, if that is a terminal */
static void
print_table(struct conns *cs)
{
	struct table *t = table_new();
	struct winsize ws = { 0 };

	conns_end_interval(cs, table_add, t);
	if (isatty(STDOUT_FILENO)) {
		printf("\033[H\033[J");
		ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws);
	}
	table_print(t, ws.ws_col, ws.ws_row);
}

static void
figure(const char *name, long long n)
{
	printf(", \"%s\": %lld", name, n);
}

static void
show_json(const struct conn_row *row, void *ctx)
{
	const struct verdict_in *in = &row->in;

	printf("{\"time\": %lld, \"t_s\": %.3f, \"seen_by\": \"%s\", "
	    "\"local\": \"%s\", \"remote\": \"%s\", "
	    "\"direction\": \"%s\", \"limit\": \"%s\"",
	    (long long)time(NULL), now_us() / 1e6, (const char *)ctx,
	    row->local, row->remote, in->sends ? "send" : "receive",
	    verdict_name(row->verdict));
	if (*row->remedy != '\0')
		printf(", \"remedy\": \"%s\"", row->remedy);
	figure("pid", row->pid);
	figure("interval_us", in->interval_us);
	figure("sent_bytes", in->sent);
	figure("received_bytes", in->received);
	figure("goodput_bytes_per_s", row->rate);
	figure("rtt_us", in->rtt_us);
	figure("min_rtt_us", in->min_rtt_us);
	figure("cwnd_bytes", row->cwnd);
	figure("notsent_bytes", row->notsent);
	figure("send_window_bytes", in->snd_wnd);
	figure("receive_window_bytes", in->rcv_wnd);
	figure("channel_window_bytes", in->window);
	figure("retransmits", row->retransmits);
	figure("timeouts", row->timeouts);
	figure("out_of_order", in->late);
	figure("rwnd_limited_us", in->rwnd_us);
	figure("sndbuf_limited_us", in->sndbuf_us);
	figure("cpu_percent", cpu_percent(in));
	figure("starved_percent", in->starved);
	figure("blocked_percent", in->blocked);
	figure("source_percent", in->source);
	figure("reader_percent", in->sink);
	printf("}\n");
}

static void
show_nothing(const struct conn_row *row, void *ctx)
{
	(void)row;
	(void)ctx;
}

static void
end_interval(struct conns *cs, const char *source)
{
	if (options.json)
		conns_end_interval(cs, show_json, (void *)source);
	else if (options.command != NULL)
		conns_end_interval(cs, show_nothing, NULL);
	else
		print_table(cs);
	if (fflush(stdout) == EOF)
		err(1, "standard output");
}

/* Where the time went, the most of it first */
static void
sum_up(const struct conns_total *t, uint64_t took_us)
{
	uint64_t left[VERDICT_MAX], seen_us = 0;
	int v, most;

	if (t->n == 0) {
		warnx("%s had no TCP connection of its own",
		    options.command[0]);
		return;
	}
	memcpy(left, t->time_us, sizeof(left));
	for (v = 0; v < VERDICT_MAX; v++)
		seen_us += left[v];
	fprintf(stderr, "sshtrace: %.1f MB in %.1f s", t->bytes / 1e6,
	    took_us / 1e6);
	if (t->n > 1)
		fprintf(stderr, ", %u connections", t->n);
	fprintf(stderr, ". Limited by:\n");
	for (;;) {
		for (most = 0, v = 1; v < VERDICT_MAX; v++)
			if (left[v] > left[most])
				most = v;
		if (left[most] == 0)
			break;
		fprintf(stderr, "%8.1f s %3llu %%  %s\n", left[most] / 1e6,
		    (unsigned long long)(left[most] * 100 / seen_us),
		    verdict_text(most));
		if (left[most] * 100 / seen_us >= REMEDY_LEAST &&
		    *t->remedy[most] != '\0')
			fprintf(stderr, "%18s%s\n", "", t->remedy[most]);
		left[most] = 0;
	}
}

static void
json_sum(const struct conns_total *t, uint64_t took_us)
{
	int v;

	printf("{\"summary\": true, \"seconds\": %.3f, \"bytes\": %llu, "
	    "\"connections\": %u, \"limited_us\": {", took_us / 1e6,
	    (unsigned long long)t->bytes, t->n);
	for (v = 0; v < VERDICT_MAX; v++)
		printf("%s\"%s\": %llu", v == 0 ? "" : ", ", verdict_name(v),
		    (unsigned long long)t->time_us[v]);
	printf("}}\n");
}

/* What runs beside */

static pid_t
start_command(void)
{
	pid_t pid;

	if ((pid = fork()) == -1)
		err(1, "fork");
	if (pid != 0)
		return pid;
	sigprocmask(SIG_SETMASK, &before, NULL);
	execvp(options.command[0], options.command);
	warn("%s", options.command[0]);
	_exit(errno == ENOENT ? 127 : 126);
}

/* As a shell has it */
static int
exit_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
	    WEXITSTATUS(status);
}

/*
 * Looks and shows until a signal, or the command's end, whose status it
 * returns. A command is told of the signals that end sshtrace.
 */
static int
watch(struct conns *cs, const char *source, pid_t child)
{
	struct timespec wait;
	uint64_t look_us = now_us(), show_us = look_us + INTERVAL_US, now;
	int sig, status;

	for (;;) {
		if ((now = now_us()) < look_us) {
			wait.tv_sec = (look_us - now) / 1000000;
			wait.tv_nsec = (look_us - now) % 1000000 * 1000;
		} else
			wait.tv_sec = wait.tv_nsec = 0;
		sig = sigtimedwait(&caught, NULL, &wait);
		if (sig == SIGCHLD &&
		    waitpid(child, &status, WNOHANG) == child)
			return exit_status(status);
		if (sig > 0 && sig != SIGCHLD) {
			if (child == 0)
				return 0;
			kill(child, sig);
		}
		if ((now = now_us()) < look_us)
			continue;
		if (conns_look(cs, now) == -1)
			err(1, "NETLINK_SOCK_DIAG");
		look_us = now + LOOK_US;
		if (now >= show_us) {
			end_interval(cs, source);
			show_us += INTERVAL_US;
			if (show_us < now)
				show_us = now + INTERVAL_US;
		}
	}
}

int
main(int argc, char **argv)
{
	const char *why = NULL, *source = "bpf";
	struct events *events = NULL;
	uint64_t start_us;
	struct conns *cs;
	pid_t child = 0;
	int status;

	parse(argc, argv);
	sigemptyset(&caught);
	sigaddset(&caught, SIGINT);
	sigaddset(&caught, SIGTERM);
	sigaddset(&caught, SIGHUP);
	sigaddset(&caught, SIGCHLD);
	sigprocmask(SIG_BLOCK, &caught, &before);
	signal(SIGCHLD, SIG_DFL);	/* we may have come without it */
	if (!options.tcp_info && (events = events_open(&why)) == NULL)
		warnx("no BPF: %s; from TCP_INFO alone, less finely", why);
	if (events == NULL)
		source = "tcp_info";
	start_us = now_us();
	if (options.command != NULL)
		options.pid = child = start_command();
	if ((cs = conns_new(options.port, options.pid, events)) == NULL)
		err(1, "NETLINK_SOCK_DIAG");
	status = watch(cs, source, child);
	end_interval(cs, source);
	if (options.command == NULL)
		return status;
	sum_up(conns_total(cs), now_us() - start_us);
	if (options.json)
		json_sum(conns_total(cs), now_us() - start_us);
	return status;
}
