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

#ifndef KERNEL_H
#define KERNEL_H

#include <linux/types.h>
#include <linux/bpf.h>
#include <asm/ptrace.h>

#include <stdbool.h>

/*
 * What sshtrace.bpf.c reads of the kernel's structs, by their names: where a
 * field is, libbpf finds out from the BTF of the kernel that it runs on. So it
 * is built without that of any kernel.
 */

/* verdict.h has these; <stdint.h> is not for BPF. */
typedef __u32 uint32_t;
typedef __u64 uint64_t;

#define FROM_BTF	__attribute__((preserve_access_index))

struct sock {
	int sk_sndbuf;
	int sk_wmem_queued;
} FROM_BTF;

struct inet_connection_sock {
	__u8 icsk_ca_state:5;
} FROM_BTF;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 lost_out;
	__u32 mss_cache;
	__u32 packets_out;
	__u32 rcv_wnd;
	__u32 retrans_out;
	__u32 sacked_out;
	__u32 snd_cwnd;
	__u32 snd_nxt;
	__u32 snd_wnd;
	__u32 write_seq;
} FROM_BTF;

/* Since Linux 2.6, told to user space by TCP_INFO, and so never another */
#define TCP_CA_Loss	4

#endif /* KERNEL_H */
