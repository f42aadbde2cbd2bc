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

#include "includes.h"

#include <sys/types.h>

#include <stdlib.h>
#include <string.h>

#include "bdp-names.h"
#include "ext-info.h"
#include "kex.h"
#include "log.h"
#include "ssherr.h"
#include "sshbuf.h"

#define VERSION	"0"

static const struct {
	const char *name;
	u_int flag;
} names[] = {
	{ BDP_BOUNDED_INPUT,	KEX_HAS_BOUNDED_INPUT },
	{ BDP_LAST_CHANNEL,	KEX_HAS_LAST_CHANNEL },
};

int
ext_info_announce(struct sshbuf *info, const char *name)
{
	uint32_t count;
	int r;

	if (sshbuf_peek_u32(info, 0, &count) != 0)
		r = SSH_ERR_INVALID_FORMAT;
	else if ((r = sshbuf_poke_u32(info, 0, count + 1)) == 0 &&
	    (r = sshbuf_put_cstring(info, name)) == 0)
		r = sshbuf_put_cstring(info, VERSION);
	if (r != 0)
		error_fr(r, "compose");
	return r;
}

int
ext_info_got(struct kex *kex, const char *name, const u_char *value,
    size_t len)
{
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(name, names[i].name) != 0)
			continue;
		if (len == strlen(VERSION) &&
		    memcmp(value, VERSION, len) == 0) {
			debug_f("%s=<%s>", name, VERSION);
			kex->flags |= names[i].flag;
		} else
			debug_f("unsupported version of %s", name);
		return 1;
	}
	return 0;
}
