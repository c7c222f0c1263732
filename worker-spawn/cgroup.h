/* SPDX-License-Identifier: ISC */
/*
 * One cgroup for each run, below the folder the master gave to
 * worker-spawn: to bound what the run uses, to end it a second time, to see
 * that it ran out of memory.  Controllers may be missing: what is there is
 * told.
 */
#ifndef OLP_CGROUP_H
#define OLP_CGROUP_H

#include <stdint.h>

struct event_base;
struct cgroups;

enum cgroup_level {
	CGROUP_NONE,  /* rlimits and tmpfs sizes only */
	CGROUP_KILL,  /* no controllers: a run's can be ended, and no more */
	CGROUP_LIMITS /* processes and memory are bounded */
};
/* "rlimit", "kill", "cgroup" */
const char *cgroup_level_name(enum cgroup_level);

/*
 * there: the master says that path is ours.  Ends and removes what an
 * earlier worker-spawn left, then finds out what can be set.  Never NULL.
 */
struct cgroups *cgroups_open(struct event_base *, const char *path, int there);
void cgroups_close(struct cgroups *); /* NULL is fine */
enum cgroup_level cgroups_level(const struct cgroups *);

struct cgroup {
	int fd; /* -1: none; for clone3(2) */
	char name[32];
};

/*
 * A cgroup with these limits (memory in bytes, 0: none).  With CGROUP_NONE
 * it has no fd and all below do nothing.  0, or -1 with errno: the run must
 * not be made without it.
 */
int cgroup_make(
    struct cgroups *, struct cgroup *, uint64_t memory, uint32_t tasks);
/* Did the kernel end a member for want of memory? */
int cgroup_out_of_memory(const struct cgroup *);
/*
 * End all members, remove it; if it is not empty yet, again and again from the
 * loop, bounded.
 */
void cgroup_end(struct cgroups *, struct cgroup *);

#endif
