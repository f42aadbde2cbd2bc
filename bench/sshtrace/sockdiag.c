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
#include <sys/socket.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "sockdiag.h"

/*
 * ESTABLISHED, both FIN_WAITs, CLOSE_WAIT, LAST_ACK and CLOSING: their names
 * are in netinet/tcp.h, which linux/tcp.h excludes.
 */
#define OPEN_STATES	(1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11)

#define MINIMUM(a, b)	((a) < (b) ? (a) : (b))

struct request {
	struct nlmsghdr nlh;
	struct inet_diag_req_v2 req;
	struct rtattr attr;
	struct inet_diag_bc_op ops[5];
};

int
sockdiag_open(void)
{
	return socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC,
	    NETLINK_SOCK_DIAG);
}

/*
 * "yes" and "no" are how far (bytes) to go on; more than what is left of the
 * operations refuses the socket. A jump goes where its "no" says.
 */
static void
compose(struct request *r, int family, int port)
{
	const int op = sizeof(r->ops[0]);

	memset(r, 0, sizeof(*r));
	r->nlh.nlmsg_len = offsetof(struct request, attr);
	r->nlh.nlmsg_type = SOCK_DIAG_BY_FAMILY;
	r->nlh.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	r->req.sdiag_family = family;
	r->req.sdiag_protocol = IPPROTO_TCP;
	r->req.idiag_ext = 1 << (INET_DIAG_INFO - 1) |
	    1 << (INET_DIAG_SKMEMINFO - 1);
	r->req.idiag_states = OPEN_STATES;
	if (port == 0)
		return;
	r->nlh.nlmsg_len = sizeof(*r);
	r->attr.rta_type = INET_DIAG_REQ_BYTECODE;
	r->attr.rta_len = sizeof(*r) - offsetof(struct request, attr);
	r->ops[0].code = INET_DIAG_BC_S_EQ;
	r->ops[0].yes = 2 * op;
	r->ops[0].no = 3 * op;
	r->ops[1].no = port;
	r->ops[2].code = INET_DIAG_BC_JMP;
	r->ops[2].yes = op;
	r->ops[2].no = 3 * op;
	r->ops[3].code = INET_DIAG_BC_D_EQ;
	r->ops[3].yes = 2 * op;
	r->ops[3].no = 3 * op;
	r->ops[4].no = port;
}

static void
hand_over(const struct nlmsghdr *h,
    void (*found)(const struct sockdiag *, void *), void *ctx)
{
	const struct inet_diag_msg *msg = NLMSG_DATA(h);
	struct sockdiag s = { .inode = msg->idiag_inode,
	    .family = msg->idiag_family, .id = msg->id };
	struct rtattr *a = (struct rtattr *)(msg + 1);
	int len = h->nlmsg_len - NLMSG_LENGTH(sizeof(*msg)), has_info = 0;
	const uint32_t *mem;

	s.cookie = (uint64_t)msg->id.idiag_cookie[1] << 32 |
	    msg->id.idiag_cookie[0];
	for (; RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		if (a->rta_type == INET_DIAG_SKMEMINFO &&
		    RTA_PAYLOAD(a) > SK_MEMINFO_WMEM_QUEUED * sizeof(*mem)) {
			mem = RTA_DATA(a);
			s.rcvbuf = mem[SK_MEMINFO_RCVBUF];
			s.sndbuf = mem[SK_MEMINFO_SNDBUF];
			s.queued = mem[SK_MEMINFO_WMEM_QUEUED];
		} else if (a->rta_type == INET_DIAG_INFO) {
			memcpy(&s.info, RTA_DATA(a),
			    MINIMUM(RTA_PAYLOAD(a), sizeof(s.info)));
			has_info = 1;
		}
	}
	if (has_info)
		found(&s, ctx);
}

/* Reads one dump to its end. */
static int
take(int fd, void (*found)(const struct sockdiag *, void *), void *ctx)
{
	static char buf[64 * 1024] __attribute__((aligned(8)));
	const struct nlmsghdr *h;
	ssize_t len;

	for (;;) {
		while ((len = recv(fd, buf, sizeof(buf), 0)) == -1)
			if (errno != EINTR)
				return -1;
		for (h = (struct nlmsghdr *)buf; NLMSG_OK(h, len);
		    h = NLMSG_NEXT(h, len)) {
			if (h->nlmsg_type == NLMSG_DONE)
				return 0;
			if (h->nlmsg_type == NLMSG_ERROR) {
				const struct nlmsgerr *e = NLMSG_DATA(h);

				errno = -e->error;
				return -1;
			}
			hand_over(h, found, ctx);
		}
	}
}

int
sockdiag_each(int fd, int port, void (*found)(const struct sockdiag *, void *),
    void *ctx)
{
	static const int families[] = { AF_INET, AF_INET6 };
	struct request r;
	size_t i;

	for (i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		compose(&r, families[i], port);
		if (send(fd, &r, r.nlh.nlmsg_len, 0) == -1 ||
		    take(fd, found, ctx) == -1)
			return -1;
	}
	return 0;
}
