/* SPDX-License-Identifier: ISC */
/* The real olpd-http: requests, answers, limits and deadlines as a caller sees
 * them. */
#include <sys/socket.h>
#include <sys/un.h>

#include <bsd/string.h>
#include <check.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/limits.h"
#include "httpd_rig.h"
#include "tests/unit/suite.h"

static struct rig rig;

static void
setup(void)
{
	rig_defaults(&rig);
	rig_start(&rig);
}

static void
teardown(void)
{
	rig_stop(&rig);
}

static double
now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((double)ts.tv_sec + (double)ts.tv_nsec / 1e9);
}

/* A whole request up to its run; the connection. */
static int
ask(struct rig_run *run, const char *text, int stream)
{
	int fd = rig_connect(&rig);

	rig_post_text(fd, "demo", text, stream);
	(void)rig_auth(&rig, "alice", 0);
	rig_run_start(&rig, run);
	rig_run_started(&rig, run, 0);
	return (fd);
}

static size_t
count(const char *s, const char *what)
{
	size_t n = 0;

	for (; (s = strstr(s, what)) != NULL; s++)
		n++;
	return (n);
}

START_TEST(json_answer)
{
	struct rig_run run;
	struct rig_answer a;
	int fd = ask(&run, "hello \\u65e5\\n", 0);

	ck_assert_str_eq(run.input, "hello \xe6\x97\xa5\n");
	rig_say_answer(&run, "good \\\"day\\\"\\n\\u2028");
	rig_run_exited(&rig, &run);
	rig_answer(fd, &a);
	ck_assert_int_eq(a.status, 200);
	ck_assert_ptr_nonnull(strstr(a.body, "\"object\":\"chat.completion\""));
	ck_assert_ptr_nonnull(strstr(a.body, "\"model\":\"demo\""));
	ck_assert_ptr_nonnull(strstr(a.body,
	    "\"message\":{\"role\":\"assistant\",\"content\":\"good "
	    "\\\"day\\\"\\n\\u2028\",\"refusal\":null}"));
	ck_assert_ptr_nonnull(strstr(a.body, "\"finish_reason\":\"stop\""));
	ck_assert_ptr_nonnull(strstr(a.body,
	    "\"prompt_tokens\":3,\"completion_tokens\":5,\"total_tokens\":8"));
	ck_assert_str_eq(rig_field(&a, "X-OLP-Provider-Used"), "demo");
	ck_assert_str_eq(rig_field(&a, "X-OLP-Model-Used"), "demo-1");
	ck_assert_str_eq(
	    rig_field(&a, "X-OLP-Enforcement"), "full; uid; userns");
	ck_assert_int_eq(
	    strncmp(rig_field(&a, "X-OLP-Request-Id"), "req_", 4), 0);
	ck_assert_uint_eq(strlen(rig_field(&a, "X-OLP-Request-Id")), 30);
	rig_answer_free(&a);
	(void)rig_expect(rig.spawn, MT_GRANT_END);

	/* The connection goes on. */
	rig_get(fd, "/health", NULL);
	rig_answer(fd, &a);
	ck_assert_str_eq(a.body, "{\"status\":\"ok\"}");
	rig_answer_free(&a);
	close(fd);
}
END_TEST

START_TEST(stream_answer)
{
	struct rig_run run;
	struct rig_answer a;
	int fd = rig_connect(&rig);

	rig_post(fd,
	    "{\"model\":\"demo\",\"stream\":true,\"stream_options\":{\"include_"
	    "usage\":true},"
	    "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"seed\":1,"
	    "\"user\":\"x\"}");
	(void)rig_auth(&rig, "alice", 0);
	rig_run_start(&rig, &run);
	rig_run_started(&rig, &run, 0);
	rig_say(&run, "{\"type\":\"start\",\"model\":\"demo-1\"}");
	ck_assert(rig_quiet(fd, 50)); /* headers wait for text */
	rig_say_text(&run, "one\\n");
	rig_say_text(&run, "two\\r\\u0000");
	(void)rig_until(
	    fd, "\\u0000\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n");
	rig_say(&run, "{\"type\":\"usage\",\"in\":3,\"out\":5}");
	rig_say(&run, "{\"type\":\"stop\",\"reason\":\"length\"}");
	rig_expect_kill(&rig, &run); /* at once: it was not the usual end */
	(void)rig_until(fd, "0\r\n\r\n");
	rig_run_exited(&rig, &run);
	(void)rig_expect(rig.spawn, MT_GRANT_END);

	/* Again, whole: the connection goes on after a chunked stream. */
	rig_post_text(fd, "demo", "hi", 1);
	(void)rig_auth(&rig, "alice", 0);
	rig_run_start(&rig, &run);
	rig_run_started(&rig, &run, 0);
	rig_say_answer(&run, "text");
	rig_answer(fd, &a);
	ck_assert_int_eq(a.status, 200);
	ck_assert_int_eq(a.cut, 0);
	ck_assert_uint_eq(count(a.body, "\"finish_reason\":\"stop\""), 1);
	ck_assert_uint_eq(count(a.body, "\"finish_reason\":null"), 2);
	ck_assert_uint_eq(count(a.body, "\"choices\":[]"), 0);
	ck_assert_uint_eq(count(a.body, "data: "), count(a.body, "\n\n"));
	ck_assert_uint_eq(count(a.body, "data: [DONE]\n\n"), 1);
	ck_assert_ptr_nonnull(strstr(
	    a.body, "\"delta\":{\"role\":\"assistant\",\"content\":\"\"}"));
	rig_run_exited(&rig, &run);
	rig_answer_free(&a);
	close(fd);
}
END_TEST

START_TEST(stream_usage_and_ignored)
{
	struct rig_run run;
	struct rig_answer a;
	const char *usage;
	int fd = rig_connect(&rig);

	rig_post(fd,
	    "{\"model\":\"demo\",\"stream\":true,\"stream_options\":{\"include_"
	    "usage\":true},"
	    "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"seed\":1,"
	    "\"user\":\"x\",\"temperature\":0.5}");
	(void)rig_auth(&rig, "alice", 0);
	rig_run_start(&rig, &run);
	rig_run_started(&rig, &run, 0);
	rig_say_answer(&run, "text");
	rig_answer(fd, &a);
	ck_assert_str_eq(
	    rig_field(&a, "X-OLP-Ignored"), "seed, user, temperature");
	ck_assert_uint_eq(count(a.body, "\"choices\":[]"), 1);
	usage =
	    strstr(a.body, "\"choices\":[],\"usage\":{\"prompt_tokens\":3,");
	ck_assert_ptr_nonnull(usage);
	ck_assert_uint_eq(count(usage, "data: "), 1); /* only [DONE] follows */
	rig_answer_free(&a);
	close(fd);
}
END_TEST

/* HTTP/1.0 has no chunks: the close ends the stream. */
START_TEST(stream_http10)
{
	static const char body[] =
	    "{\"model\":\"demo\",\"stream\":true,\"messages\":[{\"role\":"
	    "\"user\",\"content\":\"x\"}]}";
	struct rig_run run;
	struct rig_answer a;
	char head[512];
	int fd = rig_connect(&rig);

	(void)snprintf(head, sizeof(head),
	    "POST /v1/chat/completions HTTP/1.0\r\nx-api-key: k\r\nConnection: "
	    "keep-alive\r\n"
	    "Content-Type: application/json; charset=utf-8\r\nContent-Length: "
	    "%zu\r\n\r\n%s",
	    sizeof(body) - 1, body);
	rig_write(fd, head);
	(void)rig_auth(&rig, "alice", 0);
	rig_run_start(&rig, &run);
	rig_run_started(&rig, &run, 0);
	rig_say_answer(&run, "text");
	rig_answer(fd, &a);
	ck_assert_int_eq(a.closed, 1);
	ck_assert_uint_eq(count(a.body, "data: [DONE]\n\n"), 1);
	rig_answer_free(&a);
	close(fd);
}
END_TEST

/* What is refused by the head alone. */
START_TEST(heads)
{
	static const struct {
		const char *request;
		int status;
		const char *code;
	} t[] = {
#define JSON "Content-Type: application/json\r\n"
#define POST "POST /v1/chat/completions HTTP/1.1\r\n"
#define END "Content-Length: 2\r\n\r\n{}"
		{ "GET /nope HTTP/1.1\r\nHost: a\r\n\r\n", 404, "not_found" },
		{ "GET /v1/models/ HTTP/1.1\r\nHost: a\r\n\r\n", 404,
		    "not_found" },
		{ "GET /v1/chat/completions HTTP/1.1\r\nHost: a\r\n\r\n", 405,
		    "method_not_allowed" },
		{ "PUT /v1/models HTTP/1.1\r\nHost: a\r\n\r\n", 405,
		    "method_not_allowed" },
		{ "OPTIONS /v1/chat/completions HTTP/1.1\r\nHost: a\r\nOrigin: "
		  "http://b\r\n\r\n",
		    405, "method_not_allowed" },
		{ "GET /v1/models HTTP/1.1\r\nHost: a\r\n\r\n", 401,
		    "missing_api_key" },
		{ "GET /v1/models HTTP/1.1\r\nHost: a\r\nAuthorization: Basic "
		  "eDp5\r\n\r\n",
		    401, "missing_api_key" },
		{ "GET /v1/models HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
		  "a\r\nx-api-key: b\r\n\r\n",
		    400, "invalid_request" },
		{ "GET /v1/models HTTP/1.1\r\nHost: a:99999\r\nx-api-key: "
		  "b\r\n\r\n",
		    400, "host_not_allowed" },
		{ "GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1:1\r\nOrigin: "
		  "http://evil\r\nx-api-key: b\r\n\r\n",
		    403, "origin_not_allowed" },
		{ "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nOrigin: "
		  "http://localhost.attacker\r\nx-api-key: b\r\n\r\n",
		    403, "origin_not_allowed" },
		{ "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nOrigin: "
		  "null\r\nx-api-key: b\r\n\r\n",
		    403, "origin_not_allowed" },
		{ POST "Host: a\r\nx-api-key: b\r\nContent-Type: "
		       "text/plain\r\n" END,
		    415, "unsupported_media_type" },
		{ POST "Host: a\r\nx-api-key: b\r\nContent-Type: "
		       "application/x-www-form-urlencoded\r\n" END,
		    415, "unsupported_media_type" },
		{ POST "Host: a\r\nx-api-key: b\r\nContent-Type: "
		       "application/jsonx\r\n" END,
		    415, "unsupported_media_type" },
		{ POST "Host: a\r\nx-api-key: b\r\n" END, 415,
		    "unsupported_media_type" },
		{ POST
		    "Host: a\r\nx-api-key: b\r\nContent-Encoding: gzip\r\n" JSON
			END,
		    415, "unsupported_media_type" },
		{ POST "Host: a\r\nx-api-key: b\r\n" JSON
		       "Content-Length: 9999999999\r\n\r\n",
		    413, "request_too_large" },
		{ POST "Host: a\r\nx-api-key: b\r\n" JSON
		       "Expect: 100-continue\r\nContent-Length: "
		       "9999999999\r\n\r\n",
		    413, "request_too_large" },
		{ POST "Host: a\r\nx-api-key: b\r\n" JSON
		       "Content-Length: 2\r\nTransfer-Encoding: "
		       "chunked\r\n\r\n0\r\n\r\n",
		    400, "invalid_request" },
		{ POST "Host: a\r\nx-api-key: b\r\n" JSON
		       "Content-Length: +5\r\n\r\n12345",
		    400, "invalid_request" },
		{ "GET /v1/models HTTP/1.1\r\n\r\n", 400, "invalid_request" },
		{ "GET /v1/models HTTP/2.0\r\nHost: a\r\n\r\n", 505,
		    "invalid_request" },
		{ "GET /v1/models HTTP/1.1\r\nHost: a\r\nx-api-key: "
		  "b\r\nContent-Length: 5\r\n\r\nabcde",
		    413, "request_too_large" },
#undef JSON
#undef POST
#undef END
	};
	size_t i;
	int fd;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		fd = rig_connect(&rig);
		rig_write(fd, t[i].request);
		rig_expect_error(fd, t[i].status, t[i].code);
		close(fd);
	}
	ck_assert(rig_quiet(rig.spawn, 50));
}
END_TEST

START_TEST(origins_of_ours)
{
	static const char *const ok[] = {
		"Host: LOCALHOST:4567\r\nOrigin: http://localhost:4567\r\n",
		"Host: name.example\r\nOrigin: https://name.example\r\n",
		"Host: [::1]:80\r\nOrigin: http://[::1]\r\n",
	};
	struct rig_answer a;
	char head[512];
	size_t i;
	int fd;

	for (i = 0; i < sizeof(ok) / sizeof(ok[0]); i++) {
		fd = rig_connect(&rig);
		(void)snprintf(head, sizeof(head),
		    "GET /v1/models HTTP/1.1\r\n%sx-api-key: b\r\n\r\n", ok[i]);
		rig_write(fd, head);
		(void)rig_auth(&rig, "alice", 0);
		rig_answer(fd, &a);
		ck_assert_int_eq(a.status, 200);
		rig_answer_free(&a);
		close(fd);
		(void)rig_expect(rig.spawn, MT_GRANT_END);
	}
}
END_TEST

/* Refused by the body: at once, and nothing is started. */
START_TEST(bodies)
{
#define U "\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]"
	static const struct {
		const char *body, *code, *param;
	} t[] = {
		{ "", "invalid_request", NULL },
		{ "null", "invalid_json",
		    NULL }, /* a scalar is no JSON text to jansson */
		{ "1", "invalid_json", NULL },
		{ "[]", "invalid_request", NULL },
		{ "{}", "invalid_request", "model" },
		{ "{\"model\":\"demo\"}", "invalid_request", "messages" },
		{ "{\"model\":\"demo\"," U ",\"model\":\"demo\"}",
		    "invalid_json", NULL },
		{ "{\"model\":\"demo\"," U "} x", "invalid_json", NULL },
		{ "{\"model\":\"nope\"," U "}", "model_not_found", "model" },
		{ "{\"model\":\"sonnet\"," U "}", "model_not_found",
		    "model" }, /* not this key's provider */
		{ "{\"model\":\"demo\"," U ",\"n\":2}", "unsupported_parameter",
		    "n" },
		{ "{\"model\":\"demo\"," U ",\"max_tokens\":1e308}",
		    "invalid_request", "max_tokens" },
		{ "{\"model\":\"demo\"," U ",\"max_tokens\":1e999}",
		    "invalid_request", "max_tokens" },
		{ "{\"model\":\"demo\"," U ",\"temperature\":-0}",
		    "invalid_request", "temperature" },
		{ "{\"model\":\"demo\"," U ",\"whatever\":1}",
		    "unsupported_parameter", "whatever" },
		{ "{\"model\":\"demo\"," U ",\"stop\":\"x\"}",
		    "unsupported_parameter", "stop" }, /* demo cannot */
	};
#undef U
	struct rig_answer a;
	char want[96];
	double t0;
	size_t i;
	int fd;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		fd = rig_connect(&rig);
		t0 = now();
		rig_post(fd, t[i].body);
		(void)rig_auth(&rig, "alice", 0);
		rig_answer(fd, &a);
		ck_assert_double_lt(now() - t0, 0.2);
		ck_assert_msg(a.status ==
			(strcmp(t[i].code, "model_not_found") == 0 ? 404 : 400),
		    "%s: %d %s", t[i].body, a.status, a.body);
		(void)snprintf(
		    want, sizeof(want), "\"code\":\"%s\"", t[i].code);
		ck_assert_msg(
		    strstr(a.body, want) != NULL, "%s: %s", t[i].body, a.body);
		if (t[i].param != NULL) {
			(void)snprintf(
			    want, sizeof(want), "\"param\":\"%s\"", t[i].param);
			ck_assert_msg(strstr(a.body, want) != NULL, "%s: %s",
			    t[i].body, a.body);
		}
		rig_answer_free(&a);
		(void)rig_expect(rig.spawn, MT_GRANT_END);
		close(fd);
	}
}
END_TEST

START_TEST(auth_refused)
{
	struct rig_answer a;
	char *big = malloc(1 << 20);
	int fd = rig_connect(&rig);
	size_t sent = 0;
	ssize_t n;

	/* While a large body arrives: the answer comes, and is not lost to a
	 * reset. */
	rig_write(fd,
	    "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nx-api-key: "
	    "bad\r\n"
	    "Content-Type: application/json\r\nContent-Length: "
	    "4000000\r\n\r\n");
	rig_auth_no(&rig, ERR_KEY_INVALID);
	memset(big, ' ', 1 << 20);
	while (sent < 4000000) {
		n = send(fd, big,
		    sent + (1 << 20) > 4000000 ? 4000000 - sent : 1 << 20,
		    MSG_NOSIGNAL);
		ck_assert_int_gt(n, 0);
		sent += (size_t)n;
	}
	free(big);
	rig_answer(fd, &a);
	ck_assert_int_eq(a.status, 401);
	ck_assert_str_eq(rig_field(&a, "WWW-Authenticate"), "Bearer");
	ck_assert_int_eq(a.closed, 1);
	rig_answer_free(&a);
	close(fd);

	fd = rig_connect(&rig);
	rig_get(fd, "/v1/models", "bad");
	rig_auth_no(&rig, ERR_KEY_HOURS);
	rig_expect_error(fd, 403, "outside_hours");
	close(fd);
}
END_TEST

/* Before the key is known only so much of a body is taken, and the end is still
 * seen. */
START_TEST(unknown_caller_is_bounded)
{
	char chunk[16384];
	size_t sent = 0;
	ssize_t n;
	struct rig_msg *m;
	struct msg_auth_ok ok = { .grant = 5, .key_id = "alice" };
	int fd = rig_connect(&rig), size = 65536;

	ck_assert_int_eq(
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
	rig_write(fd,
	    "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nx-api-key: k\r\n"
	    "Content-Type: application/json\r\nContent-Length: "
	    "3900000\r\n\r\n");
	m = rig_expect(rig.spawn, MT_AUTH);
	ok.auth_id = m->body.m_AUTH.auth_id;
	memset(chunk, ' ', sizeof(chunk));
	for (;;) {
		n = send(fd, chunk, sizeof(chunk), MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n == -1) {
			struct pollfd p = { fd, POLLOUT, 0 };

			if (poll(&p, 1, 300) == 0)
				break;
			continue;
		}
		sent += (size_t)n;
		ck_assert_uint_lt(
		    sent, 3900000); /* it cannot all have been taken */
	}
	close(fd);
	usleep(100000);
	/* It has left: the grant comes too late and is given back. */
	rig_send(rig.spawn, MT_AUTH_OK, &ok, NULL, 0);
	ck_assert_uint_eq(
	    rig_expect(rig.spawn, MT_GRANT_END)->body.m_GRANT_END.grant, 5);
}
END_TEST

START_TEST(expect_continue)
{
	static const char body[] = "{\"model\":\"demo\",\"messages\":[{"
				   "\"role\":\"user\",\"content\":\"x\"}]}";
	struct rig_run run;
	struct rig_answer a;
	char head[512];
	int fd = rig_connect(&rig);

	(void)snprintf(head, sizeof(head),
	    "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nx-api-key: "
	    "k\r\nExpect: 100-continue\r\n"
	    "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
	    sizeof(body) - 1);
	rig_write(fd, head);
	(void)rig_auth(&rig, "alice", 0);
	ck_assert_str_eq(
	    rig_until(fd, "\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
	rig_write(fd, body);
	rig_run_start(&rig, &run);
	rig_run_started(&rig, &run, 0);
	rig_say_answer(&run, "ok");
	rig_answer(fd, &a);
	ck_assert_int_eq(a.status, 200);
	rig_answer_free(&a);
	close(fd);

	fd = rig_connect(&rig);
	(void)rig_expect(rig.spawn, MT_GRANT_END);
	rig_expect_kill(&rig, &run);
	rig_run_exited(&rig, &run);
	rig_write(fd, head);
	rig_auth_no(&rig, ERR_KEY_INVALID);
	rig_expect_error(fd, 401, "invalid_api_key"); /* and no 100 before it */
	close(fd);
}
END_TEST

/* The body in every cut, and in chunks of one byte. */
START_TEST(body_in_pieces)
{
	static const char body[] =
	    "{\"model\":\"demo\",\"messages\":[{\"role\":\"user\",\"content\":"
	    "\"h\xc3\xa9\xc3\x9f\xe6\x97\xa5\xf0\x9f\x98\x80\"}]}";
	struct rig_run run;
	struct rig_answer a;
	char piece[8];
	size_t i;
	int fd = rig_connect(&rig);

	rig_write(fd,
	    "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nx-api-key: k\r\n"
	    "Content-Type: application/json\r\nTransfer-Encoding: "
	    "chunked\r\n\r\n");
	for (i = 0; i < sizeof(body) - 1; i++) {
		(void)snprintf(piece, sizeof(piece), "1\r\n%c\r\n", body[i]);
		rig_write(fd, piece);
	}
	rig_write(fd, "0\r\n\r\n");
	(void)rig_auth(&rig, "alice", 0);
	rig_run_start(&rig, &run);
	ck_assert_str_eq(
	    run.input, "h\xc3\xa9\xc3\x9f\xe6\x97\xa5\xf0\x9f\x98\x80");
	rig_run_started(&rig, &run, 0);
	rig_say_answer(&run, "ok");
	rig_answer(fd, &a);
	ck_assert_int_eq(a.status, 200);
	rig_answer_free(&a);
	close(fd);
}
END_TEST

START_TEST(body_limit)
{
	size_t n = rig.http.body_max, used;
	char *body = malloc(n + 2), head[256];
	struct rig_run run;
	int fd, over;

	for (over = 0; over < 2; over++) {
		used = (size_t)sprintf(body,
		    "{\"model\":\"demo\",\"messages\":[{\"role\":\"user\","
		    "\"content\":\"x\"}]");
		memset(body + used, ' ', n + (size_t)over - used - 1);
		body[n + (size_t)over - 1] = '}';
		body[n + (size_t)over] = '\0';
		fd = rig_connect(&rig);
		(void)snprintf(head, sizeof(head),
		    "POST /v1/chat/completions HTTP/1.1\r\nHost: "
		    "a\r\nx-api-key: k\r\n"
		    "Content-Type: application/json\r\nTransfer-Encoding: "
		    "chunked\r\n\r\n%zx\r\n",
		    n + (size_t)over);
		rig_write(fd, head);
		if (over) {
			rig_expect_error(fd, 413, "request_too_large");
			(void)rig_expect(rig.spawn, MT_AUTH);
		} else {
			(void)rig_auth(&rig, "alice", 0);
			rig_write(fd, body);
			rig_write(fd, "\r\n0\r\n\r\n");
			rig_run_start(&rig, &run);
			close(fd);
			rig_expect_kill(&rig, &run);
			(void)rig_expect(rig.spawn, MT_GRANT_END);
			rig_run_failed(&rig, &run, ERR_CALLER_GONE);
			continue;
		}
		close(fd);
	}
	free(body);
}
END_TEST

START_TEST(pipelined)
{
	struct rig_run run;
	struct rig_answer a;
	int fd = rig_connect(&rig);

	rig_post_text(fd, "demo", "one", 0);
	rig_get(fd, "/health", NULL);
	rig_get(fd, "/nope", NULL);
	rig_get(fd, "/ready", NULL);
	(void)rig_auth(&rig, "alice", 0);
	rig_run_start(&rig, &run);
	rig_run_started(&rig, &run, 0);
	ck_assert(
	    rig_quiet(fd, 50)); /* /health is not answered before its turn */
	rig_say_answer(&run, "first");
	rig_answer(fd, &a);
	ck_assert_ptr_nonnull(strstr(a.body, "first"));
	rig_answer_free(&a);
	rig_answer(fd, &a);
	ck_assert_str_eq(a.body, "{\"status\":\"ok\"}");
	rig_answer_free(&a);
	rig_answer(fd, &a);
	ck_assert_int_eq(a.status, 404);
	rig_answer_free(&a);
	rig_answer(fd, &a);
	ck_assert_str_eq(a.body, "{\"status\":\"ready\"}");
	rig_answer_free(&a);
	close(fd);
}
END_TEST

/* More than is taken of later requests: bounded, and the caller's end is seen
 * all the same. */
START_TEST(pipelined_flood)
{
	char get[] = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct rig_run run;
	struct linger rst = { 1, 0 };
	int fd, how, i;

	for (how = 0; how < 2; how++) {
		fd = rig_connect(&rig);
		rig_post_text(fd, "demo", "one", 0);
		(void)rig_auth(&rig, "alice", 0);
		rig_run_start(&rig, &run);
		rig_run_started(&rig, &run, 0);
		for (i = 0; i < 3000; i++)
			rig_write(fd, get);
		usleep(50000);
		ck_assert(rig_quiet(rig.spawn, 20));
		if (how == 1)
			(void)setsockopt(
			    fd, SOL_SOCKET, SO_LINGER, &rst, sizeof(rst));
		close(fd);
		rig_expect_kill(&rig, &run);
		(void)rig_expect(rig.spawn, MT_GRANT_END);
		rig_run_exited(&rig, &run);
	}

	/* And when the caller stays, each is answered. */
	fd = rig_connect(&rig);
	rig_post_text(fd, "demo", "one", 0);
	(void)rig_auth(&rig, "alice", 0);
	rig_run_start(&rig, &run);
	rig_run_started(&rig, &run, 0);
	for (i = 0; i < 3000; i++)
		rig_write(fd, get);
	rig_say_answer(&run, "first");
	for (i = 0; i < 3001; i++) {
		struct rig_answer a;

		rig_answer(fd, &a);
		ck_assert_int_eq(a.status, 200);
		rig_answer_free(&a);
	}
	close(fd);
}
END_TEST

START_TEST(too_many_connections)
{
	int fd[64], extra, i;
	struct rig_answer a;

	for (i = 0; i < 64; i++)
		fd[i] = rig_connect(&rig);
	extra = rig_connect(&rig);
	rig_expect_error(extra, 503, "overloaded");
	close(extra);
	for (i = 0; i < 64; i++)
		close(fd[i]);
	usleep(50000);
	extra = rig_connect(&rig);
	rig_get(extra, "/health", NULL);
	rig_answer(extra, &a);
	ck_assert_int_eq(a.status, 200);
	rig_answer_free(&a);
	close(extra);
}
END_TEST

START_TEST(unix_socket)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)strlcpy(a.sun_path, rig.unix_path, sizeof(a.sun_path));
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	rig_get(fd, "/v1/models", NULL);
	rig_expect_error(fd, 401, "missing_api_key");
	rig_get(fd, "/v1/models", "k");
	rig_auth_no(&rig, ERR_KEY_REVOKED);
	rig_expect_error(fd, 401, "key_revoked");
	close(fd);
}
END_TEST

START_TEST(models)
{
	struct rig_answer a;
	int fd = rig_connect(&rig);

	rig_get(fd, "/v1/models", "k");
	(void)rig_auth(&rig, "alice", 0);
	rig_answer(fd, &a);
	ck_assert_ptr_nonnull(strstr(a.body,
	    "{\"object\":\"list\",\"data\":[{\"id\":\"demo\",\"object\":"
	    "\"model\""));
	ck_assert_ptr_nonnull(strstr(a.body, "\"id\":\"second\""));
	ck_assert_ptr_null(strstr(a.body, "sonnet"));
	ck_assert_ptr_nonnull(strstr(a.body, "\"enforcement\":\"full\""));
	rig_answer_free(&a);
	(void)rig_expect(rig.spawn, MT_GRANT_END);
	rig_get(fd, "/v1/models/%64emo", "k");
	(void)rig_auth(&rig, "alice", 0);
	rig_answer(fd, &a);
	ck_assert_ptr_nonnull(strstr(a.body, "{\"id\":\"demo\""));
	rig_answer_free(&a);
	(void)rig_expect(rig.spawn, MT_GRANT_END);
	rig_get(fd, "/v1/models/sonnet", "k");
	(void)rig_auth(&rig, "alice", 0);
	rig_expect_error(fd, 404, "model_not_found");
	(void)rig_expect(rig.spawn, MT_GRANT_END);
	rig_get(fd, "/v1/olp/parameters", "k");
	(void)rig_auth(&rig, "alice", 0);
	rig_answer(fd, &a);
	ck_assert_ptr_nonnull(strstr(
	    a.body, "{\"name\":\"tool_choice\",\"handling\":\"refused\""));
	rig_answer_free(&a);
	close(fd);
}
END_TEST

START_TEST(health)
{
	struct msg_load load = { 1, 2, 3 };
	struct rig_answer a;
	int fd = rig_connect(&rig);

	rig_send(rig.spawn, MT_LOAD, &load, NULL, 0);
	rig_get(fd, "/health", "member");
	(void)rig_auth(&rig, "alice", 0);
	rig_answer(fd, &a);
	ck_assert_str_eq(a.body, "{\"status\":\"ok\"}");
	rig_answer_free(&a);
	(void)rig_expect(rig.spawn, MT_GRANT_END);
	rig_get(fd, "/health", "bad");
	rig_auth_no(&rig, ERR_KEY_INVALID);
	rig_expect_error(fd, 401, "invalid_api_key");
	rig_get(fd, "/health", "owner");
	(void)rig_auth(&rig, "boss", 1);
	rig_answer(fd, &a);
	ck_assert_ptr_nonnull(strstr(a.body, "\"status\":\"ok\""));
	ck_assert_ptr_nonnull(strstr(a.body,
	    "\"sandbox\":{\"available\":true,\"active\":true,\"missing\":[]"));
	ck_assert_ptr_nonnull(strstr(a.body,
	    "\"demo\":{\"read_protection\":\"no-tools\",\"recommended_tier\":"
	    "\"shared-os-user\",\"layers\":[],"
	    "\"enforcement\":\"full\",\"status\":\"ok\""));
	ck_assert_ptr_nonnull(strstr(a.body, "\"stuck\":2"));
	ck_assert_ptr_nonnull(
	    strstr(a.body, "{\"name\":\"olpd-spawn\",\"generation\":1}"));
	rig_answer_free(&a);
	close(fd);

	/* Without worker-spawn: alive, not ready, and nobody waits. */
	close(rig.spawn);
	rig.spawn = -1;
	fd = rig_connect(&rig);
	usleep(50000);
	rig_get(fd, "/health", "owner");
	rig_answer(fd, &a);
	ck_assert_str_eq(a.body, "{\"status\":\"ok\"}");
	rig_answer_free(&a);
	rig_get(fd, "/ready", NULL);
	rig_answer(fd, &a);
	ck_assert_int_eq(a.status, 503);
	rig_answer_free(&a);
	close(fd);
}
END_TEST

START_TEST(status_fd)
{
	struct msg_status m = { .workers_n = 1 };
	char buf[65536];
	size_t len = 0;
	ssize_t n;
	int fd[2];

	(void)strlcpy(
	    m.workers[0], "olpd-http 12 1 0 33", sizeof(m.workers[0]));
	ck_assert_int_eq(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	rig_send(rig.master, MT_STATUS_FD, &m, &fd[1], 1);
	close(fd[1]);
	while ((n = read(fd[0], buf + len, sizeof(buf) - 1 - len)) > 0)
		len += (size_t)n;
	buf[len] = '\0';
	ck_assert_ptr_nonnull(
	    strstr(buf, "\"workers\":[\"olpd-http 12 1 0 33\"]"));
	ck_assert_ptr_nonnull(
	    strstr(buf, "\"queue\":{\"waiting\":0,\"limit\":200,"));
	ck_assert_str_eq(buf + len - 2, "}\n");
	close(fd[0]);
}
END_TEST

/* How a run may end, and what callers are told. */
START_TEST(endings)
{
	static const struct {
		const char *line;
		int status;
		const char *what;
	} t[] = {
		{ "{\"type\":\"stop\",\"reason\":\"end\"}", 502,
		    "\"code\":\"provider_error\"" }, /* empty */
		{ "{\"type\":\"stop\",\"reason\":\"refusal\"}", 200,
		    "\"finish_reason\":\"content_filter\"" },
		{ "{\"type\":\"stop\",\"reason\":\"length\"}", 200,
		    "\"finish_reason\":\"length\"" },
		{ "{\"type\":\"error\",\"message\":\"/secret raw words\"}", 502,
		    "\"code\":\"client_failed\"" },
		{ "{\"type\":\"stop\",\"reason\":\"odd\"}", 502,
		    "\"code\":\"client_unexpected\"" },
		{ NULL, 502, "\"code\":\"client_failed\"" }, /* EOF */
	};
	struct rig_run run;
	struct rig_answer a;
	size_t i;
	int fd, stream;

	for (i = 0; i < 2 * sizeof(t) / sizeof(t[0]); i++) {
		stream = (int)i & 1;
		fd = ask(&run, "x", stream);
		rig_say(&run, "{\"type\":\"start\",\"model\":\"m\"}");
		if (t[i / 2].line != NULL)
			rig_say(&run, t[i / 2].line);
		else {
			close(run.out);
			run.out = -1;
		}
		rig_expect_kill(&rig, &run);
		if (t[i / 2].status !=
		    200) /* a failure is told when the client is gone */
			ck_assert(rig_quiet(fd, 20));
		rig_run_exited(&rig, &run);
		rig_answer(fd, &a);
		ck_assert_int_eq(a.status, t[i / 2].status);
		ck_assert_msg(
		    strstr(a.body, t[i / 2].what) != NULL, "%s", a.body);
		ck_assert_ptr_null(strstr(a.body, "/secret"));
		ck_assert_ptr_null(strstr(a.head, "/secret"));
		rig_answer_free(&a);
		(void)rig_expect(rig.spawn, MT_GRANT_END);
		close(fd);
	}
}
END_TEST

START_TEST(owners_see_details)
{
	struct rig_run run;
	struct rig_answer a;
	int fd = rig_connect(&rig);

	rig_post_text(fd, "demo", "x", 0);
	(void)rig_auth(&rig, "boss", 1);
	rig_run_start(&rig, &run);
	rig_run_failed(&rig, &run, ERR_SANDBOX);
	rig_answer(fd, &a);
	ck_assert_int_eq(a.status, 503);
	ck_assert_ptr_nonnull(
	    strstr(a.body, "\"code\":\"sandbox_unavailable\""));
	ck_assert_str_eq(rig_field(&a, "X-OLP-Detail"), "step /secret/path");
	ck_assert_str_eq(rig_field(&a, "Retry-After"), "");
	rig_answer_free(&a);
	close(fd);
}
END_TEST

/* The client may hang about, or write to a full pipe, after its answer. */
START_TEST(client_does_not_end)
{
	struct rig_run run;
	struct rig_answer a;
	double t0;
	int fd = ask(&run, "x", 0);

	rig_say_answer(&run, "done");
	t0 = now();
	rig_answer(fd, &a);
	ck_assert_double_lt(now() - t0, 0.5);
	ck_assert_int_eq(a.status, 200);
	rig_answer_free(&a);
	(void)rig_expect(rig.spawn, MT_GRANT_END);
	rig_expect_kill(&rig, &run);
	rig_run_exited(&rig, &run);
	close(fd);
}
END_TEST

START_TEST(failure_after_text)
{
	struct rig_run run;
	struct rig_answer a;
	int fd = ask(&run, "x", 1);

	rig_say(&run, "{\"type\":\"start\",\"model\":\"m\"}");
	rig_say_text(&run, "part");
	rig_say(&run, "{\"type\":\"error\",\"message\":\"/secret\"}");
	rig_expect_kill(&rig, &run);
	rig_run_exited(&rig, &run);
	rig_answer(fd, &a);
	ck_assert_int_eq(a.status, 200);
	ck_assert_int_eq(a.cut, 1); /* HTTP says too that it is not whole */
	ck_assert_ptr_nonnull(strstr(a.body, "data: {\"error\":{\"message\":"));
	ck_assert_uint_eq(count(a.body, "\"finish_reason\":\""), 0);
	ck_assert_uint_eq(count(a.body, "[DONE]"), 0);
	ck_assert_ptr_null(strstr(a.body, "/secret"));
	rig_answer_free(&a);
	close(fd);
	(void)rig_expect(rig.spawn, MT_GRANT_END);

	/* The same, not streamed: no part of it is served. */
	fd = ask(&run, "x", 0);
	rig_say(&run, "{\"type\":\"start\",\"model\":\"m\"}");
	rig_say_text(&run, "part");
	close(run.out);
	run.out = -1;
	rig_expect_kill(&rig, &run);
	rig_run_exited(&rig, &run);
	rig_answer(fd, &a);
	ck_assert_int_eq(a.status, 502);
	ck_assert_ptr_null(strstr(a.body, "part"));
	rig_answer_free(&a);
	close(fd);
}
END_TEST

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x < y ? -1 : x > y);
}

/* One word every now and then: each is passed on at once. */
START_TEST(deltas_pass_at_once)
{
	struct rig_run run;
	double took[21];
	char word[32];
	int fd = ask(&run, "x", 1), i;

	rig_say(&run, "{\"type\":\"start\",\"model\":\"m\"}");
	for (i = 0; i < 21; i++) {
		usleep(10000);
		(void)snprintf(word, sizeof(word), "word%d.", i);
		took[i] = now();
		rig_say_text(&run, word);
		(void)rig_until(fd, word);
		took[i] = now() - took[i];
	}
	qsort(took, 21, sizeof(took[0]), by_size);
	ck_assert_double_lt(took[10], 0.02); /* Nagle would make it 0.04 */
	close(fd);
	rig_expect_kill(&rig, &run);
}
END_TEST

/* A caller that does not read holds up its own client, and loses nothing. */
START_TEST(back_pressure)
{
	struct rig_run run;
	char line[1200], pad[1001];
	size_t sent = 0, blocked = 0;
	ssize_t n;
	struct rig_answer a;
	int fd;

	fd = rig_connect(&rig);
	rig_post_text(fd, "demo", "x", 1);
	(void)rig_auth(&rig, "alice", 0);
	rig_run_start(&rig, &run);
	rig_run_started(&rig, &run, 0);
	rig_say(&run, "{\"type\":\"start\",\"model\":\"m\"}");
	ck_assert_int_eq(fcntl(run.out, F_SETFL, O_NONBLOCK), 0);
	memset(pad, 'x', 1000);
	pad[1000] = '\0';
	(void)snprintf(
	    line, sizeof(line), "{\"type\":\"text\",\"text\":\"%s\"}\n", pad);
	while (blocked < 20) {
		n = write(run.out, line, strlen(line));
		if (n == (ssize_t)strlen(line)) {
			sent++;
			blocked = 0;
		} else {
			ck_assert_int_eq(n, -1); /* lines are below PIPE_BUF */
			blocked++;
			usleep(10000);
		}
		ck_assert_uint_lt(sent,
		    1500); /* some 700 KB in ours, the kernel's and the pipe */
	}
	if (getenv("RIG_VERBOSE") != NULL)
		fprintf(stderr, "sent %zu\n", sent);
	/* Now it reads: all comes, in order. */
	ck_assert_int_eq(fcntl(run.out, F_SETFL, 0), 0);
	if (fork() == 0) {
		rig_say(&run, "{\"type\":\"stop\",\"reason\":\"end\"}");
		_exit(0);
	}
	rig_answer(fd, &a);
	ck_assert_uint_eq(count(a.body, pad), sent);
	ck_assert_uint_eq(count(a.body, "[DONE]"), 1);
	rig_answer_free(&a);
	close(fd);
}
END_TEST

START_TEST(answer_too_large)
{
	static char line[1 << 20];
	struct rig_run run;
	int fd = ask(&run, "x", 0), i;
	size_t n;

	n = (size_t)sprintf(line,
	    "{\"type\":\"start\",\"model\":\"m\"}\n{\"type\":\"text\",\"text\":"
	    "\"");
	memset(line + n, 'x', sizeof(line) - n - 4);
	memcpy(line + sizeof(line) - 4, "\"}\n", 4);
	for (i = 0; i < 17; i++)
		if (write(run.out, i == 0 ? line : strchr(line, '\n') + 1,
			strlen(i == 0 ? line : strchr(line, '\n') + 1)) == -1)
			break;
	rig_expect_error(fd, 502, "answer_too_large");
	rig_expect_kill(&rig, &run);
	close(fd);
}
END_TEST

static void
tls_files(const char *dir, char *cert, char *key, size_t size)
{
	EVP_PKEY *k = EVP_EC_gen("P-256");
	X509 *x = X509_new();
	FILE *f;
	static int n;

	(void)snprintf(cert, size, "%s/cert%d", dir, n);
	(void)snprintf(key, size, "%s/key%d", dir, n++);
	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	X509_gmtime_adj(X509_getm_notBefore(x), 0);
	X509_gmtime_adj(X509_getm_notAfter(x), 3600);
	X509_set_pubkey(x, k);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
	    (const unsigned char *)"localhost", -1, -1, 0);
	X509_set_issuer_name(x, X509_get_subject_name(x));
	ck_assert_int_gt(X509_sign(x, k, EVP_sha256()), 0);
	f = fopen(cert, "w");
	PEM_write_X509(f, x);
	fclose(f);
	f = fopen(key, "w");
	PEM_write_PrivateKey(f, k, NULL, NULL, 0, NULL, NULL);
	fclose(f);
	X509_free(x);
	EVP_PKEY_free(k);
}

static void
tls_get(int port)
{
	static const unsigned char alpn[] = "\x02h2\x08http/1.1";
	struct rig at = { .port = port };
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	SSL *ssl = SSL_new(ctx);
	const unsigned char *chosen;
	char buf[1024];
	unsigned int len;
	int fd = rig_connect(&at), n, got = 0;

	SSL_set_alpn_protos(ssl, alpn, sizeof(alpn) - 1);
	SSL_set_fd(ssl, fd);
	ck_assert_int_eq(SSL_connect(ssl), 1);
	SSL_get0_alpn_selected(ssl, &chosen, &len);
	ck_assert(len == 8 && memcmp(chosen, "http/1.1", 8) == 0);
	n = SSL_write(ssl,
	    "GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 52);
	ck_assert_int_eq(n, 52);
	while ((n = SSL_read(ssl, buf + got, (int)sizeof(buf) - 1 - got)) > 0)
		got += n;
	ck_assert_int_eq(
	    SSL_get_error(ssl, n), SSL_ERROR_ZERO_RETURN); /* a clean end */
	buf[got] = '\0';
	ck_assert_ptr_nonnull(strstr(buf, "{\"status\":\"ok\"}"));
	SSL_free(ssl);
	SSL_CTX_free(ctx);
	close(fd);
}

START_TEST(tls)
{
	char cert[2][128], key[2][128];
	struct msg_conf_bad *bad;
	struct rig_answer a;
	int fd = rig_connect(&rig), i;

	tls_files(rig.dir, cert[0], key[0], 128);
	tls_files(rig.dir, cert[1], key[1], 128);
	rig_configure(&rig, 2, cert[0], key[0]);
	ck_assert_uint_eq(
	    rig_expect(rig.master, MT_CONF_ACK)->body.m_CONF_ACK.generation, 2);
	tls_get(rig.tls_port);

	/* Two that do not belong together, or are no PEM: told, and the one
	 * before stays. */
	rig_configure(&rig, 3, cert[0], key[1]);
	bad = &rig_expect(rig.master, MT_CONF_BAD)->body.m_CONF_BAD;
	ck_assert_ptr_nonnull(
	    strstr(bad->text, "does not belong to the certificate"));
	(void)rig_expect(rig.master, MT_CONF_ACK);
	tls_get(rig.tls_port);
	rig_configure(&rig, 4, key[0], key[0]);
	bad = &rig_expect(rig.master, MT_CONF_BAD)->body.m_CONF_BAD;
	ck_assert_ptr_nonnull(strstr(bad->text, "no certificate"));
	(void)rig_expect(rig.master, MT_CONF_ACK);
	tls_get(rig.tls_port);

	/* A connection of before the reloads goes on. */
	rig_get(fd, "/health", NULL);
	rig_answer(fd, &a);
	ck_assert_int_eq(a.status, 200);
	rig_answer_free(&a);
	close(fd);
	for (i = 0; i < 2; i++) {
		(void)unlink(cert[i]);
		(void)unlink(key[i]);
	}
}
END_TEST

START_TEST(drain)
{
	struct msg_empty nothing = { 0 };
	struct rig_run run;
	struct rig_answer a;
	char c;
	int idle = rig_connect(&rig), fd, late;

	rig_get(idle, "/health", NULL);
	rig_answer(idle, &a);
	rig_answer_free(&a);
	fd = ask(&run, "x", 1);
	rig_send(rig.master, MT_DRAIN, &nothing, NULL, 0);
	ck_assert_int_eq(recv(idle, &c, 1, 0), 0);
	late =
	    rig_connect(&rig); /* waits in the backlog, which is the master's */
	rig_get(late, "/health", NULL);
	ck_assert(rig_quiet(late, 50));
	rig_say_answer(&run, "to the end");
	rig_answer(fd, &a);
	ck_assert_ptr_nonnull(strstr(a.body, "to the end"));
	ck_assert_int_eq(recv(fd, &c, 1, 0), 0);
	rig_answer_free(&a);
	(void)rig_expect(rig.master, MT_DRAINED);
	close(fd);
	close(idle);
	close(late);
}
END_TEST

/* Deadlines, all of one second. */
static void
setup_short(void)
{
	rig_defaults(&rig);
	rig.http.head_s = rig.http.body_s = rig.http.queue_s = 1;
	rig.http.first_byte_s = rig.http.idle_s = rig.http.heartbeat_s = 1;
	rig.http.runs = 1;
	rig_start(&rig);
}

START_TEST(deadlines_of_arrival)
{
	int fd = rig_connect(&rig), body = rig_connect(&rig),
	    silent = rig_connect(&rig);
	int auth = rig_connect(&rig);
	struct rig_msg *m;
	struct msg_auth_ok ok = { .grant = 9, .key_id = "alice" };
	char c;

	rig_write(fd, "GET /health HTTP/1.1\r\nHos");
	rig_write(body,
	    "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nx-api-key: k\r\n"
	    "Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{");
	m = rig_expect(rig.spawn, MT_AUTH);
	ok.auth_id = m->body.m_AUTH.auth_id;
	rig_send(rig.spawn, MT_AUTH_OK, &ok, NULL, 0);
	rig_get(auth, "/v1/models", "k");
	(void)rig_expect(rig.spawn, MT_AUTH); /* never answered */
	rig_expect_error(fd, 408, "head_timeout");
	rig_expect_error(body, 408, "body_timeout");
	rig_expect_error(auth, 503, "queue_timeout");
	ck_assert_int_eq(recv(silent, &c, 1, 0), 0); /* without a word */
	close(fd);
	close(body);
	close(silent);
	close(auth);
}
END_TEST

START_TEST(deadlines_of_a_run)
{
	struct rig_run run;
	struct rig_answer a;
	int fd = ask(&run, "x", 0), second;

	second = rig_connect(&rig);
	rig_post_text(second, "demo", "y", 0);
	(void)rig_auth(&rig, "alice", 0);
	rig_expect_kill(&rig, &run); /* no first text */
	rig_expect_error(second, 503, "queue_timeout");
	(void)rig_expect(rig.spawn, MT_GRANT_END);
	rig_run_exited(&rig, &run);
	rig_expect_error(fd, 504, "first_byte_timeout");
	(void)rig_expect(rig.spawn, MT_GRANT_END);
	close(fd);
	close(second);

	fd = ask(&run, "x", 1);
	rig_say(&run, "{\"type\":\"start\",\"model\":\"m\"}");
	rig_say_text(&run, "part");
	rig_expect_kill(&rig, &run);
	rig_run_exited(&rig, &run);
	rig_answer(fd, &a);
	ck_assert_ptr_nonnull(strstr(a.body, "\"code\":\"idle_timeout\""));
	ck_assert_int_eq(a.cut, 1);
	rig_answer_free(&a);
	close(fd);
}
END_TEST

/* Silence: first the head and an empty delta, then more of those; noise on
 * stdout is no text. */
static void
setup_beat(void)
{
	rig_defaults(&rig);
	rig.http.heartbeat_s = 1;
	rig_start(&rig);
}

START_TEST(heartbeat)
{
	struct rig_run run;
	struct rig_answer a;
	double t0 = now();
	int fd = ask(&run, "x", 1);

	(void)rig_until(
	    fd, "\"delta\":{\"role\":\"assistant\",\"content\":\"\"}");
	ck_assert_double_gt(now() - t0, 0.9);
	ck_assert_double_lt(now() - t0, 1.5);
	(void)rig_until(fd, "\"delta\":{\"content\":\"\"}");
	ck_assert_double_gt(now() - t0, 1.9);
	rig_say_answer(&run, "late");
	(void)rig_until(fd, "late");
	(void)rig_until(fd, "[DONE]");
	close(fd);
	(void)rig_expect(rig.spawn, MT_GRANT_END);
	rig_run_exited(&rig, &run);

	/* From the first one on a failure is part of the stream. */
	fd = rig_connect(&rig);
	rig_post_text(fd, "demo", "x", 1);
	(void)rig_auth(&rig, "alice", 0);
	rig_run_start(&rig, &run);
	usleep(1200000);
	rig_run_failed(&rig, &run, ERR_NOT_INSTALLED);
	rig_answer(fd, &a);
	ck_assert_int_eq(a.status, 200);
	ck_assert_ptr_nonnull(
	    strstr(a.body, "\"code\":\"provider_not_installed\""));
	ck_assert_uint_eq(count(a.body, "finish_reason\":\""), 0);
	rig_answer_free(&a);
	close(fd);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("httpd");
	TCase *t = tcase_create("requests");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, json_answer);
	tcase_add_test(t, stream_answer);
	tcase_add_test(t, stream_usage_and_ignored);
	tcase_add_test(t, stream_http10);
	tcase_add_test(t, heads);
	tcase_add_test(t, origins_of_ours);
	tcase_add_test(t, bodies);
	tcase_add_test(t, auth_refused);
	tcase_add_test(t, unknown_caller_is_bounded);
	tcase_add_test(t, expect_continue);
	tcase_add_test(t, body_in_pieces);
	tcase_add_test(t, body_limit);
	tcase_add_test(t, pipelined);
	tcase_add_test(t, too_many_connections);
	tcase_add_test(t, unix_socket);
	tcase_add_test(t, models);
	tcase_add_test(t, health);
	tcase_add_test(t, status_fd);
	tcase_add_test(t, endings);
	tcase_add_test(t, owners_see_details);
	tcase_add_test(t, client_does_not_end);
	tcase_add_test(t, failure_after_text);
	tcase_add_test(t, tls);
	tcase_add_test(t, drain);
	suite_add_tcase(s, t);

	t = tcase_create("flow");
	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, pipelined_flood);
	tcase_add_test(t, deltas_pass_at_once);
	tcase_add_test(t, back_pressure);
	tcase_add_test(t, answer_too_large);
	suite_add_tcase(s, t);

	t = tcase_create("deadlines");
	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup_short, teardown);
	tcase_add_test(t, deadlines_of_arrival);
	tcase_add_test(t, deadlines_of_a_run);
	suite_add_tcase(s, t);

	t = tcase_create("heartbeat");
	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup_beat, teardown);
	tcase_add_test(t, heartbeat);
	suite_add_tcase(s, t);
	return (s);
}

int
main(void)
{
	return (suite_run(suite()));
}
