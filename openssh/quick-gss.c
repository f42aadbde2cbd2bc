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

#include <string.h>

#include "quick-gss.h"

#ifdef GSSAPI
#include "ssh-gss.h"

/* Returns 1 if no mechanism has credentials to start with, else 0. */
static int
has_none(void)
{
	gss_cred_id_t cred = GSS_C_NO_CREDENTIAL;
	OM_uint32 major, minor;

	major = gss_acquire_cred(&minor, GSS_C_NO_NAME, 0, GSS_C_NO_OID_SET,
	    GSS_C_INITIATE, &cred, NULL, NULL);
	if (cred != GSS_C_NO_CREDENTIAL)
		(void)gss_release_cred(&minor, &cred);
	return GSS_ERROR(major) == GSS_S_NO_CRED;
}
#else
static int
has_none(void)
{
	return 1;
}
#endif

int
quick_gss_is_idle(const char *method)
{
	return strncmp(method, "gssapi-", 7) == 0 && has_none();
}
