/* SPDX-License-Identifier: ISC */
/* What a home holds when a client begins: folders and seeded files. */
#ifndef OLP_HOME_H
#define OLP_HOME_H

#include <sys/types.h>

struct provider_launch;

/*
 * Below dirfd, an empty folder that nobody else can reach yet: the folder
 * the client starts in, the provider's directories, then its seeds, all of
 * them owner's.  0; -1 with errno, and *what names the one that failed.
 */
int home_make(
    int dirfd, const struct provider_launch *, uid_t owner, const char **what);

#endif
