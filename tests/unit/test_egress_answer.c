/* SPDX-License-Identifier: ISC */
/* What olpd-egress reads out of a provider's answer. */
#include "worker-http/egress/answer.h"

#include <check.h>
#include <event2/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/http/http.h"
#include "common/limits.h"
#include "tests/unit/suite.h"

static struct evbuffer *in;
static struct http_parser *parser;

static const struct http_head *
head(const char *fields)
{
	const struct http_head *h;

	in = evbuffer_new();
	parser = http_parser_new(HTTP_RESPONSE, 1 << 20);
	evbuffer_add_printf(in, "HTTP/1.1 429 X\r\n%s\r\n", fields);
	ck_assert_int_eq(http_read_head(parser, in, &h), HTTP_OK);
	return (h);
}

static void
done(void)
{
	http_parser_free(parser);
	evbuffer_free(in);
}

static const struct {
	const char *value;
	uint32_t s;
} retries[] = {
	{ "1", 1 },
	{ "0", 0 },
	{ "60", 60 },
	{ "604800", 604800 },
	{ "604801", LIM_OUT_RETRY_S },
	{ "99999999999999999999999", LIM_OUT_RETRY_S },
	{ "", 0 },
	{ "-1", 0 },
	{ "1.5", 0 },
	{ "soon", 0 },
	{ "1 ", 1 },
	{ "Fri, 31 Dec 1999 23:59:59 GMT", 0 },
	{ "Sat, 01 Jan 2000 00:00:00 GMT", 0 },
	{ "Sat, 01 Jan 2000 00:00:07 GMT", 7 },
	{ "Mon, 28 Feb 2000 00:00:00 GMT", LIM_OUT_RETRY_S },
	{ "Sat, 01 Jan 2000 00:01:00 CET", 0 },
	{ "Sat, 01 Jan 2000 00:01:00 GMTx", 0 },
	{ "Sat, 41 Jan 2000 00:01:00 GMT", 0 },
	{ "Sat, 01 anF 2000 00:01:00 GMT", 0 },
	{ "Saturday, 01-Jan-00 00:01:00 GMT", 0 },
};

START_TEST(test_retry)
{
	char field[256];

	(void)snprintf(
	    field, sizeof(field), "Retry-After: %s\r\n", retries[_i].value);
	/* 2000-01-01 */
	ck_assert_uint_eq(
	    answer_retry_s(head(field), 946684800), retries[_i].s);
	done();
}
END_TEST

static const struct {
	const char *value;
	uint64_t at;
} moments[] = {
	{ "946684800", 946684800 },
	{ "2000-01-01T00:00:00Z", 946684800 },
	{ "2000-01-01T00:00:00.123456Z", 946684800 },
	{ "2000-01-01T01:30:00+01:30", 946684800 },
	{ "1999-12-31T19:00:00-05:00", 946684800 },
	{ "2000-02-29T00:00:00Z", 951782400 },
	{ "2000-03-01T00:00:00Z", 951868800 },
	{ "2100-02-28T23:59:59Z", 4107542399 },
	{ "2100-03-01T00:00:00Z", 4107542400 },
	{ "2024-12-31T23:59:59Z", 1735689599 },
	{ "1970-01-01T00:00:01Z", 1 },
	{ "1969-12-31T23:59:59Z", 0 },
	{ "2000-13-01T00:00:00Z", 0 },
	{ "2000-01-01T25:00:00Z", 0 },
	{ "2000-01-01 00:00:00Z", 0 },
	{ "2000-01-01T00:00:00", 0 },
	{ "2000-01-01T00:00:00Zx", 0 },
	{ "2000-01-01", 0 },
	{ "-5", 0 },
	{ "", 0 },
	{ "123456789012345", 0 },
};

START_TEST(test_reset)
{
	static const char *const fields[] = { "x-*", NULL };
	static const struct provider_wire wire = { .window_fields = fields };
	char field[256];

	(void)snprintf(
	    field, sizeof(field), "x-a-reset: %s\r\n", moments[_i].value);
	ck_assert_uint_eq(answer_reset_at(head(field), &wire), moments[_i].at);
	done();
}
END_TEST

START_TEST(test_which_reset)
{
	static const char *const fields[] = { "x-main-reset", "x-*", NULL };
	static const struct provider_wire wire = { .window_fields = fields };

	/*
	 * The table's order decides, then the latest of those one pattern
	 * matches.
	 */
	ck_assert_uint_eq(
	    answer_reset_at(
		head("x-b-reset: 30\r\nx-main-reset: 10\r\nx-c-reset: 20\r\n"),
		&wire),
	    10);
	done();
	ck_assert_uint_eq(
	    answer_reset_at(head("x-b-reset: 30\r\nx-c-reset: 20\r\n"), &wire),
	    30);
	done();
	ck_assert_uint_eq(
	    answer_reset_at(head("y-reset: 30\r\nx-limit: 20\r\n"), &wire), 0);
	done();
}
END_TEST

START_TEST(test_window)
{
	static const char *const fields[] = { "x-*", NULL };
	static const struct provider_wire wire = { .window_fields = fields };
	char buf[LIM_TEXT], small[12];

	answer_window(
	    head("X-A: 1\r\ny: 2\r\nx-b: 3 4\r\nx-c: 5;6\r\nx-d: \xc3\xa9\r\n"),
	    &wire, buf, sizeof(buf));
	ck_assert_str_eq(buf, "x-a=1;x-b=3 4");
	done();
	answer_window(head("x-a: 1\r\nx-b: 3456\r\nx-c: 7\r\n"), &wire, small,
	    sizeof(small));
	ck_assert_str_eq(small, "x-a=1");
	done();
	answer_window(head("y: 2\r\n"), &wire, buf, sizeof(buf));
	ck_assert_str_eq(buf, "");
	done();
}
END_TEST

/*
 * What the tap gives to usage(): lengths and kinds of lines are its business,
 * not their meaning.
 */
static char seen[512];

static void
note(const char *json, size_t len, struct wire_usage *u)
{
	(void)snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen),
	    "<%.*s>", (int)len, json);
	u->in_tokens++;
}

static const struct provider_wire noting = { .usage = note };

START_TEST(test_tap_stream)
{
	static const char text[] =
	    "event: a\r\ndata: one\r\n\r\n:data: no\ndata:two\ndata:  "
	    "three\ndatax: no\ndata\ndata:\nid: 5\ndata: end";
	struct tap *t;
	size_t cut, n = sizeof(text) - 1;

	for (cut = 0; cut <= n; cut++) {
		seen[0] = '\0';
		t = tap_new(&noting,
		    head("Content-Type: text/event-stream; charset=utf-8\r\n"));
		ck_assert(tap_is_stream(t));
		tap_feed(t, text, cut);
		tap_feed(t, text + cut, n - cut);
		tap_end(t);
		ck_assert_str_eq(seen, "<one><two>< three><><end>");
		ck_assert_uint_eq(tap_usage(t)->in_tokens, 5);
		tap_free(t);
		done();
	}
}
END_TEST

START_TEST(test_tap_long_line)
{
	static char line[LIM_OUT_USAGE_LINE + 16];
	struct tap *t =
	    tap_new(&noting, head("Content-Type: text/event-stream\r\n"));

	seen[0] = '\0';
	memset(line, 'x', sizeof(line));
	tap_feed(t, "data: ", 6);
	tap_feed(t, line, sizeof(line));
	tap_feed(t, "\ndata: after\n", 13);
	ck_assert_str_eq(seen, "<after>");
	tap_free(t);
	done();
}
END_TEST

START_TEST(test_tap_json)
{
	static char large[LIM_OUT_USAGE_JSON];
	struct tap *t =
	    tap_new(&noting, head("Content-Type: application/json\r\n"));

	seen[0] = '\0';
	ck_assert(!tap_is_stream(t));
	tap_feed(t, "{\"a\":", 5);
	tap_feed(t, "\n1}", 3);
	ck_assert_str_eq(seen, "");
	tap_end(t);
	ck_assert_str_eq(seen, "<{\"a\":\n1}>");
	tap_free(t);
	done();
	/* Larger than is kept, and of another kind: not read. */
	seen[0] = '\0';
	t = tap_new(&noting, head("Content-Type: application/json\r\n"));
	tap_feed(t, "{", 1);
	tap_feed(t, large, sizeof(large));
	tap_feed(t, "}", 1);
	tap_end(t);
	ck_assert_str_eq(seen, "");
	tap_free(t);
	done();
	t = tap_new(&noting, head("Content-Type: text/html\r\n"));
	tap_feed(t, "{}", 2);
	tap_end(t);
	ck_assert_str_eq(seen, "");
	tap_free(t);
	done();
}
END_TEST

#define N(a) ((int)(sizeof(a) / sizeof((a)[0])))

int
main(void)
{
	Suite *s = suite_create("egress_answer");
	TCase *tc = tcase_create("answer");

	tcase_add_loop_test(tc, test_retry, 0, N(retries));
	tcase_add_loop_test(tc, test_reset, 0, N(moments));
	tcase_add_test(tc, test_which_reset);
	tcase_add_test(tc, test_window);
	tcase_add_test(tc, test_tap_stream);
	tcase_add_test(tc, test_tap_long_line);
	tcase_add_test(tc, test_tap_json);
	suite_add_tcase(s, tc);
	return (suite_run(s));
}
