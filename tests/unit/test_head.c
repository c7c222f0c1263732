/* SPDX-License-Identifier: ISC */
/* What a head must be: Host, Origin, Content-Type, token, encoded paths. */
#include <bsd/string.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "common/http/http.h"
#include "tests/unit/suite.h"
#include "worker-http/head.h"

static struct http_field fields[4];
static struct http_head head;

/* A head of these fields: name, value, ... NULL. */
static struct http_head *
with(const char *n1, const char *v1, const char *n2, const char *v2)
{
	static char buf[4][2048];

	memset(&head, 0, sizeof(head));
	head.fields = fields;
	if (n1 != NULL) {
		(void)strlcpy(buf[0], n1, sizeof(buf[0]));
		(void)strlcpy(buf[1], v1, sizeof(buf[1]));
		fields[head.nfields++] = (struct http_field){ buf[0], buf[1] };
	}
	if (n2 != NULL) {
		(void)strlcpy(buf[2], n2, sizeof(buf[2]));
		(void)strlcpy(buf[3], v2, sizeof(buf[3]));
		fields[head.nfields++] = (struct http_field){ buf[2], buf[3] };
	}
	return (&head);
}

START_TEST(hosts)
{
	static const char *const good[] = { "a", "localhost", "localhost.",
		"LocalHost:80", "a-b.c_d:65535", "127.0.0.1", "127.0.0.1:4567",
		"[::1]", "[::1]:4567", "[fe80::1]:1" };
	static const char *const odd[] = { "", ":", ":80", "a:", "a:0",
		"a:65536", "a:080x", "a:123456", "a:+1", "-a", ".a", "a b",
		"a,b", "a/b", "a@b", "::1", "[::1", "::1]", "[]", "[:]",
		"[1.2.3.4]", "[::1]x", "[::1]:", "[::1%eth0]", "a[b]" };
	struct head_host h;
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		ck_assert_msg(head_parse_host(good[i], &h) == 0, "%s", good[i]);
		ck_assert_int_eq(
		    head_host(with("host", good[i], NULL, NULL)), ERR_OK);
	}
	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		ck_assert_msg(head_parse_host(odd[i], &h) == -1, "%s", odd[i]);
		ck_assert_int_eq(
		    head_host(with("host", odd[i], NULL, NULL)), ERR_HOST);
	}
	ck_assert_int_eq(
	    head_host(with(NULL, NULL, NULL, NULL)), ERR_OK); /* HTTP/1.0 */
	ck_assert_int_eq(head_parse_host("Example.COM:8080", &h), 0);
	ck_assert_str_eq(h.name, "example.com");
	ck_assert_uint_eq(h.port, 8080);
}
END_TEST

/* Case C025: whole hosts are compared, never beginnings. */
START_TEST(origins)
{
	static const struct {
		const char *origin, *host;
		int ok;
	} t[] = {
		{ "http://localhost:4567", "localhost:4567", 1 },
		{ "HTTP://LOCALHOST:4567", "localhost:4567", 1 },
		{ "http://localhost", "localhost", 1 },
		{ "http://localhost:80", "localhost", 1 },
		{ "https://olp.example", "olp.example", 1 },
		{ "https://olp.example", "olp.example:443", 1 },
		{ "http://[::1]:4567", "[::1]:4567", 1 },
		{ "http://localhost.attacker:4567", "localhost:4567", 0 },
		{ "http://localhost", "localhost:4567", 0 },
		{ "http://127.evil.com:4567", "127.0.0.1:4567", 0 },
		{ "http://evil", "localhost", 0 },
		{ "null", "localhost", 0 },
		{ "", "localhost", 0 },
		{ "localhost", "localhost", 0 },
		{ "file://", "localhost", 0 },
		{ "chrome-extension://abc", "abc", 0 },
		{ "http://localhost/", "localhost", 0 },
		{ "http://localhost@evil", "localhost", 0 },
		{ "http://a http://localhost", "localhost", 0 },
	};
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		ck_assert_msg((head_origin(with("origin", t[i].origin, "host",
				   t[i].host)) == ERR_OK) == t[i].ok,
		    "%s on %s", t[i].origin, t[i].host);
	ck_assert_int_eq(
	    head_origin(with("host", "localhost", NULL, NULL)), ERR_OK);
	ck_assert_int_eq(
	    head_origin(with("origin", "http://a", NULL, NULL)), ERR_ORIGIN);
	ck_assert_int_eq(
	    head_origin(with("origin", "http://a", "origin", "http://a")),
	    ERR_ORIGIN);
}
END_TEST

START_TEST(types)
{
	static const char *const good[] = { "application/json",
		"Application/JSON", "application/json; charset=utf-8",
		"application/json;charset=\"UTF-8\"",
		"application/json ; x=y" };
	static const char *const odd[] = { "", "text/plain",
		"application/jsonp", "application/json-seq",
		"application/x-www-form-urlencoded",
		"multipart/form-data; boundary=application/json",
		"application/json; charset=latin1",
		"application/json; charset=utf-8x",
		"application/json, text/plain", "*/*" };
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ck_assert_msg(head_json(with("content-type", good[i], NULL,
				  NULL)) == ERR_OK,
		    "%s", good[i]);
	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		ck_assert_msg(head_json(with("content-type", odd[i], NULL,
				  NULL)) == ERR_MEDIA_TYPE,
		    "%s", odd[i]);
	ck_assert_int_eq(
	    head_json(with(NULL, NULL, NULL, NULL)), ERR_MEDIA_TYPE);
	ck_assert_int_eq(head_json(with("content-type", "application/json",
			     "content-encoding", "gzip")),
	    ERR_MEDIA_TYPE);
	ck_assert_int_eq(head_json(with("content-type", "application/json",
			     "content-encoding", "identity")),
	    ERR_OK);
}
END_TEST

START_TEST(tokens)
{
	char token[LIM_TOKEN], longest[LIM_TOKEN + 1];

	ck_assert_int_eq(
	    head_token(with("authorization", "Bearer abc", NULL, NULL), token),
	    ERR_OK);
	ck_assert_str_eq(token, "abc");
	ck_assert_int_eq(
	    head_token(
		with("authorization", "bearer   abc", NULL, NULL), token),
	    ERR_OK);
	ck_assert_str_eq(token, "abc");
	ck_assert_int_eq(
	    head_token(with("x-api-key", "abc", NULL, NULL), token), ERR_OK);
	ck_assert_str_eq(token, "abc");
	ck_assert_int_eq(
	    head_token(
		with("x-api-key", "abc", "authorization", "Bearer abc"), token),
	    ERR_OK);
	ck_assert_int_eq(
	    head_token(
		with("x-api-key", "abc", "authorization", "Bearer abd"), token),
	    ERR_BAD_REQUEST);
	ck_assert_int_eq(
	    head_token(with(NULL, NULL, NULL, NULL), token), ERR_KEY_MISSING);
	ck_assert_int_eq(
	    head_token(with("authorization", "Bearer ", NULL, NULL), token),
	    ERR_KEY_MISSING);
	ck_assert_int_eq(
	    head_token(with("authorization", "Basic abc", NULL, NULL), token),
	    ERR_KEY_MISSING);
	ck_assert_int_eq(head_token(with("x-api-key", "", NULL, NULL), token),
	    ERR_KEY_MISSING);
	memset(longest, 'x', LIM_TOKEN);
	longest[LIM_TOKEN] = '\0';
	ck_assert_int_eq(
	    head_token(with("x-api-key", longest, NULL, NULL), token),
	    ERR_KEY_INVALID);
	longest[LIM_TOKEN - 1] = '\0';
	ck_assert_int_eq(
	    head_token(with("x-api-key", longest, NULL, NULL), token), ERR_OK);
	ck_assert_str_eq(token, longest);
}
END_TEST

START_TEST(paths)
{
	char buf[8];

	ck_assert_int_eq(head_decode("a%2Fb%20", buf, sizeof(buf)), 0);
	ck_assert_str_eq(buf, "a/b ");
	ck_assert_int_eq(head_decode("1234567", buf, sizeof(buf)), 0);
	ck_assert_int_eq(head_decode("12345678", buf, sizeof(buf)), -1);
	ck_assert_int_eq(head_decode("%", buf, sizeof(buf)), -1);
	ck_assert_int_eq(head_decode("%4", buf, sizeof(buf)), -1);
	ck_assert_int_eq(head_decode("%zz", buf, sizeof(buf)), -1);
	ck_assert_int_eq(head_decode("%00", buf, sizeof(buf)), -1);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("head");
	TCase *t = tcase_create("all");

	tcase_add_test(t, hosts);
	tcase_add_test(t, origins);
	tcase_add_test(t, types);
	tcase_add_test(t, tokens);
	tcase_add_test(t, paths);
	suite_add_tcase(s, t);
	return (suite_run(s));
}
