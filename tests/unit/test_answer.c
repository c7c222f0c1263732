/* SPDX-License-Identifier: ISC */
/* Statuses, error bodies and heads. */
#include <check.h>
#include <event2/buffer.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/provider/provider.h"
#include "tests/unit/suite.h"
#include "worker-http/answer.h"

static const char *
text_of(struct evbuffer *b)
{
	(void)evbuffer_add(b, "", 1);
	return ((const char *)evbuffer_pullup(b, -1));
}

/* Every way to fail has its status; nothing falls to 500 by being forgotten. */
START_TEST(statuses)
{
	int e, status;

	for (e = 0; e < ERR_MAX; e++) {
		status = answer_status((enum olp_err)e);
		ck_assert_msg(
		    status != 500 || e == ERR_INTERNAL || e == ERR_BAD_FDS,
		    "%s", err_name((enum olp_err)e));
	}
	ck_assert_int_eq(answer_status(ERR_MAX), 500);
	ck_assert_int_eq(answer_status(ERR_SANDBOX), 503);
	ck_assert_int_eq(answer_status(ERR_FIRST_BYTE), 504);
	ck_assert_int_eq(answer_status(ERR_CALLER_GONE), 499);
}
END_TEST

START_TEST(upstream)
{
	static const struct {
		uint32_t status;
		int ours;
	} t[] = { { 400, 400 }, { 401, 502 }, { 403, 502 }, { 404, 404 },
		{ 413, 400 }, { 422, 400 }, { 429, 429 }, { 500, 502 },
		{ 502, 502 }, { 503, 502 }, { 529, 503 }, { 418, 502 },
		{ 301, 502 } };
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		ck_assert_int_eq(
		    answer_status(provider_status(t[i].status)), t[i].ours);
	ck_assert_int_eq(provider_status(0), ERR_OK);
	ck_assert_int_eq(provider_status(200), ERR_OK);
}
END_TEST

START_TEST(retries)
{
	ck_assert_uint_eq(answer_retry(ERR_PROVIDER_LIMIT, 17), 17);
	ck_assert_uint_gt(answer_retry(ERR_PROVIDER_LIMIT, 0), 0);
	ck_assert_uint_gt(answer_retry(ERR_OVERLOADED, 0), 0);
	ck_assert_uint_gt(answer_retry(ERR_QUEUE_FULL, 0), 0);
	ck_assert_uint_eq(answer_retry(ERR_SANDBOX, 0), 0);
	ck_assert_uint_eq(answer_retry(ERR_PROVIDER, 17), 0);
	ck_assert_uint_eq(answer_retry(ERR_KEY_INVALID, 17), 0);
}
END_TEST

START_TEST(errors)
{
	struct evbuffer *b;
	json_t *root, *err;
	int e;

	for (e = 1; e < ERR_MAX; e++) {
		b = evbuffer_new();
		answer_error(b, (enum olp_err)e, NULL, "");
		root = json_loads(text_of(b), 0, NULL);
		ck_assert_ptr_nonnull(root);
		err = json_object_get(root, "error");
		ck_assert_uint_eq(json_object_size(err), 4);
		ck_assert_str_ne(
		    json_string_value(json_object_get(err, "message")), "");
		ck_assert_str_eq(
		    json_string_value(json_object_get(err, "code")),
		    err_name((enum olp_err)e));
		ck_assert_ptr_nonnull(
		    json_string_value(json_object_get(err, "type")));
		ck_assert(json_is_null(json_object_get(err, "param")));
		json_decref(root);
		evbuffer_free(b);
	}
	b = evbuffer_new();
	answer_error(b, ERR_UNSUPPORTED, "a \"b\"\n", "tool_choice");
	ck_assert_str_eq(text_of(b),
	    "{\"error\":{\"message\":\"a "
	    "\\\"b\\\"\\n\",\"type\":\"invalid_request_error\","
	    "\"code\":\"unsupported_parameter\",\"param\":\"tool_choice\"}}");
	evbuffer_free(b);
}
END_TEST

START_TEST(cleaned)
{
	char buf[16];

	answer_clean(buf, sizeof(buf), "a\r\nX: y\x01\xc3\xa9 z");
	ck_assert_str_eq(buf, "a X: y z");
	answer_clean(buf, sizeof(buf), "  \n ");
	ck_assert_str_eq(buf, "");
	answer_clean(buf, sizeof(buf), "0123456789abcdefXYZ");
	ck_assert_str_eq(buf, "0123456789abcde");
}
END_TEST

START_TEST(heads)
{
	struct answer a = { .status = 429,
		.type = "application/json",
		.minor = 1,
		.length = 5,
		.request_id = "req_x",
		.v1 = 1,
		.provider = "demo",
		.model = "m",
		.retry_s = 9,
		.detail = "d\r\nSet-Cookie: x",
		.latency_ms = 12 };
	struct evbuffer *b = evbuffer_new();
	const char *s;

	answer_head(b, &a);
	s = text_of(b);
	ck_assert_int_eq(
	    strncmp(s, "HTTP/1.1 429 Too Many Requests\r\nDate: ", 38), 0);
	ck_assert_ptr_nonnull(strstr(s, "\r\nContent-Length: 5\r\n"));
	ck_assert_ptr_nonnull(strstr(s, "\r\nConnection: close\r\n"));
	ck_assert_ptr_nonnull(strstr(s, "\r\nRetry-After: 9\r\n"));
	ck_assert_ptr_nonnull(strstr(s, "\r\nX-OLP-Request-Id: req_x\r\n"));
	ck_assert_ptr_nonnull(strstr(s, "\r\nX-OLP-Provider-Used: demo\r\n"));
	ck_assert_ptr_nonnull(strstr(s, "\r\nX-OLP-Fallback-Hops: 0\r\n"));
	ck_assert_ptr_nonnull(strstr(s, "\r\nX-OLP-Latency-Ms: 12\r\n"));
	ck_assert_ptr_nonnull(
	    strstr(s, "\r\nX-OLP-Detail: d Set-Cookie: x\r\n\r\n"));
	ck_assert_ptr_null(strstr(s, "WWW-Authenticate"));
	evbuffer_free(b);

	b = evbuffer_new();
	a = (struct answer){ .status = 200,
		.type = "text/event-stream",
		.minor = 1,
		.keep_alive = 1,
		.length = -1,
		.request_id = "req_x" };
	answer_head(b, &a);
	s = text_of(b);
	ck_assert_ptr_nonnull(strstr(s, "\r\nTransfer-Encoding: chunked\r\n"));
	ck_assert_ptr_nonnull(strstr(s, "\r\nX-Accel-Buffering: no\r\n"));
	ck_assert_ptr_null(strstr(s, "Connection:"));
	ck_assert_ptr_null(strstr(s, "X-OLP-Cache"));
	evbuffer_free(b);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("answer");
	TCase *t = tcase_create("all");

	tcase_add_test(t, statuses);
	tcase_add_test(t, upstream);
	tcase_add_test(t, retries);
	tcase_add_test(t, errors);
	tcase_add_test(t, cleaned);
	tcase_add_test(t, heads);
	suite_add_tcase(s, t);
	return (suite_run(s));
}
