/* SPDX-License-Identifier: ISC */
/*
 * Every recorded output of the real client has one right outcome, whole and
 * cut anywhere; what a client may print that none was seen to print has one
 * too (C071, C081, C092).
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/log.h"
#include "common/provider/provider.h"
#include "proto/err.h"
#include "tests/unit/suite.h"

#define DATA TEST_DATA "/data/claude-stream/"
#define PARTS "the quick brown fox jumps"

/* What came out. */
struct got {
	char text[65536];
	size_t len;
	char model[64];
	int starts, texts, ends;
	int stopped, failed;
	enum stop_reason stop;
	unsigned int err;
	uint32_t retry_s;
	int64_t in, out;
	int enough; /* say so at this chunk, counted from 1; 0: never */
	int chunks;
};

static int
take(void *arg, const struct chunk *c)
{
	struct got *g = arg;

	ck_assert_int_eq(g->ends, 0); /* nothing after the end */
	g->chunks++;
	switch (c->kind) {
	case CHUNK_START:
		g->starts++;
		snprintf(
		    g->model, sizeof(g->model), "%.*s", (int)c->len, c->text);
		break;
	case CHUNK_TEXT:
		ck_assert_int_eq(g->starts, 1);
		ck_assert_uint_gt(c->len, 0);
		g->texts++;
		if (g->len + c->len < sizeof(g->text)) {
			memcpy(g->text + g->len, c->text, c->len);
			g->len += c->len;
		}
		break;
	case CHUNK_USAGE:
		g->in = c->in_tokens;
		g->out = c->out_tokens;
		break;
	case CHUNK_STOP:
		g->ends++;
		g->stopped = 1;
		g->stop = c->stop;
		break;
	case CHUNK_FAIL:
		g->ends++;
		g->failed = 1;
		g->err = c->err;
		g->retry_s = c->retry_s;
		ck_assert_uint_lt(c->len, LIM_TEXT);
		break;
	}
	return (g->enough != 0 && g->chunks >= g->enough ? 7 : 0);
}

/* Lines in memory that end where len says, as lines.h gives them. */
static void
feed(
    const struct provider_parse *p, const char *data, size_t len, struct got *g)
{
	void *state = p->new ();
	const char *nl;
	char *line;
	size_t n;

	while (len > 0) {
		nl = memchr(data, '\n', len);
		n = nl != NULL ? (size_t)(nl - data) : len;
		line = malloc(n +
		    1); /* exactly, so that a sanitizer sees a byte too many */
		memcpy(line, data, n);
		line[n] = '\0';
		p->line(state, line, n, take, g);
		free(line);
		n += nl != NULL;
		data += n;
		len -= n;
	}
	p->end(state, take, g);
	p->free(state);
	ck_assert_int_eq(g->ends, g->enough != 0 ? g->ends : 1);
}

static char *
load(const char *name, size_t *len)
{
	char path[512], *data = malloc(1 << 20);
	FILE *f;

	snprintf(path, sizeof(path), DATA "%s.ndjson", name);
	ck_assert_ptr_nonnull(f = fopen(path, "r"));
	*len = fread(data, 1, 1 << 20, f);
	fclose(f);
	ck_assert_uint_gt(*len, 0);
	return (data);
}

static const struct {
	const char *name;
	int stop; /* enum stop_reason, -1: failed */
	unsigned int err;
	const char *text; /* "..." as the last bytes: begins so */
} fixtures[] = {
	{ "cut-before-first", -1, ERR_PROVIDER_CUT, "" },
	{ "cut", -1, ERR_PROVIDER_CUT, PARTS },
	{ "empty", -1, ERR_PROVIDER, "" },
	{ "envmaxturns1-tool-use", -1, ERR_CLIENT_ODD, "" },
	{ "error-400", -1, ERR_PROVIDER_REQUEST, "" },
	{ "error-401", -1, ERR_PROVIDER_AUTH, "" },
	{ "error-403", -1, ERR_PROVIDER_AUTH, "" },
	{ "error-404", -1, ERR_MODEL_UNKNOWN, "" },
	{ "error-429", -1, ERR_PROVIDER_LIMIT, "" },
	{ "error-429-subscription", -1, ERR_PROVIDER_LIMIT, "" },
	{ "error-500", -1, ERR_PROVIDER, "" },
	{ "error-529", -1, ERR_PROVIDER_OVERLOADED, "" },
	{ "error-529-then-ok", -1, ERR_PROVIDER_OVERLOADED, "" },
	{ "error-midstream", -1, ERR_PROVIDER_CUT, PARTS " over" },
	{ "garbage-midstream", -1, ERR_PROVIDER_CUT, PARTS " over" },
	{ "input-stream-json", -1, ERR_CLIENT_ODD, "" },
	{ "long", STOP_END, 0, PARTS " over a lazy dog..." },
	{ "max-tokens", STOP_LENGTH, 0,
	    PARTS " over a lazy dog while seven wise" },
	{ "maxturns1-error-midstream", -1, ERR_PROVIDER_CUT, PARTS " over" },
	{ "maxturns1-max-tokens", STOP_LENGTH, 0,
	    PARTS " over a lazy dog while seven wise" },
	{ "maxturns1-refusal", STOP_REFUSAL, 0, "I cannot help with that." },
	{ "maxturns1-short", STOP_END, 0, "..." },
	{ "maxturns1-tool-use", -1, ERR_CLIENT_ODD, "I will run it." },
	{ "multi-turn", STOP_END, 0, "First answer." },
	{ "no-partial-messages", STOP_END, 0, PARTS " over a lazy dog..." },
	{ "noretry-401", -1, ERR_PROVIDER_AUTH, "" },
	{ "noretry-529", -1, ERR_PROVIDER_OVERLOADED, "" },
	{ "noretry-cut", -1, ERR_PROVIDER_CUT, PARTS },
	{ "noretry-error-midstream", -1, ERR_PROVIDER_CUT, PARTS " over" },
	{ "noretry-max-tokens", STOP_LENGTH, 0,
	    PARTS " over a lazy dog while seven wise" },
	{ "noretry-refusal", STOP_REFUSAL, 0, "I cannot help with that." },
	{ "not-logged-in", -1, ERR_PROVIDER_AUTH, "" },
	{ "oauth-401", -1, ERR_PROVIDER_AUTH, "" },
	{ "oauth-403", -1, ERR_PROVIDER_AUTH, "" },
	{ "oauth-429-limit", -1, ERR_PROVIDER_LIMIT, "" },
	{ "oauth-429-plain", -1, ERR_PROVIDER_LIMIT, "" },
	{ "oauth-allowed-warning", STOP_END, 0, "ok" },
	{ "refusal", STOP_REFUSAL, 0, "I cannot help with that." },
	{ "short", STOP_END, 0, "Hello, world." },
	{ "short-adaptive-thinking-model", STOP_END, 0, "Hello." },
	{ "short-oauth", STOP_END, 0, "Hello." },
	{ "slash-command", -1, ERR_CLIENT_ODD, "" },
	{ "thinking", STOP_END, 0, "The answer is 4." },
	{ "tool-use-tools-off", -1, ERR_CLIENT_ODD, "I will run it." },
	{ "tool-use-unknown-tool", -1, ERR_CLIENT_ODD, "" },
};
#define NFIXTURES (sizeof(fixtures) / sizeof(fixtures[0]))

static void
check_text(const char *name, const struct got *g, const char *want)
{
	size_t n = strlen(want);

	if (n >= 3 && strcmp(want + n - 3, "...") == 0) {
		ck_assert_msg(g->len > 0 && strncmp(g->text, want, n - 3) == 0,
		    "%s", name);
		return;
	}
	ck_assert_msg(g->len == n && memcmp(g->text, want, n) == 0,
	    "%s: \"%.*s\"", name, (int)g->len, g->text);
}

START_TEST(fixture)
{
	struct got *g = calloc(1, sizeof(*g));
	const char *name = fixtures[_i].name;
	size_t len;
	char *data = load(name, &len);

	feed(parse_find("claude"), data, len, g);
	check_text(name, g, fixtures[_i].text);
	if (fixtures[_i].stop == -1) {
		ck_assert_msg(g->failed && g->err == fixtures[_i].err, "%s: %s",
		    name, g->failed ? err_name(g->err) : "stopped");
	} else {
		ck_assert_msg(g->stopped && (int)g->stop == fixtures[_i].stop,
		    "%s: %s", name,
		    g->failed ? err_name(g->err) : "stopped otherwise");
		ck_assert_int_eq(strncmp(g->model, "claude-", 7), 0);
	}
	free(data);
	free(g);
}
END_TEST

/* Cut anywhere, an answer is whole only when its stop reason was seen whole. */
static void
cut_at(const char *name, const char *data, size_t at, size_t whole)
{
	static struct got g;

	memset(&g, 0, sizeof(g));
	feed(parse_find("claude"), data, at, &g);
	if (at < whole)
		ck_assert_msg(
		    g.failed, "%s: a success out of %zu bytes", name, at);
}

/* Where the line with the stop reason ends. */
static size_t
stop_line_end(const char *data)
{
	const char *s = strstr(data, "\"delta\":{\"stop_reason\":\"");

	ck_assert_ptr_nonnull(s);
	return ((size_t)(strchr(s, '\n') - data));
}

START_TEST(every_prefix_of_short)
{
	size_t len, at, whole;
	char *data = load("short", &len);

	data[len] = '\0';
	whole = stop_line_end(data);
	for (at = 0; at <= len; at++)
		cut_at("short", data, at, whole);
	free(data);
}
END_TEST

START_TEST(every_line_cut_of_all)
{
	size_t len, at, whole = (size_t)-1;
	const char *name = fixtures[_i].name;
	char *data = load(name, &len);

	data[len] = '\0';
	if (fixtures[_i].stop != -1)
		whole = strcmp(name, "no-partial-messages") == 0
		    ? len - 1
		    : stop_line_end(data);
	for (at = 0; at <= len; at++)
		if (at == len || data[at] == '\n')
			cut_at(name, data, at, whole);
	free(data);
}
END_TEST

/* The caller has enough at any chunk: no more is given. */
START_TEST(enough_at_every_chunk)
{
	static struct got g;
	size_t len;
	char *data = load("thinking", &len);
	int k, all;

	memset(&g, 0, sizeof(g));
	feed(parse_find("claude"), data, len, &g);
	all = g.chunks;
	ck_assert_int_gt(all, 5);
	for (k = 1; k <= all; k++) {
		memset(&g, 0, sizeof(g));
		g.enough = k;
		feed(parse_find("claude"), data, len, &g);
		ck_assert_int_eq(g.chunks, k);
	}
	free(data);
}
END_TEST

START_TEST(callback_value_is_returned)
{
	const struct provider_parse *p = parse_find("claude");
	void *state = p->new ();
	static struct got g;
	char line[] = "{\"type\":\"result\",\"is_error\":true}";

	memset(&g, 0, sizeof(g));
	g.enough = 1;
	ck_assert_int_eq(p->line(state, line, strlen(line), take, &g), 7);
	ck_assert_int_eq(p->line(state, line, strlen(line), take, &g), 0);
	ck_assert_int_eq(p->end(state, take, &g), 0);
	ck_assert_int_eq(g.chunks, 1);
	p->free(state);
	p->free(NULL);
}
END_TEST

START_TEST(usage)
{
	static struct got g;
	size_t len;
	char *data = load("thinking", &len);

	memset(&g, 0, sizeof(g));
	feed(parse_find("claude"), data, len, &g);
	ck_assert_int_eq(g.in, 21);
	ck_assert_int_eq(g.out, 16);
	free(data);
}
END_TEST

START_TEST(reset_time)
{
	static struct got g;
	char buf[1024];
	size_t i;
	static const struct {
		long long in;
		uint32_t least, most;
	} rows[] = { { 3600, 3590, 3600 }, { -10, 0, 0 },
		{ 100LL * 86400, LIM_OUT_RETRY_S, LIM_OUT_RETRY_S } };

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(&g, 0, sizeof(g));
		snprintf(buf, sizeof(buf),
		    "{\"type\":\"rate_limit_event\",\"rate_limit_info\":{"
		    "\"status\":\"rejected\","
		    "\"resetsAt\":%lld}}\n"
		    "{\"type\":\"result\",\"is_error\":true,\"api_error_"
		    "status\":429}\n",
		    (long long)time(NULL) + rows[i].in);
		feed(parse_find("claude"), buf, strlen(buf), &g);
		ck_assert_uint_eq(g.err, ERR_PROVIDER_LIMIT);
		ck_assert_uint_ge(g.retry_s, rows[i].least);
		ck_assert_uint_le(g.retry_s, rows[i].most);
	}
}
END_TEST

/* Lines that nobody recorded. I: in order; S: a message began; T: text came. */
#define I                                                                      \
	"{\"type\":\"system\",\"subtype\":\"init\",\"tools\":[],\"mcp_"        \
	"servers\":[]}\n"
#define EV(x)                                                                  \
	"{\"type\":\"stream_event\",\"event\":{" x                             \
	"},\"parent_tool_use_id\":null}\n"
#define S I EV("\"type\":\"message_start\",\"message\":{\"model\":\"m\"}")
#define TEXT(x)                                                                \
	EV("\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_"      \
	   "delta\",\"text\":\"" x "\"}")
#define T S TEXT("one")
#define END(x)                                                                 \
	EV("\"type\":\"message_delta\",\"delta\":{\"stop_reason\":" x "}")
#define RESULT(x) "{\"type\":\"result\"," x "}\n"
#define WHOLE(x)                                                               \
	"{\"type\":\"assistant\",\"message\":{\"model\":\"m\",\"content\":[" x \
	"]}}\n"
#define SYN(e)                                                                 \
	"{\"type\":\"assistant\",\"message\":{\"model\":\"<synthetic>\","      \
	"\"content\":[{\"type\":"                                              \
	"\"text\",\"text\":\"never\"}]},\"error\":\"" e "\"}\n"

static const struct {
	const char *lines;
	int stop;
	unsigned int err;
	const char *text;
} rows[] = {
	{ "", -1, ERR_CLIENT, "" },
	{ I, -1, ERR_CLIENT, "" },
	{ T, -1, ERR_CLIENT, "one" },
	{ T END("\"end_turn\""), STOP_END, 0, "one" },
	{ T END("\"stop_sequence\""), STOP_END, 0, "one" },
	{ T END("\"max_tokens\""), STOP_LENGTH, 0, "one" },
	{ T END("\"model_context_window_exceeded\""), STOP_LENGTH, 0, "one" },
	{ T END("\"refusal\""), STOP_REFUSAL, 0, "one" },
	{ S END("\"refusal\""), STOP_REFUSAL, 0, "" },
	{ S END("\"max_tokens\""), STOP_LENGTH, 0, "" },
	{ S END("\"end_turn\""), -1, ERR_PROVIDER, "" },
	{ T END("\"tool_use\""), -1, ERR_CLIENT_ODD, "one" },
	{ T END("\"pause_turn\""), -1, ERR_CLIENT_ODD, "one" },
	{ T END("null") END("\"end_turn\""), STOP_END, 0, "one" },
	{ T END("7"), -1, ERR_CLIENT, "one" },
	{ T END("\"end_turn\"") TEXT("two") S, STOP_END, 0, "one" },
	{ T EV("\"type\":\"message_stop\"") END("\"end_turn\""), -1,
	    ERR_PROVIDER_CUT, "one" },
	{ T EV("\"type\":\"message_start\",\"message\":{\"model\":\"m\"}"), -1,
	    ERR_PROVIDER_CUT, "one" },
	{ T EV("\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}"),
	    -1, ERR_PROVIDER_OVERLOADED, "one" },
	{ T EV("\"type\":\"error\",\"error\":{\"type\":\"api_error\"}"), -1,
	    ERR_PROVIDER_CUT, "one" },
	{ T EV("\"type\":\"ping\"") EV("\"type\":\"new\"") TEXT("two")
		END("\"end_turn\""),
	    STOP_END, 0, "onetwo" },
	{ T TEXT("") TEXT("\\u0000\\\"\\n\\ud83d\\ude00") END("\"end_turn\""),
	    STOP_END, 0, NULL }, /* the NUL is counted below */
	{ T "{\"type\":\"new\"}\n{\"x\":1}\n{}\n" END("\"end_turn\""), STOP_END,
	    0, "one" },
	{ T "noise\n\n[1]\n7\n\"x\"\nnull\n" END("\"end_turn\""), STOP_END, 0,
	    "one" },
	{ T "{\"type\":\"stream_event\"\n" END("\"end_turn\""), -1,
	    ERR_CLIENT_ODD, "one" },
	{ T "  {broken}\n" END("\"end_turn\""), -1, ERR_CLIENT_ODD, "one" },
	{ T TEXT("\\ud83d") END("\"end_turn\""), -1, ERR_CLIENT_ODD, "one" },
	{ T TEXT("\xff") END("\"end_turn\""), -1, ERR_CLIENT_ODD, "one" },
	{ T "{\"type\":\"a\",\"type\":\"b\"}\n", -1, ERR_CLIENT_ODD, "one" },
	/* what the client must not be */
	{ "{\"type\":\"system\",\"subtype\":\"init\",\"tools\":[\"Bash\"],"
	  "\"mcp_servers\":[]}\n",
	    -1, ERR_CLIENT_ODD, "" },
	{ "{\"type\":\"system\",\"subtype\":\"init\",\"mcp_servers\":[]}\n", -1,
	    ERR_CLIENT_ODD, "" },
	{ "{\"type\":\"system\",\"subtype\":\"init\",\"tools\":[],\"mcp_"
	  "servers\":[{}]}\n",
	    -1, ERR_CLIENT_ODD, "" },
	{ "{\"type\":\"system\",\"subtype\":\"init\",\"tools\":{},\"mcp_"
	  "servers\":[]}\n",
	    -1, ERR_CLIENT_ODD, "" },
	{ EV("\"type\":\"message_start\",\"message\":{\"model\":\"m\"}"), -1,
	    ERR_CLIENT_ODD, "" },
	{ I TEXT("x"), -1, ERR_CLIENT_ODD, "" },
	{ I END("\"end_turn\""), -1, ERR_CLIENT_ODD, "" },
	{ WHOLE("{\"type\":\"text\",\"text\":\"x\"}"), -1, ERR_CLIENT_ODD, "" },
	{ I EV("\"type\":\"message_start\",\"message\":{\"model\":\"<synthetic>"
	       "\"}"),
	    -1, ERR_CLIENT_ODD, "" },
	{ S "{\"type\":\"stream_event\",\"event\":{\"type\":\"ping\"},\"parent_"
	    "tool_use_id\":\"t\"}\n",
	    -1, ERR_CLIENT_ODD, "" },
	{ I "{\"type\":\"assistant\",\"message\":{\"model\":\"m\"},\"parent_"
	    "tool_use_id\":\"t\"}\n",
	    -1, ERR_CLIENT_ODD, "" },
	{ S EV("\"type\":\"content_block_start\",\"content_block\":{\"type\":"
	       "\"tool_use\"}"),
	    -1, ERR_CLIENT_ODD, "" },
	{ S EV("\"type\":\"content_block_start\",\"content_block\":{\"type\":"
	       "\"server_tool_use\"}"),
	    -1, ERR_CLIENT_ODD, "" },
	{ S EV("\"type\":\"content_block_delta\",\"delta\":{\"type\":\"input_"
	       "json_delta\"}"),
	    -1, ERR_CLIENT_ODD, "" },
	{ S EV("\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_"
	       "delta\",\"text\":1}"),
	    -1, ERR_CLIENT_ODD, "" },
	{ T "{\"type\":\"user\",\"isSynthetic\":true}\n", -1, ERR_PROVIDER_CUT,
	    "one" },
	{ T "{\"type\":\"user\",\"isReplay\":true}\n" END("\"end_turn\""),
	    STOP_END, 0, "one" },
	{ T "{\"type\":\"system\",\"subtype\":\"compact_boundary\"}\n", -1,
	    ERR_CLIENT_ODD, "one" },
	{ I "{\"type\":\"system\",\"subtype\":\"status\",\"status\":"
	    "\"compacting\"}\n",
	    -1, ERR_CONTEXT_LENGTH, "" },
	{ T "{\"type\":\"system\",\"subtype\":\"api_retry\",\"error_status\":"
	    "529}\n",
	    -1, ERR_PROVIDER_CUT, "one" },
	{ I "{\"type\":\"system\",\"subtype\":\"api_retry\",\"error_status\":"
	    "null}\n",
	    -1, ERR_PROVIDER_CUT, "" },
	/* results */
	{ I RESULT("\"is_error\":false,\"num_turns\":1,\"stop_reason\":\"end_"
		   "turn\""),
	    -1, ERR_CLIENT, "" },
	{ I RESULT("\"is_error\":false,\"num_turns\":0"), -1, ERR_CLIENT_ODD,
	    "" },
	{ I RESULT("\"is_error\":false"), -1, ERR_CLIENT_ODD, "" },
	{ RESULT("\"is_error\":false,\"num_turns\":1"), -1, ERR_CLIENT_ODD,
	    "" },
	{ T RESULT("\"is_error\":false,\"num_turns\":1,\"stop_reason\":\"end_"
		   "turn\""),
	    -1, ERR_PROVIDER_CUT, "one" },
	{ T RESULT("\"is_error\":true,\"api_error_status\":529"), -1,
	    ERR_PROVIDER_OVERLOADED, "one" },
	{ T RESULT("\"is_error\":true"), -1, ERR_PROVIDER_CUT, "one" },
	{ I RESULT("\"is_error\":true"), -1, ERR_CLIENT, "" },
	{ I RESULT("\"is_error\":\"no\""), -1, ERR_CLIENT, "" },
	{ I RESULT("\"is_error\":true,\"api_error_status\":402"), -1,
	    ERR_PROVIDER_AUTH, "" },
	{ I RESULT("\"is_error\":true,\"api_error_status\":413"), -1,
	    ERR_PROVIDER_REQUEST, "" },
	{ I RESULT("\"is_error\":true,\"api_error_status\":422"), -1,
	    ERR_PROVIDER_REQUEST, "" },
	{ I RESULT("\"is_error\":true,\"api_error_status\":502"), -1,
	    ERR_PROVIDER, "" },
	{ I RESULT("\"is_error\":true,\"api_error_status\":503"), -1,
	    ERR_PROVIDER, "" },
	{ I RESULT("\"is_error\":true,\"api_error_status\":400,\"terminal_"
		   "reason\":\"prompt_too_long\""),
	    -1, ERR_CONTEXT_LENGTH, "" },
	{ I RESULT("\"is_error\":true,\"terminal_reason\":\"blocking_limit\""),
	    -1, ERR_CONTEXT_LENGTH, "" },
	{ I RESULT("\"is_error\":true,\"subtype\":\"error_max_turns\""), -1,
	    ERR_CLIENT_ODD, "" },
	{ I SYN("rate_limit") RESULT("\"is_error\":true"), -1,
	    ERR_PROVIDER_LIMIT, "" },
	{ I SYN("invalid_request") RESULT("\"is_error\":true"), -1,
	    ERR_PROVIDER_REQUEST, "" },
	{ I SYN("model_not_found") RESULT("\"is_error\":true"), -1,
	    ERR_MODEL_UNKNOWN, "" },
	{ I SYN("server_error") RESULT("\"is_error\":true"), -1, ERR_PROVIDER,
	    "" },
	{ I SYN("a word that is longer than anything that is kept of it")
		RESULT("\"is_error\":true"),
	    -1, ERR_CLIENT, "" },
	{ I "{\"type\":\"assistant\",\"message\":{\"model\":\"<synthetic>\"},"
	    "\"error\":\"server_error\","
	    "\"api_error\":\"connection_failed\"}\n" RESULT(
		"\"is_error\":true"),
	    -1, ERR_UNREACHABLE, "" },
	/* without partial messages */
	{ I WHOLE("{\"type\":\"thinking\"},{\"type\":\"text\",\"text\":\"a\"}")
		WHOLE("{\"type\":\"text\",\"text\":\"b\"}")
		    RESULT("\"is_error\":false,\"num_turns\":1,\"stop_reason\":"
			   "\"end_turn\""),
	    STOP_END, 0, "ab" },
	{ I WHOLE("{\"type\":\"text\",\"text\":\"a\"}") RESULT(
	      "\"is_error\":false,\"num_turns\":1,\"stop_reason\":null"),
	    -1, ERR_CLIENT_ODD, "a" },
	{ I WHOLE("{\"type\":\"text\",\"text\":\"a\"}")
		RESULT("\"is_error\":false,\"num_turns\":2,\"stop_reason\":"
		       "\"end_turn\""),
	    -1, ERR_PROVIDER_CUT, "" },
	{ I WHOLE("{\"type\":\"text\",\"text\":\"a\"}") SYN("invalid_request")
		RESULT("\"is_error\":true,\"num_turns\":1,\"stop_reason\":"
		       "\"refusal\""),
	    STOP_REFUSAL, 0, "a" },
	{ I WHOLE("{\"type\":\"text\",\"text\":\"a\"}")
		RESULT("\"is_error\":true"),
	    -1, ERR_PROVIDER_CUT, "" },
	{ I WHOLE("{\"type\":\"tool_use\"}"), -1, ERR_CLIENT_ODD, "" },
	{ I WHOLE("") RESULT("\"is_error\":false,\"num_turns\":1,\"stop_"
			     "reason\":\"end_turn\""),
	    -1, ERR_PROVIDER, "" },
};
#define NROWS (sizeof(rows) / sizeof(rows[0]))

START_TEST(odd_lines)
{
	struct got *g = calloc(1, sizeof(*g));

	feed(parse_find("claude"), rows[_i].lines, strlen(rows[_i].lines), g);
	if (rows[_i].text == NULL) {
		ck_assert_uint_eq(g->len, 10);
		ck_assert_mem_eq(g->text, "one\0\"\n\xf0\x9f\x98\x80", 10);
	} else
		check_text(rows[_i].lines, g, rows[_i].text);
	if (rows[_i].stop == -1)
		ck_assert_msg(g->failed && g->err == rows[_i].err, "%s%s",
		    rows[_i].lines, g->failed ? err_name(g->err) : "stopped");
	else
		ck_assert_msg(g->stopped && (int)g->stop == rows[_i].stop, "%s",
		    rows[_i].lines);
	free(g);
}
END_TEST

START_TEST(noise_is_bounded)
{
	const struct provider_parse *p = parse_find("claude");
	void *state = p->new ();
	static struct got g;
	char line[] = "noise";
	int i;

	memset(&g, 0, sizeof(g));
	for (i = 0; i < LIM_PARSE_NOISE; i++)
		p->line(state, line, strlen(line), take, &g);
	ck_assert_int_eq(g.ends, 0);
	p->line(state, line, strlen(line), take, &g);
	ck_assert_uint_eq(g.err, ERR_CLIENT_ODD);
	p->free(state);
}
END_TEST

START_TEST(depth_is_bounded)
{
	static char line[200000];
	static struct got g;

	memset(line, '[', sizeof(line));
	memcpy(line, "{\"a\":", 5);
	memset(&g, 0, sizeof(g));
	feed(parse_find("claude"), line, sizeof(line), &g);
	ck_assert_uint_eq(g.err, ERR_CLIENT_ODD);
}
END_TEST

/* Commas and brackets in a string are text; outside they are values. */
START_TEST(values_are_bounded)
{
	static const struct {
		const char *before, *piece, *after;
		size_t n;
		unsigned int err;
	} t[] = {
		{ "{\"type\":\"x\",\"a\":[0", ",[]", "]}\n",
		    LIM_PARSE_VALUES / 2 - 2, ERR_CLIENT },
		{ "{\"type\":\"x\",\"a\":[0", ",[]", "]}\n",
		    LIM_PARSE_VALUES / 2 + 1, ERR_CLIENT_ODD },
		{ "{\"type\":\"x\",\"a\":[0", ",{}", "]}\n",
		    LIM_PARSE_VALUES / 2 + 1, ERR_CLIENT_ODD },
		{ "{\"type\":\"x\",\"a\":\"", ",[\\\"{", "\"}\n",
		    LIM_PARSE_VALUES, ERR_CLIENT },
	};
	static char line[512 * 1024];
	static struct got g;
	size_t i, len = 0;

	len += (size_t)snprintf(line, sizeof(line), "%s", t[_i].before);
	for (i = 0; i < t[_i].n; i++)
		len += (size_t)snprintf(
		    line + len, sizeof(line) - len, "%s", t[_i].piece);
	len +=
	    (size_t)snprintf(line + len, sizeof(line) - len, "%s", t[_i].after);
	memset(&g, 0, sizeof(g));
	feed(parse_find("claude"), line, len, &g);
	ck_assert_uint_eq(g.err, t[_i].err);
}
END_TEST

/* The demo client's lines. */
static const struct {
	const char *lines;
	int stop;
	unsigned int err;
	const char *text;
} demo[] = {
	{ "{\"type\":\"start\",\"model\":\"demo\"}\n{\"type\":\"text\","
	  "\"text\":\"a\"}\n"
	  "{\"type\":\"text\",\"text\":\" "
	  "b\"}\n{\"type\":\"usage\",\"in\":3,\"out\":2}\n"
	  "{\"type\":\"stop\",\"reason\":\"end\"}\n",
	    STOP_END, 0, "a b" },
	{ "{\"type\":\"start\",\"model\":\"demo\"}\n{\"type\":\"stop\","
	  "\"reason\":\"end\"}\n",
	    -1, ERR_PROVIDER, "" },
	{ "{\"type\":\"start\",\"model\":\"demo\"}\n{\"type\":\"stop\","
	  "\"reason\":\"length\"}\n",
	    STOP_LENGTH, 0, "" },
	{ "{\"type\":\"start\",\"model\":\"demo\"}\n{\"type\":\"stop\","
	  "\"reason\":\"refusal\"}\n",
	    STOP_REFUSAL, 0, "" },
	{ "{\"type\":\"start\",\"model\":\"demo\"}\n{\"type\":\"stop\","
	  "\"reason\":\"x\"}\n",
	    -1, ERR_CLIENT_ODD, "" },
	{ "{\"type\":\"start\",\"model\":\"demo\"}\n{\"type\":\"start\","
	  "\"model\":\"demo\"}\n",
	    -1, ERR_PROVIDER_CUT, "" },
	{ "{\"type\":\"text\",\"text\":\"a\"}\n", -1, ERR_CLIENT_ODD, "" },
	{ "{\"type\":\"stop\",\"reason\":\"end\"}\n", -1, ERR_CLIENT_ODD, "" },
	{ "{\"type\":\"error\",\"message\":\"why\"}\n", -1, ERR_CLIENT, "" },
	{ "{\"type\":\"start\",\"model\":\"demo\"}\n", -1, ERR_CLIENT, "" },
	{ "SQLITE_BUSY\n", -1, ERR_CLIENT, "" },
	{ "", -1, ERR_CLIENT, "" },
};

START_TEST(demo_lines)
{
	struct got *g = calloc(1, sizeof(*g));

	feed(parse_find("demo"), demo[_i].lines, strlen(demo[_i].lines), g);
	check_text(demo[_i].lines, g, demo[_i].text);
	if (demo[_i].stop == -1)
		ck_assert_msg(
		    g->failed && g->err == demo[_i].err, "%s", demo[_i].lines);
	else
		ck_assert_msg(g->stopped && (int)g->stop == demo[_i].stop, "%s",
		    demo[_i].lines);
	if (_i == 0) {
		ck_assert_int_eq(g->in, 3);
		ck_assert_int_eq(g->out, 2);
		ck_assert_str_eq(g->model, "demo");
	}
	free(g);
}
END_TEST

START_TEST(table)
{
	ck_assert_ptr_null(parse_find("other"));
	ck_assert_ptr_null(parse_find(""));
	ck_assert_str_eq(parse_find("claude")->name, "claude");
	ck_assert_str_eq(parse_find("demo")->name, "demo");
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("claude_parse");
	TCase *t = tcase_create("claude_parse");

	log_init("test", 0);
	tcase_set_timeout(t, 100);
	suite_add_tcase(s, t);
	tcase_add_loop_test(t, fixture, 0, NFIXTURES);
	tcase_add_test(t, every_prefix_of_short);
	tcase_add_loop_test(t, every_line_cut_of_all, 0, NFIXTURES);
	tcase_add_test(t, enough_at_every_chunk);
	tcase_add_test(t, callback_value_is_returned);
	tcase_add_test(t, usage);
	tcase_add_test(t, reset_time);
	tcase_add_loop_test(t, odd_lines, 0, NROWS);
	tcase_add_test(t, noise_is_bounded);
	tcase_add_test(t, depth_is_bounded);
	tcase_add_loop_test(t, values_are_bounded, 0, 4);
	tcase_add_loop_test(t, demo_lines, 0, sizeof(demo) / sizeof(demo[0]));
	tcase_add_test(t, table);
	return (suite_run(s));
}
