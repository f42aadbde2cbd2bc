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

#include <errno.h>
#include <poll.h>
#include <stdint.h>

#include "sshbuf.h"
#include "packet.h"
#include "channels.h"
#include "misc.h"
#include "send-account.h"
#include "tcp-path.h"
#include "window-state.h"
#include "channel-pipe.h"
#include "channel-sender.h"

/* The least time (us) between two looks at what the socket sends. */
#define UNSENT_LEAST_US	10000
/* The least (bytes) for which an early write is worth a system call. */
#define EARLY_LEAST	4096
/* Wake-ups for one in a round trip, if they are at least 1 ms apart */
#define EARLY_PER_RTT	16
/*
 * Tries in a row, with nothing written in between, after which it no longer
 * wakes up for them
 */
#define EARLY_FAILED	32

/*
 * Bulk data waits where a keystroke can overtake it: in its channel, not in
 * the kernel, which gets what it sends in a few turns of the main loop.
 */
static void
bound_unsent(struct ssh *ssh, struct channel_windows *ws)
{
	struct channel_sender *s = &ws->sender;
	int fd = ssh_packet_get_connection_out(ssh);
	struct path_info path;
	uint64_t now_us;
	u_int unsent;

	if (ws->path.no_tcp || (now_us = window_now_us()) < s->unsent_us)
		return;
	if (tcp_path_probe(fd, &path) != 0)
		ws->path.no_tcp = errno != EAGAIN;
	s->rate = path.send_rate;
	s->rtt_us = path.rtt_us;
	s->drained = path.drained;
	s->unsent_us = now_us + MAXIMUM(path.rtt_us, UNSENT_LEAST_US);
	s->full = path.full;
	unsent = tcp_path_unsent(path.send_rate);
	if (unsent == s->unsent || ws->path.no_tcp)
		return;
	s->unsent = unsent;
	tcp_path_bound_unsent(fd, unsent);
}

/*
 * While a channel has more to send than the path takes, Nagle's algorithm sees
 * to it that segments are full: bounded as it is, the kernel's queue often ends
 * in a part of one. Where many are lost, it is segments that count.
 */
static void
fill_segments(struct ssh *ssh, struct channel_sender *s,
    const struct channel_window *filler)
{
	if ((s->filler != NULL) != (filler != NULL))
		tcp_path_fill_segments(ssh_packet_get_connection_out(ssh),
		    filler != NULL);
	s->filler = filler;
}

/* Once the channel has nothing more to send, small packets go out at once. */
static void
check_filler(struct ssh *ssh, const Channel *c, struct channel_sender *s)
{
	if (s->filler == NULL)
		return;
	if (!s->full || (s->filler == c->window && sshbuf_len(c->input) == 0 &&
	    !ssh_packet_have_data_to_write(ssh)))
		fill_segments(ssh, s, NULL);
}

void
channel_sender_turn(struct ssh *ssh, const Channel *c,
    struct channel_windows *ws)
{
	bound_unsent(ssh, ws);
	check_filler(ssh, c, &ws->sender);
}

/* Returns 1 if the path is so slow that what may wait unsent is bounded. */
static int
is_bounded(const struct channel_sender *s)
{
	return s->unsent != 0 && s->unsent < TCP_PATH_UNSENT_MAX;
}

/* Returns how much of len bytes goes into the channel's next packet. */
static size_t
next_packet(struct ssh *ssh, const Channel *c, struct channel_sender *s,
    size_t len)
{
	struct channel_window *w = c->window;
	size_t some = MINIMUM(len, send_account_rest(&w->send,
	    c->remote_maxpacket));

	/* A peer may take packets of 4 GiB, behind which all others wait. */
	some = MINIMUM(some, CHANNEL_READ_AHEAD);
	if (!is_bounded(s))
		return some;
	/* Each channel has its packet before any has a second one. */
	if (!ssh_packet_have_data_to_write(ssh))
		s->turn++;
	if (w->turn == s->turn)
		return 0;
	w->turn = s->turn;
	some = MINIMUM(some, s->unsent);
	if (s->full && len > some)
		fill_segments(ssh, s, w);
	else if (s->filler == w)	/* nothing follows that would fill */
		fill_segments(ssh, s, NULL);
	return some;
}

size_t
channel_sender_limit(struct ssh *ssh, Channel *c, struct channel_windows *ws,
    size_t len)
{
	struct channel_window *w = c->window;
	size_t some;

	if (w == NULL || !w->bulk)
		return len;
	some = next_packet(ssh, c, &ws->sender, len);
	send_account_sent(&w->send, MINIMUM(some, c->remote_window),
	    MINIMUM(len, c->remote_window), c->remote_maxpacket);
	channel_pipe_input(c, w);
	return some;
}

size_t
channel_sender_read_max(const Channel *c)
{
	return c->window != NULL && c->window->send.bytes >= WINDOW_MUCH &&
	    !c->window->no_room ? CHANNEL_READ_AHEAD : CHANNEL_MAX_READ;
}

int
channel_sender_read_less(Channel *c)
{
	if (channel_sender_read_max(c) == CHANNEL_MAX_READ)
		return 0;
	c->window->no_room = 1;
	return 1;
}

int
channel_sender_more(struct ssh *ssh, const Channel *c,
    const struct channel_windows *ws, size_t had)
{
	/*
	 * If nothing was sent, nothing will be, whatever the reason: the peer
	 * may have said that its packets have no room for data.
	 */
	if (sshbuf_len(c->input) >= had)
		return 0;
	/* Several have a turn of several packets already, one each. */
	return c->window != NULL && c->window->bulk && ws->bulks == 1 &&
	    !is_bounded(&ws->sender) &&
	    sshbuf_len(c->input) >= c->remote_maxpacket &&
	    c->remote_window >= c->remote_maxpacket &&
	    !ssh_packet_is_rekeying(ssh) &&
	    ssh_packet_not_very_much_data_to_write(ssh);
}

/* Returns 1 if the channel's source has data, or its end, to be read. */
static int
source_waits(const Channel *c)
{
	struct pollfd pfd = { .fd = c->rfd, .events = POLLIN };

	return c->rfd != -1 && poll(&pfd, 1, 0) == 1;
}

/*
 * Returns the time (us) that the kernel takes to send what it has, at the rate
 * at which it says that it sends. 0 if it doesn't say.
 */
static uint64_t
drain_us(struct ssh *ssh, const struct channel_sender *s)
{
	if (s->rate == 0)
		return 0;
	return tcp_path_waiting(ssh_packet_get_connection_out(ssh)) *
	    1000000ULL / s->rate;
}

/*
 * Returns 1 if an early write may help, else 0: what was seen of the socket
 * before a long wait says nothing.
 */
static int
is_early(struct ssh *ssh, const struct channel_sender *s, uint64_t now_us)
{
	return s->drained && now_us < s->unsent_us &&
	    sshbuf_len(ssh_packet_get_output(ssh)) >= EARLY_LEAST;
}

/* Returns the time (us) of the next wake-up for an early write, 0 for none. */
static uint64_t
early_wake_us(struct ssh *ssh, const struct channel_sender *s, uint64_t now_us)
{
	if (!is_early(ssh, s, now_us) || s->early_failed >= EARLY_FAILED ||
	    s->rtt_us < EARLY_PER_RTT * 1000)
		return 0;
	return now_us + s->rtt_us / EARLY_PER_RTT;
}

/*
 * Linux calls a TCP socket writable (poll(2)) while at most two thirds of its
 * send buffer are in use, and while little waits unsent (TCP_NOTSENT_LOWAT). If
 * nothing waits unsent, the buffer is what limits, and the last third takes
 * more. Else it is the path that limits, and a keystroke could not overtake
 * what is written now.
 */
int
channel_sender_early(struct ssh *ssh, struct channel_windows *ws)
{
	struct channel_sender *s;
	uint64_t received, sent, more, now_us = window_now_us();
	size_t len, left;
	int fd = ssh_packet_get_connection_out(ssh);

	if (ws == NULL || !is_early(ssh, &ws->sender, now_us))
		return 0;
	s = &ws->sender;
	len = sshbuf_len(ssh_packet_get_output(ssh));
	left = len + tcp_path_unacked(fd);
	/*
	 * What new packets added since the last try is not progress. Of these,
	 * `sent` lacks the MACs, which are few.
	 */
	ssh_packet_get_bytes(ssh, &received, &sent);
	more = sent - s->early_sent;
	if (len < s->early_len + more)
		s->early_failed = 0;
	else if (s->early_failed < EARLY_FAILED)
		s->early_failed++;
	/* That the kernel took data does not show that the peer lives. */
	if (left < s->early_left + more)
		ws->event_us = now_us;
	s->early_len = len;
	s->early_left = left;
	s->early_sent = sent;
	return tcp_path_waiting(fd) < EARLY_LEAST;
}

void
channel_sender_look(struct ssh *ssh, Channel *c, struct channel_windows *ws)
{
	struct channel_window *w = c->window;
	enum send_why why = SEND_NO_DATA;
	uint64_t now_us, draining_us = 0;
	int waits;

	if (w == NULL || !w->bulk)
		return;
	now_us = window_now_us();
	w->early_wake_us = early_wake_us(ssh, &ws->sender, now_us);
	waits = sshbuf_len(c->input) != 0;
	/*
	 * Nothing is read from the source while the window has no room. It is
	 * polled for data only to see when there is some.
	 */
	if (!waits && c->remote_window == 0 &&
	    c->istate == CHAN_INPUT_OPEN && c->input_filter == NULL &&
	    !(waits = source_waits(c)))
		c->io_want |= SSH_CHAN_IO_RFD;
	if (waits && c->remote_window == 0 &&
	    !ssh_packet_have_data_to_write(ssh)) {
		why = SEND_WINDOW;
		draining_us = drain_us(ssh, &ws->sender);
	} else if (waits)
		why = SEND_PATH;
	send_account_look(&w->send, why, now_us, draining_us);
}

uint64_t
channel_sender_held_us(const Channel *c, uint64_t now_us)
{
	if (c->window == NULL || !c->window->bulk)
		return 0;
	return send_account_held_us(&c->window->send, now_us);
}

void
channel_sender_forget(struct ssh *ssh, const struct channel_window *w,
    struct channel_windows *ws)
{
	if (ws->sender.filler == w)
		fill_segments(ssh, &ws->sender, NULL);
}
