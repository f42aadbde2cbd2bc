/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#include "includes.h"

#include <sys/types.h>

#include <stdlib.h>
#include <strings.h>

#include "bdp-options.h"
#include "xmalloc.h"

void
bdp_options_init(struct bdp_options *options)
{
	options->channel_window_max = -1;
	options->tcp_congestion = NULL;
}

void
bdp_options_fill(struct bdp_options *options)
{
	if (options->channel_window_max == -1)
		options->channel_window_max = window_max_default();
	if (options->tcp_congestion == NULL)
		options->tcp_congestion = xstrdup(TCP_CONGESTION_DEFAULT);
}

void
bdp_options_free(struct bdp_options *options)
{
	free(options->tcp_congestion);
	bdp_options_init(options);
}

static const char *
parse_window_max(struct bdp_options *options, const char *arg, int active)
{
	const char *errstr;
	int value;

	if ((errstr = window_max_parse(arg, &value)) != NULL)
		return errstr;
	if (active && options->channel_window_max == -1)
		options->channel_window_max = value;
	return NULL;
}

static const char *
parse_tcp_congestion(struct bdp_options *options, const char *arg, int active)
{
	const char *errstr;

	if ((errstr = tcp_congestion_check(arg)) != NULL)
		return errstr;
	if (active && options->tcp_congestion == NULL)
		options->tcp_congestion = xstrdup(arg);
	return NULL;
}

static const struct keyword {
	const char *name;
	const char *(*parse)(struct bdp_options *, const char *, int);
} keywords[] = {
	{ "ChannelWindowMax",	parse_window_max },
	{ "TCPCongestion",	parse_tcp_congestion },
};

/* Returns NULL for a keyword that is not ours. */
static const struct keyword *
keyword_find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
		if (strcasecmp(name, keywords[i].name) == 0)
			return &keywords[i];
	}
	return NULL;
}

const char *
bdp_options_name(const char *keyword)
{
	const struct keyword *k = keyword_find(keyword);

	return k == NULL ? NULL : k->name;
}

const char *
bdp_options_parse(struct bdp_options *options, const char *keyword,
    const char *arg, int active)
{
	const struct keyword *k = keyword_find(keyword);

	if (k == NULL)
		return "unknown option";
	if (arg == NULL || *arg == '\0')
		return "missing argument";
	return k->parse(options, arg, active);
}

void
bdp_options_copy(struct bdp_options *dst, const struct bdp_options *src)
{
	if (src->channel_window_max != -1)
		dst->channel_window_max = src->channel_window_max;
	if (src->tcp_congestion != NULL) {
		free(dst->tcp_congestion);
		dst->tcp_congestion = xstrdup(src->tcp_congestion);
	}
}
