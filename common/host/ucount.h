/* SPDX-License-Identifier: ISC */
/*
 * What the kernel counts by user: inotify, queued signals and timers, and
 * with every user of a user namespace the one who made it.
 */
#ifndef OLP_HOST_UCOUNT_H
#define OLP_HOST_UCOUNT_H

#include <sys/types.h>

/*
 * In a child: user namespaces made from here are uid's, not root's; its
 * capabilities and what it does to files stay as they are.  -1 with errno.
 */
int ucount_owner(uid_t uid);

/*
 * In a user namespace just made, with its own /proc: the most that each of
 * its users may have.  -1 with errno.
 */
int ucount_bounds(void);

#endif
