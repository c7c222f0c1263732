/* SPDX-License-Identifier: ISC */
/* Bytes that travel between processes as sealed memfds. */
#ifndef OLP_MEMFD_H
#define OLP_MEMFD_H

#include <stddef.h>

/* A memfd with these bytes and all four seals, or -1. name shows in /proc/PID/fd only. */
int memfd_sealed(const char *name, const void *data, size_t len);
/*
 * Is it a memfd with all four seals (SEAL, SHRINK, GROW, WRITE) that can be
 * read?  Its size, or -1.  A descriptor that is anything else has none of these seals.
 */
long memfd_check(int fd);
/*
 * The same bytes at offset 0, read-only, of an open file description of our
 * own: the sender's shares its offset with whoever has a copy.  -1 with errno.
 */
int memfd_reopen(int fd);

#endif
