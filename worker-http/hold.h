/* SPDX-License-Identifier: ISC */
/*
 * Bytes that worker-http keeps for callers, bodies on their way in and
 * unstreamed answers on their way out, bounded per key and in all.
 */
#ifndef OLP_HTTPD_HOLD_H
#define OLP_HTTPD_HOLD_H

#include <stddef.h>
#include <stdint.h>

struct hold_key;

/* What one request holds. Zeroed means: nothing. */
struct hold {
	struct hold_key *key;
	size_t bytes;
};

/* One body may always be held, whatever its configured limit. */
void hold_body_max(uint64_t bytes);
/* 0, or -1: a bound would be passed, and nothing was added. The key is that of
 * the first call. */
int hold_add(struct hold *, const char *key_id, size_t bytes);
void hold_sub(struct hold *, size_t bytes);
void hold_release(struct hold *);                   /* all of it */
void hold_move(struct hold *to, struct hold *from); /* `to` holds nothing */
size_t hold_total(void);

#endif
