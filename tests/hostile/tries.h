/* SPDX-License-Identifier: ISC */
/*
 * A row of things to try, each in a child of its own, since what is refused
 * may also kill.  The answers go to standard error, which is the master's:
 * "hostile NAME=ANSWER", ANSWER an errno's name, a signal's, or OPEN.
 */
#ifndef HOSTILE_TRIES_H
#define HOSTILE_TRIES_H

#include <stddef.h>
#include <stdint.h>

struct cage;

struct
try {
	const char *name;
	long (*f)(void); /* -1 with errno: refused */
};

/* In each child first `cage`, at the place the master told; NULL: in it
 * already, then with mounts of its own. */
void tries_run(
    const struct try *, size_t n, const struct cage *, uint16_t connect_port);
void tries_say(const char *name, const char *answer);

long try_tcp(const char *addr, uint16_t port); /* connects */
long try_fastopen(
    int fd, const char *addr, uint16_t port); /* sends and connects in one */

/* Messages that are of no interest here. */
struct chan;
struct msg;
int tries_ignore(struct chan *, struct msg *);

#endif
