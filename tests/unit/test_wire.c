/* SPDX-License-Identifier: ISC */
/* The wire table and what is counted out of an answer. */
#include <check.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/provider/provider.h"
#include "tests/unit/suite.h"

/* The whole, in memory that ends where it says. */
static void
count(const char *json, struct wire_usage *u)
{
	size_t len = strlen(json);
	char *copy = malloc(len > 0 ? len : 1);

	memcpy(copy, json, len);
	wire_find("claude")->usage(copy, len, u);
	free(copy);
}

static void
is(const struct wire_usage *u, uint64_t in, uint64_t out, uint64_t rd,
    uint64_t wr, int ended)
{
	ck_assert_uint_eq(u->in_tokens, in);
	ck_assert_uint_eq(u->out_tokens, out);
	ck_assert_uint_eq(u->cache_read_tokens, rd);
	ck_assert_uint_eq(u->cache_write_tokens, wr);
	ck_assert_int_eq(u->ended, ended);
}

START_TEST(stream)
{
	struct wire_usage u = { .ended = 0 };

	count("{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_"
	      "tokens\":6,"
	      "\"cache_creation_input_tokens\":2,\"cache_read_input_tokens\":3,"
	      "\"output_tokens\":1}}}",
	    &u);
	is(&u, 6, 1, 3, 2, 0);
	count("{\"type\":\"content_block_delta\",\"delta\":{\"text\":\"usage "
	      "message_stop\"}}",
	    &u);
	is(&u, 6, 1, 3, 2, 0);
	count("{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":null},"
	      "\"usage\":{\"output_tokens\":9}}",
	    &u);
	is(&u, 6, 9, 3, 2, 0);
	count("{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_"
	      "turn\"},"
	      "\"usage\":{\"input_tokens\":7,\"output_tokens\":12}}",
	    &u);
	is(&u, 7, 12, 3, 2, 1);
}
END_TEST

START_TEST(stop_alone)
{
	struct wire_usage u = { .ended = 0 };

	count("{\"type\":\"message_stop\"}", &u);
	is(&u, 0, 0, 0, 0, 1);
}
END_TEST

START_TEST(one_piece)
{
	struct wire_usage u = { .ended = 0 };

	count(
	    "{\"type\":\"message\",\"stop_reason\":\"end_turn\",\"content\":[],"
	    "\"usage\":{\"input_tokens\":4,\"output_tokens\":5}}",
	    &u);
	is(&u, 4, 5, 0, 0, 1);
}
END_TEST

/* Nothing of it counts, nothing of it is lost. */
START_TEST(nonsense)
{
	static const char *const lines[] = {
		"",
		"{",
		"usage",
		"[\"usage\"]",
		"\"usage\"",
		"{\"usage\":{\"input_tokens\":1}}",
		"{\"type\":7,\"usage\":{\"input_tokens\":1}}",
		"{\"type\":\"error\",\"usage\":{\"input_tokens\":1}}",
		"{\"type\":\"message_delta\",\"usage\":[1]}",
		"{\"type\":\"message_delta\",\"usage\":{\"input_tokens\":-1,"
		"\"output_tokens\":1.5}}",
		"{\"type\":\"message_delta\",\"usage\":{\"input_tokens\":\"9\"}"
		"}",
		"{\"type\":\"message_delta\",\"usage\":{\"input_tokens\":"
		"1000000000001}}",
		"{\"type\":\"message_delta\",\"usage\":{\"input_tokens\":"
		"99999999999999999999}}",
		"{\"type\":\"message_delta\",\"delta\":\"usage\"}",
		"{\"type\":\"message_start\",\"message\":\"usage\"}",
		"{\"type\":\"message_start\",\"message\":{\"usage\":null}}",
		"{\"type\":\"message_delta\",\"type\":\"x\",\"usage\":{\"input_"
		"tokens\":1}}",
		"{\"type\":\"message\",\"stop_reason\":null,\"x\":\"usage\"}",
	};
	struct wire_usage u = { .in_tokens = 3, .out_tokens = 4 };
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		count(lines[i], &u);
		is(&u, 3, 4, 0, 0, 0);
	}
}
END_TEST

/* A secret, a cookie or who pays must be in no list, whatever else is. */
START_TEST(lists)
{
	static const char *const never[] = { "set-cookie", "location",
		"anthropic-organization-id", "anthropic-workspace-id",
		"x-api-key", "authorization", "cookie", "host", "connection",
		"transfer-encoding", "content-length", "upgrade" };
	const struct provider_wire *w;
	const char *const *f;
	size_t i, j, n;

	for (i = 0; (w = wire_table[i]) != NULL; i++) {
		ck_assert_ptr_eq(wire_find(w->name), w);
		ck_assert_ptr_nonnull(w->usage);
		ck_assert_ptr_null(w->auth[PROVIDER_CRED_NONE].field);
		for (n = 0, f = w->body_keys; *f != NULL; f++)
			n++;
		ck_assert_uint_le(n, 64);
		for (j = 0; j < sizeof(never) / sizeof(never[0]); j++) {
			for (f = w->request_fields; *f != NULL; f++)
				ck_assert_str_ne(*f, never[j]);
			for (f = w->response_fields; *f != NULL; f++)
				ck_assert_str_ne(*f, never[j]);
		}
		for (f = w->request_fields; *f != NULL; f++)
			for (j = 0; (*f)[j] != '\0'; j++)
				ck_assert(!isupper((unsigned char)(*f)[j]) &&
				    (*f)[j] != '*');
		for (f = w->response_fields; *f != NULL; f++)
			for (j = 0; (*f)[j] != '\0'; j++)
				ck_assert(!isupper((unsigned char)(*f)[j]) &&
				    (*f)[j] != '*');
	}
	ck_assert_ptr_null(wire_find("demo"));
	ck_assert_ptr_null(wire_find(""));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire");
	TCase *t = tcase_create("wire");

	log_init("test", 0);
	suite_add_tcase(s, t);
	tcase_add_test(t, stream);
	tcase_add_test(t, stop_alone);
	tcase_add_test(t, one_piece);
	tcase_add_test(t, nonsense);
	tcase_add_test(t, lists);
	return (suite_run(s));
}
