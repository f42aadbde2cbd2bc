/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef BDP_OPTIONS_H
#define BDP_OPTIONS_H

#include "tcp-congestion.h"
#include "window-max.h"

struct ssh;

/*
 * The options that we add to ssh and sshd. readconf.c and servconf.c have this
 * struct among their own options. A new option needs a field, an entry below, a
 * row in the table of bdp-options.c, and lines in the functions there; the man
 * pages describe it.
 */
struct bdp_options {
	int	channel_window_max;	/* bytes; 0: fixed windows; -1: unset */
	char	*tcp_congestion;	/* names, by preference; NULL: unset */
};

/*
 * Keywords, as users write them and as in the tables. Opcodes begin with "o" in
 * readconf.c, and with "s" in servconf.c.
 */
#define BDP_OPTIONS(entry) \
	entry(ChannelWindowMax, "channelwindowmax") \
	entry(TCPCongestion, "tcpcongestion")

/* Options of earlier versions of ssh: ignored with a debug message */
#define BDP_CLIENT_GONE \
	{ "quickstart", oDeprecated }, \
	{ "copyconnections", oDeprecated }, \
	{ "copysessions", oDeprecated },

/* readconf.c: the opcodes, the table of keywords, and the cases */
#define BDP_CLIENT_OPCODE(option, name)		o##option,
#define BDP_CLIENT_KEYWORD(option, name)	{ name, o##option },
#define BDP_CLIENT_CASE(option, name)		case o##option:
#define BDP_CLIENT_OPCODES	BDP_OPTIONS(BDP_CLIENT_OPCODE)
#define BDP_CLIENT_KEYWORDS	BDP_OPTIONS(BDP_CLIENT_KEYWORD) BDP_CLIENT_GONE
#define BDP_CLIENT_CASES	BDP_OPTIONS(BDP_CLIENT_CASE)

/* servconf.c: the cases; and, before OpenSSH 10.4, opcodes and keywords */
#define BDP_SERVER_OPCODE(option, name)		s##option,
#define BDP_SERVER_KEYWORD(option, name)	{ name, s##option, SSHCFG_ALL },
#define BDP_SERVER_CASE(option, name)		case s##option:
#define BDP_SERVER_OPCODES	BDP_OPTIONS(BDP_SERVER_OPCODE)
#define BDP_SERVER_KEYWORDS	BDP_OPTIONS(BDP_SERVER_KEYWORD)
#define BDP_SERVER_CASES	BDP_OPTIONS(BDP_SERVER_CASE)

/*
 * servconf.c and servconf.h before OpenSSH 10.4: the settings of a Match block
 * are copied. The copy in sshd's unprivileged process does not own its strings,
 * so each string has to be named here.
 */
#define BDP_COPY_MATCH_INTS	M_CP_INTOPT(bdp.channel_window_max);
#define BDP_COPY_MATCH_STRINGS	M_CP_STROPT(bdp.tcp_congestion);

/*
 * servconf.h since OpenSSH 10.4: entries of its table. The first is for the
 * whole struct, the others are only for their keywords.
 */
#define BDP_SERVER_ENTRIES \
	SSHCONF_CUSTOM(ChannelWindowMax, bdp, SSHCFG_ALL, SSHCFG_COPY_MATCH) \
	SSHCONF_CUSTOM(TCPCongestion, bdp_keyword, SSHCFG_ALL, SSHCFG_COPY_NONE)

/* How servconf.c handles such entries. sshd-auth does not get the values. */
#define init_bdp(options)		bdp_options_init(&(options)->bdp);
#define serialise_bdp(options, buf)	0
#define deserialise_bdp(options, buf)	0
#define free_bdp(options)		bdp_options_free(&(options)->bdp)
#define copy_bdp(dst, src) \
	bdp_options_copy(&(dst)->bdp, &(src)->bdp)
#define init_bdp_keyword(options)
#define serialise_bdp_keyword(options, buf)	0
#define deserialise_bdp_keyword(options, buf)	0
#define free_bdp_keyword(options)
#define copy_bdp_keyword(dst, src)

/* Prints the options for ssh -G (`prefix` o) and sshd -T (`prefix` s). */
#define BDP_OPTIONS_DUMP(prefix, options) do { \
	bdp_options_fill(options); \
	dump_cfg_string(prefix##ChannelWindowMax, \
	    window_max_text((options)->channel_window_max)); \
	dump_cfg_string(prefix##TCPCongestion, (options)->tcp_congestion); \
} while (0)

/* Marks all options as unset; frees nothing. */
void	 bdp_options_init(struct bdp_options *options);

/* Sets the unset options to their defaults. */
void	 bdp_options_fill(struct bdp_options *options);

/* Frees what the options hold and marks them as unset. */
void	 bdp_options_free(struct bdp_options *options);

/*
 * Parses `arg`, the argument of a keyword, even if `active` is 0. Sets the
 * option if it is unset and `active` is not 0. Returns NULL, or a message if
 * `arg` is wrong, and then leaves the option unchanged.
 */
const char *bdp_options_parse(struct bdp_options *options, const char *keyword,
	     const char *arg, int active);

/* Returns a keyword as the man pages write it, or NULL if it is not ours. */
const char *bdp_options_name(const char *keyword);

/* Copies the options that are set in `src`. */
void	 bdp_options_copy(struct bdp_options *dst,
	     const struct bdp_options *src);

/*
 * Sets the unset options to their defaults, and applies all options to a
 * connection after the login (bdp-apply.c).
 */
void	 bdp_options_apply(struct ssh *ssh, struct bdp_options *options);

#endif /* BDP_OPTIONS_H */
