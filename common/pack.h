/* SPDX-License-Identifier: ISC */
/*
 * Checked readers for msgpack objects.  Each returns 0, or -1 when the
 * object is not exactly what was asked for; nothing is converted.
 */
#ifndef OLP_PACK_H
#define OLP_PACK_H

#include <msgpack.h>
#include <stddef.h>
#include <stdint.h>

int obj_u64(const msgpack_object *, uint64_t *);
int obj_u32(const msgpack_object *, uint32_t *); /* -1 over 2^32-1 too */
int obj_bool(const msgpack_object *, int *);
/* Copies with a NUL. -1 when it does not fit, or has a NUL inside. */
int obj_str(const msgpack_object *, char *, size_t);
/* Exactly size bytes. */
int obj_bin(const msgpack_object *, void *, size_t);

/*
 * Is it one array of the types our messages use, nested no deeper than
 * LIM_MSG_DEPTH, of which no length claims more than is there?  msgpack-c
 * allocates an array's objects before it has seen one, so a packet of five
 * bytes could otherwise ask for gigabytes.
 */
int pack_scan(const uint8_t *, size_t);

#endif
