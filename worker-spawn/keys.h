/* SPDX-License-Identifier: ISC */
/*
 * The keys: who a token belongs to, whether it may be used now, what it was
 * granted.  Tokens are hashed and forgotten.  A grant is an unguessable
 * number that stands for "this request, this key"; it is worth nothing
 * without the key's current row.
 */
#ifndef OLP_KEYS_H
#define OLP_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "proto/err.h"
#include "proto/msg.h"

struct keys;

/* A credential of the key's own, over its provider's shared one. */
struct key_cred {
	char provider[LIM_PROVIDER];
	char id[LIM_CRED_ID];
	uint32_t kind; /* enum provider_cred */
};

/* A row of the configuration, as small as it can be kept. */
struct key {
	char id[LIM_KEY_ID];
	uint8_t hash[2][32];
	uint32_t nhash;
	uint32_t uid;
	int owner;
	char **providers;
	size_t nproviders;
	char **models; /* none: all of its providers */
	size_t nmodels;
	struct key_cred *creds;
	size_t ncreds;
	uint32_t runs, starts_per_minute;
	int has_hours;
	uint32_t from_min, to_min;
	uint64_t expires;
	int revoked, require_full;
	/* counted, and kept over a reload */
	uint32_t started[60]; /* in the last 60 seconds, by second % 60 */
	uint64_t started_at;  /* the second up to which `started` is right */
	int expiry_told;      /* keys_expire() has named it */
};

/* What time it is, in the ways that matter to a key. */
struct keys_now {
	uint64_t unix_s;
	uint32_t minute; /* after local midnight */
	int synced;      /* somebody keeps the clock right */
	uint64_t mono_s; /* never goes back */
};
void keys_clock(struct keys_now *);

struct keys *keys_new(void);
void keys_free(struct keys *); /* NULL is fine */

/*
 * A new table is built beside the one in use.  -1: the row is left out (told
 * in the log); the key is then as if it were not configured.
 */
void keys_begin(struct keys *);
int keys_add(struct keys *, const struct msg_conf_key *, uint32_t uid_lo,
    uint32_t uid_hi);
/*
 * Swap.  gone is called for each key of the old table that is not there any
 * more, or has lost a right or an identity: what is under way in its name
 * ends.  Its grants go right after.  gone may be NULL (nothing runs yet).
 */
void keys_commit(
    struct keys *, void (*gone)(void *, const char *key_id), void *arg);

size_t keys_active(const struct keys *); /* not revoked */
const struct key *keys_find(const struct keys *, const char *id); /* or NULL */

/* Whose token it is (*key, NULL: nobody's), and may it be used now? */
enum olp_err keys_check(const struct keys *, const char *token,
    const struct keys_now *, const struct key **key);
/* May this key be used now? */
enum olp_err key_usable(const struct key *, const struct keys_now *);
int key_may_provider(const struct key *, const char *provider);
int key_may_model(const struct key *, const char *model);
/* NULL: none of its own for that provider. */
const struct key_cred *key_cred(const struct key *, const char *provider);

/* A grant; 0: there are as many as there may be. */
uint64_t keys_grant(struct keys *, const struct key *, const struct keys_now *);
/* Whose it is, by the current table; NULL: nobody's. */
const struct key *keys_granted(
    struct keys *, uint64_t grant, const struct keys_now *);
void keys_grant_end(struct keys *, uint64_t grant); /* an unknown one is fine */
/* Has that key one?  If not, worker-http has nothing of it and was told no id. */
int keys_any_grant(const struct keys *, const char *id);
/* All: the link they were made for is gone. */
void keys_grants_drop(struct keys *);

/* ERR_OK or ERR_RATE with the seconds to wait; counts nothing. */
enum olp_err key_rate(
    const struct key *, const struct keys_now *, uint32_t *wait_s);
void key_count_start(struct keys *, const char *id, const struct keys_now *);

/* Name each key that has expired since it was last looked. */
void keys_expire(struct keys *, const struct keys_now *,
    void (*gone)(void *, const char *key_id), void *arg);
int keys_any_expires(const struct keys *);

#endif
