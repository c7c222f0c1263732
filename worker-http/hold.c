/* SPDX-License-Identifier: ISC */
/* The account of bytes kept for callers.  Runs in worker-http; owns the counts
 * only. */
#include "worker-http/hold.h"

#include <bsd/string.h>
#include <bsd/sys/queue.h>
#include <stdlib.h>
#include <string.h>

#include "common/limits.h"
#include "common/log.h"

struct hold_key {
	LIST_ENTRY(hold_key) entry;
	char id[LIM_KEY_ID];
	size_t bytes;
	size_t refs; /* requests that hold something of it */
};

static struct {
	LIST_HEAD(, hold_key) keys; /* LIM_CONF_KEYS of them at most */
	size_t bytes;
	uint64_t body_max;
} self;

void
hold_body_max(uint64_t bytes)
{
	self.body_max = bytes;
}

static size_t
bound(size_t limit)
{
	return (self.body_max > limit ? (size_t)self.body_max : limit);
}

static struct hold_key *
key_get(const char *id)
{
	struct hold_key *k;

	LIST_FOREACH(k, &self.keys, entry)
		if (strcmp(k->id, id) == 0)
			return (k);
	k = xcalloc(1, sizeof(*k));
	(void)strlcpy(k->id, id, sizeof(k->id));
	LIST_INSERT_HEAD(&self.keys, k, entry);
	return (k);
}

static void
key_drop(struct hold_key *k)
{
	if (k->refs > 0)
		return;
	LIST_REMOVE(k, entry);
	free(k);
}

int
hold_add(struct hold *h, const char *key_id, size_t bytes)
{
	struct hold_key *k = h->key != NULL ? h->key : key_get(key_id);
	size_t all = bound(LIM_HTTPD_HELD), one = bound(LIM_HTTPD_HELD_KEY);

	if (self.bytes > all || bytes > all - self.bytes || k->bytes > one ||
	    bytes > one - k->bytes) {
		key_drop(k);
		return (-1);
	}
	if (h->key == NULL)
		k->refs++;
	h->key = k;
	h->bytes += bytes;
	k->bytes += bytes;
	self.bytes += bytes;
	return (0);
}

void
hold_sub(struct hold *h, size_t bytes)
{
	if (h->key == NULL)
		return;
	h->bytes -= bytes;
	h->key->bytes -= bytes;
	self.bytes -= bytes;
}

void
hold_release(struct hold *h)
{
	if (h->key == NULL)
		return;
	h->key->bytes -= h->bytes;
	self.bytes -= h->bytes;
	h->key->refs--;
	key_drop(h->key);
	memset(h, 0, sizeof(*h));
}

void
hold_move(struct hold *to, struct hold *from)
{
	hold_release(to);
	*to = *from;
	memset(from, 0, sizeof(*from));
}

size_t
hold_total(void)
{
	return (self.bytes);
}
