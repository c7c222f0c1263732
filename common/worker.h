/* SPDX-License-Identifier: ISC */
/*
 * The prologue every worker shares.  The order is the security argument:
 *   1 options, title; 2 close all above fd 3; 3 set-up dialogue with the
 *   master; 4 acquire; 5 cage, proved; 6 signals; 7 arm; 8 READY; 9 loop.
 * What differs between workers is data: struct worker in each main.c.
 */
#ifndef OLP_WORKER_H
#define OLP_WORKER_H

#include <stddef.h>
#include <stdint.h>

#include "common/cage.h"
#include "common/chan.h"

struct event_base;

struct worker {
	enum proc proc;
	const struct cage *cage;
	/*
	 * Messages from the master beyond what the prologue answers itself
	 * (LOG_FD, CAGE, CONF_BEGIN, CONF_END, PING, LINK): CONF rows, LISTEN ...
	 */
	const struct msg_handler *from_master;
	size_t nfrom_master;
	/* A new copy of the configuration begins; and is complete: swap it in. Both may be NULL. 0, or -1: refused. */
	int (*conf_begin)(uint64_t generation);
	int (*conf_end)(uint64_t generation);
	/* Once, after the first CONF_END and before the cage: what needs privilege. -1 is fatal. May be NULL. */
	int (*acquire)(void);
	/* Egress: the one TCP port the cage leaves (network order is not meant). NULL: the profile does not dial. */
	uint16_t (*connect_port)(void);
	/* Once, in the cage, before READY: make events. */
	void (*start)(void);
	/* A link to a peer: takes fd. Called at any time after start(). */
	void (*link)(const struct msg_link *, int fd);
	/* The master closed its channel: the process ends right after. May be NULL. */
	void (*stop)(void);
};

/* Never returns. */
int worker_main(int argc, char **argv, const struct worker *) __attribute__((noreturn));

/* For handlers, after worker_main() began. */
struct event_base *worker_base(void);
struct chan *worker_master(void);
const struct msg_cage *worker_place(void);

/*
 * A link's gone callback calls this first: when error is EPROTO it tells the
 * master PEER_BAD, so that the peer is replaced.
 */
void worker_link_gone(const struct chan *, int error);

#endif
