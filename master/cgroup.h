/* SPDX-License-Identifier: ISC */
/*
 * The cgroups of this instance, as far as the machine has them.  UNIT is the
 * systemd service's, or olpd-[INSTANCE-]UID, UID the first of the key range:
 *   UNIT/spawn          all runs together; its limits are out of reach for
 *   UNIT/spawn/worker   worker-spawn, which lives here
 *   UNIT/spawn/RUN      and makes one of these for each run
 */
#ifndef OLP_CGROUP_H
#define OLP_CGROUP_H

#include <limits.h>

struct conf;

extern struct cgroup {
	char spawn[PATH_MAX]; /* path of UNIT/spawn; "": no cgroups */
	int worker;           /* descriptor of UNIT/spawn/worker, or -1 */
} cgroup;

/* Root only.  Tells what there is; without cgroups olpd goes on. */
void cgroup_take(const struct conf *);
/* The limits of all runs together, from the configuration. */
void cgroup_limits(const struct conf *);
/* At the end, when no process is left in them. */
void cgroup_release(void);

#endif
