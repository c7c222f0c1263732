/* SPDX-License-Identifier: ISC */
/*
 * Where this instance lives and as whom: directories, locks, service ids,
 * the folder of its programs.  Settled once, at start.
 */
#ifndef OLP_PLACE_H
#define OLP_PLACE_H

#include "common/conf/machine.h"
#include "proto/msg.h"

#define PLACE_PATH (LIM_PATH + 16)

extern struct place {
	int privileged; /* started as root */
	char libexec[PATH_MAX];
	char http_root[PLACE_PATH]; /* empty directories to chroot to */
	char egress_root[PLACE_PATH];
	char view[PLACE_PATH];   /* mount points, used in mount ... */
	char cgroup[PLACE_PATH]; /* ... namespaces of our own */
	struct machine_id
	    id[LIM_CONF_SERVICE_IDS]; /* http, spawn, egress, tui */
} place;

/* Make and check the directories, take the locks.  Fatal with the reason. */
void place_take(const struct conf *);
/* What that worker's CAGE message says. */
void place_cage(enum proc, struct msg_cage *);

#endif
