/* SPDX-License-Identifier: ISC */
/* The table of runs, from RUN_START to the last message about each. */
#ifndef OLP_RUN_H
#define OLP_RUN_H

#include <stddef.h>
#include <stdint.h>

struct chan;
struct msg;
struct spawn;
struct way;

/* Handlers of worker-http's messages. */
int run_start(struct chan *, struct msg *);
int run_kill(struct chan *, struct msg *);

/* A link to http is gone: all that was begun for it ends. */
void run_http_gone(struct spawn *, uint64_t generation);
/* The key has lost rights: its runs end. */
void run_key_gone(struct spawn *, const char *key_id);
/* Runs that wait for this credential go on, or fail. */
void run_way_ready(struct spawn *, const struct way *);
void run_way_failed(
    struct spawn *, const char *cred, uint32_t err, const char *why);
int run_uses_way(const struct spawn *, uint32_t instance);

struct run_count {
	size_t all, key, provider, key_stuck, stuck;
	uint64_t memory;
};
/* key_id and provider may be NULL. */
void run_count(const struct spawn *, const char *key_id, const char *provider,
    struct run_count *);

#endif
