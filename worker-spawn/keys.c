/* SPDX-License-Identifier: ISC */
/*
 * Token to key, key to grant.  Runs in worker-spawn, which decides alone:
 * worker-http can only show what it was shown.  Rows come from the master;
 * nothing in here ever logs or keeps a token.
 *
 * Clock: hours and expiry are judged only while somebody keeps the clock.
 * That is the kernel's word, as timedatectl(1) reads it: adjtimex(2) has an
 * estimated error below NTP_PHASE_LIMIT.  Where the call is refused (a unit
 * with ProtectClock=) the answer is no: such keys then fail with the reason
 * "clock_unsynchronised" rather than work at the wrong hour.
 */
#include "worker-spawn/keys.h"

#include <sys/timex.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <bsd/sys/queue.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/log.h"

#define MINUTE 60
#define BUCKETS                                                                \
	1024 /* of grants: their ids are random, so they spread by themselves  \
	      */

/* By id, never by place in the table: rows may change under it. */
struct grant {
	LIST_ENTRY(grant) same;   /* in its bucket */
	TAILQ_ENTRY(grant) entry; /* oldest first; all live equally long */
	uint64_t id;
	uint64_t ends; /* mono_s */
	char key[LIM_KEY_ID];
};
LIST_HEAD(grant_bucket, grant);
TAILQ_HEAD(grant_list, grant);

struct table {
	struct key *v;
	size_t n;
};

struct keys {
	struct table now, coming;
	struct grant_bucket grants[BUCKETS];
	struct grant_list oldest;
	size_t ngrants;
};

/* ---- the clock ---- */

void
keys_clock(struct keys_now *now)
{
	struct timex tx = { .modes = 0 };
	struct timespec ts;
	struct tm tm;
	time_t t;

	memset(now, 0, sizeof(*now));
	if (clock_gettime(CLOCK_MONOTONIC, &ts) == -1 ||
	    (t = time(NULL)) == (time_t)-1 || localtime_r(&t, &tm) == NULL)
		fatal("clock");
	now->mono_s = (uint64_t)ts.tv_sec;
	now->unix_s = (uint64_t)t;
	now->minute = (uint32_t)(tm.tm_hour * MINUTE + tm.tm_min);
	now->synced = adjtimex(&tx) != -1 && tx.maxerror < LIM_CLOCK_ERROR_US;
}

/* ---- tables ---- */

static char **
list_copy(const char (*from)[LIM_LIST_STR], size_t n)
{
	char **v = n == 0 ? NULL : xcalloc(n, sizeof(*v));
	size_t i;

	for (i = 0; i < n; i++)
		v[i] = xstrndup(from[i], LIM_LIST_STR);
	return (v);
}

static void
list_free(char **v, size_t n)
{
	while (n > 0)
		free(v[--n]);
	free(v);
}

static void
key_clear(struct key *k)
{
	list_free(k->providers, k->nproviders);
	list_free(k->models, k->nmodels);
	free(k->creds);
	explicit_bzero(k, sizeof(*k));
}

static void
table_clear(struct table *t)
{
	while (t->n > 0)
		key_clear(&t->v[--t->n]);
	free(t->v);
	t->v = NULL;
}

static struct key *
table_find(const struct table *t, const char *id)
{
	size_t i;

	for (i = 0; i < t->n; i++)
		if (strcmp(t->v[i].id, id) == 0)
			return (&t->v[i]);
	return (NULL);
}

/* "provider=credential id=kind" */
static int
cred_parse(struct key_cred *c, const char *text)
{
	const char *first = strchr(text, '='), *last = strrchr(text, '=');

	memset(c, 0, sizeof(*c)); /* compared as bytes */
	if (first == NULL || first == last ||
	    (size_t)(first - text) >= sizeof(c->provider) ||
	    (size_t)(last - first) > sizeof(c->id) || last[1] < '0' ||
	    last[1] > '9' || last[2] != '\0')
		return (-1);
	(void)strlcpy(c->provider, text, (size_t)(first - text) + 1);
	(void)strlcpy(c->id, first + 1, (size_t)(last - first));
	c->kind = (uint32_t)(last[1] - '0');
	return (0);
}

/*
 * A fault of the master's would be a key without bounds: such a row is not
 * taken.
 */
static const char *
row_fault(const struct keys *ks, const struct msg_conf_key *m, uint32_t lo,
    uint32_t hi)
{
	if (ks->coming.n == LIM_CONF_KEYS)
		return ("too many keys");
	if (m->nhash < 1 || m->nhash > 2)
		return ("has no token");
	if (m->uid < lo || m->uid > hi || m->uid - lo < LIM_CONF_UID_PROBE)
		return ("its uid is not in the range");
	if (table_find(&ks->coming, m->id) != NULL)
		return ("is there twice");
	return (NULL);
}

int
keys_add(struct keys *ks, const struct msg_conf_key *m, uint32_t uid_lo,
    uint32_t uid_hi)
{
	const char *fault = row_fault(ks, m, uid_lo, uid_hi);
	struct key_cred creds[LIM_LIST_CREDS];
	struct key *k;
	size_t i;

	for (i = 0; fault == NULL && i < m->creds_n; i++)
		if (cred_parse(&creds[i], m->creds[i]) == -1)
			fault = "its credentials are not understood";
	if (fault != NULL) {
		log_warnx("key %s: %s: left out", m->id, fault);
		return (-1);
	}
	ks->coming.v =
	    xreallocarray(ks->coming.v, ks->coming.n + 1, sizeof(*k));
	k = memset(&ks->coming.v[ks->coming.n++], 0, sizeof(*k));
	(void)strlcpy(k->id, m->id, sizeof(k->id));
	memcpy(k->hash[0], m->hash1, sizeof(k->hash[0]));
	memcpy(k->hash[1], m->hash2, sizeof(k->hash[1]));
	k->nhash = m->nhash;
	k->uid = m->uid;
	k->owner = m->owner;
	k->providers = list_copy(m->providers, k->nproviders = m->providers_n);
	k->models = list_copy(m->models, k->nmodels = m->models_n);
	if ((k->ncreds = m->creds_n) > 0) {
		k->creds = xcalloc(k->ncreds, sizeof(*k->creds));
		memcpy(k->creds, creds, k->ncreds * sizeof(*k->creds));
	}
	k->runs = m->runs != 0 ? m->runs : LIM_KEY_RUNS_DEFAULT;
	k->starts_per_minute = m->starts_per_minute;
	k->has_hours = m->has_hours;
	k->from_min = m->from_min;
	k->to_min = m->to_min;
	k->expires = m->expires;
	k->revoked = m->revoked;
	k->require_full = m->require_full;
	return (0);
}

struct keys *
keys_new(void)
{
	struct keys *ks = xcalloc(1, sizeof(*ks));
	size_t i;

	for (i = 0; i < BUCKETS; i++)
		LIST_INIT(&ks->grants[i]);
	TAILQ_INIT(&ks->oldest);
	return (ks);
}

void
keys_free(struct keys *ks)
{
	if (ks == NULL)
		return;
	keys_grants_drop(ks);
	table_clear(&ks->now);
	table_clear(&ks->coming);
	free(ks);
}

void
keys_begin(struct keys *ks)
{
	table_clear(&ks->coming); /* of a load that was not finished */
}

/* Is each of a's strings one of b's? An empty list may mean all. */
static int
list_within(char *const *a, size_t na, char *const *b, size_t nb)
{
	size_t i, j;

	for (i = 0; i < na; i++) {
		for (j = 0; j < nb && strcmp(a[i], b[j]) != 0; j++)
			;
		if (j == nb)
			return (0);
	}
	return (1);
}

static int
hashes_within(const struct key *a, const struct key *b)
{
	uint32_t i, j;

	for (i = 0; i < a->nhash; i++) {
		for (j = 0;
		     j < b->nhash && memcmp(a->hash[i], b->hash[j], 32) != 0;
		     j++)
			;
		if (j == b->nhash)
			return (0);
	}
	return (1);
}

static int
models_within(const struct key *a, const struct key *b)
{
	if (b->nmodels == 0)
		return (1);
	return (a->nmodels > 0 &&
	    list_within(a->models, a->nmodels, b->models, b->nmodels));
}

/*
 * What was begun under the old row would not be begun under the new one, or
 * not so.  Wider rights, other hours and other limits end nothing.
 */
static int
key_lessened(const struct key *was, const struct key *is)
{
	if ((is->revoked && !was->revoked) || is->uid != was->uid ||
	    (was->owner && !is->owner) ||
	    (is->require_full && !was->require_full))
		return (1);
	if (is->ncreds != was->ncreds ||
	    (is->ncreds > 0 &&
		memcmp(is->creds, was->creds,
		    is->ncreds * sizeof(*is->creds)) != 0))
		return (1);
	return (!hashes_within(was, is) || !models_within(was, is) ||
	    !list_within(was->providers, was->nproviders, is->providers,
		is->nproviders));
}

static void
grant_free(struct keys *ks, struct grant *g)
{
	LIST_REMOVE(g, same);
	TAILQ_REMOVE(&ks->oldest, g, entry);
	ks->ngrants--;
	freezero(g, sizeof(*g));
}

static void
grants_of_key_drop(struct keys *ks, const char *id)
{
	struct grant *g, *next;

	for (g = TAILQ_FIRST(&ks->oldest); g != NULL; g = next) {
		next = TAILQ_NEXT(g, entry);
		if (strcmp(g->key, id) == 0)
			grant_free(ks, g);
	}
}

int
keys_any_grant(const struct keys *ks, const char *id)
{
	const struct grant *g;

	TAILQ_FOREACH(g, &ks->oldest, entry)
		if (strcmp(g->key, id) == 0)
			return (1);
	return (0);
}

void
keys_commit(struct keys *ks, void (*gone)(void *, const char *), void *arg)
{
	struct table old = ks->now;
	struct key *was, *is;
	size_t i;

	ks->now = ks->coming;
	ks->coming = (struct table){ NULL, 0 };
	for (i = 0; i < old.n; i++) {
		was = &old.v[i];
		if ((is = table_find(&ks->now, was->id)) != NULL) {
			memcpy(is->started, was->started, sizeof(is->started));
			is->started_at = was->started_at;
			is->expiry_told =
			    was->expiry_told && is->expires == was->expires;
			if (!key_lessened(was, is))
				continue;
		}
		if (gone != NULL)
			gone(arg, was->id);
		grants_of_key_drop(ks, was->id);
	}
	table_clear(&old);
}

size_t
keys_active(const struct keys *ks)
{
	size_t i, n = 0;

	for (i = 0; i < ks->now.n; i++)
		n += !ks->now.v[i].revoked;
	return (n);
}

const struct key *
keys_find(const struct keys *ks, const char *id)
{
	return (table_find(&ks->now, id));
}

/* ---- may it now? ---- */

static int
within_hours(const struct key *k, uint32_t minute)
{
	if (k->from_min == k->to_min)
		return (1);
	if (k->from_min < k->to_min)
		return (minute >= k->from_min && minute < k->to_min);
	return (
	    minute >= k->from_min || minute < k->to_min); /* over midnight */
}

enum olp_err
key_usable(const struct key *k, const struct keys_now *now)
{
	if (k->revoked)
		return (ERR_KEY_REVOKED);
	if ((k->expires != 0 || k->has_hours) && !now->synced)
		return (ERR_CLOCK);
	if (k->expires != 0 && now->unix_s >= k->expires)
		return (ERR_KEY_EXPIRED);
	if (k->has_hours && !within_hours(k, now->minute))
		return (ERR_KEY_HOURS);
	return (ERR_OK);
}

/* 1 or 0 without a branch on what is compared. */
static size_t
same_hash(const uint8_t *a, const uint8_t *b)
{
	volatile unsigned int d = 0;
	size_t i;

	for (i = 0; i < SHA256_DIGEST_LENGTH; i++)
		d |= a[i] ^ b[i];
	return (1 & ((d | (0U - d)) >> 31 ^ 1U));
}

/*
 * All keys and both hashes are always looked at; neither the number of keys
 * that differ nor where they do shows in the time it takes.
 */
static size_t
search(const struct table *t, const uint8_t *digest)
{
	size_t i, h, hit = t->n, mask;

	for (i = 0; i < t->n; i++)
		for (h = 0; h < 2; h++) {
			mask = 0 -
			    (same_hash(digest, t->v[i].hash[h]) &
				(h < t->v[i].nhash));
			hit = (hit & ~mask) | (i & mask);
		}
	return (hit);
}

enum olp_err
keys_check(const struct keys *ks, const char *token, const struct keys_now *now,
    const struct key **key)
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	SHA2_CTX ctx;
	size_t i;

	*key = NULL;
	if (*token == '\0')
		return (ERR_KEY_MISSING);
	SHA256Init(&ctx);
	SHA256Update(&ctx, (const uint8_t *)token, strlen(token));
	SHA256Final(digest, &ctx);
	explicit_bzero(&ctx, sizeof(ctx));
	i = search(&ks->now, digest);
	explicit_bzero(digest, sizeof(digest));
	if (i == ks->now.n)
		return (ERR_KEY_INVALID);
	*key = &ks->now.v[i];
	return (key_usable(*key, now));
}

int
key_may_provider(const struct key *k, const char *provider)
{
	size_t i;

	for (i = 0; i < k->nproviders; i++)
		if (strcmp(k->providers[i], provider) == 0)
			return (1);
	return (0);
}

int
key_may_model(const struct key *k, const char *model)
{
	size_t i;

	for (i = 0; i < k->nmodels; i++)
		if (strcmp(k->models[i], model) == 0)
			return (1);
	return (k->nmodels == 0);
}

const struct key_cred *
key_cred(const struct key *k, const char *provider)
{
	size_t i;

	for (i = 0; i < k->ncreds; i++)
		if (strcmp(k->creds[i].provider, provider) == 0)
			return (&k->creds[i]);
	return (NULL);
}

/* ---- grants ---- */

static struct grant *
grant_find(struct keys *ks, uint64_t id)
{
	struct grant *g;

	LIST_FOREACH(g, &ks->grants[id % BUCKETS], same)
		if (g->id == id)
			return (g);
	return (NULL);
}

static void
grants_expire(struct keys *ks, uint64_t mono_s)
{
	struct grant *g;

	while ((g = TAILQ_FIRST(&ks->oldest)) != NULL && g->ends <= mono_s)
		grant_free(ks, g);
}

uint64_t
keys_grant(struct keys *ks, const struct key *k, const struct keys_now *now)
{
	struct grant *g;

	grants_expire(ks, now->mono_s);
	if (ks->ngrants == LIM_GRANTS)
		return (0);
	g = xcalloc(1, sizeof(*g));
	g->ends = now->mono_s + LIM_GRANT_S;
	(void)strlcpy(g->key, k->id, sizeof(g->key));
	do
		arc4random_buf(&g->id, sizeof(g->id));
	while (g->id == 0 || grant_find(ks, g->id) != NULL);
	LIST_INSERT_HEAD(&ks->grants[g->id % BUCKETS], g, same);
	TAILQ_INSERT_TAIL(&ks->oldest, g, entry);
	ks->ngrants++;
	return (g->id);
}

const struct key *
keys_granted(struct keys *ks, uint64_t grant, const struct keys_now *now)
{
	struct grant *g;

	grants_expire(ks, now->mono_s);
	if ((g = grant_find(ks, grant)) == NULL)
		return (NULL);
	return (table_find(&ks->now, g->key));
}

void
keys_grant_end(struct keys *ks, uint64_t grant)
{
	struct grant *g = grant_find(ks, grant);

	if (g != NULL)
		grant_free(ks, g);
}

void
keys_grants_drop(struct keys *ks)
{
	struct grant *g;

	while ((g = TAILQ_FIRST(&ks->oldest)) != NULL)
		grant_free(ks, g);
}

/* ---- starts a minute ---- */

/*
 * How many began in that second; one that `started` does not reach back to has
 * none.
 */
static uint32_t
started_in(const struct key *k, uint64_t second)
{
	if (second > k->started_at || k->started_at - second >= MINUTE)
		return (0);
	return (k->started[second % MINUTE]);
}

/* Any 60 seconds hold at most that many, to the second. */
enum olp_err
key_rate(const struct key *k, const struct keys_now *now, uint32_t *wait_s)
{
	uint64_t s,
	    first = now->mono_s >= MINUTE - 1 ? now->mono_s - (MINUTE - 1) : 0;
	uint64_t sum = 0;

	*wait_s = 0;
	if (k->starts_per_minute == 0)
		return (ERR_OK);
	for (s = first; s <= now->mono_s; s++)
		sum += started_in(k, s);
	if (sum < k->starts_per_minute)
		return (ERR_OK);
	for (s = first; s <= now->mono_s && sum >= k->starts_per_minute; s++)
		sum -= started_in(k, s);
	*wait_s = (uint32_t)(s - 1 + MINUTE - now->mono_s);
	return (ERR_RATE);
}

void
key_count_start(struct keys *ks, const char *id, const struct keys_now *now)
{
	struct key *k = table_find(&ks->now, id);
	uint64_t s;

	if (k == NULL)
		return;
	if (now->mono_s - k->started_at >= MINUTE)
		memset(k->started, 0, sizeof(k->started));
	else
		for (s = k->started_at + 1; s <= now->mono_s; s++)
			k->started[s % MINUTE] = 0;
	k->started_at = now->mono_s;
	k->started[now->mono_s % MINUTE]++;
}

/* ---- expiry ---- */

int
keys_any_expires(const struct keys *ks)
{
	size_t i;

	for (i = 0; i < ks->now.n; i++)
		if (ks->now.v[i].expires != 0)
			return (1);
	return (0);
}

void
keys_expire(struct keys *ks, const struct keys_now *now,
    void (*gone)(void *, const char *), void *arg)
{
	struct key *k;
	size_t i;

	for (i = 0; i < ks->now.n; i++) {
		k = &ks->now.v[i];
		if (k->expires == 0 || k->expiry_told ||
		    now->unix_s < k->expires)
			continue;
		k->expiry_told = 1;
		gone(arg, k->id);
		grants_of_key_drop(ks, k->id);
	}
}
