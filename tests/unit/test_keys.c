/* SPDX-License-Identifier: ISC */
/*
 * Whose a token is, when it may be used, what a grant is worth, what a reload
 * ends.
 */
#include <bsd/string.h>
#include <check.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/provider/provider.h"
#include "tests/unit/suite.h"
#include "worker-spawn/keys.h"

#define LO 70000
#define HI 70999

static struct keys *ks;
static struct keys_now noon;
static char gone[256]; /* ids in the order told, each with a space behind */

static void
hash(uint8_t out[32], const char *token)
{
	ck_assert_int_eq(
	    EVP_Digest(token, strlen(token), out, NULL, EVP_sha256(), NULL), 1);
}

static struct msg_conf_key
row(const char *id, const char *token, uint32_t uid)
{
	struct msg_conf_key m;

	memset(&m, 0, sizeof(m));
	(void)strlcpy(m.id, id, sizeof(m.id));
	m.nhash = 1;
	hash(m.hash1, token);
	m.uid = uid;
	m.providers_n = 2;
	(void)strlcpy(m.providers[0], "claude", sizeof(m.providers[0]));
	(void)strlcpy(m.providers[1], "demo", sizeof(m.providers[1]));
	m.runs = 2;
	return (m);
}

static void
note(void *arg, const char *id)
{
	(void)arg;
	(void)strlcat(gone, id, sizeof(gone));
	(void)strlcat(gone, " ", sizeof(gone));
}

static void
load(const struct msg_conf_key *m, size_t n)
{
	size_t i;

	gone[0] = '\0';
	keys_begin(ks);
	for (i = 0; i < n; i++)
		ck_assert_int_eq(keys_add(ks, &m[i], LO, HI), 0);
	keys_commit(ks, note, NULL);
}

static enum olp_err
check(const char *token, const char **id)
{
	const struct key *k;
	enum olp_err e = keys_check(ks, token, &noon, &k);

	*id = k == NULL ? "" : k->id;
	return (e);
}

static void
setup(void)
{
	ks = keys_new();
	noon = (struct keys_now){ .unix_s = 1900000000,
		.minute = 12 * 60,
		.synced = 1,
		.mono_s = 1000 };
}

static void
teardown(void)
{
	keys_free(ks);
}

START_TEST(tokens)
{
	struct msg_conf_key m[] = { row("alice", "olp_a", 70002),
		row("bob", "olp_b", 70003), row("carol", "olp_c", 70999) };
	const char *id;

	load(m, 3);
	ck_assert_int_eq(check("olp_a", &id), ERR_OK);
	ck_assert_str_eq(id, "alice");
	ck_assert_int_eq(check("olp_b", &id), ERR_OK);
	ck_assert_str_eq(id, "bob");
	ck_assert_int_eq(check("olp_c", &id), ERR_OK);
	ck_assert_str_eq(id, "carol");
	ck_assert_int_eq(check("olp_d", &id), ERR_KEY_INVALID);
	ck_assert_int_eq(check("olp_a ", &id), ERR_KEY_INVALID);
	ck_assert_int_eq(check("olp_", &id), ERR_KEY_INVALID);
	ck_assert_int_eq(check("", &id), ERR_KEY_MISSING);
	ck_assert_str_eq(id, "");
	load(m, 0);
	ck_assert_int_eq(check("olp_a", &id), ERR_KEY_INVALID);
}
END_TEST

/* Every place of the table and every bit of a hash counts. */
START_TEST(tokens_each_place)
{
	static struct msg_conf_key m[40];
	char id[8], token[16];
	const struct key *k;
	const char *got;
	size_t i;

	for (i = 0; i < 40; i++) {
		(void)snprintf(id, sizeof(id), "k%zu", i);
		(void)snprintf(token, sizeof(token), "olp_%zu", i);
		m[i] = row(id, token, (uint32_t)(LO + 2 + i));
	}
	load(m, 40);
	for (i = 0; i < 40; i++) {
		(void)snprintf(id, sizeof(id), "k%zu", i);
		(void)snprintf(token, sizeof(token), "olp_%zu", i);
		ck_assert_int_eq(check(token, &got), ERR_OK);
		ck_assert_str_eq(got, id);
	}
	for (i = 0; i < 256; i++) {
		m[0] = row("k0", "olp_0", LO + 2);
		m[0].hash1[i / 8] ^= (uint8_t)(1 << i % 8);
		load(m, 1);
		ck_assert_int_eq(
		    keys_check(ks, "olp_0", &noon, &k), ERR_KEY_INVALID);
	}
}
END_TEST

START_TEST(two_hashes)
{
	struct msg_conf_key m = row("alice", "olp_old", 70002);
	const char *id;

	hash(m.hash2, "olp_new"); /* not valid while nhash is 1 */
	load(&m, 1);
	ck_assert_int_eq(check("olp_old", &id), ERR_OK);
	ck_assert_int_eq(check("olp_new", &id), ERR_KEY_INVALID);
	m.nhash = 2;
	load(&m, 1);
	ck_assert_str_eq(gone, ""); /* a token more ends nothing */
	ck_assert_int_eq(check("olp_old", &id), ERR_OK);
	ck_assert_int_eq(check("olp_new", &id), ERR_OK);
	m = row("alice", "olp_new", 70002);
	load(&m, 1);
	ck_assert_str_eq(gone, "alice "); /* a token less does */
	ck_assert_int_eq(check("olp_old", &id), ERR_KEY_INVALID);
	ck_assert_int_eq(check("olp_new", &id), ERR_OK);
}
END_TEST

/* A key with an all-zero second hash is not opened by what hashes to nothing.
 */
START_TEST(no_second_hash)
{
	struct msg_conf_key m = row("alice", "olp_a", 70002);
	const struct key *k;

	load(&m, 1);
	k = keys_find(ks, "alice");
	ck_assert_uint_eq(k->nhash, 1);
	ck_assert_ptr_null(keys_find(ks, "alic"));
}
END_TEST

static enum olp_err
at(uint32_t from, uint32_t to, uint32_t minute)
{
	struct key k = { .has_hours = 1, .from_min = from, .to_min = to };
	struct keys_now now = noon;

	now.minute = minute;
	return (key_usable(&k, &now));
}

START_TEST(hours)
{
	ck_assert_int_eq(at(420, 1290, 419), ERR_KEY_HOURS);
	ck_assert_int_eq(at(420, 1290, 420), ERR_OK);
	ck_assert_int_eq(at(420, 1290, 1289), ERR_OK);
	ck_assert_int_eq(at(420, 1290, 1290), ERR_KEY_HOURS);
	/* over midnight */
	ck_assert_int_eq(at(1320, 360, 1319), ERR_KEY_HOURS);
	ck_assert_int_eq(at(1320, 360, 1320), ERR_OK);
	ck_assert_int_eq(at(1320, 360, 1439), ERR_OK);
	ck_assert_int_eq(at(1320, 360, 0), ERR_OK);
	ck_assert_int_eq(at(1320, 360, 359), ERR_OK);
	ck_assert_int_eq(at(1320, 360, 360), ERR_KEY_HOURS);
	/* to the end of the day, from its beginning, all of it */
	ck_assert_int_eq(at(1320, 1440, 1439), ERR_OK);
	ck_assert_int_eq(at(1320, 1440, 0), ERR_KEY_HOURS);
	ck_assert_int_eq(at(0, 60, 0), ERR_OK);
	ck_assert_int_eq(at(0, 60, 60), ERR_KEY_HOURS);
	ck_assert_int_eq(at(600, 600, 599), ERR_OK);
}
END_TEST

START_TEST(expiry_and_clock)
{
	struct key k = { .expires = 1900000000 };
	struct keys_now now = noon;

	now.unix_s = 1899999999;
	ck_assert_int_eq(key_usable(&k, &now), ERR_OK);
	now.unix_s = 1900000000;
	ck_assert_int_eq(key_usable(&k, &now), ERR_KEY_EXPIRED);
	now.synced = 0;
	ck_assert_int_eq(key_usable(&k, &now), ERR_CLOCK);
	k.expires = 0;
	ck_assert_int_eq(
	    key_usable(&k, &now), ERR_OK); /* it does not ask for the time */
	k.has_hours = 1;
	ck_assert_int_eq(key_usable(&k, &now), ERR_CLOCK);
	k.revoked = 1;
	ck_assert_int_eq(key_usable(&k, &now), ERR_KEY_REVOKED); /* above all */
}
END_TEST

START_TEST(expiry_is_told_once)
{
	struct msg_conf_key m[] = { row("alice", "olp_a", 70002),
		row("bob", "olp_b", 70003) };
	uint64_t grant;

	m[0].expires = noon.unix_s + 10;
	load(m, 2);
	ck_assert_int_eq(keys_any_expires(ks), 1);
	grant = keys_grant(ks, keys_find(ks, "alice"), &noon);
	keys_expire(ks, &noon, note, NULL);
	ck_assert_str_eq(gone, "");
	noon.unix_s += 10;
	keys_expire(ks, &noon, note, NULL);
	ck_assert_str_eq(gone, "alice ");
	ck_assert_ptr_null(keys_granted(ks, grant, &noon));
	keys_expire(ks, &noon, note, NULL);
	ck_assert_str_eq(gone, "alice ");
	load(m, 2); /* the same date: told already */
	keys_expire(ks, &noon, note, NULL);
	ck_assert_str_eq(gone, "");
	m[0].expires = noon.unix_s + 10;
	load(m, 2);
	noon.unix_s += 10;
	keys_expire(ks, &noon, note, NULL);
	ck_assert_str_eq(gone, "alice ");
}
END_TEST

START_TEST(grants)
{
	struct msg_conf_key m = row("alice", "olp_a", 70002);
	uint64_t a, b;

	load(&m, 1);
	a = keys_grant(ks, keys_find(ks, "alice"), &noon);
	b = keys_grant(ks, keys_find(ks, "alice"), &noon);
	ck_assert(a != 0 && b != 0 && a != b);
	ck_assert_str_eq(keys_granted(ks, a, &noon)->id, "alice");
	ck_assert_ptr_null(keys_granted(ks, 0, &noon));
	ck_assert_ptr_null(keys_granted(ks, a + 1, &noon));
	keys_grant_end(ks, a);
	keys_grant_end(ks, a);
	ck_assert_ptr_null(keys_granted(ks, a, &noon));
	ck_assert_ptr_nonnull(keys_granted(ks, b, &noon));
	m.runs = 9; /* judged against the row as it is */
	load(&m, 1);
	ck_assert_uint_eq(keys_granted(ks, b, &noon)->runs, 9);
	noon.mono_s += LIM_GRANT_S - 1;
	ck_assert_ptr_nonnull(keys_granted(ks, b, &noon));
	noon.mono_s++;
	ck_assert_ptr_null(keys_granted(ks, b, &noon));
	a = keys_grant(ks, keys_find(ks, "alice"), &noon);
	keys_grants_drop(ks);
	ck_assert_ptr_null(keys_granted(ks, a, &noon));
}
END_TEST

START_TEST(grants_are_bounded)
{
	struct msg_conf_key m = row("alice", "olp_a", 70002);
	uint64_t first = 0, one;
	size_t i;

	load(&m, 1);
	for (i = 0; i < LIM_GRANTS; i++) {
		one = keys_grant(ks, keys_find(ks, "alice"), &noon);
		ck_assert(one != 0);
		first = i == 0 ? one : first;
	}
	ck_assert(keys_grant(ks, keys_find(ks, "alice"), &noon) == 0);
	keys_grant_end(ks, first);
	ck_assert(keys_grant(ks, keys_find(ks, "alice"), &noon) != 0);
	ck_assert(keys_grant(ks, keys_find(ks, "alice"), &noon) == 0);
	noon.mono_s += LIM_GRANT_S; /* leaked ones make room */
	ck_assert(keys_grant(ks, keys_find(ks, "alice"), &noon) != 0);
}
END_TEST

static enum olp_err
start(uint32_t *wait_s)
{
	enum olp_err e = key_rate(keys_find(ks, "alice"), &noon, wait_s);

	if (e == ERR_OK)
		key_count_start(ks, "alice", &noon);
	return (e);
}

START_TEST(starts_per_minute)
{
	struct msg_conf_key m = row("alice", "olp_a", 70002);
	uint32_t wait;

	m.starts_per_minute = 3;
	load(&m, 1);
	ck_assert_int_eq(start(&wait), ERR_OK);
	noon.mono_s += 10;
	ck_assert_int_eq(start(&wait), ERR_OK);
	ck_assert_int_eq(start(&wait), ERR_OK);
	noon.mono_s += 10;
	ck_assert_int_eq(start(&wait), ERR_RATE);
	ck_assert_uint_eq(wait, 40); /* the first was 20 s ago */
	load(&m, 1);                 /* a reload forgets none */
	ck_assert_int_eq(start(&wait), ERR_RATE);
	noon.mono_s += 39;
	ck_assert_int_eq(start(&wait), ERR_RATE);
	ck_assert_uint_eq(wait, 1);
	noon.mono_s += 1;
	ck_assert_int_eq(start(&wait), ERR_OK);
	ck_assert_int_eq(start(&wait), ERR_RATE);
	ck_assert_uint_eq(wait, 10); /* two go at once */
	m.starts_per_minute =
	    1; /* a lower limit: all of those are waited for */
	load(&m, 1);
	ck_assert_int_eq(start(&wait), ERR_RATE);
	ck_assert_uint_eq(wait, 60);
	noon.mono_s += 1000;
	ck_assert_int_eq(start(&wait), ERR_OK);
	m.starts_per_minute = 0;
	load(&m, 1);
	ck_assert_int_eq(start(&wait), ERR_OK);
	ck_assert_int_eq(start(&wait), ERR_OK);
}
END_TEST

/* The machine has just been started: there is no minute to look back on. */
START_TEST(starts_early)
{
	struct msg_conf_key m = row("alice", "olp_a", 70002);
	uint32_t wait;

	m.starts_per_minute = 1;
	noon.mono_s = 3;
	load(&m, 1);
	ck_assert_int_eq(start(&wait), ERR_OK);
	ck_assert_int_eq(start(&wait), ERR_RATE);
	ck_assert_uint_eq(wait, 60);
	noon.mono_s = 63;
	ck_assert_int_eq(start(&wait), ERR_OK);
}
END_TEST

/* One change of alice's row: does it end what is under way? */
static void
change(void (*f)(struct msg_conf_key *), const char *want)
{
	struct msg_conf_key m[] = { row("alice", "olp_a", 70002),
		row("bob", "olp_b", 70003) };
	uint64_t alice, bob;

	m[0].owner = 1;
	m[0].models_n = 1;
	(void)strlcpy(m[0].models[0], "sonnet", sizeof(m[0].models[0]));
	m[0].creds_n = 1;
	(void)strlcpy(
	    m[0].creds[0], "claude=alice.claude=1", sizeof(m[0].creds[0]));
	load(m, 2);
	alice = keys_grant(ks, keys_find(ks, "alice"), &noon);
	bob = keys_grant(ks, keys_find(ks, "bob"), &noon);
	f(&m[0]);
	load(m, 2);
	ck_assert_str_eq(gone, want);
	ck_assert_int_eq(keys_granted(ks, alice, &noon) == NULL, *want != '\0');
	ck_assert_ptr_nonnull(keys_granted(ks, bob, &noon));
}

static void
same(struct msg_conf_key *m)
{
	(void)m;
}

static void
more(struct msg_conf_key *m)
{
	m->runs = 1; /* fewer runs end none */
	m->starts_per_minute = 1;
	m->has_hours = 1;
	m->to_min = 1;
	m->expires = 1;
	m->models_n = 2;
	(void)strlcpy(m->models[1], "opus", sizeof(m->models[1]));
	m->providers_n = 3;
	(void)strlcpy(m->providers[2], "codex", sizeof(m->providers[2]));
}

static void
all_models(struct msg_conf_key *m)
{
	m->models_n = 0;
}

static void
other_model(struct msg_conf_key *m)
{
	(void)strlcpy(m->models[0], "opus", sizeof(m->models[0]));
}

static void
fewer_providers(struct msg_conf_key *m)
{
	m->providers_n = 1;
}

static void
revoked(struct msg_conf_key *m)
{
	m->revoked = 1;
}

static void
other_uid(struct msg_conf_key *m)
{
	m->uid = 70009;
}

static void
member(struct msg_conf_key *m)
{
	m->owner = 0;
}

static void
full(struct msg_conf_key *m)
{
	m->require_full = 1;
}

static void
other_cred(struct msg_conf_key *m)
{
	m->creds_n = 0;
}

static void
other_token(struct msg_conf_key *m)
{
	m->hash1[31] ^= 1;
}

static void
other_name(struct msg_conf_key *m)
{
	(void)strlcpy(m->id, "alicia", sizeof(m->id));
}

START_TEST(reload)
{
	change(same, "");
	change(more, "");
	change(all_models, "");
	change(other_model, "alice ");
	change(fewer_providers, "alice ");
	change(revoked, "alice ");
	change(other_uid, "alice ");
	change(member, "alice ");
	change(full, "alice ");
	change(other_cred, "alice ");
	change(other_token, "alice ");
	change(other_name, "alice "); /* deleted */
}
END_TEST

/* All models becoming one is less, too. */
START_TEST(reload_models)
{
	struct msg_conf_key m = row("alice", "olp_a", 70002);

	load(&m, 1);
	m.models_n = 1;
	(void)strlcpy(m.models[0], "sonnet", sizeof(m.models[0]));
	load(&m, 1);
	ck_assert_str_eq(gone, "alice ");
	m.revoked = 1;
	load(&m, 1);
	ck_assert_str_eq(gone, "alice ");
	load(&m, 1);
	ck_assert_str_eq(gone, ""); /* it was revoked before */
	load(&m, 0);
	ck_assert_str_eq(gone, "alice ");
}
END_TEST

/* A load that is not finished changes nothing. */
START_TEST(reload_broken_off)
{
	struct msg_conf_key m = row("alice", "olp_a", 70002),
			    n = row("bob", "olp_b", 70003);
	const char *id;

	load(&m, 1);
	keys_begin(ks);
	ck_assert_int_eq(keys_add(ks, &n, LO, HI), 0);
	ck_assert_int_eq(check("olp_a", &id), ERR_OK);
	ck_assert_int_eq(check("olp_b", &id), ERR_KEY_INVALID);
	load(&m, 1);
	ck_assert_int_eq(check("olp_b", &id), ERR_KEY_INVALID);
}
END_TEST

/* Rows that no master should send disable that key and no other. */
START_TEST(bad_rows)
{
	struct msg_conf_key good = row("good", "olp_g", 70005), m;
	const char *id;

	keys_begin(ks);
	m = row("a", "olp_a", LO); /* the probe's */
	ck_assert_int_eq(keys_add(ks, &m, LO, HI), -1);
	m = row("a", "olp_a", LO + 1);
	ck_assert_int_eq(keys_add(ks, &m, LO, HI), -1);
	m = row("a", "olp_a", LO - 1);
	ck_assert_int_eq(keys_add(ks, &m, LO, HI), -1);
	m = row("a", "olp_a", HI + 1);
	ck_assert_int_eq(keys_add(ks, &m, LO, HI), -1);
	m = row("a", "olp_a", 70002);
	m.nhash = 0;
	ck_assert_int_eq(keys_add(ks, &m, LO, HI), -1);
	m.nhash = 3;
	ck_assert_int_eq(keys_add(ks, &m, LO, HI), -1);
	m.nhash = 1;
	m.creds_n = 1;
	(void)strlcpy(m.creds[0], "claude", sizeof(m.creds[0]));
	ck_assert_int_eq(keys_add(ks, &m, LO, HI), -1);
	(void)strlcpy(m.creds[0], "claude=x", sizeof(m.creds[0]));
	ck_assert_int_eq(keys_add(ks, &m, LO, HI), -1);
	(void)strlcpy(m.creds[0], "claude=x=12", sizeof(m.creds[0]));
	ck_assert_int_eq(keys_add(ks, &m, LO, HI), -1);
	ck_assert_int_eq(keys_add(ks, &good, LO, HI), 0);
	ck_assert_int_eq(keys_add(ks, &good, LO, HI), -1);
	keys_commit(ks, note, NULL);
	ck_assert_uint_eq(keys_active(ks), 1);
	ck_assert_int_eq(check("olp_g", &id), ERR_OK);
	ck_assert_int_eq(check("olp_a", &id), ERR_KEY_INVALID);
}
END_TEST

START_TEST(rights)
{
	struct msg_conf_key m = row("alice", "olp_a", 70002);
	const struct key *k;

	m.creds_n = 2;
	(void)strlcpy(m.creds[0], "claude=alice.claude=2", sizeof(m.creds[0]));
	(void)strlcpy(m.creds[1], "codex=alice.codex=1", sizeof(m.creds[1]));
	m.runs = 0;
	load(&m, 1);
	k = keys_find(ks, "alice");
	ck_assert_uint_eq(k->runs, LIM_KEY_RUNS_DEFAULT);
	ck_assert_int_eq(key_may_provider(k, "claude"), 1);
	ck_assert_int_eq(key_may_provider(k, "codex"), 0);
	ck_assert_int_eq(key_may_provider(k, ""), 0);
	ck_assert_int_eq(key_may_model(k, "anything"), 1);
	ck_assert_str_eq(key_cred(k, "claude")->id, "alice.claude");
	ck_assert_uint_eq(key_cred(k, "claude")->kind, PROVIDER_CRED_OAUTH);
	ck_assert_uint_eq(key_cred(k, "codex")->kind, PROVIDER_CRED_API_KEY);
	ck_assert_ptr_null(key_cred(k, "demo"));
	m.models_n = 1;
	(void)strlcpy(m.models[0], "sonnet", sizeof(m.models[0]));
	load(&m, 1);
	k = keys_find(ks, "alice");
	ck_assert_int_eq(key_may_model(k, "sonnet"), 1);
	ck_assert_int_eq(key_may_model(k, "sonne"), 0);
}
END_TEST

START_TEST(the_clock)
{
	struct keys_now a, b;

	keys_clock(&a);
	keys_clock(&b);
	ck_assert_uint_lt(a.minute, 24 * 60);
	ck_assert_uint_ge(b.mono_s, a.mono_s);
	ck_assert_uint_gt(a.unix_s, 1700000000);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("keys");
	TCase *tc = tcase_create("keys");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, tokens);
	tcase_add_test(tc, tokens_each_place);
	tcase_add_test(tc, two_hashes);
	tcase_add_test(tc, no_second_hash);
	tcase_add_test(tc, hours);
	tcase_add_test(tc, expiry_and_clock);
	tcase_add_test(tc, expiry_is_told_once);
	tcase_add_test(tc, grants);
	tcase_add_test(tc, grants_are_bounded);
	tcase_add_test(tc, starts_per_minute);
	tcase_add_test(tc, starts_early);
	tcase_add_test(tc, reload);
	tcase_add_test(tc, reload_models);
	tcase_add_test(tc, reload_broken_off);
	tcase_add_test(tc, bad_rows);
	tcase_add_test(tc, rights);
	tcase_add_test(tc, the_clock);
	suite_add_tcase(suite, tc);
	return (suite_run(suite));
}
