/* SPDX-License-Identifier: ISC */
/* The ways out: links to egress processes, each for one credential. */
#ifndef OLP_WAY_H
#define OLP_WAY_H

#include <bsd/sys/queue.h>
#include <stdint.h>

#include "proto/msg.h"

struct chan;
struct spawn;

struct way {
	TAILQ_ENTRY(way) entry;
	struct spawn *sp;
	struct chan *chan;
	uint32_t instance;
	char cred[LIM_CRED_ID];
};

/*
 * The master's LINK to an egress process: takes fd. Runs parked for its
 * credential go on.
 */
void way_link(struct spawn *, const struct msg_link *, int fd);
/* The newest for that credential, or NULL. */
struct way *way_find(const struct spawn *, const char *cred);
/* NULL: that egress is gone. */
struct way *way_of(const struct spawn *, uint32_t instance);
/* The master would end this egress process: may it? Answers EGRESS_DROPPED. */
void way_drop(struct spawn *, uint32_t instance);

#endif
