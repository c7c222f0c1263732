/* SPDX-License-Identifier: ISC */
/*
 * Logging and the allocation that cannot fail, for every process.
 *
 * A line goes to the journal by its native protocol when log_journal() gave
 * a socket, else to standard error as "<N>name: text" (N as in syslog(3)).
 * Who does not read them holds nobody up: after LIM_LOG_WAIT_MS a line is
 * lost, and how many were is told when one goes again.
 * A line reads "subject id: action: reason".  Never put a prompt, an answer,
 * a key or a token into one; foreign text goes through log_vis() first.
 */
#ifndef OLP_LOG_H
#define OLP_LOG_H

#include <stdarg.h>
#include <stddef.h>

#include "common/events.h"

/* name: the process, as SYSLOG_IDENTIFIER; kept, not copied. verbose: debug lines too. */
void log_init(const char *name, int verbose);
int log_verbose(void);
/* For the master: a pipe behind standard error never blocks us, nor those who inherit it. */
void log_never_block(void);
/* Send to the journal over this connected datagram socket from now on; -1 ends that. Takes the descriptor. */
void log_journal(int fd);
int log_journal_fd(void);

/* With errno (strerror appended), and without. */
void log_warn(const char *, ...) __attribute__((format(printf, 1, 2)));
void log_warnx(const char *, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *, ...) __attribute__((format(printf, 1, 2)));
void fatal(const char *, ...) __attribute__((format(printf, 1, 2), noreturn));
void fatalx(const char *, ...) __attribute__((format(printf, 1, 2), noreturn));

/* An audit line with fields: see journal.h for the kinds of event. */

struct log_field {
	const char *name;  /* OLP_KEY_ID ... */
	const char *value; /* NULL: the field is left out */
};
void log_event(enum log_event, const struct log_field *, size_t n, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Foreign bytes made fit for a line or a terminal (vis(3)); buf is returned. */
char *log_vis(char *buf, size_t size, const char *src, size_t len);

/* As malloc(3) and friends, but failure ends the process. */
void *xmalloc(size_t);
void *xcalloc(size_t, size_t);
void *xreallocarray(void *, size_t, size_t);
char *xstrdup(const char *);
char *xstrndup(const char *, size_t);
int xasprintf(char **, const char *, ...) __attribute__((format(printf, 2, 3)));

#endif
