/* SPDX-License-Identifier: ISC */
/*
 * The room worker-spawn lives in: a user namespace that maps its service id
 * and the key range and nothing else, and a read-only view of the machine.
 */
#ifndef OLP_NSROOM_H
#define OLP_NSROOM_H

#include <sys/types.h>

struct conf;
struct event_base;
struct nsroom;

/*
 * pid: worker-spawn, our child, its ids mapped and let go.  Or text: what
 * failed; may come after the pid, up to the exec.  Neither: nobody is at work
 * any more.  nsroom_free() is the callee's to call, at any time.
 */
typedef void nsroom_cb(void *arg, pid_t pid, const char *text);

/*
 * Begin.  fd becomes descriptor 3 of worker-spawn and stays the caller's.
 * *pid is worker-spawn where that is known at once, as an ordinary user;
 * else 0, and the callback tells.  NULL with errno: no process could be made.
 */
struct nsroom *nsroom_new(
    struct event_base *, int fd, pid_t *pid, nsroom_cb *, void *arg);
void nsroom_free(struct nsroom *);

/*
 * Look for the providers' programs.  A provider whose program is not what the
 * view has, or NULL.  take: the next room's view gets what is found, and each
 * that cannot be had is logged.
 */
const char *nsroom_look(const struct conf *, int take);
/* The provider's program that is in the view, or "". */
const char *nsroom_program(const char *provider);

#endif
