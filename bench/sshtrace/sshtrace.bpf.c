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

#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>

#include "seen.h"
#include "verdict.h"

#define SOCKS_MAX	4096
#define CHANNELS_MAX	4096

#define MAXIMUM(a, b)	((a) > (b) ? (a) : (b))

/* events.c says which sockets to follow, by their cookies. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SOCKS_MAX);
	__type(key, __u64);
	__type(value, struct seen_sock);
} socks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, CHANNELS_MAX);
	__type(key, struct seen_channel_key);
	__type(value, struct seen_channel);
} channels SEC(".maps");

/* The namespace of sshtrace's own pids, as stat(2) has it */
const volatile __u64 pid_ns_dev, pid_ns_ino;

static struct seen_sock *
followed(const struct sock *sk)
{
	__u64 cookie = bpf_get_socket_cookie((void *)sk);

	return bpf_map_lookup_elem(&socks, &cookie);
}

/*
 * A segment has come and is not looked at yet: what TCP could do is what it
 * could do since the last one.
 */
SEC("tp_btf/tcp_probe")
int
BPF_PROG(on_segment, struct sock *sk)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	__u64 now_ns = bpf_ktime_get_ns(), passed_ns;
	__u32 out, gone;
	struct seen_sock *s;

	if (tp == NULL || (s = followed(sk)) == NULL)
		return 0;
	passed_ns = s->last_ns == 0 ? 0 : now_ns - s->last_ns;
	s->last_ns = now_ns;
	s->watched_ns += passed_ns;
	s->snd_wnd = MAXIMUM(s->snd_wnd, tp->snd_wnd);
	s->rcv_wnd = MAXIMUM(s->rcv_wnd, tp->rcv_wnd);
	out = tp->packets_out + tp->retrans_out;
	gone = tp->sacked_out + tp->lost_out;
	if (!verdict_starved(tp->snd_cwnd, out > gone ? out - gone : 0,
	    tp->write_seq - tp->snd_nxt, tp->mss_cache))
		return 0;
	s->starved_ns += passed_ns;
	if (verdict_blocked(sk->sk_sndbuf, sk->sk_wmem_queued))
		s->blocked_ns += passed_ns;
	return 0;
}

/* The reader has read: that is when a receive window is largest. */
SEC("tp_btf/tcp_rcv_space_adjust")
int
BPF_PROG(on_read, struct sock *sk)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct seen_sock *s;

	if (tp != NULL && (s = followed(sk)) != NULL)
		s->rcv_wnd = MAXIMUM(s->rcv_wnd, tp->rcv_wnd);
	return 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int
BPF_PROG(on_retransmit, const struct sock *sk)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock((void *)sk);
	struct seen_sock *s;

	if (tp != NULL && (s = followed(sk)) != NULL &&
	    BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state) ==
	    TCP_CA_Loss)
		s->timeouts++;
	return 0;
}

/* As sshtrace knows it: in a container others than the kernel's */
static __u32
current_pid(void)
{
	struct bpf_pidns_info here;

	if (bpf_get_ns_current_pid_tgid(pid_ns_dev, pid_ns_ino, &here,
	    sizeof(here)) == 0)
		return here.tgid;
	return bpf_get_current_pid_tgid() >> 32;
}

/* openssh:window, see openssh/channel/channel-report.c; more follows */
SEC("usdt")
int
BPF_USDT(on_window, __u32 channel, __u32 target)
{
	struct seen_channel_key key = { .channel = channel,
	    .pid = current_pid() };
	struct seen_channel value = { .window = target,
	    .last_ns = bpf_ktime_get_ns() };

	bpf_map_update_elem(&channels, &key, &value, BPF_ANY);
	return 0;
}

/* Ours is MIT's in other words; the kernel has names for a few only. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";
