/* SPDX-License-Identifier: ISC */
/* Event stream frames. */
#include <check.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/suite.h"
#include "worker-http/json.h"
#include "worker-http/sse.h"

static const char *
text_of(struct evbuffer *b)
{
	(void)evbuffer_add(b, "", 1);
	return ((const char *)evbuffer_pullup(b, -1));
}

START_TEST(frames)
{
	struct evbuffer *out = evbuffer_new(), *json = evbuffer_new();
	struct sse s = { out, _i };
	int i;

	for (i = 0; i < 2; i++) { /* the buffer is used again */
		json_put(json, "{\"a\":");
		json_put_string(json, "x\ny\r\xe2\x80\xa8", 7);
		json_put(json, "}");
		sse_data(&s, json);
		ck_assert_uint_eq(evbuffer_get_length(json), 0);
	}
	sse_done(&s);
	sse_end(&s);
	if (s.chunked)
		ck_assert_str_eq(text_of(out),
		    "1c\r\ndata: {\"a\":\"x\\ny\\r\\u2028\"}\n\n\r\n"
		    "1c\r\ndata: {\"a\":\"x\\ny\\r\\u2028\"}\n\n\r\n"
		    "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n");
	else
		ck_assert_str_eq(text_of(out),
		    "data: {\"a\":\"x\\ny\\r\\u2028\"}\n\n"
		    "data: {\"a\":\"x\\ny\\r\\u2028\"}\n\n"
		    "data: [DONE]\n\n");
	evbuffer_free(out);
	evbuffer_free(json);
}
END_TEST

/* Many small frames do not take much more memory than their bytes. */
START_TEST(compact)
{
	struct evbuffer *out = evbuffer_new(), *json = evbuffer_new();
	struct evbuffer_iovec v[1];
	struct sse s = { out, 1 };
	int i, chains;

	for (i = 0; i < 1000; i++) {
		json_put(json, "{\"delta\":\"word\"}");
		sse_data(&s, json);
	}
	chains = evbuffer_peek(out, -1, NULL, v, 0);
	ck_assert_int_lt(chains, 40);
	evbuffer_free(out);
	evbuffer_free(json);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("sse");
	TCase *t = tcase_create("all");

	tcase_add_loop_test(t, frames, 0, 2);
	tcase_add_test(t, compact);
	suite_add_tcase(s, t);
	return (suite_run(s));
}
