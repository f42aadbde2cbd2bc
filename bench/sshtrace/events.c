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
#include <sys/stat.h>

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "events.h"
#include "seen.h"
#include "sshtrace.skel.h"

#define BTF	"/sys/kernel/btf/vmlinux"

/* A channel whose window moved so long (ns) before another's is closed. */
#define CHANNEL_OLD_NS	5000000000ULL

/* A program whose probe is attached, for all processes that run it */
struct program {
	struct program *next;
	dev_t dev;
	ino_t ino;
};

struct events {
	struct sshtrace_bpf *bpf;
	struct program *programs;
};

struct events *
events_open(const char **why)
{
	static char reason[128];
	struct events *ev;
	struct stat st;

	if (geteuid() != 0) {
		*why = "only root may";
		return NULL;
	}
	if (access(BTF, R_OK) == -1) {
		*why = "this kernel has no BTF (" BTF ")";
		return NULL;
	}
	libbpf_set_print(NULL);
	if ((ev = calloc(1, sizeof(*ev))) != NULL &&
	    (ev->bpf = sshtrace_bpf__open()) != NULL) {
		if (stat("/proc/self/ns/pid", &st) == 0) {
			ev->bpf->rodata->pid_ns_dev = st.st_dev;
			ev->bpf->rodata->pid_ns_ino = st.st_ino;
		}
		if (sshtrace_bpf__load(ev->bpf) == 0 &&
		    sshtrace_bpf__attach(ev->bpf) == 0)
			return ev;
	}
	snprintf(reason, sizeof(reason), "this kernel (or its lockdown) "
	    "refuses it: %s", strerror(errno));
	*why = reason;
	if (ev != NULL)
		sshtrace_bpf__destroy(ev->bpf);
	free(ev);
	return NULL;
}

void
events_follow(struct events *ev, uint64_t cookie)
{
	struct seen_sock zero = { 0 };

	bpf_map_update_elem(bpf_map__fd(ev->bpf->maps.socks), &cookie, &zero,
	    BPF_NOEXIST);
}

void
events_forget(struct events *ev, uint64_t cookie)
{
	bpf_map_delete_elem(bpf_map__fd(ev->bpf->maps.socks), &cookie);
}

void
events_take(struct events *ev, uint64_t cookie, struct events_seen *seen)
{
	struct seen_sock s = { 0 };

	bpf_map_lookup_elem(bpf_map__fd(ev->bpf->maps.socks), &cookie, &s);
	seen->watched_us = s.watched_ns / 1000;
	seen->starved_us = s.starved_ns / 1000;
	seen->blocked_us = s.blocked_ns / 1000;
	seen->snd_wnd = s.snd_wnd;
	seen->rcv_wnd = s.rcv_wnd;
	seen->timeouts = s.timeouts;
}

void
events_watch(struct events *ev, pid_t pid)
{
	struct program *p;
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (stat(path, &st) == -1)
		return;
	for (p = ev->programs; p != NULL; p = p->next)
		if (p->dev == st.st_dev && p->ino == st.st_ino)
			return;
	if ((p = calloc(1, sizeof(*p))) == NULL)
		return;
	p->dev = st.st_dev;
	p->ino = st.st_ino;
	p->next = ev->programs;
	ev->programs = p;
	/* Without it, the windows are unknown, as they are to TCP_INFO. */
	bpf_program__attach_usdt(ev->bpf->progs.on_window, -1, path,
	    "openssh", "window", NULL);
}

uint64_t
events_window(struct events *ev, pid_t pid)
{
	struct seen_channel_key key = { 0 }, *after = NULL;
	int fd = bpf_map__fd(ev->bpf->maps.channels);
	uint64_t sum = 0, newest_ns = 0;
	struct seen_channel c;

	while (bpf_map_get_next_key(fd, after, &key) == 0) {
		after = &key;
		if (key.pid != (uint32_t)pid ||
		    bpf_map_lookup_elem(fd, &key, &c) != 0)
			continue;
		if (c.last_ns > newest_ns + CHANNEL_OLD_NS)
			sum = 0;
		if (c.last_ns + CHANNEL_OLD_NS >= newest_ns)
			sum += c.window;
		if (c.last_ns > newest_ns)
			newest_ns = c.last_ns;
	}
	return sum;
}
