/* SPDX-License-Identifier: ISC */
/*
 * Which uid a new key gets.  A number is never a second key's: the next free
 * one is a high-water mark in STATE/next-uid that outlives the keys.  Both
 * need the lock of keys.d.
 */
#ifndef OLPCTL_UID_H
#define OLPCTL_UID_H

#include <stdint.h>

struct conf;
struct store;

/* The next one, taken: the mark stands above it on disk when this returns. 0,
 * or -1 with errno (told). */
int uid_take(const struct conf *, struct store *keys, uint32_t *uid);
/* Before a key goes: lift the mark above its uid. 0, or -1 (told). */
int uid_keep(const struct conf *, uint32_t uid);

/*
 * The largest uid from lo to hi that a file of keys.d names, faulty files
 * included; 0: none.  0, or -1 (told).
 */
int uid_highest(struct store *keys, uint32_t lo, uint32_t hi, uint32_t *top);

/* The uid of one file, faulty or not; 0: none. */
uint32_t uid_of_file(struct store *keys, const char *name);

#endif
