/* SPDX-License-Identifier: ISC */
/*
 * One sandboxed client: made, watched, ended, waited for.  Knows nothing of
 * keys, messages or policy; run.c and probe.c use it alike, so that the
 * probe runs where runs run.
 */
#ifndef OLP_CHILD_H
#define OLP_CHILD_H

#include <sys/types.h>

#include <stdint.h>

#include "common/limits.h"
#include "proto/err.h"

struct cgroups;
struct child;
struct event_base;
struct launch_words;
struct provider_launch;
struct sandbox;

struct child_spec {
	const struct provider_launch *launch; /* what the home begins with */
	const struct sandbox *sandbox;
	const struct launch_words *env; /* the client's, and nothing else */
	/* Read-only, at offset 0; -1: none (as input: /dev/null). */
	int input, system, settings;
	uint64_t home_bytes; /* of the home, and of /tmp */
	uint32_t home_inodes;
	uint64_t memory; /* of the cgroup, 0: none */
};

/* How it ended. The namespace is gone: nothing of it runs any more. */
struct child_end {
	int ran;    /* the client was executed: status and signal are its own */
	int status; /* as a shell has it: 128 + signal for the latter */
	int signal; /* or 0 */
	int out_of_memory; /* the kernel ended a process for its memory limit */
	/* Not ran: why, with the step and errno. ERR_OK: ended before that. */
	enum olp_err err;
	char detail[LIM_TEXT];
};

struct child_ops {
	/* The shim's listener; takes fd. NULL: none is expected. */
	void (*listener)(void *arg, int fd);
	/* Not gone LIM_RUN_STUCK_S after SIGKILL. gone() follows, some day. */
	void (*stuck)(void *arg);
	/* The last call. The callee frees the child, and with it this end. */
	void (*gone)(void *arg, const struct child_end *);
};

/*
 * Make the namespaces and a process that waits at the gate: nothing is
 * executed, nothing mounted before child_go().  out and err become the
 * reading ends of the client's standard output and error, the caller's.
 * spec is used here only: the new process has its own copy.  NULL with
 * errno, and *step names what failed.
 */
struct child *child_start(struct event_base *, struct cgroups *,
    const struct child_spec *, const struct child_ops *, void *arg, int *out,
    int *err, const char **step);
void child_go(struct child *);
/* SIGKILL to all of it, now; stuck() or gone() follow from the loop. */
void child_kill(struct child *);
pid_t child_pid(const struct child *);
void child_free(struct child *); /* in gone() only; NULL is fine */

/* Has the machine no room now? Else the sandbox cannot be at all. */
int child_no_room(int error);

#endif
