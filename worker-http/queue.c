/* SPDX-License-Identifier: ISC */
/*
 * The queue of worker-http.  It owns the keys' places in the round and the
 * counts; items and slots belong to jobs and runs.  It knows no message and
 * starts nothing itself.
 */
#include "worker-http/queue.h"

#include <bsd/string.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "worker-http/json.h"

TAILQ_HEAD(items, queue_item);

/* Lives while the key waits or runs. */
struct queue_key {
	LIST_ENTRY(queue_key) entry;
	TAILQ_ENTRY(queue_key) turn; /* in the round while something waits */
	char id[LIM_KEY_ID];
	struct items items;
	size_t waiting, running;
	uint32_t runs; /* at once */
	int refused;   /* by worker-spawn */
};

struct queue_provider {
	LIST_ENTRY(queue_provider) entry;
	char name[LIM_PROVIDER];
	uint32_t runs;
	size_t running;
	int refused, configured;
};

struct queue {
	LIST_HEAD(, queue_key) keys; /* LIM_CONF_KEYS of them at most */
	TAILQ_HEAD(, queue_key) round;
	LIST_HEAD(, queue_provider) providers;
	uint32_t max_waiting, max_per_key, max_runs;
	size_t waiting, running;
	int refused; /* in all: total or memory */
	int blocked; /* any refused flag may be set */
};

struct queue *
queue_new(void)
{
	struct queue *q = xcalloc(1, sizeof(*q));

	LIST_INIT(&q->keys);
	TAILQ_INIT(&q->round);
	LIST_INIT(&q->providers);
	return (q);
}

void
queue_free(struct queue *q)
{
	struct queue_provider *p;

	if (q == NULL)
		return;
	if (!LIST_EMPTY(&q->keys))
		fatalx("queue: freed in use");
	while ((p = LIST_FIRST(&q->providers)) != NULL) {
		LIST_REMOVE(p, entry);
		free(p);
	}
	free(q);
}

void
queue_limits(struct queue *q, uint32_t waiting, uint32_t per_key, uint32_t runs)
{
	q->max_waiting = waiting;
	q->max_per_key = per_key;
	q->max_runs = runs;
}

static struct queue_provider *
provider(struct queue *q, const char *name)
{
	struct queue_provider *p;

	LIST_FOREACH(p, &q->providers, entry)
		if (strcmp(p->name, name) == 0)
			return (p);
	p = xcalloc(1, sizeof(*p));
	(void)strlcpy(p->name, name, sizeof(p->name));
	LIST_INSERT_HEAD(&q->providers, p, entry);
	return (p);
}

/* Those that still run keep their count; the others go. */
void
queue_clear_providers(struct queue *q)
{
	struct queue_provider *p, *next;

	LIST_FOREACH_SAFE(p, &q->providers, entry, next) {
		p->runs = 0;
		p->configured = 0;
		if (p->running > 0)
			continue;
		LIST_REMOVE(p, entry);
		free(p);
	}
}

void
queue_set_provider(struct queue *q, const char *name, uint32_t runs)
{
	struct queue_provider *p = provider(q, name);

	p->runs = runs;
	p->configured = 1;
}

static struct queue_key *
key_find(struct queue *q, const char *id)
{
	struct queue_key *k;

	LIST_FOREACH(k, &q->keys, entry)
		if (strcmp(k->id, id) == 0)
			return (k);
	return (NULL);
}

static struct queue_key *
key_get(struct queue *q, const char *id, uint32_t runs)
{
	struct queue_key *k;

	if ((k = key_find(q, id)) == NULL) {
		k = xcalloc(1, sizeof(*k));
		(void)strlcpy(k->id, id, sizeof(k->id));
		TAILQ_INIT(&k->items);
		LIST_INSERT_HEAD(&q->keys, k, entry);
	}
	k->runs = runs;
	return (k);
}

static void
key_drop(struct queue_key *k)
{
	if (k->waiting > 0 || k->running > 0)
		return;
	LIST_REMOVE(k, entry);
	free(k);
}

static void
item_in(struct queue *q, struct queue_key *k, struct queue_item *it,
    const char *name, int first)
{
	if (k->waiting == 0) {
		if (first)
			TAILQ_INSERT_HEAD(&q->round, k, turn);
		else
			TAILQ_INSERT_TAIL(&q->round, k, turn);
	} else if (first) {
		TAILQ_REMOVE(&q->round, k, turn);
		TAILQ_INSERT_HEAD(&q->round, k, turn);
	}
	if (first)
		TAILQ_INSERT_HEAD(&k->items, it, entry);
	else
		TAILQ_INSERT_TAIL(&k->items, it, entry);
	(void)strlcpy(it->provider, name, sizeof(it->provider));
	it->key = k;
	k->waiting++;
	q->waiting++;
}

enum olp_err
queue_add(struct queue *q, struct queue_item *it, const char *key_id,
    uint32_t key_runs, const char *name)
{
	struct queue_key *k = key_get(q, key_id, key_runs);

	if (q->waiting >= q->max_waiting || k->waiting >= q->max_per_key) {
		key_drop(k);
		return (ERR_QUEUE_FULL);
	}
	item_in(q, k, it, name, 0);
	return (ERR_OK);
}

void
queue_add_first(struct queue *q, struct queue_item *it, const char *key_id,
    uint32_t key_runs, const char *name)
{
	item_in(q, key_get(q, key_id, key_runs), it, name, 1);
}

static void
item_out(struct queue *q, struct queue_item *it)
{
	struct queue_key *k = it->key;

	TAILQ_REMOVE(&k->items, it, entry);
	it->key = NULL;
	q->waiting--;
	if (--k->waiting == 0)
		TAILQ_REMOVE(&q->round, k, turn);
}

void
queue_del(struct queue *q, struct queue_item *it)
{
	struct queue_key *k = it->key;

	if (k == NULL)
		return;
	item_out(q, it);
	key_drop(k);
}

/* The first of a key's that may start: one busy provider does not hold up
 * another. */
static struct queue_item *
key_next(struct queue *q, struct queue_key *k)
{
	struct queue_provider *p;
	struct queue_item *it;

	if (k->refused || (k->runs > 0 && k->running >= k->runs))
		return (NULL);
	TAILQ_FOREACH(it, &k->items, entry) {
		if (it->held)
			continue;
		p = provider(q, it->provider);
		if (!p->refused && (p->runs == 0 || p->running < p->runs))
			return (it);
	}
	return (NULL);
}

struct queue_item *
queue_next(struct queue *q, struct queue_slot *slot)
{
	struct queue_item *it = NULL;
	struct queue_key *k;

	if (q->refused || q->running >= q->max_runs)
		return (NULL);
	TAILQ_FOREACH(k, &q->round, turn)
		if ((it = key_next(q, k)) != NULL)
			break;
	if (it == NULL)
		return (NULL);
	slot->key = k;
	(void)strlcpy(slot->provider, it->provider, sizeof(slot->provider));
	k->running++;
	q->running++;
	provider(q, it->provider)->running++;
	item_out(q, it);
	if (k->waiting > 0) {
		TAILQ_REMOVE(&q->round, k, turn);
		TAILQ_INSERT_TAIL(&q->round, k, turn);
	}
	return (it);
}

void
queue_release(struct queue *q, struct queue_slot *slot)
{
	struct queue_key *k = slot->key;
	struct queue_provider *p;

	if (k == NULL)
		return;
	p = provider(q, slot->provider);
	p->running--;
	k->running--;
	q->running--;
	if (p->running == 0 && !p->configured) {
		LIST_REMOVE(p, entry);
		free(p);
	}
	key_drop(k);
	slot->key = NULL;
	queue_retry(q);
}

void
queue_refused(
    struct queue *q, const char *key_id, const char *name, enum olp_err err)
{
	struct queue_key *k;

	q->blocked = 1;
	if (err == ERR_BUSY_KEY) {
		if ((k = key_find(q, key_id)) != NULL)
			k->refused = 1;
	} else if (err == ERR_BUSY_PROVIDER)
		provider(q, name)->refused = 1;
	else
		q->refused = 1;
}

void
queue_retry(struct queue *q)
{
	struct queue_provider *p;
	struct queue_key *k;

	if (!q->blocked)
		return;
	q->blocked = q->refused = 0;
	LIST_FOREACH(p, &q->providers, entry)
		p->refused = 0;
	LIST_FOREACH(k, &q->keys, entry)
		k->refused = 0;
}

int
queue_blocked(const struct queue *q)
{
	return (q->blocked);
}

size_t
queue_waiting(const struct queue *q)
{
	return (q->waiting);
}

size_t
queue_running(const struct queue *q)
{
	return (q->running);
}

size_t
queue_position(const struct queue_item *it)
{
	const struct queue_item *i;
	size_t n = 0;

	for (i = TAILQ_FIRST(&it->key->items); i != it;
	     i = TAILQ_NEXT(i, entry))
		n++;
	return (n);
}

void
queue_put_keys(struct queue *q, struct evbuffer *out)
{
	struct queue_key *k;
	int first = 1;

	json_put(out, "[");
	LIST_FOREACH(k, &q->keys, entry) {
		json_put(out, first ? "{" : ",{");
		json_put_member(out, "key", k->id);
		json_putf(out, ",\"waiting\":%zu,\"running\":%zu}", k->waiting,
		    k->running);
		first = 0;
	}
	json_put(out, "]");
}
