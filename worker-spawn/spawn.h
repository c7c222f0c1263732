/* SPDX-License-Identifier: ISC */
/*
 * What worker-spawn knows, as one struct that main.c owns and hands to
 * whoever handles something.
 */
#ifndef OLP_SPAWN_H
#define OLP_SPAWN_H

#include <bsd/sys/queue.h>

#include "worker-spawn/posture.h"

struct cgroups;
struct chan;
struct event;
struct event_base;
struct keys;
struct probe;
struct rows;
struct run;
struct way;

struct spawn {
	struct event_base *base; /* NULL until in the cage */
	struct rows *rows;       /* in use */
	struct rows *coming;     /* being received, NULL: none is */
	struct keys *keys;
	struct posture posture;
	struct probe *probe;
	struct cgroups *groups;
	struct chan *http;      /* NULL: no link */
	TAILQ_HEAD(, way) ways; /* links to egress, the newest first */
	TAILQ_HEAD(, run) runs; /* all that were accepted and are not gone */
	struct event *load_soon, *expiry_look;
};

#endif
