/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "misc.h"
#include "xmalloc.h"
#include "tcp-congestion.h"

const char *
tcp_congestion_check(const char *list)
{
	const char *name;
	size_t len;

	for (name = list; name != NULL;) {
		len = strcspn(name, ",");
		if (len == 0)
			return "empty name in list";
		if (strspn(name, "abcdefghijklmnopqrstuvwxyz"
		    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") < len)
			return "bad name in list";
		if (len >= TCP_CONGESTION_NAME_MAX)
			return "name in list is too long";
		name = name[len] == ',' ? name + len + 1 : NULL;
	}
	return NULL;
}

const char *
tcp_congestion_next(const char *list, char *name, size_t size)
{
	size_t len = strcspn(list, ",");

	strlcpy(name, list, MINIMUM(size, len + 1));
	return list[len] == ',' ? list + len + 1 : NULL;
}

#ifdef TCP_CONGESTION
/* Returns why the kernel refuses a name. */
static const char *
reason(int error)
{
	switch (error) {
	case ENOENT:
		return "unknown";
	case EPERM:
		return "not allowed";
	default:
		return strerror(error);
	}
}

void
tcp_congestion_set(int fd, const char *list)
{
	char name[TCP_CONGESTION_NAME_MAX], now[TCP_CONGESTION_NAME_MAX];
	char *refused = NULL, *more;
	socklen_t len = sizeof(now);
	int found = 0;

	memset(now, 0, sizeof(now));
	if (list == NULL || strcmp(list, TCP_CONGESTION_DEFAULT) == 0 ||
	    getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, now, &len) == -1)
		return;
	now[sizeof(now) - 1] = '\0';
	while (list != NULL) {
		list = tcp_congestion_next(list, name, sizeof(name));
		if (strcmp(name, TCP_CONGESTION_DEFAULT) == 0 ||
		    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name,
		    strlen(name)) == 0) {
			found = 1;
			break;
		}
		xasprintf(&more, "%s; %s: %s", refused ? refused : "",
		    name, reason(errno));
		free(refused);
		refused = more;
	}
	if (found)
		debug("TCPCongestion: set %s (was %s)%s", name, now,
		    refused ? refused : "");
	else
		logit("TCPCongestion: connection stays with %s%s", now,
		    refused);
	free(refused);
}
#else
void
tcp_congestion_set(int fd, const char *list)
{
	if (list != NULL && strcmp(list, TCP_CONGESTION_DEFAULT) != 0)
		logit("TCPCongestion: this system has no such setting");
}
#endif
