/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 The openssh-bdp authors */

#ifndef SFTP_LANES_H
#define SFTP_LANES_H

#include <sys/types.h>

#include <stdint.h>

struct sftp_conn;
struct sshbuf;

/*
 * The lanes of a copy: sftp sessions with the same server, each with an
 * sftp-server of its own, over which the files of a tree or the parts of a file
 * are spread. The first lane is the session that there always is. There are
 * lanes for one server at a time: that of the last sftp_lanes_first().
 *
 * More lanes come from a source, such as other connections
 * (sftp-connections.c). They are opened while files are copied, and nothing
 * waits for them. A lane that is refused or lost is not opened again.
 */

/* The most lanes, with the first */
#define SFTP_LANES		16

enum sftp_lane_state {
	SFTP_LANE_CLOSED,
	SFTP_LANE_OPENING,	/* its server has not introduced itself yet */
	SFTP_LANE_OPEN,
	SFTP_LANE_LOST		/* its descriptors are closed */
};

struct sftp_lane {
	enum sftp_lane_state state;
	struct sftp_conn *conn;	/* NULL until it is open */
	int fd_in, fd_out;
	pid_t pid;		/* of what carries it; -1: none of its own */
	double began_s;		/* when it began to open; ^Z moves it */
	int heard;		/* 1: something came */
	uint64_t heard_then;	/* of all lanes, how often, at the last look */
	double looked_s;	/* time of that look; 0: no reply was due */
	double silent_s;	/* for so long it sent nothing of what is due */
	struct sshbuf *in;	/* received, and not yet a whole message */
	struct sshbuf *out;	/* messages that could not be sent yet */
};

/* Where lanes come from */
struct sftp_lane_source {
	/*
	 * Begins to open one more. Returns 0 and sets its descriptors, and the
	 * process that carries it or -1; or -1 if there can be none. Waits for
	 * nothing.
	 */
	int (*open)(int *in, int *out, pid_t *pid);
	int logs_in;		/* 1: the process logs in first */
};

/* Sets the number of lanes that there are to be, with the first. */
void	 sftp_lanes_max(u_int lanes);

/* Says where lanes come from. It is copied. */
void	 sftp_lanes_source(const struct sftp_lane_source *source);

/*
 * Says which lane is the first. sftp_lanes_close() is called before it
 * connects, and others may open meanwhile. `hello` is the message with which
 * its server has introduced itself: lanes whose servers do so otherwise are not
 * used.
 */
void	 sftp_lanes_first(struct sftp_conn *conn, int in, int out,
	    const struct sshbuf *hello);

/*
 * Returns 1 if the servers of lanes have the extensions of OpenSSH's, as the
 * first one says, else 0.
 */
int	 sftp_lanes_are_openssh(void);

/* Returns the first lane's connection, or NULL if there is none. */
struct sftp_conn *sftp_lanes_conn(void);

/* Returns 1 if conn is the first lane and there may be others, else 0. */
int	 sftp_lanes_wanted(const struct sftp_conn *conn);

/* Returns lane i (0 is the first). The others are closed until they open. */
struct sftp_lane *sftp_lane(u_int i);

/* Returns the number of lanes that are open. */
u_int	 sftp_lanes_open(void);

/*
 * Begins to open the lanes, and gives up those that take longer than
 * 20 s. Time in which nobody calls it does not count. Returns the time (ms)
 * after which to call it again, or -1 if it need not be called.
 */
int	 sftp_lanes_tick(void);

/* Takes what a lane that is opening has received. Returns 1 if it is open. */
int	 sftp_lane_opened(struct sftp_lane *lane);

/*
 * Says whether a lane has replies to send, how often something came from any
 * lane, and whether the first one has replies to send. Returns 1 if the lane
 * has sent nothing, and taken nothing, for 60 s, or not its first reply for as
 * long as it may take to open, else 0. While all lanes are silent, a fifth of
 * the time counts, or none if the first one is to reply.
 */
int	 sftp_lane_is_silent(struct sftp_lane *lane, int due, uint64_t heard,
	    int first_due);

/* Notes that a lane is lost. */
void	 sftp_lane_lose(struct sftp_lane *lane, const char *why);

/* Closes all lanes but the first, and waits for their processes. */
void	 sftp_lanes_close(void);

/*
 * Ends the processes of lanes, except logins under way. A signal handler may
 * call it.
 */
void	 sftp_lanes_kill(void);

/*
 * The messages of a lane.
 *
 * Reads what has come, without waiting. Returns the number of bytes, 0 if none
 * has come, or -1 if the lane has ended.
 */
ssize_t	 sftp_lane_read(struct sftp_lane *lane);

/*
 * Takes a whole message from what was read. Returns 1 and puts it into msg, 0
 * if there is none, or -1 if what comes is no message.
 */
int	 sftp_lane_message(struct sftp_lane *lane, struct sshbuf *msg);

/* Takes a message to send. sftp_lane_write() sends it. */
void	 sftp_lane_queue(struct sftp_lane *lane, const struct sshbuf *msg);

/*
 * Sends what it can without waiting. Returns the number of bytes, or -1 if the
 * lane has ended.
 */
ssize_t	 sftp_lane_write(struct sftp_lane *lane);

#endif /* SFTP_LANES_H */
