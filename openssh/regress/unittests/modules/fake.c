/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "window-budget.h"
#include "window-control.h"
#include "misc.h"
#include "packet.h"
#include "tcp-path.h"
#include "tcp-unsent.h"
#include "sshbuf.h"
#include "fake.h"

struct fake fake;

double	 __real_monotime_double(void);
double	 __wrap_monotime_double(void);
int	 __real_tcp_path_read(int, struct path_info *);
int	 __wrap_tcp_path_read(int, struct path_info *);
int	 without_tcp_path_read(int, struct path_info *);
int	 __real_getsockopt(int, int, int, void *, socklen_t *);
int	 __wrap_getsockopt(int, int, int, void *, socklen_t *);
int	 __real_ioctl(int, u_long, ...);
int	 __wrap_ioctl(int, u_long, ...);
void	 __real_window_init(struct window_control *, uint32_t, int, uint64_t);
void	 __wrap_window_init(struct window_control *, uint32_t, int, uint64_t);
uint32_t __real_window_decide(struct window_control *, struct window_budget *,
	    struct window_budget_share *, const struct window_facts *);
uint32_t __wrap_window_decide(struct window_control *, struct window_budget *,
	    struct window_budget_share *, const struct window_facts *);
uint32_t __real_window_budget_ask(struct window_budget *,
	    struct window_budget_share *, uint32_t, uint32_t);
uint32_t __wrap_window_budget_ask(struct window_budget *,
	    struct window_budget_share *, uint32_t, uint32_t);
size_t	 __real_sshbuf_len(const struct sshbuf *);
size_t	 __wrap_sshbuf_len(const struct sshbuf *);
int	 __wrap_ssh_packet_not_very_much_data_to_write(struct ssh *);
void	 __real_free(void *);
void	 __wrap_free(void *);

/* As for bulk data, which is not what all bases begin with. */
int
__wrap_ssh_packet_not_very_much_data_to_write(struct ssh *ssh)
{
	return sshbuf_len(ssh_packet_get_output(ssh)) < 128 * 1024;
}

void
fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
}

static struct fake_len *
find_len(const struct sshbuf *buf)
{
	size_t i;

	for (i = 0; i < FAKE_LENS; i++) {
		if (fake.lens[i].buf == buf)
			return &fake.lens[i];
	}
	return NULL;
}

void
fake_len(const struct sshbuf *buf, size_t len)
{
	struct fake_len *l = find_len(buf);

	if (l == NULL && (l = find_len(NULL)) == NULL)
		abort();
	l->buf = buf;
	l->len = len;
}

void
fake_len_ends(const struct sshbuf *buf)
{
	struct fake_len *l = find_len(buf);

	if (l != NULL)
		l->buf = NULL;
}

size_t
__wrap_sshbuf_len(const struct sshbuf *buf)
{
	const struct fake_len *l = buf == NULL ? NULL : find_len(buf);

	return l == NULL ? __real_sshbuf_len(buf) : l->len;
}

double
__wrap_monotime_double(void)
{
	uint64_t now_us = fake.now_us;

	if (now_us == 0)
		return __real_monotime_double();
	fake.now_us += fake.step_us;
	/* The nearest number is what is cut off to now_us again. */
	return (now_us + 0.5) / 1000000;
}

int
__wrap_tcp_path_read(int fd, struct path_info *path)
{
	fake.probes++;
	if (fake.without)
		return without_tcp_path_read(fd, path);
	if (fake.path == NULL)
		return __real_tcp_path_read(fd, path);
	if (fake.path_fails) {
		memset(path, 0, sizeof(*path));
		return -1;
	}
	*path = *fake.path;
	return 0;
}

int
__wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	if (fake.option == NULL || name != fake.option_name)
		return __real_getsockopt(fd, level, name, value, len);
	*len = MINIMUM(*len, fake.option_len);
	memcpy(value, fake.option, *len);
	return 0;
}

int
__wrap_ioctl(int fd, u_long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (fake.request == 0 || request != fake.request)
		return __real_ioctl(fd, request, arg);
	*(int *)arg = fake.bytes;
	return 0;
}

void
__wrap_window_init(struct window_control *cw, uint32_t base, int bounded,
    uint64_t now_us)
{
	__real_window_init(cw, base, bounded, now_us);
	cw->now.consumed = cw->now.received = fake.counters;
	cw->samples[cw->head].consumed = fake.counters;
	cw->samples[cw->head].received = fake.counters;
}

uint32_t
__wrap_window_decide(struct window_control *cw, struct window_budget *b,
    struct window_budget_share *s, const struct window_facts *facts)
{
	fake.cw = cw;
	return __real_window_decide(cw, b, s, facts);
}

uint32_t
__wrap_window_budget_ask(struct window_budget *b, struct window_budget_share *s,
    uint32_t want, uint32_t outstanding)
{
	fake.want = want;
	fake.outstanding = outstanding;
	fake.limit = __real_window_budget_ask(b, s, want, outstanding);
	return fake.limit;
}

/* Memory that is watched is looked at while it may be. */
void
__wrap_free(void *p)
{
	const u_char *d = p;
	size_t i;

	fake.freed += p != NULL;
	if (p != NULL && p == fake.watched) {
		fake.watched_freed = 1;
		for (i = 0; i < fake.watched_len && d[i] == 0; i++)
			;
		fake.watched_wiped = i == fake.watched_len;
		fake.watched = NULL;
	}
	__real_free(p);
}

#ifndef BDP_CORE	/* The core of the series does without these. */
void	 __real_tcp_unsent_bound(int);
void	 __wrap_tcp_unsent_bound(int);
int	 __real_tcp_unsent(int);
int	 __wrap_tcp_unsent(int);
void	 __real_poly1305_evp_enable(void);
void	 __wrap_poly1305_evp_enable(void);

void
__wrap_tcp_unsent_bound(int fd)
{
	fake.bounds++;
	__real_tcp_unsent_bound(fd);
}

int
__wrap_tcp_unsent(int fd)
{
	return fake.real_unsent ? __real_tcp_unsent(fd) : fake.waiting;
}

void
__wrap_poly1305_evp_enable(void)
{
	fake.starts++;
	__real_poly1305_evp_enable();
}
#endif
