/* SPDX-License-Identifier: ISC */
/*
 * The launch contract: the rows that we have, and one test per wrong shape.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/provider/provider.h"
#include "tests/unit/suite.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

/* A row in order, of which each case spoils one thing. */

static void
good_environment(const struct launch_run *run, struct launch_words *w)
{
	launch_add(w, "HOME=%s", SANDBOX_HOME);
	launch_add(w, "KEY=%s", run->placeholder);
}

static void
good_arguments(const struct launch_run *run, struct launch_words *w)
{
	launch_add(w, "--model");
	launch_add(w, "%s", run->model);
}

static void
good_hardening(const struct launch_run *run, struct launch_words *w)
{
	(void)run;
	launch_add_option(w, "--no-tools", NULL);
	launch_add_option(w, "--limit", "1");
}

static const char *good_directories[] = { "a", "a/b" };
static struct launch_seed good_seeds[] = {
	{ "a/b/config", NULL, "text", 0600 },
	{ "a/state", "/etc/olpd/state", NULL, 0444 },
};
static const enum provider_cred good_creds[] = { PROVIDER_CRED_API_KEY,
	PROVIDER_CRED_OAUTH };
static const char *good_folders[] = { "/usr/lib/node", "/usr/share/x" };

static struct provider_launch
good(void)
{
	struct provider_launch p = {
		.name = "client-2",
		.shipped = "olp-client",
		.environment = good_environment,
		.seeds = good_seeds,
		.nseeds = N(good_seeds),
		.directories = good_directories,
		.ndirectories = N(good_directories),
		.inner_sandbox = 1,
		.read_protection = PROTECT_INNER_SANDBOX,
		.tier = TIER_PER_OS_USER,
		.hardening = good_hardening,
		.arguments = good_arguments,
		.creds = good_creds,
		.ncreds = N(good_creds),
		.folders = good_folders,
		.nfolders = N(good_folders),
		.listener = LISTENER_HTTP,
		.memory = 1 << 24,
		.max_requests = 2,
	};

	return (p);
}

static void
wrong(const struct provider_launch *p, const char *want)
{
	char err[LIM_TEXT] = "";

	ck_assert_int_eq(provider_launch_check(p, err, sizeof(err)), -1);
	ck_assert_str_eq(err, want);
}

#define WRONG(name, spoil, want)                                               \
	START_TEST(name)                                                       \
	{                                                                      \
		struct provider_launch p = good();                             \
		spoil;                                                         \
		wrong(&p, want);                                               \
	}                                                                      \
	END_TEST

START_TEST(good_row)
{
	struct provider_launch p = good();
	char err[LIM_TEXT] = "";

	ck_assert_msg(
	    provider_launch_check(&p, err, sizeof(err)) == 0, "%s", err);
}
END_TEST

START_TEST(our_rows)
{
	char err[LIM_TEXT] = "";
	size_t i;

	for (i = 0; launch_table[i] != NULL; i++) {
		ck_assert_msg(provider_launch_check(
				  launch_table[i], err, sizeof(err)) == 0,
		    "%s", err);
		ck_assert_ptr_eq(
		    launch_find(launch_table[i]->name), launch_table[i]);
	}
	ck_assert_uint_ge(i, 2);
	ck_assert_ptr_null(launch_find("none-such"));
	ck_assert_ptr_null(launch_find(""));
}
END_TEST

/* What absent means. */
START_TEST(absent)
{
	struct provider_launch p = { .name = "x" };

	ck_assert_int_eq(p.inner_sandbox, 0);
	ck_assert_str_eq(protect_name(p.read_protection), "none");
	ck_assert_str_eq(tier_name(p.tier), "separate-vm");
}
END_TEST

START_TEST(names)
{
	ck_assert_str_eq(protect_name(PROTECT_NONE), "none");
	ck_assert_str_eq(protect_name(PROTECT_INNER_SANDBOX), "inner-sandbox");
	ck_assert_str_eq(protect_name(PROTECT_NO_TOOLS), "no-tools");
	ck_assert_str_eq(protect_name((enum provider_protect)9), "none");
	ck_assert_str_eq(tier_name(TIER_SEPARATE_VM), "separate-vm");
	ck_assert_str_eq(tier_name(TIER_PER_OS_USER), "per-os-user");
	ck_assert_str_eq(tier_name(TIER_SHARED_OS_USER), "shared-os-user");
	ck_assert_str_eq(tier_name((enum provider_tier)9), "separate-vm");
}
END_TEST

/* Name */
#define P "provider client-2: "
WRONG(name_missing, p.name = NULL,
    "provider (no name): name: must begin with a lower-case letter")
WRONG(name_empty, p.name = "",
    "provider : name: must begin with a lower-case letter")
WRONG(name_digit, p.name = "1a",
    "provider 1a: name: must begin with a lower-case letter")
WRONG(name_upper, p.name = "aB",
    "provider aB: name: must be lower-case letters, digits and -")
WRONG(name_dot, p.name = "a.b",
    "provider a.b: name: must be lower-case letters, digits and -")
WRONG(name_long, p.name = "a234567890123456789012345678901-",
    "provider a234567890123456789012345678901-: name: must be shorter than 32")
WRONG(shipped_path, p.shipped = "../sh",
    P "shipped: \"../sh\" must be the name of a program of olpd's own")
WRONG(shipped_empty, p.shipped = "",
    P "shipped: \"\" must be the name of a program of olpd's own")

/* Environment */
static unsigned int calls;

static void
env_impure(const struct launch_run *run, struct launch_words *w)
{
	good_environment(run, w);
	launch_add(w, "N=%u", calls++);
}

static void
env_no_value(const struct launch_run *run, struct launch_words *w)
{
	good_environment(run, w);
	launch_add(w, "ALONE");
}

static void
env_no_name(const struct launch_run *run, struct launch_words *w)
{
	good_environment(run, w);
	launch_add(w, "=x");
}

static void
env_bad_name(const struct launch_run *run, struct launch_words *w)
{
	good_environment(run, w);
	launch_add(w, "A B=x");
}

static void
env_digit(const struct launch_run *run, struct launch_words *w)
{
	good_environment(run, w);
	launch_add(w, "1A=x");
}

static void
env_twice(const struct launch_run *run, struct launch_words *w)
{
	good_environment(run, w);
	launch_add(w, "KEY=");
}

static void
env_other_home(const struct launch_run *run, struct launch_words *w)
{
	(void)run;
	launch_add(w, "HOME=/root");
}

/* Only with a transcript: every kind of run is looked at. */
static void
env_late(const struct launch_run *run, struct launch_words *w)
{
	good_environment(run, w);
	if (run->input_kind == INPUT_TRANSCRIPT && run->settings_len > 0 &&
	    run->system_len > 0 && run->cred == PROVIDER_CRED_OAUTH)
		launch_add(w, "bad");
}

static void
env_many(const struct launch_run *run, struct launch_words *w)
{
	unsigned int i;

	good_environment(run, w);
	for (i = 0; i < LIM_LAUNCH_WORDS; i++)
		launch_add(w, "V%u=", i);
}

static void
env_long(const struct launch_run *run, struct launch_words *w)
{
	good_environment(run, w);
	launch_add(w, "V=%*s", LIM_LAUNCH_BYTES, "");
}

WRONG(env_missing, p.environment = NULL, P "environment: is missing")
WRONG(env_is_impure, p.environment = env_impure,
    P "environment: must depend on the run alone")
WRONG(env_has_no_value, p.environment = env_no_value,
    P "environment: \"ALONE\" is not NAME=value")
WRONG(env_has_no_name, p.environment = env_no_name,
    P "environment: \"=x\" is not NAME=value")
WRONG(env_has_bad_name, p.environment = env_bad_name,
    P "environment: \"A B=x\" is not NAME=value")
WRONG(env_has_digit, p.environment = env_digit,
    P "environment: \"1A=x\" is not NAME=value")
WRONG(env_is_twice, p.environment = env_twice,
    P "environment: KEY is there twice")
WRONG(env_home, p.environment = env_other_home,
    P "environment: HOME must be /home/olp")
WRONG(env_of_one_kind, p.environment = env_late,
    P "environment: \"bad\" is not NAME=value")
WRONG(env_too_many, p.environment = env_many,
    P "environment: more than 96 words, or one over 4095 bytes")
WRONG(env_too_long, p.environment = env_long,
    P "environment: more than 96 words, or one over 4095 bytes")

/* Seeds */
static struct provider_launch
with_seed(
    const char *target, const char *source, const char *text, unsigned int mode)
{
	static struct launch_seed seeds[2];
	struct provider_launch p = good();

	seeds[0] = (struct launch_seed){ "first", NULL, "", 0600 };
	seeds[1] = (struct launch_seed){ target, source, text, mode };
	p.seeds = seeds;
	p.nseeds = 2;
	return (p);
}
#define SEED(name, target, source, text, mode, want)                           \
	WRONG(name, p = with_seed(target, source, text, mode), P "seeds: " want)

SEED(seed_null, NULL, NULL, "", 0600, "target \"\" a path is empty")
SEED(seed_empty, "", NULL, "", 0600, "target \"\" a path is empty")
SEED(seed_absolute, "/x", NULL, "", 0600,
    "target \"/x\" must be relative to the home")
SEED(seed_tilde, "~/x", NULL, "", 0600, "target \"~/x\" must not begin with ~")
SEED(seed_up, "../x", NULL, "", 0600, "target \"../x\" must not hold \"..\"")
SEED(seed_up_inside, "x/../y", NULL, "", 0600,
    "target \"x/../y\" must not hold \"..\"")
SEED(seed_up_at_end, "x/..", NULL, "", 0600,
    "target \"x/..\" must not hold \"..\"")
SEED(seed_dot, "./x", NULL, "", 0600, "target \"./x\" must not hold \".\"")
SEED(seed_double_slash, "x//y", NULL, "", 0600,
    "target \"x//y\" has an empty component")
SEED(seed_end_slash, "x/", NULL, "", 0600,
    "target \"x/\" has an empty component")
SEED(seed_equal, "first", NULL, "", 0600,
    "\"first\" and \"first\" are one place")
SEED(seed_below, "first/x", NULL, "", 0600,
    "\"first\" and \"first/x\" are one place")
SEED(seed_directory, "a", NULL, "", 0600, "\"a\" is a directory too")
SEED(seed_work, "work", NULL, "", 0600, "\"work\" is the work directory")
SEED(seed_neither, "x", NULL, NULL, 0600,
    "\"x\" needs a source or a text, and not both")
SEED(seed_both, "x", "/y", "", 0600,
    "\"x\" needs a source or a text, and not both")
SEED(
    seed_source_relative, "x", "y", NULL, 0600, "source \"y\" must be absolute")
SEED(seed_source_tilde, "x", "~/y", NULL, 0600,
    "source \"~/y\" must not begin with ~")
SEED(seed_source_up, "x", "/y/../z", NULL, 0600,
    "source \"/y/../z\" must not hold \"..\"")
SEED(seed_source_root, "x", "/", NULL, 0600, "source \"/\" must not be /")
SEED(seed_setuid, "x", NULL, "", 04755,
    "\"x\" has mode 4755: must be within 0777 and readable")
SEED(seed_unreadable, "x", NULL, "", 0,
    "\"x\" has mode 0: must be within 0777 and readable")
WRONG(seed_many, p.nseeds = LIM_LAUNCH_PATHS + 1, P "seeds: more than 64")

/* A source that is not there is the run's error, not the row's. */
START_TEST(seed_source_missing)
{
	struct provider_launch p =
	    with_seed("x", "/nowhere/at/all", NULL, 0600);
	char err[LIM_TEXT];

	ck_assert_int_eq(provider_launch_check(&p, err, sizeof(err)), 0);
}
END_TEST

/* "..x" and "x.." are names like any other. */
START_TEST(seed_dots)
{
	struct provider_launch p = with_seed("..x/y../...", NULL, "", 0600);
	char err[LIM_TEXT];

	ck_assert_int_eq(provider_launch_check(&p, err, sizeof(err)), 0);
}
END_TEST

/* Directories */
static struct provider_launch
with_directory(const char *path)
{
	static const char *directories[2];
	struct provider_launch p = good();

	directories[0] = "first";
	directories[1] = path;
	p.directories = directories;
	return (p);
}
#define DIRECTORY(name, path, want)                                            \
	WRONG(name, p = with_directory(path), P "directories: " want)

DIRECTORY(dir_null, NULL, "\"\" a path is empty")
DIRECTORY(dir_empty, "", "\"\" a path is empty")
DIRECTORY(dir_absolute, "/x", "\"/x\" must be relative to the home")
DIRECTORY(dir_tilde, "~", "\"~\" must not begin with ~")
DIRECTORY(dir_up, "x/../..", "\"x/../..\" must not hold \"..\"")
DIRECTORY(dir_dot, ".", "\".\" must not hold \".\"")
DIRECTORY(dir_slash, "x/", "\"x/\" has an empty component")
DIRECTORY(dir_equal, "first", "\"first\" is there twice")
WRONG(dir_many, p.ndirectories = LIM_LAUNCH_PATHS + 1,
    P "directories: more than 64")

/* Words */
WRONG(inner_two, p.inner_sandbox = 2, P "inner sandbox: must be yes or no")
WRONG(protect_unknown, p.read_protection = (enum provider_protect)3,
    P "read protection: must be none, inner-sandbox or no-tools")
WRONG(protect_without_inner, p.inner_sandbox = 0,
    P "read protection: inner-sandbox, but the client makes no inner sandbox")
WRONG(tier_unknown, p.tier = (enum provider_tier)3,
    P "tier: must be shared-os-user, per-os-user or separate-vm")
WRONG(listener_unknown, p.listener = (enum provider_listener)2,
    P "listener: must be none or http")
WRONG(memory_none, p.memory = 0,
    P "memory: must be from 1048576 to 1099511627776 bytes")
WRONG(memory_much, p.memory = UINT64_C(1) << 41,
    P "memory: must be from 1048576 to 1099511627776 bytes")
WRONG(requests_none, p.max_requests = 0,
    P "max requests: must be 0 without a listener and not with one")
WRONG(requests_without_listener, p.listener = LISTENER_NONE,
    P "max requests: must be 0 without a listener and not with one")

/* Credentials */
static const enum provider_cred creds_none[] = { PROVIDER_CRED_NONE };
static const enum provider_cred creds_unknown[] = { (enum provider_cred)7 };
static const enum provider_cred creds_twice[] = { PROVIDER_CRED_OAUTH,
	PROVIDER_CRED_OAUTH };

WRONG(cred_none, (p.creds = creds_none, p.ncreds = 1),
    P "credentials: must be api-key or oauth")
WRONG(cred_unknown, (p.creds = creds_unknown, p.ncreds = 1),
    P "credentials: must be api-key or oauth")
WRONG(cred_twice, p.creds = creds_twice, P "credentials: a kind is there twice")
WRONG(cred_without_listener, (p.listener = LISTENER_NONE, p.max_requests = 0),
    P "credentials: need a listener: none is given into a sandbox")

/* Folders */
static struct provider_launch
with_folder(const char *path)
{
	static const char *folders[2];
	struct provider_launch p = good();

	folders[0] = "/usr/lib/first";
	folders[1] = path;
	p.folders = folders;
	return (p);
}
#define FOLDER(name, path, want)                                               \
	WRONG(name, p = with_folder(path), P "folders: " want)

FOLDER(folder_null, NULL, "\"\" a path is empty")
FOLDER(folder_relative, "usr", "\"usr\" must be absolute")
FOLDER(folder_tilde, "~/lib", "\"~/lib\" must not begin with ~")
FOLDER(folder_root, "/", "\"/\" must not be /")
FOLDER(folder_up, "/usr/../etc", "\"/usr/../etc\" must not hold \"..\"")
FOLDER(folder_slash, "/usr/", "\"/usr/\" has an empty component")
FOLDER(folder_equal, "/usr/lib/first", "\"/usr/lib/first\" is there twice")
WRONG(folder_many, p.nfolders = LIM_LAUNCH_PATHS + 1, P "folders: more than 64")

/* Arguments and hardening */
static void
args_impure(const struct launch_run *run, struct launch_words *w)
{
	good_arguments(run, w);
	launch_add(w, "%u", calls++);
}

static void
args_end(const struct launch_run *run, struct launch_words *w)
{
	good_arguments(run, w);
	launch_add(w, "--");
	launch_add(w, "prompt");
}

static void
args_secret(const struct launch_run *run, struct launch_words *w)
{
	launch_add(w, "--key=%s", run->placeholder);
}

static void
hard_again(const struct launch_run *run, struct launch_words *w)
{
	(void)run;
	launch_add(w, "--no-tools");
}

static void
hard_drops(const struct launch_run *run, struct launch_words *w)
{
	(void)run;
	free(w->v[--w->n]);
	w->v[w->n] = NULL;
}

static void
hard_changes(const struct launch_run *run, struct launch_words *w)
{
	(void)run;
	free(w->v[0]);
	w->v[0] = strdup("--other");
}

static void
hard_end(const struct launch_run *run, struct launch_words *w)
{
	(void)run;
	launch_add_option(w, "--", NULL);
}

static void
hard_secret(const struct launch_run *run, struct launch_words *w)
{
	launch_add_option(w, "--key", run->placeholder);
}

static void
hard_many(const struct launch_run *run, struct launch_words *w)
{
	(void)run;
	while (!w->overflow)
		launch_add(w, "x");
}

WRONG(args_missing, p.arguments = NULL, P "arguments: is missing")
WRONG(args_are_impure, p.arguments = args_impure,
    P "arguments: must depend on the run alone")
WRONG(args_end_options, p.arguments = args_end,
    P "arguments: \"--\": hardening would come after it")
WRONG(args_hold_secret, p.arguments = args_secret,
    P "arguments: must not hold the placeholder")
WRONG(hard_missing, p.hardening = NULL, P "hardening: is missing")
WRONG(hard_twice, p.hardening = hard_again,
    P "hardening: must change nothing the second time")
WRONG(hard_takes_away, p.hardening = hard_drops,
    P "hardening: must leave the arguments as they are")
WRONG(hard_rewrites, p.hardening = hard_changes,
    P "hardening: must leave the arguments as they are")
WRONG(hard_ends_options, p.hardening = hard_end,
    P "arguments: \"--\": hardening would come after it")
WRONG(hard_holds_secret, p.hardening = hard_secret,
    P "arguments: must not hold the placeholder")
WRONG(hard_too_many, p.hardening = hard_many,
    P "hardening: more than 96 words with the arguments")

/* Words */
START_TEST(words_bounds)
{
	struct launch_words w = { .n = 0 };
	int i;

	for (i = 0; i < LIM_LAUNCH_WORDS; i++)
		launch_add(&w, "%d", i);
	ck_assert_int_eq(w.overflow, 0);
	ck_assert_ptr_null(w.v[LIM_LAUNCH_WORDS]);
	launch_add(&w, "x");
	ck_assert_int_eq(w.overflow, 1);
	ck_assert_uint_eq(w.n, LIM_LAUNCH_WORDS);
	launch_words_free(&w);
	ck_assert_uint_eq(w.n, 0);
	ck_assert_int_eq(w.overflow, 0);
	launch_add(&w, "%*s", LIM_LAUNCH_BYTES - 1, "");
	ck_assert_int_eq(w.overflow, 0);
	launch_add(&w, "%*s", LIM_LAUNCH_BYTES, "");
	ck_assert_int_eq(w.overflow, 1);
	ck_assert_uint_eq(w.n, 1);
	launch_words_free(&w);
	launch_words_free(&w);
}
END_TEST

START_TEST(words_option)
{
	struct launch_words w = { .n = 0 };

	launch_add_option(&w, "--a", "");
	launch_add_option(&w, "--a", "other");
	launch_add_option(&w, "--b", NULL);
	launch_add_option(&w, "--b", "x");
	ck_assert_uint_eq(w.n, 3);
	ck_assert_str_eq(w.v[0], "--a");
	ck_assert_str_eq(w.v[1], "");
	ck_assert_str_eq(w.v[2], "--b");
	ck_assert_ptr_null(w.v[3]);
	launch_words_free(&w);
}
END_TEST

/* The words of claude, for each kind of run. */

static int
has(const struct launch_words *w, const char *word)
{
	size_t i;

	for (i = 0; i < w->n; i++)
		if (strcmp(w->v[i], word) == 0)
			return (1);
	return (0);
}

static int
has_name(const struct launch_words *w, const char *name)
{
	size_t i;

	for (i = 0; i < w->n; i++)
		if (strncmp(w->v[i], name, strlen(name)) == 0 &&
		    w->v[i][strlen(name)] == '=')
			return (1);
	return (0);
}

static void
make(const struct launch_run *run, struct launch_words *env,
    struct launch_words *args)
{
	const struct provider_launch *p = launch_find("claude");

	memset(env, 0, sizeof(*env));
	memset(args, 0, sizeof(*args));
	p->environment(run, env);
	p->arguments(run, args);
	p->hardening(run, args);
}

START_TEST(claude_key_single)
{
	struct launch_run run = { .model = "m-1",
		.cred = PROVIDER_CRED_API_KEY,
		.placeholder = "olp-placeholder-1" };
	struct launch_words e, a;

	make(&run, &e, &a);
	ck_assert(has(&e, "ANTHROPIC_API_KEY=olp-placeholder-1"));
	ck_assert(has(&e, "CLAUDE_CODE_SIMPLE=1"));
	ck_assert(has(&e, "ANTHROPIC_BASE_URL=http://127.0.0.1:3128"));
	ck_assert(has(&e, "TMPDIR=/tmp"));
	ck_assert(has(&e, "CLAUDE_CODE_MAX_RETRIES=0"));
	ck_assert(has(&e, "CLAUDE_CODE_DISABLE_CLAUDE_MDS=1"));
	ck_assert(has(&e, "CLAUDE_CODE_DISABLE_ATTACHMENTS=1"));
	ck_assert(!has_name(&e, "CLAUDE_CODE_OAUTH_TOKEN"));
	ck_assert(!has_name(&e, "CLAUDE_CODE_RESUME_INTERRUPTED_TURN"));
	ck_assert(!has_name(&e, "DISABLE_COMPACT"));
	ck_assert(has(&a, "--model=m-1"));
	ck_assert(has(&a, "--system-prompt="));
	ck_assert(!has(&a, "--settings=" SANDBOX_SETTINGS));
	ck_assert(!has(&a, "--resume=" SANDBOX_INPUT));
	ck_assert(has(&a, "--tools"));
	ck_assert(has(&a, "mcp__*"));
	launch_words_free(&e);
	launch_words_free(&a);
}
END_TEST

START_TEST(claude_oauth_transcript)
{
	struct launch_run run = { .model = "m-1",
		.cred = PROVIDER_CRED_OAUTH,
		.placeholder = "olp-placeholder-1",
		.input_kind = INPUT_TRANSCRIPT,
		.system_len = 3,
		.settings_len = 4 };
	struct launch_words e, a;

	make(&run, &e, &a);
	ck_assert(has(&e, "CLAUDE_CODE_OAUTH_TOKEN=olp-placeholder-1"));
	ck_assert(!has_name(&e, "CLAUDE_CODE_SIMPLE"));
	ck_assert(!has_name(&e, "ANTHROPIC_API_KEY"));
	ck_assert(has(&e, "CLAUDE_CODE_RESUME_INTERRUPTED_TURN=1"));
	ck_assert(has(&e, "DISABLE_COMPACT=1"));
	ck_assert(has(&a, "--system-prompt-file=" SANDBOX_SYSTEM));
	ck_assert(!has(&a, "--system-prompt="));
	ck_assert(has(&a, "--settings=" SANDBOX_SETTINGS));
	ck_assert(has(&a, "--input-format=stream-json"));
	ck_assert(has(&a, "--resume=" SANDBOX_INPUT));
	launch_words_free(&e);
	launch_words_free(&a);
}
END_TEST

/* Nothing of ours comes from our own environment. */
START_TEST(rows_do_not_look_around)
{
	struct launch_run run = {
		.model = "m", .cred = PROVIDER_CRED_API_KEY, .placeholder = "p"
	};
	struct launch_words before, after, args;
	size_t i, j;

	for (i = 0; launch_table[i] != NULL; i++) {
		memset(&before, 0, sizeof(before));
		memset(&after, 0, sizeof(after));
		memset(&args, 0, sizeof(args));
		launch_table[i]->environment(&run, &before);
		setenv("HOME", "/planted", 1);
		setenv("PATH", "/planted", 1);
		setenv("ANTHROPIC_API_KEY", "planted", 1);
		setenv("ANTHROPIC_BASE_URL", "planted", 1);
		launch_table[i]->environment(&run, &after);
		launch_table[i]->arguments(&run, &args);
		launch_table[i]->hardening(&run, &args);
		ck_assert_uint_eq(before.n, after.n);
		for (j = 0; j < before.n; j++)
			ck_assert_str_eq(before.v[j], after.v[j]);
		for (j = 0; j < after.n; j++)
			ck_assert_ptr_null(strstr(after.v[j], "planted"));
		launch_words_free(&before);
		launch_words_free(&after);
		launch_words_free(&args);
	}
}
END_TEST

#define T(name) tcase_add_test(t, name)

static void
add_name_tests(TCase *t)
{
	T(name_missing), T(name_empty), T(name_digit), T(name_upper),
	    T(name_dot), T(name_long);
	T(shipped_path), T(shipped_empty);
}

static void
add_environment_tests(TCase *t)
{
	T(env_missing), T(env_is_impure), T(env_has_no_value),
	    T(env_has_no_name);
	T(env_has_bad_name), T(env_has_digit), T(env_is_twice), T(env_home);
	T(env_of_one_kind), T(env_too_many), T(env_too_long);
}

static void
add_path_tests(TCase *t)
{
	T(seed_null), T(seed_empty), T(seed_absolute), T(seed_tilde),
	    T(seed_up);
	T(seed_up_inside), T(seed_up_at_end), T(seed_dot), T(seed_double_slash);
	T(seed_end_slash), T(seed_equal), T(seed_below), T(seed_directory),
	    T(seed_work);
	T(seed_neither), T(seed_both), T(seed_source_relative),
	    T(seed_source_tilde);
	T(seed_source_up), T(seed_source_root), T(seed_setuid),
	    T(seed_unreadable);
	T(seed_many), T(seed_source_missing), T(seed_dots);
	T(dir_null), T(dir_empty), T(dir_absolute), T(dir_tilde), T(dir_up),
	    T(dir_dot);
	T(dir_slash), T(dir_equal), T(dir_many);
	T(folder_null), T(folder_relative), T(folder_tilde), T(folder_root),
	    T(folder_up);
	T(folder_slash), T(folder_equal), T(folder_many);
}

static void
add_other_tests(TCase *t)
{
	T(inner_two), T(protect_unknown), T(protect_without_inner),
	    T(tier_unknown);
	T(listener_unknown), T(memory_none), T(memory_much), T(requests_none);
	T(requests_without_listener);
	T(cred_none), T(cred_unknown), T(cred_twice), T(cred_without_listener);
	T(args_missing), T(args_are_impure), T(args_end_options),
	    T(args_hold_secret);
	T(hard_missing), T(hard_twice), T(hard_takes_away), T(hard_rewrites);
	T(hard_ends_options), T(hard_holds_secret), T(hard_too_many);
}

int
main(void)
{
	Suite *s = suite_create("launch");
	TCase *t = tcase_create("launch");

	log_init("test", 0);
	suite_add_tcase(s, t);
	T(good_row), T(our_rows), T(absent), T(names);
	add_name_tests(t);
	add_environment_tests(t);
	add_path_tests(t);
	add_other_tests(t);
	T(words_bounds), T(words_option);
	T(claude_key_single), T(claude_oauth_transcript),
	    T(rows_do_not_look_around);
	return (suite_run(s));
}
