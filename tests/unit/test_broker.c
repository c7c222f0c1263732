/* SPDX-License-Identifier: ISC */
/*
 * The real olpd-egress, in its cage, between a hostile client and a provider
 * on a loopback port; master, http and spawn are played by the test.
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/err.h"
#include "tests/egress_rig.h"
#include "tests/unit/suite.h"

static struct rig rig;

static void
setup(void)
{
	rig_prepare(&rig);
	rig_start(&rig);
}

static void
teardown(void)
{
	rig_stop(&rig);
}

/* What the client gets for this answer; clean: how the provider closes. */
static const char *
answered(uint64_t run_id, const char *answer, int clean)
{
	int client;
	SSL *up = rig_exchange(&rig, run_id, &client);

	rig_up_write(up, answer);
	rig_up_close(up, clean);
	return (rig_read(client, NULL));
}

/* The way of a request and its answer */

START_TEST(test_swap)
{
	struct msg_out_listen l = rig_run(1);
	uint16_t port = rig_listen(&rig, &l);
	struct msg_out_closed c;
	union msg_any m;
	const char *text;
	int client;
	SSL *up;

	client = rig_ask(port,
	    rig_request(1,
		"Connection: keep-alive\r\nUser-Agent: "
		"cli/1\r\nanthropic-version: 2023-06-01\r\n"
		"X-Forwarded-For: 1.2.3.4\r\nCookie: a=b\r\nAccept-Encoding: "
		"gzip, br\r\n",
		RIG_BODY));
	ck_assert(rig_up_waiting(&rig, RIG_WAIT));
	/* Before the connection could be seen. */
	ck_assert_int_eq(rig_recv(rig.http, &m, 0), MT_OUT_OPENED);
	up = rig_up_accept(&rig);
	ck_assert_ptr_nonnull(up);
	ck_assert_str_eq(
	    SSL_get_servername(up, TLSEXT_NAMETYPE_host_name), "localhost");
	text = rig_up_read(up, NULL);
	ck_assert_int_eq(
	    strncmp(text,
		"POST /v1/messages?beta=true HTTP/1.1\r\nHost: localhost:", 54),
	    0);
	ck_assert(rig_has(text, "\r\nx-api-key: " RIG_SECRET "\r\n"));
	ck_assert(rig_has(text, "\r\nuser-agent: cli/1\r\n"));
	ck_assert(rig_has(text, "\r\nanthropic-version: 2023-06-01\r\n"));
	ck_assert(rig_has(text, "\r\nContent-Type: application/json\r\n"));
	ck_assert(rig_has(text, "\r\nAccept-Encoding: identity\r\n"));
	ck_assert(rig_has(text, "\r\nConnection: close\r\n"));
	ck_assert(rig_has(text, "\r\n\r\n" RIG_BODY));
	ck_assert(!rig_has(text, "ph-1") && !rig_has(text, "orwarded") &&
	    !rig_has(text, "ookie") && !rig_has(text, "gzip") &&
	    !rig_has(text, "3128"));
	rig_up_write(up,
	    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nrequest-id: "
	    "req_up\r\n"
	    "Set-Cookie: s=1\r\nanthropic-organization-id: org-1\r\nLocation: "
	    "/x\r\n"
	    "cf-ray: 1\r\nanthropic-ratelimit-unified-status: allowed\r\n"
	    "anthropic-ratelimit-unified-reset: 1900000000\r\n"
	    "anthropic-ratelimit-unified-7d-reset: 1900009999\r\n"
	    "Connection: close\r\n\r\n" RIG_SSE);
	rig_up_close(up, 1);
	text = rig_read(client, NULL);
	ck_assert_int_eq(strncmp(text, "HTTP/1.1 200 OK\r\n", 17), 0);
	ck_assert(rig_has(text, "\r\ncontent-type: text/event-stream\r\n"));
	ck_assert(rig_has(text, "\r\nrequest-id: req_up\r\n"));
	ck_assert(rig_has(text, "\r\nTransfer-Encoding: chunked\r\n"));
	ck_assert(rig_has(text, "\r\n0\r\n\r\n"));
	ck_assert(!rig_has(text, "ookie") && !rig_has(text, "rganization") &&
	    !rig_has(text, "ocation") && !rig_has(text, "cf-ray"));
	c = rig_close(&rig, 1);
	ck_assert_int_eq(c.opened, 1);
	ck_assert_uint_eq(c.requests, 1);
	ck_assert_uint_eq(c.status, 200);
	ck_assert_int_eq(c.complete, 1);
	ck_assert_uint_eq(c.err, ERR_OK);
	ck_assert_uint_eq(c.in_tokens, 11);
	ck_assert_uint_eq(c.out_tokens, 22);
	ck_assert_uint_eq(c.cache_read_tokens, 3);
	ck_assert_uint_eq(c.cache_write_tokens, 4);
	ck_assert_uint_eq(c.reset_at, 1900000000);
	ck_assert(
	    rig_has(c.window, "anthropic-ratelimit-unified-status=allowed;"));
}
END_TEST

START_TEST(test_oauth)
{
	struct msg_out_listen l = rig_run(1);
	uint16_t port;
	const char *text;
	int client;
	SSL *up;

	rig_prepare(&rig);
	rig.cred.kind = 2;
	rig_start(&rig);
	port = rig_listen(&rig, &l);
	/* The other kind's field is refused. */
	(void)rig_read(rig_ask(port, rig_request(1, "", RIG_BODY)), NULL);
	rig_expect_refused(&rig, 1, "head: a credential of another kind");
	l.run_id = 2;
	port = rig_listen(&rig, &l);
	client = rig_ask(port,
	    "POST /v1/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
	    "ph-1\r\n"
	    "Content-Type: application/json; charset=utf-8\r\nContent-Length: "
	    "14\r\n\r\n"
	    "{\"model\":\"m1\"}");
	up = rig_up_accept(&rig);
	rig_expect_opened(&rig, 2);
	text = rig_up_read(up, NULL);
	ck_assert(rig_has(text, "POST /v1/messages HTTP/1.1\r\n"));
	ck_assert(
	    rig_has(text, "\r\nauthorization: Bearer " RIG_SECRET "\r\n"));
	rig_up_close(up, 1);
	(void)rig_read(client, NULL);
	rig_stop(&rig);
}
END_TEST

START_TEST(test_byte_by_byte)
{
	struct msg_out_listen l = rig_run(1);
	int client = rig_dial(rig_listen(&rig, &l));
	const char *text = rig_request(1, "", RIG_BODY);
	size_t i;
	SSL *up;

	for (i = 0; text[i] != '\0'; i++)
		rig_write(client, text + i, 1);
	up = rig_up_accept(&rig);
	rig_expect_opened(&rig, 1);
	ck_assert(rig_has(rig_up_read(up, NULL), "\r\n\r\n" RIG_BODY));
	text = "HTTP/1.1 200 OK\r\nContent-Type: "
	       "application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
	       "5\r\nhello\r\n1;x=y\r\n!\r\n0\r\nTrailer: x\r\n\r\n";
	for (i = 0; text[i] != '\0'; i++)
		ck_assert_int_eq(SSL_write(up, text + i, 1), 1);
	text = rig_read(client, NULL);
	rig_up_close(up, 1);
	ck_assert(rig_has(text, "h\r\n") && rig_has(text, "0\r\n\r\n") &&
	    !rig_has(text, "Trailer"));
	ck_assert_int_eq(rig_close(&rig, 1).complete, 1);
}
END_TEST

START_TEST(test_chunked_request)
{
	struct msg_out_listen l = rig_run(1);
	int client = rig_ask(rig_listen(&rig, &l),
	    "POST /v1/messages HTTP/1.1\r\nHost: x\r\nx-api-key: "
	    "ph-1\r\nExpect: 100-continue\r\n"
	    "Content-Type: application/json\r\nTransfer-Encoding: "
	    "chunked\r\n\r\n");
	char interim[64] = "";
	const char *text;
	SSL *up;

	ck_assert_int_gt(recv(client, interim, sizeof(interim) - 1, 0), 0);
	ck_assert_str_eq(interim, "HTTP/1.1 100 Continue\r\n\r\n");
	rig_write(client, "7\r\n{\"model\r\n7\r\n\":\"m1\"}\r\n0\r\n\r\n", 29);
	up = rig_up_accept(&rig);
	text = rig_up_read(up, NULL);
	ck_assert(rig_has(text, "\r\nContent-Length: 14\r\n") &&
	    rig_has(text, "\r\n\r\n{\"model\":\"m1\"}"));
	ck_assert(!rig_has(text, "Expect") && !rig_has(text, "chunked"));
	rig_up_close(up, 1);
	(void)rig_read(client, NULL);
}
END_TEST

START_TEST(test_json_answer)
{
	struct msg_out_closed c;

	(void)answered(1,
	    "HTTP/1.1 200 OK\r\nContent-Type: "
	    "application/json\r\nContent-Length: 109\r\n\r\n"
	    "{\"type\":\"message\",\"stop_reason\":\"end_turn\",\"content\":["
	    "\"MARKER\"],"
	    "\"usage\":{\"input_tokens\":5,\"output_tokens\":6}}",
	    1);
	c = rig_close(&rig, 1);
	ck_assert_int_eq(c.complete, 1);
	ck_assert_uint_eq(c.in_tokens, 5);
	ck_assert_uint_eq(c.out_tokens, 6);
}
END_TEST

START_TEST(test_error_answer)
{
	struct msg_out_closed c;
	const char *text;

	text = answered(1,
	    "HTTP/1.1 429 Whatever\r\nContent-Type: "
	    "application/json\r\nretry-after: 17\r\n"
	    "anthropic-ratelimit-requests-reset: 2030-01-01T00:00:10Z\r\n"
	    "Content-Length: 2\r\n\r\n{}",
	    1);
	ck_assert_int_eq(
	    strncmp(text, "HTTP/1.1 429 Too Many Requests\r\n", 32), 0);
	ck_assert(rig_has(text, "\r\nretry-after: 17\r\n"));
	c = rig_close(&rig, 1);
	ck_assert_uint_eq(c.status, 429);
	ck_assert_uint_eq(c.retry_s, 17);
	ck_assert_uint_eq(c.reset_at, 1893456010);
	ck_assert_int_eq(c.complete, 1);
	ck_assert_uint_eq(c.err, ERR_OK);
}
END_TEST

/* Answers that do not pass */

static const struct {
	const char *answer;
	int clean;
	unsigned int status, err;
} odd[] = {
	{ "HTTP/1.1 302 Found\r\nLocation: https://x/\r\nContent-Length: "
	  "0\r\n\r\n",
	    1, 302, ERR_PROVIDER },
	{ "HTTP/1.1 304 Not Modified\r\n\r\n", 1, 304, ERR_PROVIDER },
	{ "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", 1, 0,
	    ERR_PROVIDER },
	{ "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: "
	  "1\r\n\r\nx",
	    1, 200, ERR_PROVIDER },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
	    1, 0, ERR_PROVIDER },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: "
	  "chunked\r\n\r\n",
	    1, 0, ERR_PROVIDER },
	{ "HTTP/1.1 200 OK\nContent-Length: 1\n\nx", 1, 0, ERR_PROVIDER },
	{ "HTTP/2 200\r\n\r\n", 1, 0, ERR_PROVIDER },
	{ "garbage\r\n\r\n", 1, 0, ERR_PROVIDER },
	{ "HTTP/1.1 200 OK\r\nContent-", 1, 0, ERR_PROVIDER_CUT },
	{ "HTTP/1.1 200 OK\r\nContent-", 0, 0, ERR_PROVIDER_CUT },
	{ "", 1, 0, ERR_PROVIDER_CUT },
	{ "", 0, 0, ERR_PROVIDER_CUT },
};

START_TEST(test_odd_answer)
{
	struct msg_out_closed c;
	const char *text;
	int client;
	SSL *up = rig_exchange(&rig, 1, &client);

	if (odd[_i].answer[0] != '\0')
		rig_up_write(up, odd[_i].answer);
	rig_up_close(up, odd[_i].clean);
	text = rig_read(client, NULL);
	ck_assert_int_eq(strncmp(text, "HTTP/1.1 502 Bad Gateway\r\n", 26), 0);
	ck_assert(rig_has(text, "\"type\":\"api_error\"") &&
	    !rig_has(text, "ocation"));
	c = rig_close(&rig, 1);
	ck_assert_int_eq(c.opened, 1);
	ck_assert_uint_eq(c.status, odd[_i].status);
	ck_assert_uint_eq(c.err, odd[_i].err);
	ck_assert_int_eq(c.complete, 0);
}
END_TEST

START_TEST(test_interim)
{
	const char *text = answered(1,
	    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: "
	    "x\r\n\r\n"
	    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
	    1);

	ck_assert_int_eq(strncmp(text, "HTTP/1.1 200 OK\r\n", 17), 0);
	ck_assert(
	    rig_has(text, "2\r\nok\r\n0\r\n\r\n") && !rig_has(text, "Link"));
}
END_TEST

/* Cut answers: never a false end. */
static const struct {
	const char *answer;
	int clean, whole;
} cuts[] = {
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
	    1, 0 },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
	    0, 0 },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhello", 1,
	    0 },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
	  "chunked\r\n\r\n5\r\nhello\r\n0\r\n",
	    1, 0 },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
	  "chunked\r\n\r\n5\r\nhello\r\n0x5\r\n",
	    1, 0 },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
	  "chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
	    0, 1 },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello", 1, 0 },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 0, 1 },
	{ "HTTP/1.1 200 OK\r\n\r\nhello", 1, 1 },
	{ "HTTP/1.1 200 OK\r\n\r\nhello", 0, 0 },
};

START_TEST(test_cut)
{
	const char *text = answered(1, cuts[_i].answer, cuts[_i].clean);
	struct msg_out_closed c = rig_close(&rig, 1);

	ck_assert(rig_has(text, "5\r\nhello\r\n"));
	ck_assert_int_eq(rig_has(text, "\r\n0\r\n\r\n"), cuts[_i].whole);
	ck_assert_int_eq(c.complete, cuts[_i].whole);
	ck_assert_uint_eq(c.err, cuts[_i].whole ? ERR_OK : ERR_PROVIDER_CUT);
	ck_assert_uint_eq(c.status, 200);
}
END_TEST

/* The provider's word is what counts: a client that has it need not wait for
 * the end of the body. */
START_TEST(test_ended_stream)
{
	static const char *const words[] = {
		"data: {\"type\":\"message_stop\"}\n\n",
		"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
		"\"end_turn\"},\"usage\":{\"output_tokens\":1}}\n\n",
		"data: {\"type\":\"message_delta\",\"delta\":{},\"usage\":{"
		"\"output_tokens\":1}}\n\n",
	};
	int client;
	SSL *up = rig_exchange(&rig, 1, &client);
	char buf[512];

	(void)snprintf(buf, sizeof(buf),
	    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n%zx\r\n%s\r\n",
	    strlen(words[_i]), words[_i]);
	rig_up_write(up, buf);
	ck_assert(rig_comes(client, "\n\n\r\n"));
	ck_assert_int_eq(rig_close(&rig, 1).complete, _i != 2);
	rig_up_close(up, 0);
	close(client);
}
END_TEST

/* A stream whose framing ends in order, but not the provider's word. */
START_TEST(test_unended_stream)
{
	const char *text = answered(1,
	    "HTTP/1.1 200 OK\r\nContent-Type: "
	    "text/event-stream\r\nContent-Length: 18\r\n\r\n"
	    "data: {\"x\":\"y\"}\n\n\n",
	    1);

	ck_assert(rig_has(text, "\r\n0\r\n\r\n"));
	ck_assert_int_eq(rig_close(&rig, 1).complete, 0);
}
END_TEST

/* What the client may not ask */

#define HEAD "POST /v1/messages HTTP/1.1\r\nHost: x\r\n"
#define KEY "x-api-key: ph-1\r\n"
#define TYPE "Content-Type: application/json\r\n"
#define M1 "Content-Length: 14\r\n\r\n{\"model\":\"m1\"}"

static const struct {
	const char *request;
	unsigned int status;
	const char *reason;
} bad[] = {
	/* method, path, query */
	{ "GET /v1/messages HTTP/1.1\r\nHost: x\r\n" KEY TYPE M1, 404,
	    "head: not the provider's model request" },
	{ "POST /v1/messages/ HTTP/1.1\r\nHost: x\r\n" KEY TYPE M1, 404,
	    "head: not the provider's model request" },
	{ "POST /v1/messages/count_tokens HTTP/1.1\r\nHost: x\r\n" KEY TYPE M1,
	    404, "head: not the provider's model request" },
	{ "POST /v1//messages HTTP/1.1\r\nHost: x\r\n" KEY TYPE M1, 404,
	    "head: not the provider's model request" },
	{ "POST /v1/../v1/messages HTTP/1.1\r\nHost: x\r\n" KEY TYPE M1, 404,
	    "head: not the provider's model request" },
	{ "POST /v1/%6dessages HTTP/1.1\r\nHost: x\r\n" KEY TYPE M1, 404,
	    "head: not the provider's model request" },
	{ "POST /v1/oauth/token HTTP/1.1\r\nHost: x\r\n" KEY TYPE M1, 404,
	    "head: not the provider's model request" },
	{ "POST /v1/messages?beta=false HTTP/1.1\r\nHost: x\r\n" KEY TYPE M1,
	    404, "head: not the provider's model request" },
	{ "POST /v1/messages?beta=true&x=1 HTTP/1.1\r\nHost: x\r\n" KEY TYPE M1,
	    404, "head: not the provider's model request" },
	{ "POST /v1/messages? HTTP/1.1\r\nHost: x\r\n" KEY TYPE M1, 404,
	    "head: not the provider's model request" },
	{ "POST http://evil/v1/messages HTTP/1.1\r\nHost: x\r\n" KEY TYPE M1,
	    400, "head: target is not a path beginning with /" },
	{ "CONNECT evil:443 HTTP/1.1\r\nHost: x\r\n\r\n", 400,
	    "head: target is not a path beginning with /" },
	{ "POST /v1/messages HTTP/1.0\r\nHost: x\r\n" KEY TYPE M1, 505,
	    "head: not HTTP/1.1" },
	/* credentials */
	{ HEAD TYPE M1, 401, "head: no credential" },
	{ HEAD "x-api-key: ph-2\r\n" TYPE M1, 401,
	    "head: the credential is not this run's placeholder" },
	{ HEAD "x-api-key: ph-\r\n" TYPE M1, 401,
	    "head: the credential is not this run's placeholder" },
	{ HEAD "x-api-key: ph-11\r\n" TYPE M1, 401,
	    "head: the credential is not this run's placeholder" },
	{ HEAD "x-api-key:\r\n" TYPE M1, 401,
	    "head: the credential is not this run's placeholder" },
	{ HEAD "x-api-key: " RIG_SECRET "\r\n" TYPE M1, 401,
	    "head: the credential is not this run's placeholder" },
	{ HEAD "Authorization: Bearer ph-1\r\n" TYPE M1, 401,
	    "head: a credential of another kind" },
	{ HEAD KEY "Authorization: Bearer ph-1\r\n" TYPE M1, 401,
	    "head: a credential of another kind" },
	{ HEAD KEY "x-goog-api-key: ph-1\r\n" TYPE M1, 401,
	    "head: a credential of another kind" },
	{ HEAD KEY KEY TYPE M1, 400, "head: more than one x-api-key" },
	{ HEAD KEY "Proxy-Authorization: Basic eA==\r\n" TYPE M1, 400,
	    "head: Proxy-Authorization" },
	/* hop by hop */
	{ HEAD KEY TYPE "Upgrade: websocket\r\nConnection: Upgrade\r\n" M1, 400,
	    "head: Upgrade" },
	{ HEAD KEY TYPE "Upgrade: h2c\r\n" M1, 400, "head: Upgrade" },
	{ HEAD KEY TYPE "Connection: x-api-key\r\n" M1, 400,
	    "head: Connection is neither keep-alive nor close" },
	{ HEAD KEY TYPE "Connection: close, x-api-key\r\n" M1, 400,
	    "head: Connection is neither keep-alive nor close" },
	/* smuggling */
	{ HEAD KEY TYPE "Transfer-Encoding: chunked\r\n" M1, 400,
	    "head: both Content-Length and Transfer-Encoding" },
	{ HEAD KEY TYPE "Content-Length: 14\r\n" M1, 400,
	    "head: more than one Content-Length" },
	{ HEAD KEY TYPE "Transfer-Encoding: gzip, chunked\r\n\r\n", 501,
	    "head: Transfer-Encoding is not chunked alone" },
	{ HEAD KEY TYPE
	    "Transfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n0\r\n\r\n",
	    400, "body: chunk size is not 1 to 15 hexadecimal digits" },
	{ HEAD KEY TYPE " x: y\r\n" M1, 400, "head: line begins with a blank" },
	{ HEAD KEY TYPE "x : y\r\n" M1, 400,
	    "head: field name is not a token up to its colon" },
	{ HEAD KEY TYPE "x: y\n" M1, 400, "head: CR or LF alone" },
	{ HEAD "Host: y\r\n" KEY TYPE M1, 400, "head: more than one Host" },
	{ HEAD KEY TYPE M1 HEAD KEY TYPE M1, 400,
	    "body: bytes after the request" },
	{ HEAD KEY TYPE M1 "\r\n", 400, "body: bytes after the request" },
	/* fields that go out */
	{ HEAD KEY TYPE "anthropic-beta: a\r\nanthropic-beta: b\r\n" M1, 400,
	    "head: a field twice" },
	{ HEAD KEY TYPE "user-agent: caf\xc3\xa9\r\n" M1, 400,
	    "head: a field's value is not printable ASCII" },
	{ HEAD KEY TYPE "user-agent: a\tb\r\n" M1, 400,
	    "head: a field's value is not printable ASCII" },
	{ HEAD KEY TYPE "user-agent: a\x01\r\n" M1, 400,
	    "head: control byte in a line" },
	/* content */
	{ HEAD KEY M1, 415, "head: Content-Type is not application/json" },
	{ HEAD KEY "Content-Type: application/jsonx\r\n" M1, 415,
	    "head: Content-Type is not application/json" },
	{ HEAD KEY "Content-Type: application/json; charset=utf-16\r\n" M1, 415,
	    "head: Content-Type is not application/json" },
	{ HEAD KEY "Content-Type: multipart/form-data\r\n" M1, 415,
	    "head: Content-Type is not application/json" },
	{ HEAD KEY TYPE "Content-Encoding: gzip\r\n" M1, 415,
	    "head: Content-Encoding" },
	{ HEAD KEY TYPE "\r\n", 415, "head: no body" },
	{ HEAD KEY TYPE "Content-Length: 33554433\r\n\r\n", 413,
	    "head: body too large" },
	/* bodies; all forms in test_body.c */
	{ HEAD KEY TYPE "Content-Length: 0\r\n\r\n", 400,
	    "body: not JSON: ends too early" },
	{ HEAD KEY TYPE "Content-Length: 14\r\n\r\n{\"model\":\"m2\"}", 400,
	    "body: model is not the run's" },
	{ HEAD KEY TYPE
	    "Content-Length: 29\r\n\r\n{\"model\":\"m1\",\"t\\u006fols\":[{",
	    400, "body: tools where none are allowed" },
	{ HEAD KEY TYPE
	    "Content-Length: 27\r\n\r\n{\"model\":\"m1\",\"model\":\"m2\"}",
	    400, "body: a top-level key twice" },
	{ HEAD KEY TYPE
	    "Content-Length: 31\r\n\r\n{\"model\":\"m1\",\"mcp_servers\":[]}",
	    400, "body: a top-level key that is not allowed" },
	{ HEAD KEY TYPE "Content-Length: 5\r\n\r\nhello", 400,
	    "body: not a JSON object" },
};

START_TEST(test_refused)
{
	struct msg_out_listen l = rig_run(1);
	uint16_t port = rig_listen(&rig, &l);
	char want[64];
	const char *text;
	struct msg_out_closed c;

	text = rig_read(rig_ask(port, bad[_i].request), NULL);
	(void)snprintf(want, sizeof(want), "HTTP/1.1 %u ", bad[_i].status);
	ck_assert_msg(strncmp(text, want, strlen(want)) == 0, "%s: %s",
	    bad[_i].request, text);
	ck_assert(rig_has(text, "{\"type\":\"error\",\"error\":{\"type\":\""));
	ck_assert(rig_has(text, "\r\nConnection: close\r\n"));
	rig_expect_refused(&rig, 1, bad[_i].reason);
	ck_assert(!rig_up_waiting(&rig, 20));
	c = rig_close(&rig, 1);
	ck_assert_int_eq(c.opened, 0);
	ck_assert_uint_eq(c.requests, 0);
	ck_assert_uint_eq(c.err, ERR_BROKER);
	ck_assert(rig_logged(&rig, bad[_i].reason));
}
END_TEST

START_TEST(test_ignored)
{
	struct msg_out_listen l = rig_run(1);
	uint16_t port = rig_listen(&rig, &l);
	const char *text;

	text = rig_read(
	    rig_ask(port,
		"GET /api/claude_code/settings HTTP/1.1\r\nHost: x\r\n\r\n"),
	    NULL);
	ck_assert_int_eq(strncmp(text, "HTTP/1.1 404 Not Found\r\n", 24), 0);
	rig_expect_quiet(rig.http);
	ck_assert_uint_eq(rig_close(&rig, 1).err, ERR_OK);
}
END_TEST

/* Many refusals: some are told, then nobody listens any more. */
START_TEST(test_refusal_flood)
{
	struct msg_out_listen l = rig_run(1);
	uint16_t port = rig_listen(&rig, &l);
	union msg_any m;
	int i, fd, told = 0, silent = 0;

	for (i = 0; i < 2 * LIM_OUT_REFUSALS; i++) {
		fd = rig_ask(port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
		if (i <= LIM_OUT_REFUSALS)
			silent += rig_read(fd, NULL)[0] == '\0';
		else {
			silent +=
			    !rig_is_closed(fd, 20); /* waits in the backlog */
			close(fd);
		}
	}
	while (rig_recv(rig.http, &m, RIG_QUIET) == MT_OUT_REFUSED)
		told++;
	ck_assert_int_eq(told, LIM_OUT_REFUSALS);
	ck_assert_int_eq(silent, LIM_OUT_REFUSALS);
}
END_TEST

START_TEST(test_second_request)
{
	struct msg_out_listen l = rig_run(1);
	uint16_t port = rig_listen(&rig, &l);
	struct msg_out_closed c;
	const char *text;
	int client = rig_ask(port, rig_request(1, "", RIG_BODY));
	SSL *up = rig_up_accept(&rig);

	rig_expect_opened(&rig, 1);
	(void)rig_up_read(up, NULL);
	/* While the first one is under way, and after it. */
	text = rig_read(rig_ask(port, rig_request(1, "", RIG_BODY)), NULL);
	ck_assert_int_eq(strncmp(text, "HTTP/1.1 400 Bad Request\r\n", 26), 0);
	ck_assert(rig_has(text, "invalid_request_error"));
	rig_expect_refused(&rig, 1, "more requests than allowed");
	rig_up_write(up, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	ck_assert(rig_has(rig_read(client, NULL), "ok\r\n0\r\n\r\n"));
	rig_up_close(up, 1);
	text = rig_read(rig_ask(port, rig_request(1, "", RIG_BODY)), NULL);
	ck_assert_int_eq(strncmp(text, "HTTP/1.1 400 Bad Request\r\n", 26), 0);
	rig_expect_refused(&rig, 1, "more requests than allowed");
	ck_assert(!rig_up_waiting(&rig, 20));
	c = rig_close(&rig, 1);
	ck_assert_uint_eq(c.requests, 1);
	ck_assert_uint_eq(c.status, 200);
	ck_assert_int_eq(c.complete, 1);
	ck_assert_uint_eq(c.err, ERR_OK);
}
END_TEST

/* One that leaves before it was in order has used up nothing. */
START_TEST(test_half_request)
{
	struct msg_out_listen l = rig_run(1);
	uint16_t port = rig_listen(&rig, &l);
	int client =
	    rig_ask(port, HEAD KEY TYPE "Content-Length: 14\r\n\r\n{\"mo");
	SSL *up;

	usleep(20000);
	close(client);
	usleep(20000);
	client = rig_ask(port, rig_request(1, "", RIG_BODY));
	up = rig_up_accept(&rig);
	rig_expect_opened(&rig, 1);
	rig_up_close(up, 1);
	(void)rig_read(client, NULL);
}
END_TEST

/* Two that are read side by side: the first one has the only place. */
START_TEST(test_half_and_whole)
{
	struct msg_out_listen l = rig_run(1);
	uint16_t port = rig_listen(&rig, &l);
	int client =
	    rig_ask(port, HEAD KEY TYPE "Content-Length: 14\r\n\r\n{\"mo");
	SSL *up;

	usleep(50000);
	(void)rig_read(rig_ask(port, rig_request(1, "", RIG_BODY)), NULL);
	rig_expect_refused(&rig, 1, "more requests than allowed");
	rig_write(client, "del\":\"m1\"}", 10);
	up = rig_up_accept(&rig);
	rig_expect_opened(&rig, 1);
	rig_up_close(up, 1);
	(void)rig_read(client, NULL);
	ck_assert(!rig_up_waiting(&rig, 20));
	ck_assert_uint_eq(rig_close(&rig, 1).requests, 1);
}
END_TEST

START_TEST(test_several_requests)
{
	struct msg_out_listen l = rig_run(1);
	uint16_t port;
	struct msg_out_closed c;
	int i;
	SSL *up;

	l.max_requests = 3;
	l.no_tools = 0;
	port = rig_listen(&rig, &l);
	for (i = 0; i < 3; i++) {
		int client = rig_ask(port,
		    rig_request(1, "", "{\"model\":\"m1\",\"tools\":[{}]}"));

		up = rig_up_accept(&rig);
		rig_expect_opened(&rig, 1);
		(void)rig_up_read(up, NULL);
		rig_up_write(up,
		    "HTTP/1.1 200 OK\r\nContent-Type: "
		    "text/event-stream\r\n\r\n" RIG_SSE);
		rig_up_close(up, 1);
		(void)rig_read(client, NULL);
	}
	(void)rig_read(rig_ask(port, rig_request(1, "", RIG_BODY)), NULL);
	rig_expect_refused(&rig, 1, "more requests than allowed");
	c = rig_close(&rig, 1);
	ck_assert_uint_eq(c.requests, 3);
	ck_assert_uint_eq(c.in_tokens, 33);
	ck_assert_uint_eq(c.out_tokens, 66);
}
END_TEST

/*
 * Eight connections of a run are served at once; the ninth waits for one of
 * them.
 */
START_TEST(test_connections)
{
	struct msg_out_listen l = rig_run(1);
	uint16_t port = rig_listen(&rig, &l);
	int fd[LIM_OUT_CONNS], i, ninth;

	for (i = 0; i < LIM_OUT_CONNS; i++)
		fd[i] = rig_dial(port);
	usleep(50000);
	ninth = rig_ask(port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	rig_expect_quiet(rig.http);
	close(fd[0]);
	rig_expect_refused(&rig, 1, "head: not the provider's model request");
	(void)rig_read(ninth, NULL);
	for (i = 1; i < LIM_OUT_CONNS; i++)
		close(fd[i]);
}
END_TEST

/* Bytes sent after the request, while its answer is under way */
START_TEST(test_late_bytes)
{
	int client;
	SSL *up = rig_exchange(&rig, 1, &client);

	rig_up_write(up,
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n");
	rig_write(client, "POST", 4);
	rig_expect_refused(&rig, 1, "body: bytes after the request");
	ck_assert(!rig_has(rig_read(client, NULL), "\r\n0\r\n\r\n"));
	ck_assert(rig_up_is_closed(up, RIG_WAIT));
	rig_up_close(up, 0);
	ck_assert_uint_eq(rig_close(&rig, 1).err, ERR_BROKER);
}
END_TEST

#define N(a) ((int)(sizeof(a) / sizeof((a)[0])))

int
main(void)
{
	Suite *s = suite_create("broker");
	TCase *tc = tcase_create("running"), *own = tcase_create("own");

	(void)signal(SIGPIPE, SIG_IGN);
	tcase_set_timeout(tc, 120);
	tcase_set_timeout(own, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_swap);
	tcase_add_test(tc, test_byte_by_byte);
	tcase_add_test(tc, test_chunked_request);
	tcase_add_test(tc, test_json_answer);
	tcase_add_test(tc, test_error_answer);
	tcase_add_loop_test(tc, test_odd_answer, 0, N(odd));
	tcase_add_test(tc, test_interim);
	tcase_add_loop_test(tc, test_cut, 0, N(cuts));
	tcase_add_loop_test(tc, test_ended_stream, 0, 3);
	tcase_add_test(tc, test_unended_stream);
	tcase_add_loop_test(tc, test_refused, 0, N(bad));
	tcase_add_test(tc, test_ignored);
	tcase_add_test(tc, test_refusal_flood);
	tcase_add_test(tc, test_second_request);
	tcase_add_test(tc, test_half_request);
	tcase_add_test(tc, test_half_and_whole);
	tcase_add_test(tc, test_several_requests);
	tcase_add_test(tc, test_connections);
	tcase_add_test(tc, test_late_bytes);
	tcase_add_test(own, test_oauth);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, own);
	return (suite_run(s));
}
