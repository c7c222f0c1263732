/* SPDX-License-Identifier: ISC */
/*
 * Who runs next: requests that wait for a run, fair between keys by round
 * robin, bounded per key and in all; and the count of runs per key, per
 * provider and in all.  worker-spawn has the last word on every start; what
 * is counted here only saves asking in vain.
 */
#ifndef OLP_HTTPD_QUEUE_H
#define OLP_HTTPD_QUEUE_H

#include <bsd/sys/queue.h>
#include <stddef.h>
#include <stdint.h>

#include "common/limits.h"
#include "proto/err.h"

struct queue;
struct queue_key;
struct evbuffer;

/* One waiting request. Embed it; zeroed means: not waiting. */
struct queue_item {
	TAILQ_ENTRY(queue_item) entry;
	struct queue_key *key; /* NULL: not in the queue */
	char provider[LIM_PROVIDER];
	int held; /* waits, but may not start yet (its grant is being renewed)
		   */
	void *arg;
};

/* One run that counts. Embed it; zeroed means: counts nothing. */
struct queue_slot {
	struct queue_key *key;
	char provider[LIM_PROVIDER];
};

struct queue *queue_new(void);
void queue_free(struct queue *); /* nothing may wait or run any more */

/* Limits; they hold for later requests and starts. */
void queue_limits(
    struct queue *, uint32_t waiting, uint32_t per_key, uint32_t runs);
/* Forget the providers' limits, then set each. runs 0: none of its own. */
void queue_clear_providers(struct queue *);
void queue_set_provider(struct queue *, const char *name, uint32_t runs);

/* Wait behind the key's others. ERR_OK or ERR_QUEUE_FULL. key_runs: at once, 0:
 * no limit of its own. */
enum olp_err queue_add(struct queue *, struct queue_item *, const char *key_id,
    uint32_t key_runs, const char *provider);
/* Wait before all others of its key, whose turn comes first: a start that was
 * refused. No bound. */
void queue_add_first(struct queue *, struct queue_item *, const char *key_id,
    uint32_t key_runs, const char *provider);
void queue_del(
    struct queue *, struct queue_item *); /* fine when it does not wait */

/*
 * The next that may start by what is counted, taken out of the queue, its
 * run counted in *slot; or NULL.
 */
struct queue_item *queue_next(struct queue *, struct queue_slot *slot);
/* The run is gone. Lets what was refused be tried again. */
void queue_release(struct queue *, struct queue_slot *);

/*
 * worker-spawn refused a start for this reason (ERR_BUSY_*), and the item
 * waits again: start nothing of that key, provider or at all until
 * queue_release() or queue_retry().
 */
void queue_refused(
    struct queue *, const char *key_id, const char *provider, enum olp_err);
void queue_retry(struct queue *);
int queue_blocked(
    const struct queue *); /* something was refused and not yet tried again */

size_t queue_waiting(const struct queue *);
size_t queue_running(const struct queue *);
/* How many of its key's are before it. */
size_t queue_position(const struct queue_item *);
/* A JSON array: {"key","waiting","running"} each. For owners. */
void queue_put_keys(struct queue *, struct evbuffer *);

#endif
