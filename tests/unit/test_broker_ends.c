/* SPDX-License-Identifier: ISC */
/*
 * The real olpd-egress, in its cage: where it connects to, how a run ends,
 * what is bounded, and its credential.
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
#include "tests/unit/suite.h"
#include "worker-http/egress/broker.h"

/*
 * Of memory that a slow or odd peer may make egress hold. Sanitizers add
 * theirs.
 */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SANITIZED
#endif
#ifdef SANITIZED
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

static long
now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
}

#define HEAD "POST /v1/messages HTTP/1.1\r\nHost: x\r\n"
#define KEY "x-api-key: ph-1\r\n"
#define TYPE "Content-Type: application/json\r\n"
#define M1 "Content-Length: 14\r\n\r\n{\"model\":\"m1\"}"

/* Where it may connect to */

static void
expect_unreachable(const char *why)
{
	struct msg_out_listen l = rig_run(1);
	const char *text;
	struct msg_out_closed c;

	text = rig_read(
	    rig_ask(rig_listen(&rig, &l), rig_request(1, "", RIG_BODY)), NULL);
	ck_assert_int_eq(strncmp(text, "HTTP/1.1 502 Bad Gateway\r\n", 26), 0);
	rig_expect_opened(&rig, 1);
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
	client = rig_ask(rig_listen(&rig, &l), rig_request(2, "", RIG_BODY));
	ck_assert_int_eq(serve_names(dns, private, 1, RIG_QUIET), 1);
	rig_expect_opened(&rig, 2);
	ck_assert(rig_has(rig_read(client, NULL), "502"));
	ck_assert(rig_logged(&rig, "a private address"));
	/* To an allowed one, and would to another if it were asked again. */
	l = rig_run(3);
	client = rig_ask(rig_listen(&rig, &l), rig_request(3, "", RIG_BODY));
	ck_assert_int_eq(serve_names(dns, changing, 2, RIG_QUIET), 1);
	up = rig_up_accept(&rig);
	ck_assert_ptr_nonnull(up);
	rig_expect_opened(&rig, 3);
	ck_assert(rig_has(rig_up_read(up, NULL), "\r\nHost: api.test:"));
	rig_up_close(up, 1);
	(void)rig_read(client, NULL);
	/* Each run asks anew. */
	l = rig_run(4);
	client = rig_ask(rig_listen(&rig, &l), rig_request(4, "", RIG_BODY));
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
	client = rig_ask(rig_listen(&rig, &l), rig_request(1, "", RIG_BODY));
	for (i = 0; i < 2; i++) {
		n = recvfrom(
		    dns, q, sizeof(q), 0, (struct sockaddr *)&from, &len);
		ck_assert_int_gt(n, 12);
		q[2] = 0x81;
		q[3] = 0x83; /* NXDOMAIN */
		(void)sendto(
		    dns, q, (size_t)n, 0, (struct sockaddr *)&from, len);
	}
	ck_assert(rig_has(rig_read(client, NULL), "502"));
	rig_expect_opened(&rig, 1);
	ck_assert_uint_eq(rig_close(&rig, 1).err, ERR_UNREACHABLE);
	/* The run ends while its name is being looked up. */
	l = rig_run(2);
	client = rig_ask(rig_listen(&rig, &l), rig_request(2, "", RIG_BODY));
	rig_expect_opened(&rig, 2);
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
	client = rig_ask(rig_listen(&rig, &l), rig_request(1, "", RIG_BODY));
	ck_assert_ptr_null(rig_up_accept(&rig));
	rig_expect_opened(&rig, 1);
	ck_assert(rig_has(rig_read(client, NULL), "502"));
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
	up = rig_exchange(&rig, 1, &client);
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
		up = rig_exchange(&rig, (uint64_t)i, &client);
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
	int client = rig_ask(port, rig_request(1, "", RIG_BODY));
	SSL *up = rig_up_accept(&rig);

	rig_expect_opened(&rig, 1);
	(void)rig_up_read(up, NULL);
	rig_up_write(up,
	    "HTTP/1.1 200 OK\r\nContent-Type: "
	    "text/event-stream\r\n\r\n" RIG_SSE);
	usleep(50000);
	rig_end(&rig, 1);
	ck_assert(rig_up_is_closed(up, RIG_WAIT));
	rig_up_close(up, 0);
	ck_assert(!rig_has(rig_read(client, NULL), "\r\n0\r\n\r\n"));
	ck_assert(rig_unheard(port));
	/* What was seen is told nevertheless; all but the body's end was. */
	c = rig_close(&rig, 1);
	ck_assert_int_eq(c.opened, 1);
	ck_assert_int_eq(c.complete, 1);
	ck_assert_uint_eq(c.out_tokens, 22);
}
END_TEST

START_TEST(test_close)
{
	int client;
	SSL *up = rig_exchange(&rig, 1, &client);
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
	rig_expect_quiet(rig.http);
	rig_end(&rig, 1);
	/* Closed and ended: a run of that name is a new one. */
	client = rig_ask(rig_listen(&rig, &l), rig_request(1, "", RIG_BODY));
	rig_up_close(rig_up_accept(&rig), 1);
	rig_expect_opened(&rig, 1);
	(void)rig_read(client, NULL);
}
END_TEST

START_TEST(test_client_leaves)
{
	int client;
	SSL *up = rig_exchange(&rig, 1, &client);
	long t;

	rig_up_write(up,
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n");
	usleep(20000);
	t = now_ms();
	close(client);
	ck_assert(rig_up_is_closed(up, RIG_WAIT));
	ck_assert_int_lt(now_ms() - t, 1000);
	rig_up_close(up, 0);
	ck_assert_int_eq(rig_close(&rig, 1).complete, 0);
}
END_TEST

START_TEST(test_http_dies)
{
	int client;
	SSL *up = rig_exchange(&rig, 1, &client);
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
	SSL *up = rig_exchange(&rig, 1, &client);

	rig.http = rig_link(&rig, PROC_HTTP, RIG_GEN + 1);
	ck_assert(rig_up_is_closed(up, RIG_WAIT));
	rig_up_close(up, 0);
	ck_assert_str_eq(rig_read(client, NULL), "");
	close(old);
	/* A run of the old http that spawn tells of late is not served. */
	l = rig_run(2);
	ck_assert(rig_unheard(rig_listen(&rig, &l)));
	l.http_gen = RIG_GEN + 1;
	client = rig_ask(rig_listen(&rig, &l), rig_request(2, "", RIG_BODY));
	rig_up_close(rig_up_accept(&rig), 1);
	rig_expect_opened(&rig, 2);
	(void)rig_read(client, NULL);
}
END_TEST

/* A run whose http has no link yet waits for it. */
START_TEST(test_http_late)
{
	struct msg_out_listen l = rig_run(5);
	int client, old = rig.http;

	l.http_gen = RIG_GEN + 4;
	client = rig_ask(rig_listen(&rig, &l), rig_request(5, "", RIG_BODY));
	ck_assert(!rig_up_waiting(&rig, RIG_QUIET));
	rig.http = rig_link(&rig, PROC_HTTP, RIG_GEN + 4);
	rig_expect_opened(&rig, 5);
	rig_up_close(rig_up_accept(&rig), 1);
	(void)rig_read(client, NULL);
	close(old);
}
END_TEST

START_TEST(test_spawn_dies)
{
	int client;
	SSL *up = rig_exchange(&rig, 1, &client);
	struct msg_out_closed c;

	close(rig.spawn);
	ck_assert(rig_up_is_closed(up, RIG_WAIT));
	rig_up_close(up, 0);
	ck_assert_str_eq(rig_read(client, NULL), "");
	c = rig_close(&rig, 1);
	ck_assert_int_eq(c.opened, 1);
	rig.spawn = rig_link(&rig, PROC_SPAWN, 4);
	up = rig_exchange(&rig, 2, &client);
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
	client = rig_ask(port, rig_request(1, "", RIG_BODY));
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
	SSL *up = rig_exchange(&rig, 1, &client);
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
	SSL *stream = rig_exchange(&rig, 2, &other), *up;
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
	rig_expect_opened(&rig, 1);
	text = rig_up_read(up, &len);
	ck_assert_uint_gt(len, LARGE);
	ck_assert(rig_has(text, "\r\nContent-Length: 20971520\r\n"));
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
		up = rig_exchange(&rig, (uint64_t)i, &client);
		if (i % 3 == 0)
			rig_up_write(up,
			    "HTTP/1.1 200 OK\r\nContent-Type: "
			    "text/event-stream\r\n\r\n" RIG_SSE);
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
	rig_expect_quiet(rig.http);
	ck_assert_int_eq(rig_close(&rig, 99).opened, 0);
	close(fd[0]);
	rig_expect_refused(&rig, 1, "head: not the provider's model request");
	for (i = 1; i < 4; i++)
		close(fd[i]);
	usleep(50000);
	/* And a run that cannot be served is told at once. */
	for (i = 0; i < 8; i++) {
		l.run_id++;
		(void)rig_listen(&rig, &l);
	}
	rig_expect_refused(&rig, 9, "the broker has no room for another run");
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
	client = rig_ask(rig_listen(&rig, &l), rig_request(1, "", RIG_BODY));
	up = rig_up_accept(&rig);
	ck_assert(rig_has(rig_up_read(up, NULL),
	    "\r\nx-api-key: sk-ant-another-secret-0123\r\n"));
	rig_expect_opened(&rig, 1);
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
	client = rig_ask(rig_listen(&rig, &l), rig_request(2, "", RIG_BODY));
	up = rig_up_accept(&rig);
	ck_assert(rig_has(rig_up_read(up, NULL),
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
	Suite *s = suite_create("broker_ends");
	TCase *tc = tcase_create("running"), *own = tcase_create("own");

	(void)signal(SIGPIPE, SIG_IGN);
	tcase_set_timeout(tc, 120);
	tcase_set_timeout(own, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
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
	return (suite_run(s));
}
