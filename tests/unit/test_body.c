/* SPDX-License-Identifier: ISC */
/*
 * The incremental JSON checker of olpd-egress: the same verdict however the
 * bytes are cut.
 */
#include "worker-http/egress/body.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/limits.h"
#include "tests/unit/suite.h"

static const char *const keys[] = { "model", "messages", "tools", "stream",
	"max_tokens", "system", NULL };
static const char *const fetched[] = { "url", "file", NULL };
static const struct body_rules strict = { keys, "claude-\xc3\xa9-1", 1,
	fetched };
static const struct body_rules with_tools = { keys, "claude-\xc3\xa9-1", 0,
	NULL };
static const struct body_rules json_only = { NULL, NULL, 0, NULL };

#define M "\"model\":\"claude-\xc3\xa9-1\""

/*
 * Cut into pieces of `step` bytes after a first one of `first`. NULL: in order.
 */
static const char *
verdict(const struct body_rules *rules, const char *s, size_t len, size_t first,
    size_t step)
{
	static char reason[128];
	struct body *b = body_new(rules);
	size_t at = 0, n = first;
	int r = 0;

	while (at < len && r == 0) {
		if (n > len - at)
			n = len - at;
		r = body_feed(b, s + at, n);
		at += n;
		n = step;
	}
	if (r == 0)
		r = body_end(b);
	if (r == 0) {
		body_free(b);
		return (NULL);
	}
	/* Refused once is refused for ever. */
	ck_assert_int_eq(body_feed(b, "{}", 2), -1);
	ck_assert_int_eq(body_end(b), -1);
	(void)snprintf(reason, sizeof(reason), "%s", body_reason(b));
	body_free(b);
	return (reason);
}

static void
check(
    const struct body_rules *rules, const char *s, size_t len, const char *want)
{
	const char *got;
	size_t i;

	for (i = 0; i <= len; i++) {
		got = verdict(rules, s, len, i, i == 0 ? 1 : len);
		if (want == NULL)
			ck_assert_msg(got == NULL, "cut at %zu: %s refused: %s",
			    i, s, got);
		else
			ck_assert_msg(got != NULL && strcmp(got, want) == 0,
			    "cut at %zu: %s: \"%s\", expected \"%s\"", i, s,
			    got == NULL ? "accepted" : got, want);
	}
}

static const char *const accepted[] = {
	"{" M "}",
	" \t\r\n{ " M " } \n",
	"{" M ",\"tools\":[]}",
	"{" M ",\"tools\": [ \n ] }",
	"{\"stream\":true," M "}",
	"{\"stream\":false," M "}",
	"{\"\\u006dodel\":\"claude-\\u00e9-1\"}",
	"{\"model\":\"cl\\u0061ude-\\u00E9-1\",\"max_tokens\":1}",
	"{" M ",\"messages\":[{\"tools\":[1],\"model\":2,\"stream\":\"x\","
	"\"tools\":3}]}",
	"{" M ",\"messages\":[\"\\ud83d\\ude00\",\"\xf0\x9f\x98\x80\","
	"\"\xed\x9f\xbf\","
	"\"\xee\x80\x80\",\"\xf4\x8f\xbf\xbf\",\"\\u0000\",\"\x7f\"]}",
	"{" M ",\"messages\":[0,-0,0.5,1e9,1E+9,1e-9,-12.5e3,"
	"123456789012345678901234567890]}",
	"{" M
	",\"messages\":[true,false,null,[],{},\"\",[[[]]],{\"a\":{\"b\":[]}}]}",
	"{" M ",\"messages\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}",
	"{" M ",\"system\":\"] } , : \"}",
	"{" M
	",\"messages\":[{\"source\":{\"type\":\"base64\",\"data\":\"url\"}}]}",
	"{" M ",\"messages\":[{\"source\":\"url\",\"type\":\"url\"}]}",
	"{" M ",\"messages\":[{\"source\":{\"a\":{\"type\":\"url\"}}}]}",
	"{" M ",\"messages\":[{\"source\":{\"type\":\"urls\"}},{\"source\":{"
	"\"type\":[\"url\"]}}]}",
	"{" M ",\"messages\":[{\"input\":{\"source\":{\"type\":\"url\"}},"
	"\"b\":1}]}",
};

START_TEST(test_accepted)
{
	check(&strict, accepted[_i], strlen(accepted[_i]), NULL);
}
END_TEST

static const struct {
	const char *body, *why;
} refused[] = {
	/* what the run may not ask for */
	{ "{" M ",\"messages\":[{\"source\":{\"type\":\"url\"}}]}",
	    "body: a source that the provider would fetch" },
	{ "{" M ",\"system\":[{\"a\":[{\"s\\u006furce\":{\"x\":[{}],"
	  "\"t\\u0079pe\":\"u\\u0072l\"}}]}]}",
	    "body: a source that the provider would fetch" },
	{ "{" M ",\"messages\":[{\"source\":{\"type\":\"base64\",\"type\":"
	  "\"file\"}}]}",
	    "body: a source that the provider would fetch" },
	{ "{" M ",\"messages\":[{\"input\":{\"source\":{\"type\":\"url\"}},"
	  "\"source\":{\"type\":\"url\"}}]}",
	    "body: a source that the provider would fetch" },
	{ "{" M ",\"messages\":[{\"input\":1,\"source\":{\"type\":\"url\"}}]}",
	    "body: a source that the provider would fetch" },
	{ "{}", "body: names no model" },
	{ "{\"stream\":true}", "body: names no model" },
	{ "{\"model\":\"other\"}", "body: model is not the run's" },
	{ "{\"model\":\"claude-\xc3\xa9-1x\"}",
	    "body: model is not the run's" },
	{ "{\"model\":\"claude-\xc3\xa9-\"}", "body: model is not the run's" },
	{ "{\"model\":\"claude-\xc3\xa9-1\\u0000\"}",
	    "body: model is not the run's" },
	{ "{\"model\":\"\"}", "body: model is not the run's" },
	{ "{\"model\":null}", "body: model is not a string" },
	{ "{\"model\":[" M "]}", "body: model is not a string" },
	{ "{\"model\":{" M "}}", "body: model is not a string" },
	{ "{" M "," M "}", "body: a top-level key twice" },
	{ "{" M ",\"\\u006dodel\":\"x\"}", "body: a top-level key twice" },
	{ "{\"model\\u0000\":1," M "}",
	    "body: a top-level key that is not allowed" },
	{ "{" M ",\"tools\":[],\"t\\u006fols\":[{}]}",
	    "body: a top-level key twice" },
	{ "{" M ",\"t\\u006fols\":[{}]}",
	    "body: tools where none are allowed" },
	{ "{" M ",\"tools\":[null]}", "body: tools where none are allowed" },
	{ "{" M ",\"tools\": [ \"\" ]}", "body: tools where none are allowed" },
	{ "{" M ",\"tools\":null}", "body: tools is not an empty array" },
	{ "{" M ",\"tools\":{}}", "body: tools is not an empty array" },
	{ "{" M ",\"tools\":\"\"}", "body: tools is not an empty array" },
	{ "{" M ",\"stream\":1}", "body: stream is not a boolean" },
	{ "{" M ",\"stream\":null}", "body: stream is not a boolean" },
	{ "{" M ",\"stream\":\"true\"}", "body: stream is not a boolean" },
	{ "{" M ",\"mcp_servers\":[]}",
	    "body: a top-level key that is not allowed" },
	{ "{" M ",\"Tools\":[]}", "body: a top-level key that is not allowed" },
	{ "{" M ",\"\":1}", "body: a top-level key that is not allowed" },
	{ "{" M ",\"tool\":1}", "body: a top-level key that is not allowed" },
	{ "{" M ",\"toolsx\":1}", "body: a top-level key that is not allowed" },
	/* what is no object */
	{ "", "body: not JSON: ends too early" },
	{ " ", "body: not JSON: ends too early" },
	{ "[]", "body: not a JSON object" },
	{ "\"x\"", "body: not a JSON object" },
	{ "1", "body: not a JSON object" },
	{ "true", "body: not a JSON object" },
	{ "\xef\xbb\xbf{" M "}", "body: not a JSON object" },
	{ "{" M, "body: not JSON: ends too early" },
	{ "{" M "}x", "body: bytes after the object" },
	{ "{" M "}{}", "body: bytes after the object" },
	{ "{" M "},", "body: bytes after the object" },
	/* what is no JSON */
	{ "{" M ",}", "body: not JSON: no key where one must be" },
	{ "{," M "}", "body: not JSON: no key where one must be" },
	{ "{model:1}", "body: not JSON: no key where one must be" },
	{ "{'model':1}", "body: not JSON: no key where one must be" },
	{ "{\"model\" 1}", "body: not JSON: no colon after a key" },
	{ "{\"system\":,}", "body: not JSON: no value where one must be" },
	{ "{\"system\":[1,]}", "body: not JSON: no value where one must be" },
	{ "{\"system\":[,1]}", "body: not JSON: no value where one must be" },
	{ "{\"system\":[1 2]}",
	    "body: not JSON: no comma or end after a value" },
	{ "{\"system\":[1}}", "body: not JSON: wrong bracket" },
	{ "{\"system\":{\"a\":1]}", "body: not JSON: wrong bracket" },
	{ "{\"system\":{]}", "body: not JSON: no key where one must be" },
	{ "{\"system\":[}", "body: not JSON: no value where one must be" },
	{ "{\"system\":tru}", "body: not JSON: unknown word" },
	{ "{\"system\":truE}", "body: not JSON: unknown word" },
	{ "{\"system\":nul", "body: not JSON: ends too early" },
	{ "{\"system\":NaN}", "body: not JSON: no value where one must be" },
	{ "{\"system\":/**/1}", "body: not JSON: no value where one must be" },
	/* numbers */
	{ "{\"system\":01}", "body: not JSON: no comma or end after a value" },
	{ "{\"system\":-}", "body: not JSON: number" },
	{ "{\"system\":+1}", "body: not JSON: no value where one must be" },
	{ "{\"system\":.5}", "body: not JSON: no value where one must be" },
	{ "{\"system\":1.}", "body: not JSON: number" },
	{ "{\"system\":1.e1}", "body: not JSON: number" },
	{ "{\"system\":1e}", "body: not JSON: number" },
	{ "{\"system\":1e+}", "body: not JSON: number" },
	{ "{\"system\":1e1.5}",
	    "body: not JSON: no comma or end after a value" },
	{ "{\"system\":-01}", "body: not JSON: no comma or end after a value" },
	{ "{\"system\":0x10}",
	    "body: not JSON: no comma or end after a value" },
	{ "{\"system\":1e5e5}",
	    "body: not JSON: no comma or end after a value" },
	/* strings */
	{ "{\"system\":\"\n\"}", "body: not JSON: control byte in a string" },
	{ "{\"system\":\"\x1f\"}", "body: not JSON: control byte in a string" },
	{ "{\"sys\ttem\":1}", "body: not JSON: control byte in a string" },
	{ "{\"system\":\"\\x\"}", "body: not JSON: escape" },
	{ "{\"system\":\"\\'\"}", "body: not JSON: escape" },
	{ "{\"system\":\"\\U0041\"}", "body: not JSON: escape" },
	{ "{\"system\":\"\\u00g0\"}", "body: not JSON: escape" },
	{ "{\"system\":\"\\u41\"}", "body: not JSON: escape" },
	{ "{\"system\":\"\\ud800\"}", "body: not JSON: half a surrogate pair" },
	{ "{\"system\":\"\\udc00\"}", "body: not JSON: half a surrogate pair" },
	{ "{\"system\":\"\\ud800x\"}",
	    "body: not JSON: half a surrogate pair" },
	{ "{\"system\":\"\\ud800\\n\"}",
	    "body: not JSON: half a surrogate pair" },
	{ "{\"system\":\"\\ud800\\u0041\"}",
	    "body: not JSON: half a surrogate pair" },
	{ "{\"system\":\"\\ud800\\ud800\"}",
	    "body: not JSON: half a surrogate pair" },
	{ "{\"system\":\"\\udc00\\ud800\"}",
	    "body: not JSON: half a surrogate pair" },
	/* UTF-8 */
	{ "{\"system\":\"\x80\"}", "body: not UTF-8" },
	{ "{\"system\":\"\xbf\"}", "body: not UTF-8" },
	{ "{\"system\":\"\xc0\xaf\"}", "body: not UTF-8" },
	{ "{\"system\":\"\xc1\xbf\"}", "body: not UTF-8" },
	{ "{\"system\":\"\xe0\x9f\xbf\"}", "body: not UTF-8" },
	{ "{\"system\":\"\xf0\x8f\xbf\xbf\"}", "body: not UTF-8" },
	{ "{\"system\":\"\xed\xa0\x80\"}", "body: not UTF-8" },
	{ "{\"system\":\"\xf4\x90\x80\x80\"}", "body: not UTF-8" },
	{ "{\"system\":\"\xf5\x80\x80\x80\"}", "body: not UTF-8" },
	{ "{\"system\":\"\xff\"}", "body: not UTF-8" },
	{ "{\"system\":\"\xc3\"}", "body: not UTF-8" },
	{ "{\"system\":\"\xe2\x82\"}", "body: not UTF-8" },
	{ "{\"system\":\"\xc3\x28\"}", "body: not UTF-8" },
	{ "{\"sys\xc3\x28\":1}", "body: not UTF-8" },
	{ "{\"system\":\xc3\xa9}",
	    "body: not JSON: no value where one must be" },
};

START_TEST(test_refused)
{
	check(&strict, refused[_i].body, strlen(refused[_i].body),
	    refused[_i].why);
}
END_TEST

START_TEST(test_nul)
{
	static const char in_string[] = "{\"system\":\"a\0b\"}",
			  behind[] = "{" M "}\0";

	check(&strict, in_string, sizeof(in_string) - 1,
	    "body: not JSON: control byte in a string");
	check(&strict, behind, sizeof(behind) - 1,
	    "body: bytes after the object");
}
END_TEST

START_TEST(test_tools_allowed)
{
	static const char tools[] = "{" M ",\"tools\":[{\"name\":\"x\"}]}";

	check(&with_tools, tools, sizeof(tools) - 1, NULL);
	check(&strict, tools, sizeof(tools) - 1,
	    "body: tools where none are allowed");
}
END_TEST

/* A provider whose table has no "model" names it elsewhere. */
START_TEST(test_other_keys)
{
	static const char *const gemini[] = { "contents", NULL };
	static const struct body_rules rules = { gemini, "m", 1, NULL };

	check(&rules, "{\"contents\":[]}", 15, NULL);
	check(&rules, "{}", 2, NULL);
	check(&rules, "{\"model\":\"m\"}", 13,
	    "body: a top-level key that is not allowed");
}
END_TEST

START_TEST(test_long_key)
{
	char body[2 * LIM_BODY_KEY + 32];
	size_t n;

	for (n = LIM_BODY_KEY - 2; n < LIM_BODY_KEY + 3; n++) {
		(void)snprintf(body, sizeof(body), "{" M ",\"%.*s\":1}", (int)n,
		    "toolstoolstoolstoolstoolstoolstoolstoolstoolstoolstoolstoo"
		    "lstoolstools");
		check(&strict, body, strlen(body),
		    "body: a top-level key that is not allowed");
	}
}
END_TEST

/*
 * {"system":[[[...]]],"model":...}: `depth` levels in all, the object one of
 * them.
 */
static char *
nested(size_t depth, char open, char close, size_t *len)
{
	char *s = malloc(5 * depth + 128);
	size_t i, n;

	n = (size_t)sprintf(s, "{" M ",\"system\":");
	for (i = 1; i < depth; i++) {
		s[n++] = open;
		if (open == '{' && i + 1 < depth)
			n += (size_t)sprintf(s + n, "\"\":");
	}
	for (i = 1; i < depth; i++)
		s[n++] = close;
	s[n++] = '}';
	s[n] = '\0';
	*len = n;
	return (s);
}

START_TEST(test_depth)
{
	static const char brackets[] = "[]{}";
	size_t len, i;
	char *s;

	for (i = 0; i < 4; i += 2) {
		s = nested(LIM_BODY_DEPTH, brackets[i], brackets[i + 1], &len);
		check(&strict, s, len, NULL);
		free(s);
		s = nested(
		    LIM_BODY_DEPTH + 1, brackets[i], brackets[i + 1], &len);
		check(&strict, s, len, "body: nested too deeply");
		free(s);
	}
}
END_TEST

/* The stack remembers which bracket belongs where. */
START_TEST(test_mixed_depth)
{
	static const char good[] =
	    "{\"a\":[{\"b\":[[{\"c\":[{}]}]]}],\"d\":{\"e\":[[],[{}]]}}";
	char bad[sizeof(good)];
	size_t i;

	check(&json_only, good, sizeof(good) - 1, NULL);
	for (i = 1; i < sizeof(good) - 1; i++) {
		memcpy(bad, good, sizeof(good));
		if (bad[i] == ']')
			bad[i] = '}';
		else if (bad[i] == '}')
			bad[i] = ']';
		else
			continue;
		ck_assert_ptr_nonnull(verdict(
		    &json_only, bad, sizeof(good) - 1, sizeof(good), 1));
	}
}
END_TEST

START_TEST(test_large)
{
	const size_t size = 5 * 1024 * 1024;
	static const size_t steps[] = { 1, 7, 1000, 16384, 65536,
		5 * 1024 * 1024 };
	char *s = malloc(size + 64);
	size_t n, i;

	n = (size_t)sprintf(s, "{" M ",\"system\":\"");
	while (n < size)
		n += (size_t)sprintf(s + n,
		    "plain text \\n \\u20ac \xe2\x82\xac \\ud83d\\ude00 ");
	n += (size_t)sprintf(s + n, "\"}");
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		ck_assert_ptr_null(verdict(&strict, s, n, steps[i], steps[i]));
	s[n - 3] = '\x01';
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		ck_assert_str_eq(verdict(&strict, s, n, steps[i], steps[i]),
		    "body: not JSON: control byte in a string");
	free(s);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("body");
	TCase *tc = tcase_create("body");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(
	    tc, test_accepted, 0, sizeof(accepted) / sizeof(accepted[0]));
	tcase_add_loop_test(
	    tc, test_refused, 0, sizeof(refused) / sizeof(refused[0]));
	tcase_add_test(tc, test_nul);
	tcase_add_test(tc, test_tools_allowed);
	tcase_add_test(tc, test_other_keys);
	tcase_add_test(tc, test_long_key);
	tcase_add_test(tc, test_depth);
	tcase_add_test(tc, test_mixed_depth);
	tcase_add_test(tc, test_large);
	suite_add_tcase(s, tc);
	return (suite_run(s));
}
