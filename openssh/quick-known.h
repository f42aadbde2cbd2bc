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

#ifndef QUICK_KNOWN_H
#define QUICK_KNOWN_H

#include <sys/types.h>

#include "quick-entry.h"

/* The file beside known_hosts in which ssh remembers logins, a line each */
#define QUICK_KNOWN_NAME	"quick_hosts"
#define QUICK_KNOWN_MAX		256	/* lines */

struct quick_known {
	struct quick_entry entry[QUICK_KNOWN_MAX];	/* oldest first */
	size_t	num;
};

/*
 * Returns the path of the file beside a user's file of known hosts, to be
 * freed. Returns NULL if nothing is to be remembered: hostfile is NULL, "none"
 * or no regular file, or somebody besides the user and root may write to its
 * folder. Neither hostfile nor its folder needs to exist.
 */
char	*quick_known_path(const char *hostfile);

/* Returns the entry of a host (as known_hosts has it) and user, or NULL. */
struct quick_entry *quick_known_find(struct quick_known *known,
	     const char *host, const char *user);

/* Removes what find() returned. */
void	 quick_known_remove(struct quick_known *known,
	     struct quick_entry *entry);

/* Appends an entry. The oldest goes if there is no room. */
void	 quick_known_add(struct quick_known *known,
	     const struct quick_entry *entry);

/*
 * Reads all lines of a buffer. Returns 0, or SSH_ERR_INVALID_FORMAT and no
 * entry if a line or their number is not as we write it.
 */
int	 quick_known_parse(struct quick_known *known, const char *text,
	     size_t len);

/*
 * Reads a file, or nothing if there is none. Returns 0; SSH_ERR_INVALID_FORMAT
 * if it is damaged, which a new one may replace; SSH_ERR_KEY_BAD_PERMISSIONS if
 * it is not a regular file that only its owner, who is us, may use; or
 * SSH_ERR_SYSTEM_ERROR. There is no entry unless it returns 0.
 */
int	 quick_known_load(struct quick_known *known, const char *path);

/* Replaces a file, unless it returns an SSH_ERR_* code instead of 0. */
int	 quick_known_store(const struct quick_known *known, const char *path);

/* Most milliseconds that ssh waits for others who change the file */
#define QUICK_KNOWN_WAIT_MS	100	/* while somebody waits for ssh */
#define QUICK_KNOWN_END_MS	500	/* at its end */

/* How quick_known_replace() treats what the file has */
#define QUICK_KEEP_SINCE	0x01	/* of the same key exchange and
					   banner: keeps the time of a guess */
#define QUICK_KEEP_FLAGS	0x02	/* of the same login: adds its flags */
#define QUICK_IF_SAME		0x04	/* of another login, or if nothing is
					   there: changes nothing, returns 0 */

/*
 * Replaces the entry of a host and user in a file, or removes it if entry is
 * NULL. how is QUICK_KEEP_* and QUICK_IF_SAME. Entries of others that were
 * written meanwhile stay. Waits up to wait_ms for a process that changes the
 * file. Returns 0 or an SSH_ERR_* code; then the file is as it was. It is
 * SSH_ERR_KEY_BAD_PERMISSIONS if others may write to the folder, and
 * SSH_ERR_SYSTEM_ERROR with errno EWOULDBLOCK if wait_ms was not enough.
 */
int	 quick_known_replace(const char *path, const char *host,
	     const char *user, const struct quick_entry *entry, u_int how,
	     int wait_ms);

/*
 * Removes all entries of a host from the file beside a user's file of known
 * hosts, silently.
 */
void	 quick_known_forget(const char *hostfile, const char *host);

#endif /* QUICK_KNOWN_H */
