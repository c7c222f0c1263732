/* SPDX-License-Identifier: ISC */
/* The parameter table: each parameter honoured, noted or refused by name. */
#include <check.h>
#include <event2/buffer.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/provider/provider.h"
#include "tests/unit/suite.h"
#include "worker-http/ir.h"
#include "worker-http/json.h"
#include "worker-http/params.h"

static struct ir_bad bad;

/* A whole request with these members besides model and messages. */
static struct ir *
take(const char *members)
{
	static char body[8192];

	(void)snprintf(body, sizeof(body),
	    "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":"
	    "\"x\"}]%s%s}",
	    members[0] != '\0' ? "," : "", members);
	return (ir_from_chat(body, strlen(body), &bad));
}

START_TEST(honoured)
{
	struct ir *ir = take("\"temperature\":0.5,\"top_p\":1,\"max_tokens\":"
			     "10,\"max_completion_tokens\":10,"
			     "\"stop\":[\"a\",\"b\"],\"stream\":true,\"stream_"
			     "options\":{\"include_usage\":true}");

	ck_assert_ptr_nonnull(ir);
	ck_assert(ir->has_temperature && ir->temperature == 0.5);
	ck_assert(ir->has_top_p && ir->top_p == 1);
	ck_assert_int_eq(ir->max_tokens, 10);
	ck_assert_uint_eq(ir->nstop, 2);
	ck_assert_str_eq(ir->stop[1], "b");
	ck_assert(ir->stream && ir->include_usage);
	ck_assert_ptr_null(ir->ignored);
	ir_free(ir);
}
END_TEST

/* Taken without a word: they change nothing. */
START_TEST(harmless)
{
	static const char *const t[] = { "", "\"n\":1", "\"tools\":[]",
		"\"tools\":null", "\"tool_choice\":\"auto\"",
		"\"tool_choice\":\"none\"", "\"functions\":[]",
		"\"function_call\":\"auto\"",
		"\"response_format\":{\"type\":\"text\"}",
		"\"modalities\":[\"text\"]", "\"logprobs\":false",
		"\"top_logprobs\":0", "\"frequency_penalty\":0",
		"\"presence_penalty\":0.0", "\"logit_bias\":{}",
		"\"store\":false", "\"metadata\":{}",
		"\"service_tier\":\"auto\"", "\"audio\":null", "\"stop\":null",
		"\"stop\":[]", "\"temperature\":null", "\"stream\":false",
		"\"stream_options\":null" };
	struct ir *ir;
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		ir = take(t[i]);
		ck_assert_msg(ir != NULL, "%s: %s", t[i], bad.text);
		ck_assert_msg(ir->ignored == NULL, "%s: %s", t[i], ir->ignored);
		ir_free(ir);
	}
}
END_TEST

START_TEST(noted)
{
	static const char *const t[][2] = {
		{ "\"frequency_penalty\":-2", "frequency_penalty" },
		{ "\"presence_penalty\":1.5", "presence_penalty" },
		{ "\"seed\":-5,\"user\":\"u\"", "seed, user" },
		{ "\"logit_bias\":{\"1\":2}", "logit_bias" },
		{ "\"parallel_tool_calls\":true", "parallel_tool_calls" },
		{ "\"reasoning_effort\":\"high\"", "reasoning_effort" },
		{ "\"verbosity\":\"low\"", "verbosity" },
		{ "\"service_tier\":\"flex\"", "service_tier" },
		{ "\"store\":true,\"metadata\":{\"a\":\"b\"}",
		    "store, metadata" },
		{ "\"prediction\":{\"type\":\"content\"}", "prediction" },
		{ "\"prompt_cache_key\":\"x\",\"safety_identifier\":\"y\","
		  "\"prompt_cache_retention\":\"24h\"",
		    "safety_identifier, prompt_cache_key, "
		    "prompt_cache_retention" },
		{ "\"top_k\":40,\"min_p\":0.1,\"repetition_penalty\":1.1",
		    "repetition_penalty, min_p, top_k" },
		{ "\"stream\":true,\"stream_options\":{\"include_obfuscation\":"
		  "false}",
		    "stream_options.include_obfuscation" },
	};
	struct ir *ir;
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		ir = take(t[i][0]);
		ck_assert_msg(ir != NULL, "%s: %s", t[i][0], bad.text);
		ck_assert_msg(
		    ir->ignored != NULL && strcmp(ir->ignored, t[i][1]) == 0,
		    "%s: %s", t[i][0], ir->ignored);
		ir_free(ir);
	}
}
END_TEST

START_TEST(refused)
{
	static const char *const t[][2] = {
		{ "\"n\":2", "n" },
		{ "\"tools\":[{}]", "tools" },
		{ "\"tool_choice\":\"required\"", "tool_choice" },
		{ "\"tool_choice\":{\"type\":\"function\",\"function\":{"
		  "\"name\":\"f\"}}",
		    "tool_choice" },
		{ "\"tool_choice\":{\"type\":\"allowed_tools\",\"mode\":"
		  "\"required\"}",
		    "tool_choice" },
		{ "\"functions\":[{}]", "functions" },
		{ "\"function_call\":{\"name\":\"f\"}", "function_call" },
		{ "\"response_format\":{\"type\":\"json_object\"}",
		    "response_format" },
		{ "\"response_format\":{\"type\":\"json_schema\",\"json_"
		  "schema\":{}}",
		    "response_format" },
		{ "\"modalities\":[\"text\",\"audio\"]", "modalities" },
		{ "\"audio\":{}", "audio" },
		{ "\"web_search_options\":{}", "web_search_options" },
		{ "\"logprobs\":true", "logprobs" },
		{ "\"top_logprobs\":3", "top_logprobs" },
		{ "\"no_such_thing\":1", "no_such_thing" },
	};
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		ck_assert_msg(take(t[i][0]) == NULL, "%s", t[i][0]);
		ck_assert_msg(
		    bad.err == ERR_UNSUPPORTED, "%s: %s", t[i][0], bad.text);
		ck_assert_str_eq(bad.param, t[i][1]);
	}
}
END_TEST

/* Case C005: every numeric field with what breaks who uses it. */
START_TEST(numbers)
{
	static const char *const fields[] = { "temperature", "top_p",
		"max_tokens", "max_completion_tokens", "n", "frequency_penalty",
		"presence_penalty", "top_logprobs", "seed", "min_p",
		"repetition_penalty", "top_k" };
	static const char *const values[] = { "1e999", "-1e999", "-0", "-0.0",
		("1111111111111111111111111111111111111111111111111111111111111"
		 "1"
		 "11111111111"),
		"\"1\"", "true", "[]", "{}" };
	char members[256], digits[512];
	size_t i, k;

	memset(digits, '7', 400);
	digits[400] = '\0';
	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		for (k = 0; k < sizeof(values) / sizeof(values[0]); k++) {
			(void)snprintf(members, sizeof(members), "\"%s\":%s",
			    fields[i], values[k]);
			ck_assert_msg(take(members) == NULL, "%s", members);
			ck_assert_msg(strcmp(bad.param, fields[i]) == 0,
			    "%s: %s", members, bad.param);
			ck_assert_int_eq(bad.err, ERR_BAD_REQUEST);
		}
		char *big;

		ck_assert_int_gt(
		    asprintf(&big, "\"%s\":%s", fields[i], digits), 0);
		ck_assert_ptr_null(take(big));
		ck_assert_str_eq(bad.param, fields[i]);
		free(big);
	}
}
END_TEST

START_TEST(ranges)
{
	static const char *const t[][2] = {
		{ "\"temperature\":2.1", "temperature" },
		{ "\"temperature\":-0.1", "temperature" },
		{ "\"top_p\":1.01", "top_p" },
		{ "\"max_tokens\":0", "max_tokens" },
		{ "\"max_tokens\":-1", "max_tokens" },
		{ "\"max_tokens\":1.5", "max_tokens" },
		{ "\"max_tokens\":1e308", "max_tokens" },
		{ "\"max_tokens\":10000001", "max_tokens" },
		{ "\"max_tokens\":1,\"max_completion_tokens\":2",
		    "max_tokens" },
		{ "\"n\":0", "n" },
		{ "\"n\":-1", "n" },
		{ "\"presence_penalty\":3", "presence_penalty" },
		{ "\"stop\":[\"a\",\"b\",\"c\",\"d\",\"e\"]", "stop" },
		{ "\"stop\":[\"\"]", "stop" },
		{ "\"stop\":\"\"", "stop" },
		{ "\"stop\":[1]", "stop" },
		{ "\"stop\":{}", "stop" },
		{ "\"stop\":\"a\\u0000b\"", "stop" },
		{ "\"stream\":1", "stream" },
		{ "\"stream\":\"true\"", "stream" },
		{ "\"stream_options\":{}",
		    "stream_options" }, /* without stream */
		{ "\"stream\":true,\"stream_options\":1", "stream_options" },
		{ "\"stream\":true,\"stream_options\":{\"include_usage\":1}",
		    "stream_options.include_usage" },
		{ "\"user\":1", "user" },
		{ "\"metadata\":[]", "metadata" },
		{ "\"tools\":{}", "tools" },
		{ "\"tool_choice\":1", "tool_choice" },
		{ "\"response_format\":\"text\"", "response_format" },
	};
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		ck_assert_msg(take(t[i][0]) == NULL, "%s", t[i][0]);
		ck_assert_msg(
		    bad.err == ERR_BAD_REQUEST, "%s: %s", t[i][0], bad.text);
		ck_assert_msg(strcmp(bad.param, t[i][1]) == 0, "%s: %s",
		    t[i][0], bad.param);
	}
}
END_TEST

START_TEST(fit)
{
	struct provider_render none = { .name = "x" },
			       all = { .name = "y",
				       .temperature = 1,
				       .top_p = 1,
				       .max_tokens = 1,
				       .stop = 1 };
	struct ir *ir =
	    take("\"temperature\":0.5,\"top_p\":1,\"max_tokens\":10");

	ck_assert_int_eq(params_fit(ir, &all, &bad), 0);
	ck_assert_ptr_null(ir->ignored);
	ck_assert_int_eq(params_fit(ir, &none, &bad), 0);
	ck_assert_str_eq(ir->ignored, "temperature, top_p, max_tokens");
	ck_assert(
	    !ir->has_temperature && !ir->has_top_p && ir->max_tokens == 0);
	ir_free(ir);
	ir = take("\"stop\":\"x\"");
	ck_assert_int_eq(params_fit(ir, &all, &bad), 0);
	ck_assert_int_eq(params_fit(ir, &none, &bad), -1);
	ck_assert_str_eq(bad.param, "stop");
	ir_free(ir);
	ck_assert_str_eq(
	    params_named("temperature must be from 0 to 1"), "temperature");
	ck_assert_str_eq(params_named("the last message is empty"), "messages");
}
END_TEST

/* What /v1/olp/parameters shows is JSON and has every row. */
START_TEST(shown)
{
	struct evbuffer *b = evbuffer_new();
	json_t *root, *list;

	json_put(b, "{");
	params_put(b);
	json_put(b, "}");
	root = json_loadb(
	    (char *)evbuffer_pullup(b, -1), evbuffer_get_length(b), 0, NULL);
	ck_assert_ptr_nonnull(root);
	list = json_object_get(root, "parameters");
	ck_assert_uint_ge(json_array_size(list), 38);
	ck_assert_str_eq(
	    json_string_value(json_object_get(json_array_get(list, 0), "name")),
	    "model");
	json_decref(root);
	evbuffer_free(b);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("params");
	TCase *t = tcase_create("all");

	tcase_add_test(t, honoured);
	tcase_add_test(t, harmless);
	tcase_add_test(t, noted);
	tcase_add_test(t, refused);
	tcase_add_test(t, numbers);
	tcase_add_test(t, ranges);
	tcase_add_test(t, fit);
	tcase_add_test(t, shown);
	suite_add_tcase(s, t);
	return (suite_run(s));
}
