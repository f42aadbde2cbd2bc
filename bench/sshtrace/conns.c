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

#include <sys/types.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/tcp.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conns.h"
#include "events.h"
#include "peer.h"
#include "procs.h"
#include "sockdiag.h"

/* sshd has two processes for a connection, and some more while one logs in. */
#define OWNERS_MAX	8

/*
 * The processes of a connection change during the login. Its socket is looked
 * up often at first, and seldom later (us).
 */
#define SEARCH_FIRST_US	100000
#define SEARCH_LAST_US	10000000

#define MAXIMUM(a, b)	((a) > (b) ? (a) : (b))

struct owner {
	pid_t pid;
	uint64_t start_us, cpu_us;	/* at the interval's start, and now */
};

struct conn {
	TAILQ_ENTRY(conn) entry;
	struct sockdiag start, now;	/* interval's start, and last look */
	uint64_t start_us, now_us;
	struct owner owners[OWNERS_MAX];
	int n_owners, more_owners;	/* since they were last asked for */
	uint64_t search_us, wait_us;	/* next search for owners */
	int searched;			/* program is that of its owners */
	enum procs_program program;
	char typed[256];		/* name of the peer, "" unknown */
	int wanted;			/* it is one that we were asked for */
	/* looks in this interval */
	unsigned int looks, starved, blocked, sources, sinks, known;
	uint64_t snd_wnd, rcv_wnd, sndbuf, rcvbuf;
	struct events_seen seen;	/* at the interval's start */
};

struct conns {
	TAILQ_HEAD(, conn) list;
	int fd, port;
	uint64_t wmem_max, rmem_max;
	pid_t pid;
	struct events *events;
	uint64_t now_us;
	struct conns_total total;
};

static void *
xcalloc(size_t n, size_t size)
{
	void *p;

	if ((p = calloc(n, size)) == NULL) {
		perror("sshtrace");
		exit(1);
	}
	return p;
}

struct conns *
conns_new(int port, pid_t pid, struct events *events)
{
	struct conns *cs = xcalloc(1, sizeof(*cs));

	if ((cs->fd = sockdiag_open()) == -1) {
		free(cs);
		return NULL;
	}
	TAILQ_INIT(&cs->list);
	cs->port = port;
	cs->wmem_max = procs_sysctl_max("tcp_wmem");
	cs->rmem_max = procs_sysctl_max("tcp_rmem");
	cs->pid = pid;
	cs->events = events;
	return cs;
}

const struct conns_total *
conns_total(const struct conns *cs)
{
	return &cs->total;
}

static struct conn *
find(struct conns *cs, uint64_t cookie)
{
	struct conn *c;

	TAILQ_FOREACH(c, &cs->list, entry)
		if (c->now.cookie == cookie)
			return c;
	return NULL;
}

static void
start_interval(struct conn *c)
{
	int i;

	c->start = c->now;
	c->start_us = c->now_us;
	c->looks = c->starved = c->blocked = 0;
	c->sources = c->sinks = c->known = 0;
	c->snd_wnd = c->rcv_wnd = c->sndbuf = c->rcvbuf = 0;
	for (i = 0; i < c->n_owners; i++)
		c->owners[i].start_us = c->owners[i].cpu_us;
}

/* Segments that the network has, as TCP itself counts them */
static uint32_t
in_flight(const struct tcp_info *ti)
{
	uint32_t out = ti->tcpi_unacked + ti->tcpi_retrans;
	uint32_t gone = ti->tcpi_sacked + ti->tcpi_lost;

	return out > gone ? out - gone : 0;
}

/* What its windows are, and follows them where that is possible. */
static void
look_at_programs(const struct conns *cs, struct conn *c)
{
	enum procs_program program;
	int i;

	if (c->searched)
		return;
	c->searched = 1;
	c->program = PROCS_OTHER;
	for (i = 0; i < c->n_owners; i++) {
		program = procs_program(c->owners[i].pid);
		c->program = MAXIMUM(c->program, program);
		if (program != PROCS_OTHER && *c->typed == '\0')
			procs_peer(c->owners[i].pid, c->typed,
			    sizeof(c->typed));
		if (program == PROCS_PROBE && cs->events != NULL)
			events_watch(cs->events, c->owners[i].pid);
	}
}

static void
look_at_owners(const struct conns *cs, struct conn *c)
{
	int source = -1, sink = -1, i;

	look_at_programs(cs, c);
	for (i = 0; i < c->n_owners; i++) {
		procs_waits(c->owners[i].pid, c->now.inode, &source, &sink);
		c->owners[i].cpu_us = MAXIMUM(c->owners[i].cpu_us,
		    procs_cpu_us(c->owners[i].pid));
	}
	if (source == -1)
		return;
	c->known++;
	c->sources += source;
	c->sinks += sink;
}

static void
saw(const struct sockdiag *s, void *ctx)
{
	struct conns *cs = ctx;
	const struct tcp_info *ti = &s->info;
	struct conn *c = find(cs, s->cookie);
	int starved, new = c == NULL;

	if (new) {
		c = xcalloc(1, sizeof(*c));
		c->search_us = cs->now_us;
		c->wait_us = SEARCH_FIRST_US;
		TAILQ_INSERT_TAIL(&cs->list, c, entry);
	}
	c->now = *s;
	c->now_us = cs->now_us;
	if (new)
		start_interval(c);
	c->looks++;
	starved = verdict_starved(ti->tcpi_snd_cwnd, in_flight(ti),
	    ti->tcpi_notsent_bytes, ti->tcpi_snd_mss);
	c->starved += starved;
	c->blocked += starved && verdict_blocked(s->sndbuf, s->queued);
	c->snd_wnd = MAXIMUM(c->snd_wnd, ti->tcpi_snd_wnd);
	c->rcv_wnd = MAXIMUM(c->rcv_wnd, ti->tcpi_rcv_ssthresh);
	c->sndbuf = MAXIMUM(c->sndbuf, s->sndbuf);
	c->rcvbuf = MAXIMUM(c->rcvbuf, s->rcvbuf);
}

static void
found(uint32_t inode, pid_t pid, void *ctx)
{
	struct conns *cs = ctx;
	struct conn *c;
	int i;

	TAILQ_FOREACH(c, &cs->list, entry) {
		if (c->now.inode != inode)
			continue;
		for (i = 0; i < c->n_owners && c->owners[i].pid != pid; i++)
			;
		if (i == OWNERS_MAX)
			continue;
		if (i == c->n_owners) {
			c->owners[i].pid = pid;
			c->owners[i].start_us = procs_cpu_us(pid);
			c->owners[i].cpu_us = c->owners[i].start_us;
			c->n_owners++;
			c->more_owners = 1;
			c->searched = 0;
		}
	}
}

static int
by_inode(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void
drop_dead_owners(struct conn *c)
{
	int i, n = 0;

	for (i = 0; i < c->n_owners; i++)
		if (procs_alive(c->owners[i].pid))
			c->owners[n++] = c->owners[i];
	c->n_owners = n;
}

static void
search(struct conns *cs)
{
	uint32_t *inodes;
	size_t n = 0, all = 0;
	struct conn *c;

	TAILQ_FOREACH(c, &cs->list, entry)
		all++;
	inodes = xcalloc(all + 1, sizeof(*inodes));
	TAILQ_FOREACH(c, &cs->list, entry) {
		if (c->now_us != cs->now_us || c->now.inode == 0 ||
		    cs->now_us < c->search_us)
			continue;
		c->search_us = cs->now_us + c->wait_us;
		if ((c->wait_us *= 2) > SEARCH_LAST_US)
			c->wait_us = SEARCH_LAST_US;
		drop_dead_owners(c);
		inodes[n++] = c->now.inode;
	}
	qsort(inodes, n, sizeof(*inodes), by_inode);
	if (n != 0)
		procs_find(inodes, n, found, cs);
	free(inodes);
}

/* Once it is, it stays so: at its end its processes are gone. */
static void
want(struct conns *cs, struct conn *c)
{
	int i;

	if (c->wanted || (cs->pid != 0 && !c->more_owners))
		return;
	c->more_owners = 0;
	c->wanted = cs->pid == 0;
	for (i = 0; i < c->n_owners && !c->wanted; i++)
		c->wanted = procs_descends(c->owners[i].pid, cs->pid);
	cs->total.n += c->wanted;
	if (c->wanted && cs->events != NULL)
		events_follow(cs->events, c->now.cookie);
}

int
conns_look(struct conns *cs, uint64_t now_us)
{
	struct conn *c;

	cs->now_us = now_us;
	if (sockdiag_each(cs->fd, cs->port, saw, cs) == -1)
		return -1;
	search(cs);
	TAILQ_FOREACH(c, &cs->list, entry) {
		want(cs, c);
		if (c->wanted && c->now_us == now_us)
			look_at_owners(cs, c);
	}
	return 0;
}

static int
share(unsigned int part, unsigned int whole)
{
	return whole == 0 ? -1 : (int)(part * 100 / whole);
}

/* The one of its processes that uses the CPU most */
static const struct owner *
busiest(const struct conn *c)
{
	const struct owner *o = NULL;
	int i;

	for (i = 0; i < c->n_owners; i++)
		if (o == NULL || c->owners[i].cpu_us - c->owners[i].start_us >
		    o->cpu_us - o->start_us)
			o = &c->owners[i];
	return o;
}

/* The windows of our channels, if known: those of stock ssh never change. */
static uint64_t
window(const struct conns *cs, const struct conn *c)
{
	uint64_t bytes = 0;
	int i;

	if (c->program == PROCS_STOCK)
		return VERDICT_STOCK_WINDOW;
	for (i = 0; i < c->n_owners && c->program == PROCS_PROBE &&
	    cs->events != NULL; i++)
		bytes += events_window(cs->events, c->owners[i].pid);
	return bytes;
}

/* What BPF saw, where it tells more than the looks do */
static void
fill_in_events(const struct conns *cs, struct conn *c, struct conn_row *row)
{
	struct verdict_in *in = &row->in;
	struct events_seen now;
	uint64_t watched_us;

	events_take(cs->events, c->now.cookie, &now);
	in->snd_wnd = MAXIMUM(in->snd_wnd, now.snd_wnd);
	if (now.rcv_wnd != 0)
		in->rcv_wnd = now.rcv_wnd;
	row->timeouts = now.timeouts - c->seen.timeouts;
	/* Where no segment came for long, only the looks tell. */
	watched_us = now.watched_us - c->seen.watched_us;
	if (watched_us > in->interval_us / 2) {
		in->starved = (now.starved_us - c->seen.starved_us) * 100 /
		    watched_us;
		in->blocked = (now.blocked_us - c->seen.blocked_us) * 100 /
		    watched_us;
	}
	c->seen = now;
}

static void
fill_in(const struct conns *cs, struct conn *c, struct conn_row *row)
{
	const struct tcp_info *a = &c->start.info, *b = &c->now.info;
	const struct owner *o = busiest(c);
	struct verdict_in *in = &row->in;

	row->pid = o == NULL ? 0 : o->pid;
	in->interval_us = c->now_us - c->start_us;
	in->sent = b->tcpi_bytes_acked - a->tcpi_bytes_acked;
	in->received = b->tcpi_bytes_received - a->tcpi_bytes_received;
	in->sends = verdict_sends(in, b->tcpi_bytes_acked,
	    b->tcpi_bytes_received);
	in->rwnd_us = b->tcpi_rwnd_limited - a->tcpi_rwnd_limited;
	in->sndbuf_us = b->tcpi_sndbuf_limited - a->tcpi_sndbuf_limited;
	in->late = b->tcpi_rcv_ooopack - a->tcpi_rcv_ooopack;
	in->cpu_us = o == NULL ? 0 : o->cpu_us - o->start_us;
	in->rtt_us = b->tcpi_rtt;
	in->min_rtt_us = b->tcpi_min_rtt;
	in->snd_wnd = c->snd_wnd;
	in->rcv_wnd = c->rcv_wnd;
	in->window = window(cs, c);
	in->sndbuf = c->sndbuf;
	in->rcvbuf = c->rcvbuf;
	in->wmem_max = cs->wmem_max;
	in->rmem_max = cs->rmem_max;
	in->starved = share(c->starved, c->looks);
	in->blocked = share(c->blocked, c->looks);
	in->source = share(c->sources, c->known);
	in->sink = share(c->sinks, c->known);
	row->retransmits = b->tcpi_total_retrans - a->tcpi_total_retrans;
	row->cwnd = (uint64_t)b->tcpi_snd_cwnd * b->tcpi_snd_mss;
	row->notsent = b->tcpi_notsent_bytes;
	row->rate = in->interval_us == 0 ? 0 :
	    MAXIMUM(in->sent, in->received) * 1000000 / in->interval_us;
	if (cs->events != NULL)
		fill_in_events(cs, c, row);
}

static void
name_ends(const struct conn *c, struct conn_row *row)
{
	char ip[INET6_ADDRSTRLEN];
	const struct inet_diag_sockid *id = &c->now.id;
	const char *form = c->now.family == AF_INET6 ? "[%s]:%u" : "%s:%u";

	inet_ntop(c->now.family, id->idiag_src, ip, sizeof(ip));
	snprintf(row->local, sizeof(row->local), form, ip,
	    ntohs(id->idiag_sport));
	inet_ntop(c->now.family, id->idiag_dst, ip, sizeof(ip));
	snprintf(row->remote, sizeof(row->remote), form, ip,
	    ntohs(id->idiag_dport));
}

/* What to do about the limit, and on which host */
static void
add_remedy(struct conns *cs, const struct conn *c, struct conn_row *row)
{
	char ip[INET6_ADDRSTRLEN];

	inet_ntop(c->now.family, c->now.id.idiag_dst, ip, sizeof(ip));
	if (verdict_remedy(row->verdict, &row->in,
	    *c->typed != '\0' ? c->typed : ip, row->remedy,
	    sizeof(row->remedy)))
		memcpy(cs->total.remedy[row->verdict], row->remedy,
		    sizeof(row->remedy));
}

void
conns_end_interval(struct conns *cs,
    void (*show)(const struct conn_row *, void *), void *ctx)
{
	struct conn *c, *next;
	struct conn_row row;

	for (c = TAILQ_FIRST(&cs->list); c != NULL; c = next) {
		next = TAILQ_NEXT(c, entry);
		if (c->wanted && c->now_us != c->start_us) {
			memset(&row, 0, sizeof(row));
			fill_in(cs, c, &row);
			name_ends(c, &row);
			row.verdict = verdict(&row.in);
			add_remedy(cs, c, &row);
			cs->total.bytes += MAXIMUM(row.in.sent,
			    row.in.received);
			cs->total.time_us[row.verdict] += row.in.interval_us;
			show(&row, ctx);
		}
		if (c->now_us != cs->now_us) {	/* it has ended */
			if (cs->events != NULL)
				events_forget(cs->events, c->now.cookie);
			TAILQ_REMOVE(&cs->list, c, entry);
			free(c);
		} else
			start_interval(c);
	}
}
