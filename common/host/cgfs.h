/* SPDX-License-Identifier: ISC */
/* cgroup2 as a file system: `dir` is a descriptor of a cgroup's directory. */
#ifndef OLP_HOST_CGFS_H
#define OLP_HOST_CGFS_H

#include <stddef.h>

/* Our own cgroup as a path below the mount.  -1: in none, or no room. */
int cgfs_own(const char *mount, char *buf, size_t size);
/* Are we the only process in it, and is it not the root? */
int cgfs_alone(int dir);
/* Make it if it is not there.  A descriptor, or -1 with errno. */
int cgfs_open(int dir, const char *name);
/* Enable for its children as many of pids, memory and cpu as there are. */
void cgfs_controllers(int dir);
/*
 * Remove a cgroup and its children, which have none of their own, killing
 * what is in them.  Waits half a second at most for each.  0, also when there
 * is none; or -1 with errno.
 */
int cgfs_remove(int dir, const char *name);

#endif
