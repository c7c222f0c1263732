/* SPDX-License-Identifier: ISC */
/* JSON out, and the look before JSON is parsed; the account of held bytes. */
#include <check.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

#include "common/limits.h"
#include "tests/unit/suite.h"
#include "worker-http/hold.h"
#include "worker-http/json.h"

static const char *
text_of(struct evbuffer *b)
{
	(void)evbuffer_add(b, "", 1);
	return ((const char *)evbuffer_pullup(b, -1));
}

START_TEST(strings)
{
	static const struct {
		const char *in;
		size_t len;
		const char *out;
	} t[] = {
		{ "", 0, "\"\"" },
		{ "a\"b\\c/", 6, "\"a\\\"b\\\\c/\"" },
		{ "\n\r\t\b\0\x1f", 6, "\"\\n\\r\\t\\u0008\\u0000\\u001f\"" },
		{ "\x7f", 1, "\"\x7f\"" },
		{ "\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80", 9,
		    "\"\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80\"" },
		{ "\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xa7", 9,
		    "\"\\u2028\\u2029\xe2\x80\xa7\"" },
		{ "\xff", 1, "\"\xef\xbf\xbd\"" },
		{ "\xc3", 1, "\"\xef\xbf\xbd\"" },
		{ "\xe6\x97", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xc0\x80", 2,
		    "\"\xef\xbf\xbd\xef\xbf\xbd\"" }, /* overlong */
		{ "\xed\xa0\x80", 3,
		    "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" }, /* surrogate
								   */
		{ "\xf4\x90\x80\x80", 4,
		    "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "a\xe6z", 3, "\"a\xef\xbf\xbdz\"" },
	};
	struct evbuffer *b;
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		b = evbuffer_new();
		json_put_string(b, t[i].in, t[i].len);
		ck_assert_str_eq(text_of(b), t[i].out);
		evbuffer_free(b);
	}
}
END_TEST

START_TEST(members)
{
	struct evbuffer *b = evbuffer_new();

	json_put(b, "{");
	json_put_member(b, "a", "x");
	json_put_member(b, "b", NULL);
	json_put(b, ",\"c\":{");
	json_put_member(b, "d", "y");
	json_put(b, "}}");
	ck_assert_str_eq(
	    text_of(b), "{\"a\":\"x\",\"b\":null,\"c\":{\"d\":\"y\"}}");
	evbuffer_free(b);
}
END_TEST

START_TEST(looks)
{
	static const struct {
		const char *in, *key, *why; /* why NULL: nothing odd */
	} t[] = {
		{ "{\"a\":1,\"b\":-1,\"c\":1.5e3,\"d\":0,\"e\":-0.5,\"f\":0.0}",
		    NULL, NULL },
		{ "{\"s\":\"-0 1e999 \\\" -0\"}", NULL, NULL },
		{ "{\"max_tokens\":1e999}", "max_tokens",
		    "is a number out of range" },
		{ "{\"x\":1,\"max_tokens\":-1e999}", "max_tokens",
		    "is a number out of range" },
		{ "{\"n\":12345678901234567890}", "n",
		    "is a number out of range" },
		{ "{\"n\":-0}", "n", "is a negative zero" },
		{ "{\"t\" : -0.000 }", "t", "is a negative zero" },
		{ "{\"t\":-0e5}", "t", "is a negative zero" },
		{ "{\"o\":{\"deep\":[1,-0]}}", "o", "is a negative zero" },
		{ "{\"a\":[],\"b\":-0}", "b", "is a negative zero" },
		{ "-0", "", "is a negative zero" },
		{ "", NULL, NULL },
		{ "{\"unended", NULL, NULL },
		{ "{\"a\\", NULL, NULL },
		{ "-", NULL, NULL },
		{ "}}]]{\"a\":1", NULL, NULL },
	};
	struct json_odd odd;
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		ck_assert_msg(json_look(t[i].in, strlen(t[i].in), &odd) ==
			(t[i].why == NULL ? 0 : -1),
		    "%s", t[i].in);
		if (t[i].why == NULL)
			continue;
		ck_assert_str_eq(odd.why, t[i].why);
		ck_assert_str_eq(odd.key, t[i].key);
	}
}
END_TEST

START_TEST(look_bounds)
{
	size_t n = 2 * (LIM_IR_VALUES + 10), i;
	char *s = malloc(n);
	struct json_odd odd;

	memset(s, '[', n);
	ck_assert_int_eq(json_look(s, LIM_IR_DEPTH, &odd), 0);
	ck_assert_int_eq(json_look(s, LIM_IR_DEPTH + 1, &odd), -1);
	ck_assert_str_eq(odd.why, "is nested too deeply");
	s[0] = '[';
	for (i = 1; i < n; i++)
		s[i] = i & 1 ? '1' : ',';
	ck_assert_int_eq(json_look(s, 2 * LIM_IR_VALUES, &odd), 0);
	ck_assert_int_eq(json_look(s, n, &odd), -1);
	ck_assert_str_eq(odd.why, "has too many values");
	/* A number of very many digits. */
	memset(s, '1', 1000);
	ck_assert_int_eq(json_look(s, 1000, &odd), -1);
	ck_assert_str_eq(odd.why, "is a number of too many digits");
	free(s);
}
END_TEST

START_TEST(held)
{
	struct hold a = { NULL, 0 }, b = { NULL, 0 }, c = { NULL, 0 };

	hold_body_max(1024);
	ck_assert_int_eq(hold_add(&a, "alice", LIM_HTTPD_HELD_KEY - 10), 0);
	ck_assert_int_eq(hold_add(&b, "alice", 11), -1);
	ck_assert_int_eq(hold_add(&b, "alice", 10), 0);
	ck_assert_int_eq(hold_add(&c, "bob", 1000), 0);
	hold_sub(&a, 5);
	ck_assert_int_eq(hold_add(&b, "alice", 6), -1);
	ck_assert_int_eq(hold_add(&b, "alice", 5), 0);
	ck_assert_uint_eq(hold_total(), LIM_HTTPD_HELD_KEY + 1000);
	hold_move(&c, &a);
	hold_release(&c);
	hold_release(&b);
	hold_release(&b);
	ck_assert_uint_eq(hold_total(), 0);
	/* All keys together. */
	ck_assert_int_eq(hold_add(&a, "a", LIM_HTTPD_HELD_KEY), 0);
	ck_assert_int_eq(hold_add(&b, "b", LIM_HTTPD_HELD_KEY), 0);
	ck_assert_int_eq(
	    hold_add(&c, "c", LIM_HTTPD_HELD - 2 * LIM_HTTPD_HELD_KEY + 1), -1);
	/* One body always fits. */
	hold_body_max((uint64_t)2 * LIM_HTTPD_HELD);
	ck_assert_int_eq(hold_add(&c, "c", LIM_HTTPD_HELD), 0);
	hold_release(&a);
	hold_release(&b);
	hold_release(&c);
	ck_assert_uint_eq(hold_total(), 0);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("httpd_json");
	TCase *t = tcase_create("all");

	tcase_add_test(t, strings);
	tcase_add_test(t, members);
	tcase_add_test(t, looks);
	tcase_add_test(t, look_bounds);
	tcase_add_test(t, held);
	suite_add_tcase(s, t);
	return (suite_run(s));
}
