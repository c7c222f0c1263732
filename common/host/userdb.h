/* SPDX-License-Identifier: ISC */
/*
 * Names for numbers without touching /etc: records in /run/userdb, which
 * libnss-systemd reads, so that ps(1) and ls(1) show them.
 */
#ifndef OLP_HOST_USERDB_H
#define OLP_HOST_USERDB_H

#include <stdint.h>

/* Make it if it is not there.  A descriptor, or -1 with errno. */
int userdb_open(void);
/*
 * User and group `name` of that number, replacing what there was.  name and
 * real hold nothing that JSON would have to escape.  0, or -1 with errno.
 */
int userdb_put(int dir, const char *name, uint32_t number, const char *real);
/*
 * Remove the records of numbers in [lo, hi] whose name begins with prefix
 * and for which keep() is 0.
 */
void userdb_sweep(int dir, const char *prefix, uint32_t lo, uint32_t hi,
    int (*keep)(uint32_t number, const void *arg), const void *arg);

#endif
