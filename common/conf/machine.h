/* SPDX-License-Identifier: ISC */
/*
 * What the configuration asks of the machine: programs, users, numbers.
 * Looks only.  For the master, and for who tells people what is missing.
 */
#ifndef OLP_CONF_MACHINE_H
#define OLP_CONF_MACHINE_H

#include <sys/types.h>

#include <limits.h>

#include "common/conf/conf.h"

/* The folder of olpd's own programs, ../libexec/olpd beside ours.  -1 with
 * errno and the path tried. */
int machine_libexec(char path[PATH_MAX]);

/*
 * A provider's program, resolved: its `command`, or olp-NAME of libexec, the
 * one that is shipped.  A client runs as a user of its own, so as root it
 * must be executable for others.  NULL, or why it cannot be had; path is ""
 * then.
 */
const char *machine_program(const struct conf_provider *, const char *libexec,
    int privileged, char path[PATH_MAX]);

/* Service users by enum order http, spawn, egress, tui. */
struct machine_id {
	uid_t uid;
	gid_t gid;
};
/*
 * The installed service users if all are there, else the numbers of
 * service-ids.  -1 and a sentence when those, or the users, will not do.
 */
int machine_ids(const struct conf *, struct machine_id id[LIM_CONF_SERVICE_IDS],
    char *why, size_t size);
/* Is a number of [lo, hi] a user's or group's in the local files?  1 and a
 * sentence: yes. */
int machine_taken(uint32_t lo, uint32_t hi, char *why, size_t size);

#endif
