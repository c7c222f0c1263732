/* SPDX-License-Identifier: ISC */
/*
 * The native protocol of systemd-journald and sd_notify, spoken without
 * libsystemd (seven more libraries per process, facts in decisions.md).
 */
#ifndef OLP_JOURNAL_H
#define OLP_JOURNAL_H

#include <sys/socket.h>

#include <stddef.h>
#include <stdint.h>

/* A datagram socket connected to journald, close-on-exec, or -1 with errno. */
int journal_open(void);

/*
 * One entry being put together: fields are binary framed, so that no value
 * can start a field of its own.  What does not fit is cut, never split.
 */
struct journal_entry {
	char buf[8192]; /* a line and its fields are far below; the journal takes more */
	size_t len;
};
void journal_begin(struct journal_entry *);
void journal_add(struct journal_entry *, const char *name, const char *value);
/* Sends; -1 with errno when journald is away (a line is not worth waiting for). */
int journal_send(int fd, const struct journal_entry *);

/*
 * The socket that systemd passed and that is bound to this address,
 * close-on-exec; -1: there is none.  Each is given away once.
 */
int listen_fd_take(const struct sockaddr_storage *, socklen_t);

/* How often systemd wants "WATCHDOG=1" of this process: half of the time it allows, in us; 0: never. */
int64_t notify_watchdog(void);

/* Tell systemd "READY=1" and the like; 0 also where there is no $NOTIFY_SOCKET. */
int notify_send(const char *state);

#endif
