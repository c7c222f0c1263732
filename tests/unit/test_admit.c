/* SPDX-License-Identifier: ISC */
/*
 * May this run be made?  By the table as it is now, whatever was granted
 * earlier and whatever worker-http says.
 */
#include <bsd/string.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "common/provider/provider.h"
#include "tests/unit/suite.h"
#include "worker-spawn/admit.h"
#include "worker-spawn/keys.h"
#include "worker-spawn/rows.h"
#include "worker-spawn/spawn.h"

#define LO 70000
#define HI 70999

static struct spawn sp;
static struct keys_now noon;
static struct msg_conf_key alice;
static struct msg_run_start rq;

static void
load(const struct msg_conf_key *m)
{
	keys_begin(sp.keys);
	if (m != NULL)
		ck_assert_int_eq(keys_add(sp.keys, m, LO, HI), 0);
	keys_commit(sp.keys, NULL, NULL);
}

static void
add_model(const char *name, const char *provider, const char *model)
{
	struct msg_conf_model m;

	memset(&m, 0, sizeof(m));
	(void)strlcpy(m.name, name, sizeof(m.name));
	(void)strlcpy(m.provider, provider, sizeof(m.provider));
	(void)strlcpy(m.model, model, sizeof(m.model));
	ck_assert_int_eq(rows_add_model(sp.rows, &m), 0);
}

static void
add_provider(const char *name, const char *cred)
{
	struct msg_conf_provider p;

	memset(&p, 0, sizeof(p));
	(void)strlcpy(p.name, name, sizeof(p.name));
	(void)strlcpy(p.cred, cred, sizeof(p.cred));
	p.cred_kind = *cred != '\0' ? PROVIDER_CRED_API_KEY : 0;
	p.installed = 1;
	p.timeout_s = 60;
	ck_assert_int_eq(rows_add_provider(sp.rows, &p), 0);
}

static void
ask(const char *provider, const char *model)
{
	(void)strlcpy(rq.provider, provider, sizeof(rq.provider));
	(void)strlcpy(rq.model, model, sizeof(rq.model));
}

static void
grant(void)
{
	rq.grant = keys_grant(sp.keys, keys_find(sp.keys, "alice"), &noon);
	ck_assert_uint_ne(rq.grant, 0);
}

static enum olp_err
verdict(void)
{
	struct admission a;

	return (admit(&sp, &rq, &noon, &a));
}

static void
setup(void)
{
	memset(&sp, 0, sizeof(sp));
	TAILQ_INIT(&sp.runs);
	TAILQ_INIT(&sp.ways);
	sp.keys = keys_new();
	sp.rows = rows_new();
	sp.rows->spawn.per_user = 1;
	sp.rows->spawn.runs = 8;
	sp.posture.available = 1;
	add_provider("claude", "claude");
	add_provider("demo", "");
	add_model("sonnet", "claude", "claude-sonnet-4-6");
	add_model("demo", "demo", "demo");
	noon = (struct keys_now){ .unix_s = 1900000000,
		.minute = 12 * 60,
		.synced = 1,
		.mono_s = 1000 };
	memset(&alice, 0, sizeof(alice));
	(void)strlcpy(alice.id, "alice", sizeof(alice.id));
	alice.nhash = 1;
	memset(alice.hash1, 7, sizeof(alice.hash1));
	alice.uid = LO + 2;
	alice.providers_n = 1;
	(void)strlcpy(alice.providers[0], "claude", sizeof(alice.providers[0]));
	alice.runs = 2;
	memset(&rq, 0, sizeof(rq));
	rq.run_id = 1;
	load(&alice);
	grant();
	ask("claude", "claude-sonnet-4-6");
}

static void
teardown(void)
{
	keys_free(sp.keys);
	rows_free(sp.rows);
}

START_TEST(granted)
{
	struct admission a;

	ck_assert_int_eq(admit(&sp, &rq, &noon, &a), ERR_OK);
	ck_assert_str_eq(a.key->id, "alice");
	ck_assert_str_eq(a.cred, "claude");
}
END_TEST

START_TEST(without_a_grant)
{
	uint64_t real = rq.grant;

	rq.grant = 0;
	ck_assert_int_eq(verdict(), ERR_STALE);
	rq.grant = real + 1;
	ck_assert_int_eq(verdict(), ERR_STALE);
	rq.grant = real;
	keys_grant_end(sp.keys, real);
	ck_assert_int_eq(verdict(), ERR_STALE);
}
END_TEST

/* The grant was given when all was well; the row and the clock have moved. */
START_TEST(judged_by_the_row_of_now)
{
	noon.unix_s = 1900000000;
	alice.expires = 1900000060;
	load(&alice);
	grant();
	ck_assert_int_eq(verdict(), ERR_OK);
	noon.unix_s = 1900000060;
	ck_assert_int_eq(verdict(), ERR_KEY_EXPIRED);
	noon.synced = 0;
	ck_assert_int_eq(verdict(), ERR_CLOCK);
	noon.synced = 1;
	alice.expires = 0;
	alice.has_hours = 1;
	alice.from_min = 11 * 60;
	alice.to_min = 13 * 60;
	load(&alice);
	grant();
	ck_assert_int_eq(verdict(), ERR_OK);
	noon.minute = 13 * 60;
	ck_assert_int_eq(verdict(), ERR_KEY_HOURS);
}
END_TEST

START_TEST(after_the_key_has_ended)
{
	alice.revoked = 1;
	load(&alice);
	ck_assert_int_eq(verdict(), ERR_STALE);
	alice.revoked = 0;
	load(&alice);
	grant();
	load(NULL);
	ck_assert_int_eq(verdict(), ERR_STALE);
}
END_TEST

START_TEST(only_what_the_key_may)
{
	ask("demo", "demo"); /* configured, not hers */
	ck_assert_int_eq(verdict(), ERR_PROVIDER_DENIED);
	ask("nobody", "demo");
	ck_assert_int_eq(verdict(), ERR_PROVIDER_DENIED);
	ask("claude", "demo"); /* another provider's */
	ck_assert_int_eq(verdict(), ERR_MODEL_UNKNOWN);
	ask("claude", "sonnet"); /* the name, not the model */
	ck_assert_int_eq(verdict(), ERR_MODEL_UNKNOWN);
	alice.models_n = 1;
	(void)strlcpy(alice.models[0], "opus", sizeof(alice.models[0]));
	load(&alice);
	grant();
	ask("claude", "claude-sonnet-4-6");
	ck_assert_int_eq(verdict(), ERR_MODEL_DENIED);
}
END_TEST

START_TEST(only_in_a_sandbox_that_will_do)
{
	sp.posture.available = 0;
	sp.rows->spawn.allow_partial = 1;
	ck_assert_int_eq(verdict(), ERR_SANDBOX);
	sp.posture.available = 1;
	sp.posture.nmissing = 1;
	ck_assert_int_eq(verdict(), ERR_OK);
	sp.rows->spawn.allow_partial = 0;
	ck_assert_int_eq(verdict(), ERR_SANDBOX);
	sp.rows->spawn.allow_partial = 1;
	alice.require_full = 1;
	load(&alice);
	grant();
	ck_assert_int_eq(verdict(), ERR_SANDBOX);
}
END_TEST

START_TEST(only_within_the_limits)
{
	struct admission a;
	int i;

	alice.starts_per_minute = 3;
	load(&alice);
	grant();
	for (i = 0; i < 3; i++) {
		ck_assert_int_eq(verdict(), ERR_OK);
		key_count_start(sp.keys, "alice", &noon);
	}
	ck_assert_int_eq(admit(&sp, &rq, &noon, &a), ERR_RATE);
	ck_assert_uint_gt(a.wait_s, 0);
	noon.mono_s += 60;
	ck_assert_int_eq(verdict(), ERR_OK);
	sp.rows->spawn.runs = 0;
	ck_assert_int_eq(verdict(), ERR_BUSY_TOTAL);
	sp.rows->spawn.runs = 8;
	sp.rows->spawn.memory_budget = 1;
	sp.rows->providers[0].memory = 2;
	ck_assert_int_eq(verdict(), ERR_BUSY_MEMORY);
}
END_TEST

START_TEST(only_with_what_a_run_needs)
{
	sp.rows->providers[0].installed = 0;
	ck_assert_int_eq(verdict(), ERR_NOT_INSTALLED);
	sp.rows->providers[0].installed = 1;
	sp.rows->providers[0].cred[0] = '\0';
	ck_assert_int_eq(verdict(), ERR_CREDENTIAL);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("admit");
	TCase *tc = tcase_create("admit");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, granted);
	tcase_add_test(tc, without_a_grant);
	tcase_add_test(tc, judged_by_the_row_of_now);
	tcase_add_test(tc, after_the_key_has_ended);
	tcase_add_test(tc, only_what_the_key_may);
	tcase_add_test(tc, only_in_a_sandbox_that_will_do);
	tcase_add_test(tc, only_within_the_limits);
	tcase_add_test(tc, only_with_what_a_run_needs);
	suite_add_tcase(s, tc);
	return (suite_run(s));
}
