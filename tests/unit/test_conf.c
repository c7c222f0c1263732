/* SPDX-License-Identifier: ISC */
/*
 * The configuration's parts that a file of tests/conf cannot show: units at
 * their bounds, tokens, the tree's values, every truncation, verdicts on
 * files, and what never appears in a message.
 */
#include <sys/stat.h>
#include <sys/un.h>

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/conf/parse.h"
#include "common/conf/units.h"
#include "tests/unit/suite.h"

#define HASH1 "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
#define HASH2 "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"

static const char *const providers[] = { "claude", "demo", NULL };

static const char whole[] =
    "addr = \"127.0.0.1\"\n"
    "listen on $addr port 4567\n"
    "listen on :: port 4568 insecure\n"
    "listen on socket \"/run/olpd/api.sock\" mode 0600 group \"users\"\n"
    "state directory \"/s\" runtime directory \"/r\" instance \"lab\"\n"
    "uid-range 80000 to 80099\nservice-ids 69990\nenforcement allow partial\n"
    "memory-budget 4GB\nhome size 32MB inodes 1000\n"
    "limit runs 9, queue 20 per-key 7\nlimit connections 99 limit body 3MB\n"
    "timeout head 1s, body 2s, queue 3s, first-byte 4s, idle 5s\n"
    "heartbeat 0s stop-timeout 6s\nresolver 192.0.2.53 port 5353\n"
    "provider claude {\n"
    "\tcommand \"/usr/local/bin/claude\"\n\ttransport exec\n"
    "\tcredential oauth-token file \"/nonexistent/token\"\n"
    "\tlimit runs 4\n\tmemory 600MB\n\ttimeout 7m\n"
    "\tupstream \"https://[::1]:8443\" allow address 127.0.0.1, "
    "::1\n\taccept-tier\n"
    "}\nprovider demo {}\n"
    "model \"sonnet\" { chain claude \"claude-sonnet-4-6\" }\n";

static const char whole_key[] =
    "key \"alice\" {\n"
    "\ttoken sha256 \"" HASH1 "\" uid 80002 tier owner\n\ttoken sha256 \"" HASH2
    "\"\n"
    "\tproviders claude, demo\n\tmodels \"sonnet\"\n"
    "\tcredential claude api-key file \"/nonexistent/key\"\n"
    "\tlimit runs 2, starts 30 per minute\n\thours 21:30 to 07:00\n"
    "\texpires \"2027-01-31\"\n\trevoked\n\trequire full\n}\n";

static struct conf *
load(const char *text, struct conf_errors *e)
{
	conf_set_known_providers(providers);
	return (conf_load_text("t", text, strlen(text), e));
}

static struct conf *
load_ok(const char *text)
{
	struct conf_errors e = { 0 };
	struct conf *c = load(text, &e);

	ck_assert_msg(c != NULL, "%s", e.n > 0 ? e.line[0] : "no message");
	ck_assert_uint_eq(e.n, 0);
	conf_errors_free(&e);
	return (c);
}

/* ---- units ---- */

START_TEST(unit_numbers)
{
	static const char *const bad[] = { "", " 1", "1 ", "+1", "-1", "0x1",
		"01", "00", "1e3", "1.0", "18446744073709551616",
		"99999999999999999999", "one", "1,000" };
	uint64_t v;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(unit_number(bad[i], &v) == -1, "%s", bad[i]);
	ck_assert_int_eq(unit_number("0", &v), 0);
	ck_assert_uint_eq(v, 0);
	ck_assert_int_eq(unit_number("18446744073709551615", &v), 0);
	ck_assert_uint_eq(v, UINT64_MAX);
}
END_TEST

START_TEST(unit_sizes)
{
	static const char *const bad[] = { "5", "5 MB", "5MBx", "5MB x", "5M",
		"5mb", "MB", "-5MB", "05MB", "1.5MB", "18446744073709551615KB",
		"16777216TB", "5 ", "" };
	static const struct {
		const char *text;
		uint64_t v;
	} good[] = { { "0B", 0 }, { "1B", 1 }, { "1023B", 1023 },
		{ "1KB", 1024 }, { "1025B", 1025 }, { "20MB", 20971520 },
		{ "4GB", UINT64_C(4294967296) },
		{ "16777215TB", UINT64_C(16777215) << 40 },
		{ "18446744073709551615B", UINT64_MAX } };
	char text[UNIT_TEXT];
	uint64_t v;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(unit_size(bad[i], &v) == -1, "%s", bad[i]);
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		ck_assert_msg(
		    unit_size(good[i].text, &v) == 0, "%s", good[i].text);
		ck_assert_uint_eq(v, good[i].v);
		ck_assert_str_eq(unit_size_text(text, v), good[i].text);
	}
	ck_assert_int_eq(unit_size("2048KB", &v), 0);
	ck_assert_str_eq(unit_size_text(text, v), "2MB");
}
END_TEST

START_TEST(unit_times_of_day_and_spans)
{
	static const char *const bad_span[] = { "5", "5 s", "5sec", "5S", "s",
		"0", "05s", "5s ", "18446744073709551615m" };
	static const char *const bad_clock[] = { "", "7:00", "24:00", "07:60",
		"07:00 ", "07.00", "0700", "-7:00", "07:0" };
	char text[UNIT_TEXT];
	uint16_t min;
	uint64_t v;
	size_t i;

	for (i = 0; i < sizeof(bad_span) / sizeof(bad_span[0]); i++)
		ck_assert_msg(
		    unit_seconds(bad_span[i], &v) == -1, "%s", bad_span[i]);
	for (i = 0; i < sizeof(bad_clock) / sizeof(bad_clock[0]); i++)
		ck_assert_msg(
		    unit_clock(bad_clock[i], &min) == -1, "%s", bad_clock[i]);
	for (i = 0; i < 200000; i += 61) {
		ck_assert_int_eq(
		    unit_seconds(unit_seconds_text(text, i), &v), 0);
		ck_assert_uint_eq(v, i);
	}
	ck_assert_str_eq(unit_seconds_text(text, 0), "0s");
	ck_assert_str_eq(unit_seconds_text(text, 86400), "1d");
	ck_assert_int_eq(unit_clock("23:59", &min), 0);
	ck_assert_uint_eq(min, 1439);
}
END_TEST

START_TEST(unit_dates)
{
	static const char *const bad[] = { "", "2027", "2027-1-31",
		"2027-13-01", "2027-00-10", "2027-02-30", "2027-04-31",
		"2100-02-29", "2027-01-31 ", "2027-01-31T",
		"2027-01-31T10:00:00", "2027-01-31T10:00:00z",
		"2027-01-31T24:00:00Z", "2027-01-31T10:60:00Z",
		"2027-01-31T10:00:60Z", "2027-01-31T10:00:00.5Z",
		"2027-01-31T10:00:00+0100", "2027-01-31T10:00:00+25:00",
		"2027-01-31 10:00:00Z", "1999-12-31",
		"2000-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01",
		"10000-01-01" };
	char text[UNIT_TEXT];
	int64_t t;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(unit_time(bad[i], &t) == -1, "%s", bad[i]);
	ck_assert_int_eq(unit_time("2027-01-31", &t), 0);
	ck_assert_int_eq(t, 1801353600);
	ck_assert_str_eq(unit_time_text(text, t), "2027-01-31T00:00:00Z");
	ck_assert_int_eq(unit_time("2027-01-31T00:30:00+01:00", &t), 0);
	ck_assert_int_eq(t, 1801353600 - 1800);
	ck_assert_int_eq(unit_time("2028-02-29T23:59:59-12:30", &t), 0);
	ck_assert_str_eq(unit_time_text(text, t), "2028-03-01T12:29:59Z");
	ck_assert_int_eq(unit_time("9999-12-31T23:59:59Z", &t), 0);
	ck_assert_str_eq(unit_time_text(text, t), "9999-12-31T23:59:59Z");
}
END_TEST

START_TEST(unit_hex_and_mode)
{
	uint8_t b[2];
	unsigned int mode;

	ck_assert_int_eq(unit_hex("0aFF", b, 2), 0);
	ck_assert(b[0] == 0x0a && b[1] == 0xff);
	ck_assert_int_eq(unit_hex("0aF", b, 2), -1);
	ck_assert_int_eq(unit_hex("0aFFF", b, 2), -1);
	ck_assert_int_eq(unit_hex("0agg", b, 2), -1);
	ck_assert_int_eq(unit_hex("0x0a", b, 2), -1);
	ck_assert_int_eq(unit_hex("", b, 2), -1);
	ck_assert_int_eq(unit_mode("0660", &mode), 0);
	ck_assert_uint_eq(mode, 0660);
	ck_assert_int_eq(unit_mode("660", &mode), -1);
	ck_assert_int_eq(unit_mode("0680", &mode), -1);
	ck_assert_int_eq(unit_mode("1660", &mode), -1);
	ck_assert_int_eq(unit_mode("06600", &mode), -1);
}
END_TEST

/* ---- tokens ---- */

/* The kinds of all tokens as letters, and the text of words joined by |. */
static void
tokens(const char *text, char *kinds, char *words)
{
	static const char letter[] = "ws{},=neb";
	struct macros m = { 0 };
	struct token t;
	struct lex l;

	ck_assert_int_eq(macro_add(&m, "m", "a b"), 0);
	lex_init(&l, strdup(text), strlen(text), &m);
	*words = '\0';
	do {
		lex_next(&l, &t);
		*kinds++ = letter[t.kind];
		if (t.kind == TOK_WORD || t.kind == TOK_STRING)
			words += sprintf(words, "%s|", t.text);
	} while (t.kind != TOK_EOF);
	*kinds = '\0';
	lex_clear(&l);
	macros_clear(&m);
}

START_TEST(lex_kinds)
{
	static const struct {
		const char *text;
		const char *kinds;
		const char *words;
	} c[] = {
		{ "", "e", "" },
		{ "a \"b c\" $m # x\n", "wswne", "a|b c|a b|" },
		{ "a{}b,=\n\n", "w{}w,=nne", "a|b|" },
		{ "a \\\n b\n", "wwne", "a|b|" },
		{ "\"\\\"\\\\\"", "se", "\"\\|" },
		{ "\"a\nb\n", "bnwne", "b|" },
		{ "\"a\\nb\" c", "bwe", "c|" },
		{ "\"a\"b", "bwe", "b|" },
		{ "a\"b\"", "bse", "b|" },
		{ "$", "be", "" },
		{ "$x y", "bwe", "y|" },
		{ "\x80 a", "bwe", "a|" },
		{ "\"\x80\"", "se", "\x80|" },
		{ "\\a", "bwe", "a|" },
		{ "# only", "e", "" },
		{ "a#b", "we", "a|" },
	};
	char kinds[64], words[64];
	size_t i;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		tokens(c[i].text, kinds, words);
		ck_assert_msg(
		    strcmp(kinds, c[i].kinds) == 0, "%s: %s", c[i].text, kinds);
		ck_assert_msg(
		    strcmp(words, c[i].words) == 0, "%s: %s", c[i].text, words);
	}
}
END_TEST

START_TEST(lex_length)
{
	char text[LIM_CONF_TOKEN + 8], kinds[8], words[2 * LIM_CONF_TOKEN];

	memset(text, 'x', sizeof(text));
	text[LIM_CONF_TOKEN - 1] = '\0';
	tokens(text, kinds, words);
	ck_assert_str_eq(kinds, "we");
	text[LIM_CONF_TOKEN - 1] = 'x';
	text[LIM_CONF_TOKEN] = '\0';
	tokens(text, kinds, words);
	ck_assert_str_eq(kinds, "be");
}
END_TEST

START_TEST(lex_macros)
{
	struct macros m = { 0 };
	char name[LIM_CONF_MACRO_NAME + 1];
	int i;

	ck_assert_int_eq(macro_add(&m, "a", "1"), 0);
	ck_assert(macro_add(&m, "a", "2") == -1 && errno == EEXIST);
	ck_assert(macro_add(&m, "1a", "2") == -1 && errno == EINVAL);
	ck_assert(macro_add(&m, "a-b", "2") == -1 && errno == EINVAL);
	memset(name, 'n', sizeof(name));
	name[LIM_CONF_MACRO_NAME] = '\0';
	ck_assert(macro_add(&m, name, "2") == -1 && errno == EINVAL);
	name[LIM_CONF_MACRO_NAME - 1] = '\0';
	ck_assert_int_eq(macro_add(&m, name, "2"), 0);
	for (i = 2; i < LIM_CONF_MACROS; i++) {
		(void)snprintf(name, sizeof(name), "m%d", i);
		ck_assert_int_eq(macro_add(&m, name, ""), 0);
	}
	ck_assert(macro_add(&m, "more", "") == -1 && errno == ENOSPC);
	ck_assert_str_eq(macro_find(&m, "a"), "1");
	ck_assert_ptr_null(macro_find(&m, "more"));
	macros_clear(&m);
}
END_TEST

START_TEST(lex_describe_hides_secrets)
{
	static const char *const secret[] = { "olp_AAAA", "sk-ant-x",
		"0123456789012345678901234567890123456789x" };
	struct token t = { .kind = TOK_WORD };
	char buf[256];
	size_t i;

	for (i = 0; i < sizeof(secret) / sizeof(secret[0]); i++) {
		(void)snprintf(t.text, sizeof(t.text), "%s", secret[i]);
		lex_describe(buf, sizeof(buf), &t, 0);
		ck_assert_msg(strstr(buf, secret[i]) == NULL, "%s", buf);
	}
	(void)snprintf(t.text, sizeof(t.text), "word");
	ck_assert_str_eq(lex_describe(buf, sizeof(buf), &t, 0), "\"word\"");
	ck_assert_str_eq(
	    lex_describe(buf, sizeof(buf), &t, 1), "a word of 4 bytes");
	(void)snprintf(t.text, sizeof(t.text),
	    "\x9b"
	    "2J");
	ck_assert_ptr_null(
	    strchr(lex_describe(buf, sizeof(buf), &t, 0), '\x9b'));
}
END_TEST

/* ---- the tree ---- */

START_TEST(tree_of_a_whole_conf)
{
	struct conf *c = load_ok(whole);
	struct conf_listen *l = TAILQ_FIRST(&c->listens);
	struct conf_provider *v = conf_find_provider(c, "claude");
	struct conf_model *m = TAILQ_FIRST(&c->models);

	ck_assert_str_eq(l->text, "127.0.0.1:4567");
	ck_assert(l->addr.ss_family == AF_INET &&
	    l->addr_len == sizeof(struct sockaddr_in));
	ck_assert(!l->is_unix && !l->tls && !l->insecure);
	l = TAILQ_NEXT(l, entry);
	ck_assert_str_eq(l->text, "[::]:4568");
	ck_assert(l->addr.ss_family == AF_INET6 &&
	    l->addr_len == sizeof(struct sockaddr_in6));
	ck_assert(l->insecure);
	l = TAILQ_NEXT(l, entry);
	ck_assert(l->is_unix && l->mode == 0600);
	ck_assert_str_eq(l->path, "/run/olpd/api.sock");
	ck_assert_str_eq(l->group, "users");
	ck_assert_str_eq(c->state_dir, "/s");
	ck_assert_str_eq(c->runtime_dir, "/r");
	ck_assert_str_eq(c->instance, "lab");
	ck_assert(c->uid_lo == 80000 && c->uid_hi == 80099 &&
	    c->service_first == 69990);
	ck_assert(c->allow_partial && c->memory_budget == UINT64_C(4) << 30);
	ck_assert(c->home_bytes == 32 << 20 && c->home_inodes == 1000);
	ck_assert(c->runs == 9 && c->queue == 20 && c->queue_per_key == 7);
	ck_assert(c->connections == 99 && c->body_max == 3 << 20);
	ck_assert(c->head_s == 1 && c->body_s == 2 && c->queue_s == 3 &&
	    c->first_byte_s == 4);
	ck_assert(
	    c->idle_s == 5 && c->heartbeat_s == 0 && c->stop_timeout_s == 6);
	ck_assert_str_eq(c->resolver, "192.0.2.53");
	ck_assert_uint_eq(c->resolver_port, 5353);
	ck_assert_str_eq(v->command, "/usr/local/bin/claude");
	ck_assert(v->cred.kind == CRED_OAUTH_TOKEN && v->cred.at.line == 19);
	ck_assert_str_eq(v->cred.file, "/nonexistent/token");
	ck_assert(
	    v->runs == 4 && v->memory == 600 << 20 && v->timeout_s == 420);
	ck_assert_str_eq(v->upstream_host, "::1");
	ck_assert_uint_eq(v->upstream_port, 8443);
	ck_assert(v->nallow == 2 && v->accept_tier);
	ck_assert_str_eq(v->allow[1], "::1");
	ck_assert_str_eq(m->name, "sonnet");
	ck_assert_str_eq(m->provider, "claude");
	ck_assert_str_eq(m->model, "claude-sonnet-4-6");
	conf_free(c);
}
END_TEST

START_TEST(tree_of_a_whole_key)
{
	struct conf_errors e = { 0 };
	struct conf *c = load_ok(whole);
	struct conf_key *k;
	uint8_t hash[32];

	k = conf_load_key_text(
	    c, "keys.d/alice.conf", whole_key, strlen(whole_key), &e);
	ck_assert_msg(k != NULL, "%s", e.n > 0 ? e.line[0] : "no message");
	ck_assert_str_eq(k->id, "alice");
	ck_assert_uint_eq(k->nhash, 2);
	ck_assert_int_eq(unit_hex(HASH2, hash, sizeof(hash)), 0);
	ck_assert_mem_eq(k->hash[1], hash, sizeof(hash));
	ck_assert(k->uid == 80002 && k->owner && k->nproviders == 2 &&
	    k->nmodels == 1);
	ck_assert_str_eq(k->providers[1], "demo");
	ck_assert(k->ncreds == 1 && k->creds[0].cred.kind == CRED_API_KEY);
	ck_assert_str_eq(k->creds[0].provider, "claude");
	ck_assert(k->runs == 2 && k->starts_per_minute == 30);
	ck_assert(
	    k->has_hours && k->from_min == 21 * 60 + 30 && k->to_min == 7 * 60);
	ck_assert(k->expires == 1801353600 && k->revoked && k->require_full);
	free(k);
	conf_free(c);
}
END_TEST

START_TEST(tree_of_nothing)
{
	struct conf *c = load_ok("");
	struct conf_listen *l = TAILQ_FIRST(&c->listens);

	ck_assert_str_eq(l->text, "127.0.0.1:4567");
	ck_assert(conf_is_loopback((const struct sockaddr *)&l->addr));
	ck_assert_ptr_null(TAILQ_NEXT(l, entry));
	ck_assert_str_eq(c->state_dir, "/var/lib/olpd");
	ck_assert_str_eq(c->runtime_dir, "/run/olpd");
	ck_assert(
	    !c->allow_partial && c->uid_lo == 70000 && c->uid_hi == 79999);
	conf_free(c);
}
END_TEST

/*
 * NULL and a message, or a tree and none: at every length, read from memory of
 * exactly that length.
 */
START_TEST(every_truncation)
{
	struct conf_errors e = { 0 };
	struct conf_key *k;
	struct conf *c;
	size_t n;

	conf_set_known_providers(providers);
	for (n = 0; n <= strlen(whole); n++) {
		c = conf_load_text("t", whole, n, &e);
		ck_assert((c == NULL) == (e.n > 0));
		conf_free(c);
		conf_errors_free(&e);
	}
	for (n = 0; n <= strlen(whole_key); n++) {
		k = conf_load_key_text(NULL, "alice.conf", whole_key, n, &e);
		ck_assert((k == NULL) == (e.n > 0));
		ck_assert((k == NULL) == (n + 1 < strlen(whole_key)));
		free(k);
		conf_errors_free(&e);
	}
}
END_TEST

/* A secret in any wrong place is in no message. */
START_TEST(no_secret_in_a_message)
{
	static const char *const secret[] = {
		"olp_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		"sk-ant-api03-x", HASH1 "0", "hunter2"
	};
	static const char *const place[] = { "key alice { token %s }\n",
		"key alice { token sha256 %s }\n",
		"key alice { token \"%s\" }\n",
		"key alice { credential claude %s }\n",
		"key alice { credential claude api-key %s }\n",
		"key alice { credential claude api-key file %s }\n",
		"key alice { credential claude api-key file \"/x\" %s }\n" };
	struct conf_errors e = { 0 };
	char text[256];
	size_t i, j, n;

	for (i = 0; i < sizeof(secret) / sizeof(secret[0]); i++)
		for (j = 0; j < sizeof(place) / sizeof(place[0]); j++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			(void)snprintf(text, sizeof(text), place[j], secret[i]);
#pragma GCC diagnostic pop
			ck_assert_ptr_null(conf_load_key_text(
			    NULL, "alice.conf", text, strlen(text), &e));
			ck_assert_uint_gt(e.n, 0);
			for (n = 0; n < e.n; n++)
				ck_assert_msg(
				    strstr(e.line[n], secret[i]) == NULL, "%s",
				    e.line[n]);
			conf_errors_free(&e);
		}
}
END_TEST

START_TEST(errors_are_bounded)
{
	struct conf_errors e = { 0 };
	char text[1001];

	memset(text, '\n', sizeof(text));
	for (size_t i = 0; i < 1000; i += 2)
		text[i] = 'x';
	text[1000] = '\0';
	ck_assert_ptr_null(load(text, &e));
	ck_assert_uint_eq(e.n, LIM_CONF_ERRORS + 1);
	ck_assert_uint_eq(e.more, 500 - LIM_CONF_ERRORS);
	ck_assert_str_eq(
	    e.line[LIM_CONF_ERRORS], "436 more errors are not shown");
	conf_errors_free(&e);
	ck_assert(e.n == 0 && e.more == 0);
}
END_TEST

START_TEST(any_provider_without_a_table)
{
	static const char text[] =
	    "provider gemini {} model x { chain gemini y }";
	struct conf_errors e = { 0 };
	struct conf *c;

	conf_set_known_providers(NULL);
	c = conf_load_text("t", text, strlen(text), &e);
	ck_assert_ptr_nonnull(c);
	conf_free(c);
	ck_assert_ptr_null(load(text, &e));
	conf_errors_free(&e);
}
END_TEST

/* name0, name1 ... name(n - 1) with glue between, after what is in text. */
static void
append(char *text, size_t size, const char *before, unsigned int n,
    const char *after)
{
	size_t len = strlen(text);
	unsigned int i;

	for (i = 0; i < n && len < size; i++)
		len += (size_t)snprintf(
		    text + len, size - len, "%s%u%s", before, i, after);
}

static void
refused(const char *text, int is_key, const char *line)
{
	struct conf_errors e = { 0 };

	if (is_key)
		ck_assert_ptr_null(conf_load_key_text(
		    NULL, "alice.conf", text, strlen(text), &e));
	else
		ck_assert_ptr_null(conf_load_text("t", text, strlen(text), &e));
	ck_assert_str_eq(e.line[0], line);
	conf_errors_free(&e);
}

/* Bounds that the built-in table is too small to reach. */
START_TEST(lists_are_bounded)
{
	char text[4096] = "key alice {\n";

	conf_set_known_providers(NULL);
	append(text, sizeof(text), "credential p", 9,
	    " api-key file \"/nonexistent/x\"\n");
	refused(text, 1, "alice.conf:10: credential: more than 8");
	(void)snprintf(text, sizeof(text), "key alice {\nproviders x");
	append(text, sizeof(text), ", p", 64, "");
	refused(text, 1, "alice.conf:2: providers: more than 64");
	text[0] = '\0';
	append(text, sizeof(text), "provider p", 33, " {}\n");
	refused(text, 0, "t:33: provider: more than 32");
	refused("include \"x\"\n", 0, "t:1: include: this text has no file");
}
END_TEST

/* ---- small rules ---- */

START_TEST(loopback)
{
	static const struct {
		int family;
		const char *text;
		int yes;
	} c[] = { { AF_INET, "127.0.0.1", 1 },
		{ AF_INET, "127.255.255.255", 1 }, { AF_INET, "128.0.0.1", 0 },
		{ AF_INET, "0.0.0.0", 0 }, { AF_INET6, "::1", 1 },
		{ AF_INET6, "::", 0 }, { AF_INET6, "::2", 0 },
		{ AF_INET6, "::ffff:127.0.0.5", 1 },
		{ AF_INET6, "::ffff:10.0.0.1", 0 },
		{ AF_INET6, "::127.0.0.1", 0 }, { AF_INET6, "fe80::1", 0 } };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct sockaddr_in sin = { .sin_family = AF_INET };
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };
	const struct sockaddr *sa;
	size_t i;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		sa = (const struct sockaddr *)&sin;
		if (c[i].family == AF_INET6) {
			ck_assert_int_eq(
			    inet_pton(AF_INET6, c[i].text, &sin6.sin6_addr), 1);
			sa = (const struct sockaddr *)&sin6;
		} else
			ck_assert_int_eq(
			    inet_pton(AF_INET, c[i].text, &sin.sin_addr), 1);
		ck_assert_msg(
		    conf_is_loopback(sa) == c[i].yes, "%s", c[i].text);
	}
	ck_assert(conf_is_loopback((const struct sockaddr *)&un));
}
END_TEST

START_TEST(key_ids)
{
	ck_assert(conf_key_id_ok("a"));
	ck_assert(conf_key_id_ok("a-1"));
	ck_assert(conf_key_id_ok("abcdefghijklmnopqrstuvwx"));
	ck_assert(!conf_key_id_ok("abcdefghijklmnopqrstuvwxy"));
	ck_assert(!conf_key_id_ok(""));
	ck_assert(!conf_key_id_ok("1a"));
	ck_assert(!conf_key_id_ok("-a"));
	ck_assert(!conf_key_id_ok("A"));
	ck_assert(!conf_key_id_ok("a_b"));
	ck_assert(!conf_key_id_ok("../a"));
	ck_assert(!conf_key_id_ok("a\n"));
}
END_TEST

START_TEST(verdicts_on_files)
{
	static const struct {
		mode_t mode;
		uid_t uid;
		enum file_need need;
		int fine;
	} c[] = {
		{ S_IFREG | 0600, 0, FILE_SECRET, 1 },
		{ S_IFREG | 0400, 1000, FILE_SECRET, 1 },
		{ S_IFREG | 0640, 1000, FILE_SECRET_LATER, 1 },
		{ S_IFREG | 0600, 1001, FILE_SECRET, 0 },
		{ S_IFREG | 0644, 0, FILE_SECRET, 0 },
		{ S_IFREG | 0660, 0, FILE_SECRET, 0 },
		{ S_IFREG | 0650, 0, FILE_SECRET, 0 },
		{ S_IFREG | 0601, 0, FILE_SECRET_LATER, 0 },
		{ S_IFREG | 0602, 0, FILE_SECRET, 0 },
		{ S_IFLNK | 0777, 0, FILE_SECRET, 0 },
		{ S_IFDIR | 0700, 0, FILE_SECRET, 0 },
		{ S_IFIFO | 0600, 0, FILE_SECRET, 0 },
		{ S_IFREG | 0644, 0, FILE_PUBLIC, 1 },
		{ S_IFREG | 0664, 0, FILE_PUBLIC, 0 },
		{ S_IFREG | 0646, 0, FILE_PUBLIC, 0 },
		{ S_IFREG | 0644, 1001, FILE_PUBLIC, 0 },
		{ S_IFLNK | 0777, 0, FILE_PUBLIC, 0 },
	};
	struct stat st = { 0 };
	char text[128];
	size_t i;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		st.st_mode = c[i].mode;
		st.st_uid = c[i].uid;
		ck_assert_msg((file_verdict(&st, c[i].need, 1000, text,
				   sizeof(text)) == NULL) == c[i].fine,
		    "case %zu", i);
	}
}
END_TEST

/* What the parser refuses are the hashes it says they are. */
START_TEST(sample_tokens)
{
	static const char *const sample[] = { "",
		"olp_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" };
	struct conf_errors e = { 0 };
	char text[256], hex[65];
	uint8_t hash[32];
	size_t i, j;

	for (i = 0; i < 2; i++) {
		SHA256(
		    (const unsigned char *)sample[i], strlen(sample[i]), hash);
		for (j = 0; j < sizeof(hash); j++)
			(void)sprintf(hex + 2 * j, "%02x", hash[j]);
		(void)snprintf(text, sizeof(text),
		    "key alice { token sha256 %s uid 70002 }", hex);
		ck_assert_ptr_null(conf_load_key_text(
		    NULL, "alice.conf", text, strlen(text), &e));
		ck_assert_ptr_nonnull(strstr(e.line[0], "sample"));
		conf_errors_free(&e);
	}
}
END_TEST

/* ---- files ---- */

static void
write_file(const char *file, const char *text, mode_t mode)
{
	FILE *f = fopen(file, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_int_eq(chmod(file, mode), 0);
}

/* A relative name still works after a chdir(2). */
START_TEST(names_become_absolute)
{
	char dir[] = "/tmp/test_conf.XXXXXX", want[64];
	struct conf_errors e = { 0 };
	struct conf *c;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
	write_file("olpd.conf", "", 0644);
	c = conf_load("olpd.conf", &e);
	ck_assert_ptr_nonnull(c);
	(void)snprintf(want, sizeof(want), "%s/olpd.conf", dir);
	ck_assert_str_eq(c->file, want);
	(void)snprintf(want, sizeof(want), "%s/keys.d", dir);
	ck_assert_str_eq(c->keys_dir, want);
	conf_free(c);
	ck_assert_int_eq(unlink("olpd.conf"), 0);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

/* Too long for itself, and too long for the folder of keys beside it. */
START_TEST(names_are_bounded)
{
	struct conf_errors e = { 0 };
	char name[LIM_PATH + 1];
	struct conf *c;

	memset(name, '/', sizeof(name));
	name[LIM_PATH] = '\0';
	ck_assert_ptr_null(conf_load(name, &e));
	name[LIM_PATH - 10] = '\0';
	ck_assert_ptr_nonnull(c = conf_load_rest(name, &e));
	ck_assert_str_eq(c->keys_dir, "");
	ck_assert_uint_eq(e.n, 2);
	ck_assert_ptr_nonnull(strstr(e.line[1], "File name too long"));
	conf_free(c);
	conf_errors_free(&e);
}
END_TEST

/* What conf_load() judged by path is judged again on the descriptor. */
START_TEST(opening_a_file)
{
	char dir[] = "/tmp/test_conf.XXXXXX", why[256] = "";
	int fd;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
	write_file("secret", "12345", 0600);
	write_file("open", "12345", 0644);
	ck_assert_int_eq(symlink("secret", "link"), 0);
	ck_assert_int_eq(mkfifo("fifo", 0600), 0);
	ck_assert_int_ge(fd = conf_open("secret", 1, 5, why, sizeof(why)), 0);
	close(fd);
	ck_assert_int_eq(conf_open("secret", 1, 4, why, sizeof(why)), -1);
	ck_assert_str_eq(why, "secret: too large");
	ck_assert_int_eq(conf_open("open", 1, 5, why, sizeof(why)), -1);
	ck_assert_str_eq(why, "open: mode 0644, expected 0640 or less");
	ck_assert_int_ge(fd = conf_open("open", 0, 5, why, sizeof(why)), 0);
	close(fd);
	ck_assert_int_eq(conf_open("link", 1, 5, why, sizeof(why)), -1);
	ck_assert_int_eq(conf_open("fifo", 1, 5, why, sizeof(why)), -1);
	ck_assert_str_eq(why, "fifo: not a regular file");
	ck_assert_int_eq(conf_open("none", 1, 5, why, sizeof(why)), -1);
	ck_assert_str_eq(why, "none: No such file or directory");
	ck_assert(unlink("secret") == 0 && unlink("open") == 0);
	ck_assert(unlink("link") == 0 && unlink("fifo") == 0);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

/* olpctl can revoke a key whatever stands in olpd.conf. */
START_TEST(rest_of_a_bad_conf)
{
	char dir[] = "/tmp/test_conf.XXXXXX", want[64];
	struct conf_errors e = { 0 };
	struct conf *c;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
	write_file("olpd.conf", "nonsense\nuid-range 80000 to 80099\n", 0644);
	ck_assert_ptr_null(conf_load("olpd.conf", &e));
	conf_errors_free(&e);
	ck_assert_ptr_nonnull(c = conf_load_rest("olpd.conf", &e));
	ck_assert_uint_eq(e.n, 1);
	ck_assert_uint_eq(c->uid_lo, 80000);
	(void)snprintf(want, sizeof(want), "%s/keys.d", dir);
	ck_assert_str_eq(c->keys_dir, want);
	conf_free(c);
	conf_errors_free(&e);
	ck_assert_int_eq(unlink("olpd.conf"), 0);
	ck_assert_ptr_nonnull(c = conf_load_rest("olpd.conf", &e));
	ck_assert_str_eq(c->keys_dir, want);
	ck_assert_uint_eq(e.n, 1);
	conf_free(c);
	conf_errors_free(&e);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

START_TEST(key_text_needs_a_name)
{
	struct conf_errors e = { 0 };

	ck_assert_ptr_null(conf_load_key_text(
	    NULL, "Alice.conf", whole_key, strlen(whole_key), &e));
	ck_assert_uint_eq(e.n, 1);
	ck_assert_str_eq(
	    e.line[0], "Alice.conf: expected a name of the form ID.conf");
	conf_errors_free(&e);
}
END_TEST

/* A name with a newline is still one line in a log. */
START_TEST(names_are_one_line)
{
	struct conf_errors e = { 0 };

	ck_assert_ptr_null(conf_load("/nonexistent/a\nb\x1b[2J", &e));
	ck_assert_str_eq(
	    e.line[0], "/nonexistent/a?b?[2J: No such file or directory");
	conf_errors_free(&e);
}
END_TEST

/* One more file than is read, each a good key; then none are left over. */
START_TEST(keys_are_bounded)
{
	char dir[] = "/tmp/test_conf.XXXXXX", name[64], text[256];
	struct conf_errors e = { 0 };
	struct conf *c = load_ok("");
	struct conf_keys keys;
	struct conf_key *k;
	unsigned int i, n = 0;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
	for (i = 0; i <= LIM_CONF_KEYS; i++) {
		(void)snprintf(name, sizeof(name), "k%u.conf", i);
		(void)snprintf(text, sizeof(text),
		    "key k%u { token sha256 %064x uid %u }\n", i, i + 1,
		    70002 + i);
		write_file(name, text, 0600);
	}
	conf_load_keys(c, dir, &keys, &e);
	TAILQ_FOREACH(k, &keys, entry)
		n++;
	ck_assert_uint_eq(n, LIM_CONF_KEYS);
	ck_assert_uint_eq(e.n, 1);
	ck_assert_ptr_nonnull(strstr(e.line[0], "more than 1024 keys"));
	conf_keys_free(&keys);
	conf_errors_free(&e);
	for (i = 0; i <= LIM_CONF_KEYS; i++) {
		(void)snprintf(name, sizeof(name), "k%u.conf", i);
		ck_assert_int_eq(unlink(name), 0);
	}
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(rmdir(dir), 0);
	conf_free(c);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("conf");
	TCase *t = tcase_create("conf");

	tcase_add_test(t, unit_numbers);
	tcase_add_test(t, unit_sizes);
	tcase_add_test(t, unit_times_of_day_and_spans);
	tcase_add_test(t, unit_dates);
	tcase_add_test(t, unit_hex_and_mode);
	tcase_add_test(t, lex_kinds);
	tcase_add_test(t, lex_length);
	tcase_add_test(t, lex_macros);
	tcase_add_test(t, lex_describe_hides_secrets);
	tcase_add_test(t, tree_of_a_whole_conf);
	tcase_add_test(t, tree_of_a_whole_key);
	tcase_add_test(t, tree_of_nothing);
	tcase_add_test(t, every_truncation);
	tcase_add_test(t, no_secret_in_a_message);
	tcase_add_test(t, errors_are_bounded);
	tcase_add_test(t, any_provider_without_a_table);
	tcase_add_test(t, loopback);
	tcase_add_test(t, key_ids);
	tcase_add_test(t, verdicts_on_files);
	tcase_add_test(t, sample_tokens);
	tcase_add_test(t, names_become_absolute);
	tcase_add_test(t, lists_are_bounded);
	tcase_add_test(t, names_are_bounded);
	tcase_add_test(t, opening_a_file);
	tcase_add_test(t, rest_of_a_bad_conf);
	tcase_add_test(t, key_text_needs_a_name);
	tcase_add_test(t, names_are_one_line);
	tcase_add_test(t, keys_are_bounded);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	return (suite_run(s));
}
