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

#ifndef SFTP_LANE_SESSIONS_H
#define SFTP_LANE_SESSIONS_H

/*
 * Lanes that are more sessions of the first one's connection, for uploads: ssh
 * opens them (sftp-session.h), and sftp-grow.h says when.
 */

/* As sftp_session_prepare(), with the limit that the user has set. */
void	 sftp_lane_sessions_prepare(void);

/*
 * Makes lanes sessions from now on, if ssh opens more of them. Returns 1 if so,
 * else 0. Call it once the server has introduced itself: by then ssh knows.
 */
int	 sftp_lane_sessions_use(void);

/*
 * With connections=auto, before lanes are sessions: returns 1 if ssh opens more
 * of them, else 0.
 */
int	 sftp_lane_sessions_are_there(void);

/*
 * Then: returns how many sessions to add at time now_s. Call it often, as it
 * measures. What it has returned stays until they are opened, or until it has
 * not been called for a second.
 */
u_int	 sftp_lane_sessions_want(double now_s);

/*
 * Sets the function to call if no session could be added to the first one;
 * NULL: none.
 */
void	 sftp_lane_sessions_on_none(void (*none)(void));

/* There will be no more sessions: ssh tells the server so. */
void	 sftp_lane_sessions_end(void);

/*
 * Takes an option of -X. Returns 1 if it is about sessions, else 0. A value
 * that is wrong is fatal.
 */
int	 sftp_lane_sessions_option(const char *option);

/* Nothing will be uploaded, so there is one session. */
void	 sftp_lane_sessions_off(void);

/*
 * Says what will be uploaded: the n files in paths, with what is in directories
 * if `recursive`. If that is too little for more sessions to be of use, there
 * is one, unless the user has asked for more.
 */
void	 sftp_lane_sessions_sources(char *const paths[], int n, int recursive);

#endif /* SFTP_LANE_SESSIONS_H */
