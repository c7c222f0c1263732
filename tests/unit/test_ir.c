/* SPDX-License-Identifier: ISC */
/* Chat requests to the internal form: what arrives, what is refused and how it
 * is named. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/suite.h"
#include "worker-http/ir.h"

#define MODEL "\"model\":\"m\","
#define USER "{\"role\":\"user\",\"content\":\"hi\"}"

static struct ir_bad bad;

static struct ir *
take(const char *body)
{
	return (ir_from_chat(body, strlen(body), &bad));
}

static struct ir *
take_messages(const char *messages)
{
	static char body[65536];

	(void)snprintf(
	    body, sizeof(body), "{" MODEL "\"messages\":[%s]}", messages);
	return (take(body));
}

static const struct ir_message *
nth(const struct ir *ir, size_t n)
{
	const struct ir_message *m;

	TAILQ_FOREACH(m, &ir->messages, entry)
		if (n-- == 0)
			return (m);
	return (NULL);
}

START_TEST(conversation)
{
	struct ir *ir =
	    take_messages("{\"role\":\"developer\",\"content\":\"be brief\"},"
			  "{\"role\":\"system\",\"content\":[{\"type\":"
			  "\"text\",\"text\":\"be kind\"}]},"
			  "{\"role\":\"user\",\"content\":\"a\\u0000b\"},"
			  "{\"role\":\"assistant\",\"content\":\"c\","
			  "\"refusal\":null,\"annotations\":[]},"
			  "{\"role\":\"user\",\"content\":[{\"type\":\"text\","
			  "\"text\":\"d\"},{\"type\":\"text\",\"text\":\"\"},{"
			  "\"type\":\"text\",\"text\":\"e\\ud83d\\ude00\"}]}");

	ck_assert_ptr_nonnull(ir);
	ck_assert_str_eq(ir->model, "m");
	ck_assert_str_eq(ir->system, "be brief\n\nbe kind");
	ck_assert_uint_eq(ir->system_len, strlen(ir->system));
	ck_assert_uint_eq(ir->nmessages, 3);
	ck_assert_uint_eq(nth(ir, 0)->len, 3);
	ck_assert_mem_eq(nth(ir, 0)->text, "a\0b", 4);
	ck_assert_int_eq(nth(ir, 1)->role, IR_ASSISTANT);
	ck_assert_str_eq(nth(ir, 2)->text, "d\ne\xf0\x9f\x98\x80");
	ck_assert_ptr_null(ir->ignored);
	ir_free(ir);
}
END_TEST

/* Empty turns of history are left out (case C014). */
START_TEST(empty_turns)
{
	struct ir *ir = take_messages(
	    "{\"role\":\"user\",\"content\":\"a\"},"
	    "{\"role\":\"assistant\",\"content\":null},"
	    "{\"role\":\"assistant\",\"content\":\"\"},"
	    "{\"role\":\"user\",\"content\":\"\"},"
	    "{\"role\":\"user\",\"content\":\"b\"},"
	    "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[]}");

	ck_assert_ptr_nonnull(ir);
	ck_assert_uint_eq(ir->nmessages, 2);
	ck_assert_str_eq(nth(ir, 1)->text, "b");
	ir_free(ir);
	ir = take_messages("{\"role\":\"assistant\",\"content\":null,"
			   "\"refusal\":\"no\"}," USER);
	ck_assert_str_eq(nth(ir, 0)->text, "no");
	ir_free(ir);
}
END_TEST

START_TEST(noted)
{
	struct ir *ir = take_messages(
	    "{\"role\":\"user\",\"content\":\"a\",\"name\":\"bob\",\"x\":1},"
	    "{\"role\":\"user\",\"content\":\"a\",\"name\":\"bob\",\"y\":1}");

	ck_assert_str_eq(ir->ignored, "messages[].name, messages[].(unknown)");
	ir_free(ir);
}
END_TEST

START_TEST(refused)
{
	static const struct {
		const char *messages, *param;
		enum olp_err err;
	} t[] = {
		{ "", "messages", ERR_BAD_REQUEST },
		{ "1", "messages[0]", ERR_BAD_REQUEST },
		{ USER ",{}", "messages[1].role", ERR_BAD_REQUEST },
		{ "{\"role\":\"user\"}", "messages[0].content",
		    ERR_BAD_REQUEST },
		{ "{\"role\":\"user\",\"content\":null}", "messages[0].content",
		    ERR_BAD_REQUEST },
		{ "{\"role\":\"user\",\"content\":{}}", "messages[0].content",
		    ERR_BAD_REQUEST },
		{ "{\"role\":\"user\",\"content\":\"\"}", "messages",
		    ERR_BAD_REQUEST },
		{ "{\"role\":\"system\",\"content\":\"x\"}", "messages",
		    ERR_BAD_REQUEST },
		{ "{\"role\":\"boss\",\"content\":\"x\"}", "messages[0].role",
		    ERR_BAD_REQUEST },
		{ "{\"role\":\"tool\",\"content\":\"x\"}", "messages[0].role",
		    ERR_UNSUPPORTED },
		{ USER ",{\"role\":\"assistant\",\"content\":\"x\"}",
		    "messages", ERR_BAD_REQUEST },
		{ "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{}]"
		  "}," USER,
		    "messages[0].tool_calls", ERR_UNSUPPORTED },
		{ "{\"role\":\"user\",\"content\":[1]}",
		    "messages[0].content[0]", ERR_BAD_REQUEST },
		{ "{\"role\":\"user\",\"content\":[{}]}",
		    "messages[0].content[0].type", ERR_BAD_REQUEST },
		{ "{\"role\":\"user\",\"content\":[{\"type\":\"text\"}]}",
		    "messages[0].content[0].text", ERR_BAD_REQUEST },
		{ "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
		  "\"a\"},{\"type\":\"image_url\",\"image_url\":{}}]}",
		    "messages[0].content[1].image_url", ERR_UNSUPPORTED },
		{ "{\"role\":\"user\",\"content\":[{\"type\":\"what\"}]}",
		    "messages[0].content[0].type", ERR_BAD_REQUEST },
	};
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		ck_assert_ptr_null(take_messages(t[i].messages));
		ck_assert_msg(strcmp(bad.param, t[i].param) == 0, "%s: %s",
		    t[i].messages, bad.param);
		ck_assert_int_eq(bad.err, t[i].err);
		ck_assert_str_ne(bad.text, "");
	}
}
END_TEST

START_TEST(not_json)
{
	static const struct {
		const char *body;
		enum olp_err err;
	} t[] = {
		{ "", ERR_BAD_REQUEST },
		{ "[]", ERR_BAD_REQUEST },
		{ "nul", ERR_BAD_JSON },
		{ "{\"a\":1,\"a\":2}", ERR_BAD_JSON },
		{ "{\"a\":1}{}", ERR_BAD_JSON },
		{ "{\"a\":\"\xff\"}", ERR_BAD_JSON },
		{ "{\"a\":\"\\ud800\"}", ERR_BAD_JSON },
		{ "{\"a\\u0000\":1}", ERR_BAD_JSON },
		{ "{'a':1}", ERR_BAD_JSON },
		{ "{\"messages\":[" USER "]}", ERR_BAD_REQUEST }, /* no model */
		{ "{\"model\":\"\",\"messages\":[" USER "]}", ERR_BAD_REQUEST },
		{ "{\"model\":\"a\\u0000b\",\"messages\":[" USER "]}",
		    ERR_BAD_REQUEST },
		{ "{\"model\":1,\"messages\":[" USER "]}", ERR_BAD_REQUEST },
		{ "{\"model\":\"m\",\"messages\":{}}", ERR_BAD_REQUEST },
		{ "{\"model\":\"m\",\"messages\":\"hi\"}", ERR_BAD_REQUEST },
		{ "{\"model\":\"m\",\"messages\":null}", ERR_BAD_REQUEST },
	};
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		ck_assert_ptr_null(take(t[i].body));
		ck_assert_msg(
		    bad.err == t[i].err, "%s: %s", t[i].body, bad.text);
	}
	/* No words of the body come back. */
	ck_assert_ptr_null(take("{\"a\":secret}"));
	ck_assert_ptr_null(strstr(bad.text, "secret"));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("ir");
	TCase *t = tcase_create("all");

	tcase_add_test(t, conversation);
	tcase_add_test(t, empty_turns);
	tcase_add_test(t, noted);
	tcase_add_test(t, refused);
	tcase_add_test(t, not_json);
	suite_add_tcase(s, t);
	return (suite_run(s));
}
