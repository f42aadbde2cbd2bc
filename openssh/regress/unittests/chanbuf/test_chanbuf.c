/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/*
 * What it costs to pass bytes through the two buffers behind a window, counted
 * in bytes copied: neither may depend on how long the queue is. The linker
 * routes the copying functions through the counters below. Uses upstream's
 * interfaces only, so that it can be run on a stock tree (and fail there).
 */

#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "ssherr.h"
#include "sshbuf.h"
#include "packet.h"
#include "channels.h"
#include "log.h"
#include "misc.h"

#define KIB		1024
#define MIB		(1024 * 1024)
#define PACKET		(32 * KIB)
#define QUEUE_MIN	(64 * KIB)
#define READ_AHEAD	(256 * KIB)	/* a smaller window is all in flight */
#define QUEUE_MAX	(64 * MIB)
#define TURNS		32	/* times that a queue is passed through */

void test_chanbuf(void);
void *__real_memcpy(void *, const void *, size_t);
void *__real_memmove(void *, const void *, size_t);
void *__wrap_memcpy(void *, const void *, size_t);
void *__wrap_memmove(void *, const void *, size_t);
void *__wrap___memcpy_chk(void *, const void *, size_t, size_t);
void *__wrap___memmove_chk(void *, const void *, size_t, size_t);

static uint64_t copied;		/* bytes */

void *
__wrap_memcpy(void *d, const void *s, size_t n)
{
	copied += n;
	return __real_memcpy(d, s, n);
}

void *
__wrap_memmove(void *d, const void *s, size_t n)
{
	copied += n;
	return __real_memmove(d, s, n);
}

void *
__wrap___memcpy_chk(void *d, const void *s, size_t n, size_t dlen)
{
	copied += n;
	return __real_memcpy(d, s, n);
}

void *
__wrap___memmove_chk(void *d, const void *s, size_t n, size_t dlen)
{
	copied += n;
	return __real_memmove(d, s, n);
}

/* Returns the bytes copied for each byte passed, in hundredths. */
static uint64_t
cost(uint64_t passed)
{
	return copied * 100 / passed;
}

/*
 * The costs of queues of several lengths are the same within 10 %.
 */
static void
assert_flat(const uint64_t *costs, size_t n)
{
	uint64_t least = UINT64_MAX, most = 0;
	char text[256] = "";
	size_t i;

	for (i = 0; i < n; i++) {
		least = MINIMUM(least, costs[i]);
		most = MAXIMUM(most, costs[i]);
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
		    " %llu.%02llu", (unsigned long long)costs[i] / 100,
		    (unsigned long long)costs[i] % 100);
	}
	test_subtest_info("bytes copied per byte:%s", text);
	if (test_is_verbose())
		fprintf(stderr, "bytes copied per byte:%s\n", text);
	ASSERT_U64_GT(least, 0);
	ASSERT_U64_LE(most * 10, least * 11);
}

/* Fills a queue of `size` bytes and passes it through TURNS times. */
static uint64_t
buffer_cost(u_int size)
{
	struct sshbuf *b;
	static u_char data[PACKET];
	uint64_t passed = 0;

	ASSERT_PTR_NE((b = sshbuf_new()), NULL);
	copied = 0;
	while (sshbuf_len(b) < size)
		ASSERT_INT_EQ(sshbuf_put(b, data, sizeof(data)), 0);
	while (passed < (uint64_t)size * TURNS) {
		ASSERT_INT_EQ(sshbuf_consume(b, sizeof(data)), 0);
		ASSERT_INT_EQ(sshbuf_put(b, data, sizeof(data)), 0);
		passed += sizeof(data);
	}
	passed += sshbuf_len(b);
	sshbuf_free(b);
	return cost(passed);
}

/*
 * One turn of a main loop with an eager source, a peer whose credit lets
 * queue bytes wait behind the packet that is sent next, and a network that
 * takes up to len bytes. Returns how many it took.
 */
static size_t
channel_turn(struct ssh *ssh, Channel *c, u_int queue, int netfd, size_t len)
{
	static struct pollfd *pfd;
	static u_int npfd_alloc, npfd;
	static u_char sink[PACKET];
	struct timespec timeout;
	ssize_t n;

	c->remote_window = queue + PACKET;
	if (ssh_packet_not_very_much_data_to_write(ssh))
		channel_output_poll(ssh);
	ptimeout_init(&timeout);
	channel_prepare_poll(ssh, &pfd, &npfd_alloc, &npfd, 0, &timeout);
	ASSERT_INT_NE(poll(pfd, npfd, 0), -1);
	channel_after_poll(ssh, pfd, npfd);
	ASSERT_INT_EQ(ssh_packet_write_poll(ssh), 0);
	if (len == 0 || (n = read(netfd, sink, MINIMUM(len, PACKET))) == -1)
		n = 0;
	return n;
}

static uint64_t
channel_cost(u_int queue)
{
	struct ssh *ssh;
	Channel *c;
	int i, zero, null, net[2];
	uint64_t passed = 0;

	ASSERT_INT_NE((zero = open("/dev/zero", O_RDONLY)), -1);
	ASSERT_INT_NE((null = open("/dev/null", O_WRONLY)), -1);
	ASSERT_INT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, net), 0);
	for (i = 0; i < 2; i++)
		ASSERT_INT_EQ(set_nonblock(net[i]), 0);
	ASSERT_PTR_NE((ssh = ssh_packet_set_connection(NULL, net[0], net[0])),
	    NULL);
	ssh_packet_set_mux(ssh);	/* no key exchange, no encryption */
	channel_init_channels(ssh);
	c = channel_new(ssh, "session", SSH_CHANNEL_OPEN, zero, null, -1,
	    CHAN_SES_WINDOW_DEFAULT, CHAN_SES_PACKET_DEFAULT, 0, "test", 0);
	c->have_remote_id = 1;
	c->remote_maxpacket = CHAN_SES_PACKET_DEFAULT;
	/* Network down until the queue is as long as it gets: 16 MiB */
	for (i = 0; i < 2 * 16 * MIB / PACKET; i++)
		channel_turn(ssh, c, queue, net[1], 0);
	ASSERT_SIZE_T_GE(sshbuf_len(c->input), QUEUE_MIN);
	for (copied = 0; passed < 16 * MIB;)
		passed += channel_turn(ssh, c, queue, net[1], PACKET);
	channel_free_all(ssh);
	ssh_packet_close(ssh);
	free(ssh->chanctxt);
	free(ssh);
	close(net[1]);
	return cost(passed);
}

static void
flat(const char *name, uint64_t (*measure)(u_int), u_int least)
{
	uint64_t costs[16];
	size_t n = 0;
	u_int size;

	TEST_START(name);
	for (size = least; size <= QUEUE_MAX; size *= 4)
		costs[n++] = measure(size);
	assert_flat(costs, n);
	TEST_DONE();
}

#ifdef __linux__
/* A field of /proc/self/status (proc(5)), in bytes. */
static size_t
memory(const char *field)
{
	char line[256];
	size_t kib = 0, len = strlen(field);
	FILE *f;

	ASSERT_PTR_NE((f = fopen("/proc/self/status", "r")), NULL);
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, field, len) == 0)
			kib = strtoul(line + len, NULL, 10);
	fclose(f);
	ASSERT_SIZE_T_GT(kib, 0);
	return kib * 1024;
}

static void
memory_is_the_queue(void)
{
	struct sshbuf *b;
	static u_char data[PACKET];
	size_t start, queue = 40 * MIB + 123;
	FILE *f;

	TEST_START("chanbuf a long queue's memory, at its peak and after");
	ASSERT_PTR_NE((b = sshbuf_new()), NULL);
	/* proc(5): 5 resets the peak */
	ASSERT_PTR_NE((f = fopen("/proc/self/clear_refs", "w")), NULL);
	fputs("5\n", f);
	fclose(f);
	start = memory("VmRSS:");
	while (sshbuf_len(b) < queue)
		ASSERT_INT_EQ(sshbuf_put(b, data, sizeof(data)), 0);
	ASSERT_SIZE_T_LE(memory("VmHWM:"), start + queue + 4 * MIB);
	sshbuf_reset(b);
	ASSERT_SIZE_T_LE(memory("VmRSS:"), start + 4 * MIB);
	ASSERT_INT_EQ(sshbuf_put(b, data, sizeof(data)), 0);
	sshbuf_free(b);
	TEST_DONE();
}
#endif

/* Contents survive every way of growing and shrinking. */
static void
contents(void)
{
	struct sshbuf *b;
	u_int32_t in = 0, out = 0, v;
	u_int i;

	TEST_START("chanbuf contents survive growth, packing and limits");
	ASSERT_PTR_NE((b = sshbuf_new()), NULL);
	for (i = 0; i < 4; i++) {
		for (; sshbuf_len(b) < 9U * MIB;)
			ASSERT_INT_EQ(sshbuf_put_u32(b, in++), 0);
		for (; sshbuf_len(b) > (3 - i) * 700 * KIB;) {
			ASSERT_INT_EQ(sshbuf_get_u32(b, &v), 0);
			ASSERT_U32_EQ(v, out++);
		}
		ASSERT_INT_EQ(sshbuf_set_max_size(b, 12U * MIB + i), 0);
	}
	ASSERT_SIZE_T_EQ(sshbuf_len(b), 0);
	/* to the brim, and not beyond */
	ASSERT_INT_EQ(sshbuf_set_max_size(b, 5U * MIB + 4), 0);
	for (in = out = 0; sshbuf_len(b) < 5U * MIB + 4;)
		ASSERT_INT_EQ(sshbuf_put_u32(b, in++), 0);
	ASSERT_INT_EQ(sshbuf_put_u32(b, in), SSH_ERR_NO_BUFFER_SPACE);
	for (; sshbuf_len(b) > 0;) {
		ASSERT_INT_EQ(sshbuf_get_u32(b, &v), 0);
		ASSERT_U32_EQ(v, out++);
	}
	sshbuf_free(b);
	TEST_DONE();
}

/*
 * All of them, or the one whose name is in TEST_CHANBUF_ONLY: a failed test
 * ends the program, and a stock tree has to be seen failing each.
 */
static int
wanted(const char *name)
{
	const char *only = getenv("TEST_CHANBUF_ONLY");

	return only == NULL || strcmp(only, name) == 0;
}

void
test_chanbuf(void)
{
	log_init("test_chanbuf", SYSLOG_LEVEL_ERROR, SYSLOG_FACILITY_AUTH, 1);
	if (wanted("contents"))
		contents();
#ifdef __linux__
	if (wanted("memory"))
		memory_is_the_queue();
#endif
	if (wanted("buffer"))
		flat("chanbuf sshbuf copies the same for any queue",
		    buffer_cost, QUEUE_MIN);
	if (wanted("channel"))
		flat("chanbuf channel input copies the same for any window",
		    channel_cost, READ_AHEAD);
}
