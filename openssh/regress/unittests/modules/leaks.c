/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

/*
 * What LeakSanitizer, where the tests are linked with it, does not count:
 * upstream's functions below leave it to the end of the process.
 */

const char *__lsan_default_options(void);
const char *__lsan_default_suppressions(void);

const char *
__lsan_default_options(void)
{
	return "print_suppressions=0";
}

const char *
__lsan_default_suppressions(void)
{
	return "leak:channel_init_channels\n"
	    "leak:ssh_packet_set_connection\n"
	    "leak:ssh_set_newkeys\n"
	    "leak:new_keys\n";
}
