/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/* What functions return if a buffer is too small for what they compose. */

#include "includes.h"

#include <sys/types.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../test_helper/test_helper.h"

#include "log.h"
#include "sftp-check-file.h"
#include "sshbuf.h"
#include "ssherr.h"

void test_no_room(void);

static int fd;		/* of a file of a few bytes */

static int
digest(struct sshbuf *b)
{
	uint64_t total;

	return sftp_check_file(fd, 0, 0, 0, -1, -1, b, &total);
}

/* Digests into buffers that are too small, by any number of bytes. */
static void
each_size(void)
{
	struct sshbuf *b = sshbuf_new();
	size_t len, i;

	ASSERT_PTR_NE(b, NULL);
	ASSERT_INT_EQ(digest(b), 0);
	len = sshbuf_len(b);
	ASSERT_SIZE_T_GT(len, 4);
	sshbuf_free(b);
	for (i = 1; i < len; i++) {
		ASSERT_PTR_NE(b = sshbuf_new(), NULL);
		ASSERT_INT_EQ(sshbuf_set_max_size(b, i), 0);
		ASSERT_INT_EQ(digest(b), SSH_ERR_NO_BUFFER_SPACE);
		sshbuf_free(b);
	}
}

void
test_no_room(void)
{
	char file[] = "/tmp/test_no_room.XXXXXXXXXX";

	TEST_START("a buffer that is too small is an error");
	ASSERT_INT_NE(fd = mkstemp(file), -1);
	ASSERT_INT_EQ(unlink(file), 0);
	ASSERT_INT_EQ(write(fd, "data", 4), 4);
	log_init("test", SYSLOG_LEVEL_QUIET, SYSLOG_FACILITY_AUTH, 1);
	each_size();
	log_init("test", SYSLOG_LEVEL_INFO, SYSLOG_FACILITY_AUTH, 1);
	close(fd);
	TEST_DONE();
}
