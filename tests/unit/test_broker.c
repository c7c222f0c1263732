/* SPDX-License-Identifier: ISC */
/*
 * The real olpd-egress, in its cage, between a hostile client and a provider
 * on a loopback port; master, http and spawn are played by the test.
 */
#include <arpa/inet.h>
#include <check.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "proto/err.h"
#include "tests/egress_rig.h"
#include "worker-http/egress/broker.h"

#define BODY                                                                   \
	"{\"model\":\"m1\",\"max_tokens\":5,\"messages\":[\"MARKER\"],"        \
	"\"tools\":[],\"stream\":true}"

#define SSE                                                                    \
	"event: message_start\r\ndata: "                                       \
	"{\"type\":\"message_start\",\"message\":{\"usage\":"                  \
	"{\"input_tokens\":11,\"output_tokens\":1,\"cache_read_input_"         \
	"tokens\":3,"                                                          \
	"\"cache_creation_input_tokens\":4}}}\r\n\r\n"                         \
	"data: "                                                               \
	"{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}" \
	","                                                                    \
	"\"usage\":{\"output_tokens\":22}}\n\n"                                \
	"data: {\"type\":\"message_stop\"}\n\n"

/*
 * Of memory that a slow or odd peer may make egress hold. Sanitizers add
 * theirs.
 */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define HELD_KB 8192
#else
#define HELD_KB 1024
#endif

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

static int
has(const char *text, const char *word)
{
	return (strstr(text, word) != NULL);
}

static long
now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
}

static void
expect_opened(uint64_t run_id)
{
	union msg_any m;

	rig_expect(rig.http, MT_OUT_OPENED, &m);
	ck_assert_uint_eq(m.m_OUT_OPENED.run_id, run_id);
}

static void
expect_refused(uint64_t run_id, const char *reason)
{
	union msg_any m;

	rig_expect(rig.http, MT_OUT_REFUSED, &m);
	ck_assert_uint_eq(m.m_OUT_REFUSED.run_id, run_id);
	ck_assert_str_eq(m.m_OUT_REFUSED.reason, reason);
}

static void
expect_quiet(int fd)
{
	union msg_any m;

	ck_assert_int_eq(rig_recv(fd, &m, RIG_QUIET), 0);
}

/*
 * A run, its request, which is read by the provider. *client is the client's
 * socket.
 */
static SSL *
exchange(uint64_t run_id, int *client)
{
	struct msg_out_listen l = rig_run(run_id);
	uint16_t port = rig_listen(&rig, &l);
	SSL *up;

	*client = rig_ask(port, rig_request(run_id, "", BODY));
	up = rig_up_accept(&rig);
	ck_assert_ptr_nonnull(up);
	expect_opened(run_id);
	(void)rig_up_read(up, NULL);
	return (up);
}

/* What the client gets for this answer; clean: how the provider closes. */
static const char *
answered(uint64_t run_id, const char *answer, int clean)
{
	int client;
	SSL *up = exchange(run_id, &client);

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
		BODY));
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
	ck_assert(has(text, "\r\nx-api-key: " RIG_SECRET "\r\n"));
	ck_assert(has(text, "\r\nuser-agent: cli/1\r\n"));
	ck_assert(has(text, "\r\nanthropic-version: 2023-06-01\r\n"));
	ck_assert(has(text, "\r\nContent-Type: application/json\r\n"));
	ck_assert(has(text, "\r\nAccept-Encoding: identity\r\n"));
	ck_assert(has(text, "\r\nConnection: close\r\n"));
	ck_assert(has(text, "\r\n\r\n" BODY));
	ck_assert(!has(text, "ph-1") && !has(text, "orwarded") &&
	    !has(text, "ookie") && !has(text, "gzip") && !has(text, "3128"));
	rig_up_write(up,
	    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nrequest-id: "
	    "req_up\r\n"
	    "Set-Cookie: s=1\r\nanthropic-organization-id: org-1\r\nLocation: "
	    "/x\r\n"
	    "cf-ray: 1\r\nanthropic-ratelimit-unified-status: allowed\r\n"
	    "anthropic-ratelimit-unified-reset: 1900000000\r\n"
	    "anthropic-ratelimit-unified-7d-reset: 1900009999\r\n"
	    "Connection: close\r\n\r\n" SSE);
	rig_up_close(up, 1);
	text = rig_read(client, NULL);
	ck_assert_int_eq(strncmp(text, "HTTP/1.1 200 OK\r\n", 17), 0);
	ck_assert(has(text, "\r\ncontent-type: text/event-stream\r\n"));
	ck_assert(has(text, "\r\nrequest-id: req_up\r\n"));
	ck_assert(has(text, "\r\nTransfer-Encoding: chunked\r\n"));
	ck_assert(has(text, "\r\n0\r\n\r\n"));
	ck_assert(!has(text, "ookie") && !has(text, "rganization") &&
	    !has(text, "ocation") && !has(text, "cf-ray"));
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
	ck_assert(has(c.window, "anthropic-ratelimit-unified-status=allowed;"));
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
	(void)rig_read(rig_ask(port, rig_request(1, "", BODY)), NULL);
	expect_refused(1, "head: a credential of another kind");
	l.run_id = 2;
	port = rig_listen(&rig, &l);
	client = rig_ask(port,
	    "POST /v1/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
	    "ph-1\r\n"
	    "Content-Type: application/json; charset=utf-8\r\nContent-Length: "
	    "14\r\n\r\n"
	    "{\"model\":\"m1\"}");
	up = rig_up_accept(&rig);
	expect_opened(2);
	text = rig_up_read(up, NULL);
	ck_assert(has(text, "POST /v1/messages HTTP/1.1\r\n"));
	ck_assert(has(text, "\r\nauthorization: Bearer " RIG_SECRET "\r\n"));
	rig_up_close(up, 1);
	(void)rig_read(client, NULL);
	rig_stop(&rig);
}
END_TEST

START_TEST(test_byte_by_byte)
{
	struct msg_out_listen l = rig_run(1);
	int client = rig_dial(rig_listen(&rig, &l));
	const char *text = rig_request(1, "", BODY);
	size_t i;
	SSL *up;

	for (i = 0; text[i] != '\0'; i++)
		rig_write(client, text + i, 1);
	up = rig_up_accept(&rig);
	expect_opened(1);
	ck_assert(has(rig_up_read(up, NULL), "\r\n\r\n" BODY));
	text = "HTTP/1.1 200 OK\r\nContent-Type: "
	       "application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
	       "5\r\nhello\r\n1;x=y\r\n!\r\n0\r\nTrailer: x\r\n\r\n";
	for (i = 0; text[i] != '\0'; i++)
		ck_assert_int_eq(SSL_write(up, text + i, 1), 1);
	text = rig_read(client, NULL);
	rig_up_close(up, 1);
	ck_assert(has(text, "h\r\n") && has(text, "0\r\n\r\n") &&
	    !has(text, "Trailer"));
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
	ck_assert(has(text, "\r\nContent-Length: 14\r\n") &&
	    has(text, "\r\n\r\n{\"model\":\"m1\"}"));
	ck_assert(!has(text, "Expect") && !has(text, "chunked"));
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
	ck_assert(has(text, "\r\nretry-after: 17\r\n"));
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
	SSL *up = exchange(1, &client);

	if (odd[_i].answer[0] != '\0')
		rig_up_write(up, odd[_i].answer);
	rig_up_close(up, odd[_i].clean);
	text = rig_read(client, NULL);
	ck_assert_int_eq(strncmp(text, "HTTP/1.1 502 Bad Gateway\r\n", 26), 0);
	ck_assert(has(text, "\"type\":\"api_error\"") && !has(text, "ocation"));
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
	ck_assert(has(text, "2\r\nok\r\n0\r\n\r\n") && !has(text, "Link"));
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

	ck_assert(has(text, "5\r\nhello\r\n"));
	ck_assert_int_eq(has(text, "\r\n0\r\n\r\n"), cuts[_i].whole);
	ck_assert_int_eq(c.complete, cuts[_i].whole);
	ck_assert_uint_eq(c.err, cuts[_i].whole ? ERR_OK : ERR_PROVIDER_CUT);
	ck_assert_uint_eq(c.status, 200);
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

	ck_assert(has(text, "\r\n0\r\n\r\n"));
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
	ck_assert(has(text, "{\"type\":\"error\",\"error\":{\"type\":\""));
	ck_assert(has(text, "\r\nConnection: close\r\n"));
	expect_refused(1, bad[_i].reason);
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
	expect_quiet(rig.http);
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
	int client = rig_ask(port, rig_request(1, "", BODY));
	SSL *up = rig_up_accept(&rig);

	expect_opened(1);
	(void)rig_up_read(up, NULL);
	/* While the first one is under way, and after it. */
	text = rig_read(rig_ask(port, rig_request(1, "", BODY)), NULL);
	ck_assert_int_eq(strncmp(text, "HTTP/1.1 400 Bad Request\r\n", 26), 0);
	ck_assert(has(text, "invalid_request_error"));
	expect_refused(1, "more requests than allowed");
	rig_up_write(up, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	ck_assert(has(rig_read(client, NULL), "ok\r\n0\r\n\r\n"));
	rig_up_close(up, 1);
	text = rig_read(rig_ask(port, rig_request(1, "", BODY)), NULL);
	ck_assert_int_eq(strncmp(text, "HTTP/1.1 400 Bad Request\r\n", 26), 0);
	expect_refused(1, "more requests than allowed");
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
	client = rig_ask(port, rig_request(1, "", BODY));
	up = rig_up_accept(&rig);
	expect_opened(1);
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
	(void)rig_read(rig_ask(port, rig_request(1, "", BODY)), NULL);
	expect_refused(1, "more requests than allowed");
	rig_write(client, "del\":\"m1\"}", 10);
	up = rig_up_accept(&rig);
	expect_opened(1);
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
		expect_opened(1);
		(void)rig_up_read(up, NULL);
		rig_up_write(up,
		    "HTTP/1.1 200 OK\r\nContent-Type: "
		    "text/event-stream\r\n\r\n" SSE);
		rig_up_close(up, 1);
		(void)rig_read(client, NULL);
	}
	(void)rig_read(rig_ask(port, rig_request(1, "", BODY)), NULL);
	expect_refused(1, "more requests than allowed");
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
	expect_quiet(rig.http);
	close(fd[0]);
	expect_refused(1, "head: not the provider's model request");
	(void)rig_read(ninth, NULL);
	for (i = 1; i < LIM_OUT_CONNS; i++)
		close(fd[i]);
}
END_TEST

/* Bytes sent after the request, while its answer is under way */
START_TEST(test_late_bytes)
{
	int client;
	SSL *up = exchange(1, &client);

	rig_up_write(up,
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n");
	rig_write(client, "POST", 4);
	expect_refused(1, "body: bytes after the request");
	ck_assert(!has(rig_read(client, NULL), "\r\n0\r\n\r\n"));
	ck_assert(rig_up_is_closed(up, RIG_WAIT));
	rig_up_close(up, 0);
	ck_assert_uint_eq(rig_close(&rig, 1).err, ERR_BROKER);
}
END_TEST

/* Where it may connect to */

static void
expect_unreachable(const char *why)
{
	struct msg_out_listen l = rig_run(1);
	const char *text;
	struct msg_out_closed c;

	text = rig_read(
	    rig_ask(rig_listen(&rig, &l), rig_request(1, "", BODY)), NULL);
	ck_assert_int_eq(strncmp(text, "HTTP/1.1 502 Bad Gateway\r\n", 26), 0);
	expect_opened(1);
	c = rig_close(&rig, 1);
	ck_assert_int_eq(c.opened, 1);
	ck_assert_uint_eq(c.err, ERR_UNREACHABLE);
	ck_assert_uint_eq(c.status, 0);
	ck_assert_msg(rig_logged(&rig, why), "not logged: %s", why);
}

START_TEST(test_private_address)
{
	static const char *const hosts[][2] = { { "127.0.0.1",
						    "a loopback address" },
		{ "localhost", "a loopback address" },
		{ "::1", "a loopback address" },
		{ "10.1.2.3", "a private address" },
		{ "169.254.169.254", "a link-local address" },
		{ "::ffff:127.0.0.1", "a loopback address" } };

	rig_prepare(&rig);
	rig.cred.allow_n = 0;
	(void)snprintf(
	    rig.cred.host, sizeof(rig.cred.host), "%s", hosts[_i][0]);
	rig_start(&rig);
	expect_unreachable(hosts[_i][1]);
	ck_assert(!rig_up_waiting(&rig, 0));
	rig_stop(&rig);
}
END_TEST

/*
 * A name server: answers A questions with the addresses given, one a
 * question, AAAA ones with none.  How many A questions came.
 */
static int
serve_names(int fd, const char *const *addrs, int n, int ms)
{
	uint8_t q[512];
	struct sockaddr_in from;
	socklen_t len;
	struct pollfd pfd = { fd, POLLIN, 0 };
	ssize_t got;
	int asked = 0, a;

	while (poll(&pfd, 1, ms) == 1) {
		len = sizeof(from);
		got = recvfrom(
		    fd, q, sizeof(q) - 16, 0, (struct sockaddr *)&from, &len);
		ck_assert_int_gt(got, 17);
		a = q[got - 3] == 1;
		q[2] = 0x81;
		q[3] = 0x80;
		if (a) {
			ck_assert_int_lt(asked, n);
			memcpy(q + got,
			    "\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x00\x00\x04",
			    12);
			(void)inet_pton(AF_INET, addrs[asked++], q + got + 12);
			q[7] = 1;
			got += 16;
		}
		(void)sendto(
		    fd, q, (size_t)got, 0, (struct sockaddr *)&from, len);
	}
	return (asked);
}

static int
name_server(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&in, &len), 0);
	rig.cred.resolver_port = ntohs(in.sin_port);
	(void)snprintf(rig.cred.host, sizeof(rig.cred.host), "api.test");
	return (fd);
}

START_TEST(test_name)
{
	static const char *const private[] = { "10.0.0.1" },
				 *const ours[] = { "127.0.0.1" },
				 *const changing[] = { "127.0.0.1",
					 "10.0.0.1" };
	struct msg_out_listen l = rig_run(2);
	int dns, client;
	SSL *up;

	rig_prepare(&rig);
	dns = name_server();
	rig_certify(&rig, "DNS:api.test", 30, 1);
	rig_start(&rig);
	/* It resolves to a private address. */
	client = rig_ask(rig_listen(&rig, &l), rig_request(2, "", BODY));
	ck_assert_int_eq(serve_names(dns, private, 1, RIG_QUIET), 1);
	expect_opened(2);
	ck_assert(has(rig_read(client, NULL), "502"));
	ck_assert(rig_logged(&rig, "a private address"));
	/* To an allowed one, and would to another if it were asked again. */
	l = rig_run(3);
	client = rig_ask(rig_listen(&rig, &l), rig_request(3, "", BODY));
	ck_assert_int_eq(serve_names(dns, changing, 2, RIG_QUIET), 1);
	up = rig_up_accept(&rig);
	ck_assert_ptr_nonnull(up);
	expect_opened(3);
	ck_assert(has(rig_up_read(up, NULL), "\r\nHost: api.test:"));
	rig_up_close(up, 1);
	(void)rig_read(client, NULL);
	/* Each run asks anew. */
	l = rig_run(4);
	client = rig_ask(rig_listen(&rig, &l), rig_request(4, "", BODY));
	ck_assert_int_eq(serve_names(dns, ours, 1, RIG_QUIET), 1);
	rig_up_close(rig_up_accept(&rig), 1);
	(void)rig_read(client, NULL);
	close(dns);
	rig_stop(&rig);
}
END_TEST

START_TEST(test_no_name)
{
	int dns;
	uint8_t q[512];
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	struct msg_out_listen l = rig_run(1);
	int client, i;
	ssize_t n;

	rig_prepare(&rig);
	dns = name_server();
	rig_start(&rig);
	client = rig_ask(rig_listen(&rig, &l), rig_request(1, "", BODY));
	for (i = 0; i < 2; i++) {
		n = recvfrom(
		    dns, q, sizeof(q), 0, (struct sockaddr *)&from, &len);
		ck_assert_int_gt(n, 12);
		q[2] = 0x81;
		q[3] = 0x83; /* NXDOMAIN */
		(void)sendto(
		    dns, q, (size_t)n, 0, (struct sockaddr *)&from, len);
	}
	ck_assert(has(rig_read(client, NULL), "502"));
	expect_opened(1);
	ck_assert_uint_eq(rig_close(&rig, 1).err, ERR_UNREACHABLE);
	/* The run ends while its name is being looked up. */
	l = rig_run(2);
	client = rig_ask(rig_listen(&rig, &l), rig_request(2, "", BODY));
	expect_opened(2);
	ck_assert_int_eq(rig_close(&rig, 2).opened, 1);
	ck_assert_str_eq(rig_read(client, NULL), "");
	close(dns);
	rig_stop(&rig);
}
END_TEST

START_TEST(test_connection_refused)
{
	close(rig.up);
	rig.up = rig_file("", 0);
	expect_unreachable("connection refused");
}
END_TEST

/* Certificates */

static void
handshake_fails(const char *why)
{
	struct msg_out_listen l = rig_run(1);
	int client;

	rig_start(&rig);
	client = rig_ask(rig_listen(&rig, &l), rig_request(1, "", BODY));
	ck_assert_ptr_null(rig_up_accept(&rig));
	expect_opened(1);
	ck_assert(has(rig_read(client, NULL), "502"));
	ck_assert_uint_eq(rig_close(&rig, 1).err, ERR_UNREACHABLE);
	ck_assert_msg(rig_logged(&rig, why), "not logged: %s", why);
	rig_stop(&rig);
}

START_TEST(test_wrong_name)
{
	rig_prepare(&rig);
	rig_certify(&rig, "DNS:other.test,DNS:*.localhost,IP:127.0.0.1", 30, 1);
	handshake_fails("hostname mismatch");
}
END_TEST

START_TEST(test_wrong_address)
{
	rig_prepare(&rig);
	rig_certify(&rig, "DNS:localhost,DNS:127.0.0.1,IP:127.0.0.2", 30, 1);
	(void)snprintf(rig.cred.host, sizeof(rig.cred.host), "127.0.0.1");
	handshake_fails("IP address mismatch");
}
END_TEST

START_TEST(test_unknown_authority)
{
	rig_prepare(&rig);
	rig_certify(&rig, "DNS:localhost", 30, 0);
	handshake_fails("self-signed certificate");
}
END_TEST

START_TEST(test_expired)
{
	rig_prepare(&rig);
	rig_certify(&rig, "DNS:localhost", -1, 1);
	handshake_fails("certificate has expired");
}
END_TEST

START_TEST(test_old_tls)
{
	rig_prepare(&rig);
	SSL_CTX_set_security_level(rig.tls, 0);
	SSL_CTX_set_min_proto_version(rig.tls, TLS1_VERSION);
	SSL_CTX_set_max_proto_version(rig.tls, TLS1_1_VERSION);
	handshake_fails("protocol version");
}
END_TEST

START_TEST(test_literal_address)
{
	int client;
	SSL *up;

	rig_prepare(&rig);
	(void)snprintf(rig.cred.host, sizeof(rig.cred.host), "127.0.0.1");
	rig_start(&rig);
	up = exchange(1, &client);
	ck_assert_ptr_null(SSL_get_servername(up, TLSEXT_NAMETYPE_host_name));
	rig_up_close(up, 1);
	(void)rig_read(client, NULL);
	rig_stop(&rig);
}
END_TEST

/* No session is kept: each connection makes a whole handshake. */
START_TEST(test_no_session)
{
	int client, i;
	SSL *up;

	for (i = 1; i < 3; i++) {
		up = exchange((uint64_t)i, &client);
		ck_assert_int_eq(SSL_session_reused(up), 0);
		rig_up_close(up, 1);
		(void)rig_read(client, NULL);
	}
}
END_TEST

/* Ends */

START_TEST(test_end)
{
	struct msg_out_listen l = rig_run(1);
	uint16_t port = rig_listen(&rig, &l);
	struct msg_out_closed c;
	int client = rig_ask(port, rig_request(1, "", BODY));
	SSL *up = rig_up_accept(&rig);

	expect_opened(1);
	(void)rig_up_read(up, NULL);
	rig_up_write(up,
	    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" SSE);
	usleep(50000);
	rig_end(&rig, 1);
	ck_assert(rig_up_is_closed(up, RIG_WAIT));
	rig_up_close(up, 0);
	ck_assert(!has(rig_read(client, NULL), "\r\n0\r\n\r\n"));
	ck_assert(rig_unheard(port));
	/* What was seen is told nevertheless. */
	c = rig_close(&rig, 1);
	ck_assert_int_eq(c.opened, 1);
	ck_assert_int_eq(c.complete, 0);
	ck_assert_uint_eq(c.out_tokens, 22);
}
END_TEST

START_TEST(test_close)
{
	int client;
	SSL *up = exchange(1, &client);
	struct msg_out_closed c = rig_close(&rig, 1);

	ck_assert_int_eq(c.opened, 1);
	ck_assert_uint_eq(c.requests, 1);
	ck_assert_uint_eq(c.status, 0);
	ck_assert_int_eq(c.complete, 0);
	ck_assert(rig_up_is_closed(up, RIG_WAIT));
	rig_up_close(up, 0);
	ck_assert_str_eq(rig_read(client, NULL), "");
	/* Asked again while spawn still has it. */
	ck_assert_int_eq(rig_close(&rig, 1).opened, 1);
	rig_end(&rig, 1);
}
END_TEST

START_TEST(test_close_before_listen)
{
	struct msg_out_listen l = rig_run(1);
	int client;

	ck_assert_int_eq(rig_close(&rig, 1).opened, 0);
	ck_assert(rig_unheard(rig_listen(&rig, &l)));
	expect_quiet(rig.http);
	rig_end(&rig, 1);
	/* Closed and ended: a run of that name is a new one. */
	client = rig_ask(rig_listen(&rig, &l), rig_request(1, "", BODY));
	rig_up_close(rig_up_accept(&rig), 1);
	expect_opened(1);
	(void)rig_read(client, NULL);
}
END_TEST

START_TEST(test_client_leaves)
{
	int client;
	SSL *up = exchange(1, &client);
	long t;

	rig_up_write(up,
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n");
	usleep(20000);
	t = now_ms();
	close(client);
	ck_assert(rig_up_is_closed(up, RIG_WAIT));
	ck_assert_int_lt(now_ms() - t, 200);
	rig_up_close(up, 0);
	ck_assert_int_eq(rig_close(&rig, 1).complete, 0);
}
END_TEST

START_TEST(test_http_dies)
{
	int client;
	SSL *up = exchange(1, &client);
	union msg_any m;

	close(rig.http);
	ck_assert(rig_up_is_closed(up, RIG_WAIT));
	rig_up_close(up, 0);
	ck_assert_str_eq(rig_read(client, NULL), "");
	/* The next one knows nothing of it. */
	rig.http = rig_link(&rig, PROC_HTTP, RIG_GEN + 1);
	ck_assert_int_eq(rig_close(&rig, 1).opened, 0);
	/* The death of http is not its peer's fault. */
	ck_assert_int_eq(rig_recv(rig.master, &m, RIG_QUIET), 0);
}
END_TEST

START_TEST(test_http_replaced)
{
	struct msg_out_listen l;
	int client, old = rig.http;
	SSL *up = exchange(1, &client);

	rig.http = rig_link(&rig, PROC_HTTP, RIG_GEN + 1);
	ck_assert(rig_up_is_closed(up, RIG_WAIT));
	rig_up_close(up, 0);
	ck_assert_str_eq(rig_read(client, NULL), "");
	close(old);
	/* A run of the old http that spawn tells of late is not served. */
	l = rig_run(2);
	ck_assert(rig_unheard(rig_listen(&rig, &l)));
	l.http_gen = RIG_GEN + 1;
	client = rig_ask(rig_listen(&rig, &l), rig_request(2, "", BODY));
	rig_up_close(rig_up_accept(&rig), 1);
	expect_opened(2);
	(void)rig_read(client, NULL);
}
END_TEST

/* A run whose http has no link yet waits for it. */
START_TEST(test_http_late)
{
	struct msg_out_listen l = rig_run(5);
	int client, old = rig.http;

	l.http_gen = RIG_GEN + 4;
	client = rig_ask(rig_listen(&rig, &l), rig_request(5, "", BODY));
	ck_assert(!rig_up_waiting(&rig, RIG_QUIET));
	rig.http = rig_link(&rig, PROC_HTTP, RIG_GEN + 4);
	expect_opened(5);
	rig_up_close(rig_up_accept(&rig), 1);
	(void)rig_read(client, NULL);
	close(old);
}
END_TEST

START_TEST(test_spawn_dies)
{
	int client;
	SSL *up = exchange(1, &client);
	struct msg_out_closed c;

	close(rig.spawn);
	ck_assert(rig_up_is_closed(up, RIG_WAIT));
	rig_up_close(up, 0);
	ck_assert_str_eq(rig_read(client, NULL), "");
	c = rig_close(&rig, 1);
	ck_assert_int_eq(c.opened, 1);
	rig.spawn = rig_link(&rig, PROC_SPAWN, 4);
	up = exchange(2, &client);
	rig_up_close(up, 1);
	(void)rig_read(client, NULL);
}
END_TEST

/* What spawn may not send */
static void
expect_spawn_bad(void)
{
	union msg_any m;

	rig_expect(rig.master, MT_PEER_BAD, &m);
	ck_assert_uint_eq(m.m_PEER_BAD.peer, PROC_SPAWN);
	ck_assert_uint_eq(m.m_PEER_BAD.generation, 3);
	ck_assert_int_eq(rig_recv(rig.spawn, &m, RIG_WAIT), -1);
}

START_TEST(test_bad_listener)
{
	struct msg_out_listen l = rig_run(1);
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = -1, sv[2];

	switch (_i) {
	case 0: /* a stream socket that does not listen */
		fd = socket(AF_INET, SOCK_STREAM, 0);
		ck_assert_int_eq(
		    bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
		break;
	case 1:
		fd = rig_file("x", 1);
		break;
	case 2:
		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
		close(sv[1]);
		fd = sv[0];
		break;
	case 3:
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		ck_assert_int_eq(
		    bind(fd,
			(struct sockaddr *)&(struct sockaddr){ AF_UNIX, "" },
			2),
		    0);
		ck_assert_int_eq(listen(fd, 1), 0);
		break;
	case 4:
		fd = open("/tmp", O_RDONLY | O_DIRECTORY);
		break;
	}
	rig_send(rig.spawn, MT_OUT_LISTEN, &l, &fd, 1);
	close(fd);
	expect_spawn_bad();
}
END_TEST

START_TEST(test_listen_twice)
{
	struct msg_out_listen l = rig_run(1);

	(void)rig_listen(&rig, &l);
	(void)rig_listen(&rig, &l);
	expect_spawn_bad();
}
END_TEST

START_TEST(test_http_sends_listen)
{
	struct msg_out_listen l = rig_run(1);
	union msg_any m;
	int fd = rig_file("", 0);

	rig_send(rig.http, MT_OUT_LISTEN, &l, &fd, 1);
	close(fd);
	rig_expect(rig.master, MT_PEER_BAD, &m);
	ck_assert_uint_eq(m.m_PEER_BAD.peer, PROC_HTTP);
}
END_TEST

/* Bounds and fairness */

/* http is told before anything goes out, even when it does not read. */
START_TEST(test_http_stalls)
{
	struct msg_out_listen l = rig_run(1);
	struct msg_out_run o = { 1000 };
	union msg_any m;
	int client, i, opened = 0;
	uint16_t port = rig_listen(&rig, &l);

	for (i = 0; i < 700; i++, o.run_id++) {
		rig_send(rig.http, MT_OUT_CLOSE, &o, NULL, 0);
		if (i % 50 == 0)
			usleep(2000);
	}
	client = rig_ask(port, rig_request(1, "", BODY));
	ck_assert(!rig_up_waiting(&rig, 300));
	for (i = 0; i < 701; i++) {
		int type = rig_recv(rig.http, &m, RIG_WAIT);

		ck_assert_int_eq(opened, 0);
		opened += type == MT_OUT_OPENED;
		ck_assert(opened || type == MT_OUT_CLOSED);
	}
	ck_assert_int_eq(opened, 1);
	rig_up_close(rig_up_accept(&rig), 1);
	(void)rig_read(client, NULL);
}
END_TEST

static long
rss_kb(pid_t pid)
{
	char path[64];
	long size, rss;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%ld %ld", &size, &rss), 2);
	(void)fclose(f);
	return (rss * (sysconf(_SC_PAGESIZE) / 1024));
}

#define PIECES 6400
#define PIECE 8192

/* The provider in a process of its own: sends much, as fast as it is taken. */
static pid_t
send_much(SSL *up)
{
	static char piece[PIECE];
	pid_t pid;
	int i;

	if ((pid = fork()) != 0)
		return (pid);
	(void)signal(SIGPIPE, SIG_IGN);
	memset(piece, 'x', sizeof(piece));
	(void)SSL_write(
	    up, "HTTP/1.1 200 OK\r\nContent-Length: 52428800\r\n\r\n", 45);
	for (i = 0; i < PIECES; i++)
		if (SSL_write(up, piece, sizeof(piece)) <= 0)
			_exit(1);
	(void)SSL_shutdown(up);
	_exit(0);
}

START_TEST(test_back_pressure)
{
	int client, status, small = 65536;
	long before, held;
	size_t got = 0;
	ssize_t n;
	static char buf[65536];
	SSL *up = exchange(1, &client);
	pid_t pid;

	(void)setsockopt(client, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	before = rss_kb(rig.pid);
	pid = send_much(up);
	usleep(500000);
	ck_assert_int_eq(waitpid(pid, &status, WNOHANG), 0);
	held = rss_kb(rig.pid) - before;
	ck_assert_msg(held < HELD_KB,
	    "%ld KB held for a client that does not read", held);
	while ((n = recv(client, buf, sizeof(buf), 0)) > 0)
		got += (size_t)n;
	ck_assert_uint_gt(got, (size_t)PIECES * PIECE);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	held = rss_kb(rig.pid) - before;
	ck_assert_msg(held < HELD_KB, "%ld KB held", held);
	close(client);
	rig_up_close(up, 0);
	ck_assert_int_eq(rig_close(&rig, 1).complete, 1);
}
END_TEST

#define LARGE (20 * 1024 * 1024)

/* A client in a process of its own that asks with a large body. */
static pid_t
ask_large(uint16_t port)
{
	char *text;
	pid_t pid;
	size_t n;
	int fd;

	if ((pid = fork()) != 0)
		return (pid);
	text = malloc(LARGE + 1024);
	n = (size_t)sprintf(text,
	    HEAD KEY TYPE
	    "Content-Length: %d\r\n\r\n{\"model\":\"m1\",\"messages\":\"",
	    LARGE);
	memset(text + n, 'y', LARGE - 28);
	memcpy(text + n + LARGE - 28, "\"}", 2);
	fd = rig_dial(port);
	rig_write(fd, text, n + LARGE - 26);
	(void)rig_read(fd, NULL);
	_exit(0);
}

/* While 20 MB of one run come in and go out, another run's stream goes on. */
START_TEST(test_large_body)
{
	struct msg_out_listen l = rig_run(1);
	uint16_t port = rig_listen(&rig, &l);
	int other, status, i;
	char c, *text;
	long t, longest = 0;
	SSL *stream = exchange(2, &other), *up;
	size_t len;
	pid_t pid;

	rig_up_write(stream, "HTTP/1.1 200 OK\r\n\r\n");
	usleep(20000);
	while (recv(other, &c, 1, MSG_DONTWAIT) == 1)
		;
	pid = ask_large(port);
	for (i = 0; i < 5000 && !rig_up_waiting(&rig, 0); i++) {
		t = now_ms();
		rig_up_write(stream, "z");
		do
			ck_assert_int_eq(recv(other, &c, 1, 0), 1);
		while (c != 'z');
		if (now_ms() - t > longest)
			longest = now_ms() - t;
	}
	/* In one go the 20 MB would leave room for hardly any. */
	ck_assert_msg(
	    i > 50, "%d pieces of a stream, one took %ld ms", i, longest);
	up = rig_up_accept(&rig);
	expect_opened(1);
	text = rig_up_read(up, &len);
	ck_assert_uint_gt(len, LARGE);
	ck_assert(has(text, "\r\nContent-Length: 20971520\r\n"));
	ck_assert_int_eq(strcmp(text + len - 3, "y\"}"), 0);
	rig_up_write(up, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	rig_up_close(up, 1);
	rig_up_close(stream, 1);
	(void)rig_read(other, NULL);
}
END_TEST

/* Descriptors, memory: what a run had is free after it. */
START_TEST(test_many_runs)
{
	long before = 0;
	int client, i;
	SSL *up;

	for (i = 1; i <= 300; i++) {
		up = exchange((uint64_t)i, &client);
		if (i % 3 == 0)
			rig_up_write(up,
			    "HTTP/1.1 200 OK\r\nContent-Type: "
			    "text/event-stream\r\n\r\n" SSE);
		rig_up_close(up, i % 2);
		if (i % 5 == 0)
			close(client);
		else
			(void)rig_read(client, NULL);
		(void)rig_close(&rig, (uint64_t)i);
		rig_end(&rig, (uint64_t)i);
		if (i == 20)
			before = rss_kb(rig.pid);
	}
	ck_assert_msg(rss_kb(rig.pid) - before < HELD_KB, "%ld KB",
	    rss_kb(rig.pid) - before);
}
END_TEST

/*
 * With few descriptors some connections wait for others to end; the channels go
 * on.
 */
START_TEST(test_few_descriptors)
{
	struct msg_out_listen l = rig_run(1);
	uint16_t port;
	int fd[4], i;

	rig_prepare(&rig);
	rig.nofile = LIM_OUT_FDS + 8; /* 1 run, 3 connections with theirs */
	rig_start(&rig);
	port = rig_listen(&rig, &l);
	for (i = 0; i < 3; i++)
		fd[i] = rig_dial(port);
	usleep(50000);
	fd[3] = rig_ask(port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	expect_quiet(rig.http);
	ck_assert_int_eq(rig_close(&rig, 99).opened, 0);
	close(fd[0]);
	expect_refused(1, "head: not the provider's model request");
	for (i = 1; i < 4; i++)
		close(fd[i]);
	usleep(50000);
	/* And a run that cannot be served is told at once. */
	for (i = 0; i < 8; i++) {
		l.run_id++;
		(void)rig_listen(&rig, &l);
	}
	expect_refused(9, "the broker has no room for another run");
	rig_stop(&rig);
}
END_TEST

/* Bytes that come one by one do not each hold a buffer. */
START_TEST(test_small_pieces)
{
	struct msg_out_listen l = rig_run(1);
	int client = rig_ask(rig_listen(&rig, &l),
	    HEAD KEY TYPE
	    "Content-Length: 1000000\r\n\r\n{\"model\":\"m1\",\"messages\":\"");
	long before = rss_kb(rig.pid);
	int i;

	for (i = 0; i < 20000; i++) {
		rig_write(client, "y", 1);
		if (i % 8 == 0)
			usleep(10);
	}
	usleep(50000);
	ck_assert_int_lt(rss_kb(rig.pid) - before, HELD_KB);
	close(client);
}
END_TEST

/* The credential */

START_TEST(test_credential_replaced)
{
	static const char other[] = "sk-ant-another-secret-0123\n";
	union msg_any m;
	int client;
	SSL *up;
	struct msg_out_listen l = rig_run(1);

	close(rig.secret);
	rig.secret = rig_file(other, sizeof(other) - 1);
	rig_conf(&rig, 2);
	rig_expect(rig.master, MT_CONF_ACK, &m);
	client = rig_ask(rig_listen(&rig, &l), rig_request(1, "", BODY));
	up = rig_up_accept(&rig);
	ck_assert(has(rig_up_read(up, NULL),
	    "\r\nx-api-key: sk-ant-another-secret-0123\r\n"));
	expect_opened(1);
	rig_up_close(up, 1);
	(void)rig_read(client, NULL);
	/* One that cannot be used is told and leaves the one before. */
	close(rig.secret);
	rig.secret = rig_file("two\nlines\n", 10);
	rig_conf(&rig, 3);
	rig_expect(rig.master, MT_CONF_ACK, &m);
	ck_assert(rig_logged(
	    &rig, "credential claude: its file has more than one line"));
	l = rig_run(2);
	client = rig_ask(rig_listen(&rig, &l), rig_request(2, "", BODY));
	up = rig_up_accept(&rig);
	ck_assert(has(rig_up_read(up, NULL),
	    "\r\nx-api-key: sk-ant-another-secret-0123\r\n"));
	rig_up_close(up, 1);
	(void)rig_read(client, NULL);
}
END_TEST

static const struct {
	const char *text, *why;
} secrets[] = {
	{ "", "credential claude: its file is empty" },
	{ "\n\r\n", "credential claude: its file is empty" },
	{ "a\nb", "credential claude: its file has more than one line" },
	{ "a b",
	    "credential claude: its file has a blank, control or non-ASCII "
	    "byte" },
	{ "a\x01",
	    "credential claude: its file has a blank, control or non-ASCII "
	    "byte" },
	{ "caf\xc3\xa9",
	    "credential claude: its file has a blank, control or non-ASCII "
	    "byte" },
};

START_TEST(test_credential_bad)
{
	rig_prepare(&rig);
	close(rig.secret);
	rig.secret = rig_file(secrets[_i].text, strlen(secrets[_i].text));
	ck_assert_int_eq(rig_start_fails(&rig), 1);
	ck_assert(rig_logged(&rig, secrets[_i].why));
}
END_TEST

START_TEST(test_credential_files)
{
	static char large[LIM_CRED_BYTES + 1];
	int p[2];

	memset(large, 'k', sizeof(large));
	rig_prepare(&rig);
	close(rig.secret);
	switch (_i) {
	case 0:
		rig.secret = rig_file(large, sizeof(large));
		ck_assert_int_eq(rig_start_fails(&rig), 1);
		ck_assert(rig_logged(&rig, "its file is larger than 16 KB"));
		break;
	case 1: /* a pipe has no offset 0 */
		ck_assert_int_eq(pipe(p), 0);
		rig.secret = p[0];
		ck_assert_int_eq(rig_start_fails(&rig), 1);
		ck_assert(rig_logged(&rig, "its file cannot be read"));
		break;
	case 2:
		rig.secret = rig_file("k", 1);
		close(rig.ca);
		rig.ca = rig_file("no PEM\n", 7);
		ck_assert_int_eq(rig_start_fails(&rig), 1);
		ck_assert(rig_logged(
		    &rig, "the CA certificates' file holds no certificate"));
		break;
	case 3:
		rig.secret = rig_file("k", 1);
		close(rig.ca);
		rig.ca = rig_file("-----BEGIN CERTIFICATE-----\nAAAA\n-----END "
				  "CERTIFICATE-----\n",
		    60);
		ck_assert_int_eq(rig_start_fails(&rig), 1);
		ck_assert(rig_logged(
		    &rig, "the CA certificates' file is not valid PEM"));
		break;
	case 4:
		rig.secret = rig_file("k", 1);
		(void)snprintf(
		    rig.cred.provider, sizeof(rig.cred.provider), "demo");
		ck_assert_int_eq(rig_start_fails(&rig), 1);
		ck_assert(rig_logged(
		    &rig, "its provider is not one that is brokered"));
		break;
	case 5: /* the largest, and no newline at its end */
		rig.secret = rig_file(large, sizeof(large) - 1);
		rig_start(&rig);
		rig_stop(&rig);
		break;
	}
}
END_TEST

/* Idleness, in this process: a minute is too long to wait for. */

static struct event_base *base;
static int idles;

static void
count_idle(void)
{
	if (++idles == 2)
		(void)event_base_loopbreak(base);
}

START_TEST(test_idle)
{
	long t = now_ms();

	base = event_base_new();
	broker_init(base, 64, 1, count_idle);
	(void)event_base_dispatch(base);
	ck_assert_int_eq(idles, 2);
	ck_assert_int_ge(now_ms() - t, 1900);
	event_base_free(base);
}
END_TEST

#define N(a) ((int)(sizeof(a) / sizeof((a)[0])))

int
main(void)
{
	Suite *s = suite_create("broker");
	TCase *tc = tcase_create("running"), *own = tcase_create("own");
	SRunner *sr;
	int failed;

	(void)signal(SIGPIPE, SIG_IGN);
	tcase_set_timeout(tc, 30);
	tcase_set_timeout(own, 30);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_swap);
	tcase_add_test(tc, test_byte_by_byte);
	tcase_add_test(tc, test_chunked_request);
	tcase_add_test(tc, test_json_answer);
	tcase_add_test(tc, test_error_answer);
	tcase_add_loop_test(tc, test_odd_answer, 0, N(odd));
	tcase_add_test(tc, test_interim);
	tcase_add_loop_test(tc, test_cut, 0, N(cuts));
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
	tcase_add_test(tc, test_connection_refused);
	tcase_add_test(tc, test_no_session);
	tcase_add_test(tc, test_end);
	tcase_add_test(tc, test_close);
	tcase_add_test(tc, test_close_before_listen);
	tcase_add_test(tc, test_client_leaves);
	tcase_add_test(tc, test_http_dies);
	tcase_add_test(tc, test_http_replaced);
	tcase_add_test(tc, test_http_late);
	tcase_add_test(tc, test_spawn_dies);
	tcase_add_loop_test(tc, test_bad_listener, 0, 5);
	tcase_add_test(tc, test_listen_twice);
	tcase_add_test(tc, test_http_sends_listen);
	tcase_add_test(tc, test_http_stalls);
	tcase_add_test(tc, test_back_pressure);
	tcase_add_test(tc, test_large_body);
	tcase_add_test(tc, test_many_runs);
	tcase_add_test(tc, test_small_pieces);
	tcase_add_test(tc, test_credential_replaced);
	tcase_add_test(own, test_oauth);
	tcase_add_loop_test(own, test_private_address, 0, 6);
	tcase_add_test(own, test_name);
	tcase_add_test(own, test_no_name);
	tcase_add_test(own, test_wrong_name);
	tcase_add_test(own, test_wrong_address);
	tcase_add_test(own, test_unknown_authority);
	tcase_add_test(own, test_expired);
	tcase_add_test(own, test_old_tls);
	tcase_add_test(own, test_literal_address);
	tcase_add_loop_test(own, test_credential_bad, 0, N(secrets));
	tcase_add_loop_test(own, test_credential_files, 0, 6);
	tcase_add_test(own, test_few_descriptors);
	tcase_add_test(own, test_idle);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, own);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return (failed == 0 ? 0 : 1);
}
