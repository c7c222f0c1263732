/* SPDX-License-Identifier: ISC */
/* How the master makes a process of ours: one way to fork, one to exec. */
#ifndef OLP_HOST_START_H
#define OLP_HOST_START_H

#include <sys/types.h>

#include <stdint.h>

/*
 * Once, before anything is opened: makes this process fit to be a daemon and
 * settles what our programs inherit.  Private umask, no SIGPIPE, no core
 * file and no debugger of the same user, descriptors 0 to 2 in use, as many
 * of them as the hard limit and LIM_NOFILE allow; of the environment what
 * time and sanitizers need.
 */
void start_init(void);
/*
 * clone3(2) with these flags; cgroup is the directory to be born in, or -1.
 * In the child signals are as in a fresh program.  -1 with errno.
 */
pid_t start_fork(uint64_t flags, int cgroup);
/*
 * In a child: become `path` with fd as descriptor 3, 0 on /dev/null, 1 and 2
 * on our standard error, everything else closed; killed when the parent dies
 * (lost at a change of ids; if it is dead already, end of file on the channel
 * tells).  Returns only on failure.
 */
void start_exec(const char *path, int fd);

#endif
