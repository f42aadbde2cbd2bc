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

#ifndef PROCS_H
#define PROCS_H

/* What /proc tells of the processes that have a connection. */

/*
 * Calls a function with each process that has one of n sockets open, by their
 * inodes, sorted. Those that we may not look into are left out.
 */
void	 procs_find(const uint32_t *, size_t,
	    void (*)(uint32_t, pid_t, void *), void *);

/* Whether a process is another, or was started by it or its children. */
int	 procs_descends(pid_t, pid_t);

int	 procs_alive(pid_t);

/* Time (us) that it ran or waited for a CPU, ever; 0 when it is gone. */
uint64_t procs_cpu_us(pid_t);

/*
 * Whether what it has open besides the socket has something for it to read,
 * or takes nothing from it. Unchanged where there is no leave to look.
 */
void	 procs_waits(pid_t, uint32_t, int *source, int *sink);

/* What its program is as to windows */
enum procs_program {
	PROCS_OTHER,
	PROCS_STOCK,		/* an OpenSSH, as far as one can see */
	PROCS_PROBE		/* one with the probe openssh:window */
};

enum procs_program procs_program(pid_t);

/*
 * Returns the maximum (bytes), the third number, of the sysctl net.ipv4.NAME,
 * 0 if it is unknown.
 */
uint64_t procs_sysctl_max(const char *name);

/*
 * Writes the host that a process of ssh was told to connect to into name of
 * size bytes. Returns 0, or -1 if it is unknown.
 */
int	 procs_peer(pid_t pid, char *name, size_t size);

#endif /* PROCS_H */
