/* SPDX-License-Identifier: ISC */
/*
 * See egress_rig.h.  Blocking on purpose: a test reads like what happens, one
 * step after the other.
 */
#include "tests/egress_rig.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define BIG (48 * 1024 * 1024)

/* Files and certificates */

int
rig_file(const void *data, size_t len)
{
	char path[] = "/tmp/olp-rig-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	ck_assert_int_ne(fd, -1);
	(void)unlink(path);
	ck_assert_int_eq(write(fd, data, len), (ssize_t)len);
	return (fd);
}

static void
add_extension(X509 *cert, int nid, const char *value)
{
	X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, NULL, nid, value);

	ck_assert_ptr_nonnull(ext);
	X509_add_ext(cert, ext, -1);
	X509_EXTENSION_free(ext);
}

void
rig_certify(struct rig *r, const char *san, int days, int trust)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = X509_new();
	X509_NAME *name;
	BIO *bio = BIO_new(BIO_s_mem());
	char *pem;
	long n;

	X509_set_version(cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
	X509_gmtime_adj(X509_getm_notBefore(cert), -86400L * 30);
	X509_gmtime_adj(X509_getm_notAfter(cert), 86400L * days);
	name = X509_get_subject_name(cert);
	X509_NAME_add_entry_by_txt(
	    name, "CN", MBSTRING_ASC, (const unsigned char *)"rig", -1, -1, 0);
	X509_set_issuer_name(cert, name);
	X509_set_pubkey(cert, key);
	add_extension(cert, NID_basic_constraints, "critical,CA:TRUE");
	add_extension(cert, NID_subject_alt_name, san);
	ck_assert_int_gt(X509_sign(cert, key, EVP_sha256()), 0);
	SSL_CTX_free(r->tls);
	r->tls = SSL_CTX_new(TLS_server_method());
	ck_assert_int_eq(SSL_CTX_use_certificate(r->tls, cert), 1);
	ck_assert_int_eq(SSL_CTX_use_PrivateKey(r->tls, key), 1);
	PEM_write_bio_X509(bio, cert);
	n = BIO_get_mem_data(bio, &pem);
	if (trust) {
		if (r->ca != -1)
			close(r->ca);
		r->ca = rig_file(pem, (size_t)n);
	}
	BIO_free(bio);
	X509_free(cert);
	EVP_PKEY_free(key);
}

/* Messages */

void
rig_send(int fd, uint32_t type, const void *m, const int *fds, size_t nfds)
{
	static uint8_t buf[LIM_MSG_BYTES];
	union {
		char buf[CMSG_SPACE(sizeof(int) * LIM_MSG_FDS)];
		struct cmsghdr align;
	} cm = { { 0 } };
	long n = msg_pack(type, m, buf, sizeof(buf));
	struct iovec iov = { buf, (size_t)n };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };

	ck_assert_int_gt(n, 0);
	if (nfds > 0) {
		mh.msg_control = cm.buf;
		mh.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
		cm.align.cmsg_level = SOL_SOCKET;
		cm.align.cmsg_type = SCM_RIGHTS;
		cm.align.cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(&cm.align), fds, sizeof(int) * nfds);
	}
	/* A process that has given up is noticed by what does not come. */
	ck_assert(sendmsg(fd, &mh, MSG_NOSIGNAL) == n || errno == EPIPE ||
	    errno == ECONNRESET);
}

static int
wait_for(int fd, short events, int ms)
{
	struct pollfd pfd = { fd, events, 0 };

	return (poll(&pfd, 1, ms) == 1);
}

int
rig_recv(int fd, union msg_any *m, int ms)
{
	static uint8_t buf[LIM_MSG_BYTES];
	uint32_t type;
	ssize_t n;

	if (!wait_for(fd, POLLIN, ms))
		return (0);
	n = recv(fd, buf, sizeof(buf), 0);
	if (n <= 0)
		return (-1);
	ck_assert_int_eq(msg_unpack(buf, (size_t)n, &type, m), 0);
	return ((int)type);
}

void
rig_expect(int fd, uint32_t type, union msg_any *m)
{
	int got = rig_recv(fd, m, RIG_WAIT);

	ck_assert_msg(got == (int)type, "expected %s, got %s", msg_name(type),
	    got == 0        ? "nothing"
		: got == -1 ? "the end"
			    : msg_name((uint32_t)got));
}

int
rig_link(struct rig *r, enum proc peer, uint64_t generation)
{
	struct msg_link l = { .peer = peer,
		.instance = 1,
		.generation = generation,
		.birth = generation };
	int sv[2];

	ck_assert_int_eq(
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv), 0);
	(void)snprintf(l.cred, sizeof(l.cred), "%s", r->cred.cred);
	rig_send(r->master, MT_LINK, &l, &sv[1], 1);
	close(sv[1]);
	return (sv[0]);
}

void
rig_conf(struct rig *r, uint64_t generation)
{
	struct msg_generation g = { generation };
	int fds[2] = { r->secret, r->ca };

	rig_send(r->master, MT_CONF_BEGIN, &g, NULL, 0);
	rig_send(r->master, MT_EGRESS_CRED, &r->cred, fds, 2);
	rig_send(r->master, MT_CONF_END, &g, NULL, 0);
}

/* The process */

static int
listener(uint16_t *port)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	ck_assert_int_eq(listen(fd, 64), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&in, &len), 0);
	*port = ntohs(in.sin_port);
	return (fd);
}

void
rig_prepare(struct rig *r)
{
	memset(r, 0, sizeof(*r));
	r->master = r->http = r->spawn = r->ca = -1;
	r->nofile = 96; /* few enough for a leak to be noticed */
	r->up = listener(&r->up_port);
	rig_certify(r, "DNS:localhost,IP:127.0.0.1", 30, 1);
	r->secret = rig_file(RIG_SECRET "\n", sizeof(RIG_SECRET));
	r->log = rig_file("", 0);
	(void)snprintf(r->cred.cred, sizeof(r->cred.cred), "claude");
	(void)snprintf(r->cred.provider, sizeof(r->cred.provider), "claude");
	r->cred.kind = 1;
	(void)snprintf(r->cred.host, sizeof(r->cred.host), "localhost");
	r->cred.port = r->up_port;
	(void)snprintf(r->cred.allow[0], sizeof(r->cred.allow[0]), "127.0.0.1");
	r->cred.allow_n = 1;
	/* No test asks the machine's own resolver. */
	(void)snprintf(r->cred.resolver, sizeof(r->cred.resolver), "127.0.0.1");
	r->cred.resolver_port = 9;
}

static void
rig_exec(struct rig *r, int fd)
{
	static char name[] = "olpd-egress";
	char *argv[] = { name, NULL };
	struct rlimit rl = { r->nofile, r->nofile };

	if (dup2(open("/dev/null", O_RDONLY), 0) == -1 ||
	    dup2(r->log, 1) == -1 || dup2(r->log, 2) == -1 || dup2(fd, 3) == -1)
		_exit(126);
	if (setrlimit(RLIMIT_NOFILE, &rl) == -1)
		_exit(126);
	/* Freed memory is to be seen as free. */
	(void)setenv("ASAN_OPTIONS", "quarantine_size_mb=1", 0);
	execv(OLPD_EGRESS, argv);
	_exit(127);
}

static void
rig_spawn(struct rig *r)
{
	struct msg_cage cage = {
		.privileged = geteuid() == 0, .uid = 65534, .gid = 65534
	};
	union msg_any m;
	int sv[2];

	(void)snprintf(r->root, sizeof(r->root), "/tmp/olp-rig-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(r->root));
	ck_assert_int_eq(chmod(r->root, 0755), 0);
	(void)snprintf(cage.root, sizeof(cage.root), "%s", r->root);
	ck_assert_int_eq(
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv), 0);
	if ((r->pid = fork()) == 0)
		rig_exec(r, sv[1]);
	close(sv[1]);
	r->master = sv[0];
	rig_expect(r->master, MT_HELLO, &m);
	rig_send(r->master, MT_CAGE, &cage, NULL, 0);
	rig_conf(r, 1);
}

void
rig_start(struct rig *r)
{
	union msg_any m;

	rig_spawn(r);
	rig_expect(r->master, MT_READY, &m);
	r->http = rig_link(r, PROC_HTTP, RIG_GEN);
	r->spawn = rig_link(r, PROC_SPAWN, 3);
}

int
rig_start_fails(struct rig *r)
{
	union msg_any m;
	int status;

	rig_spawn(r);
	ck_assert_int_eq(rig_recv(r->master, &m, RIG_WAIT), -1);
	ck_assert_int_eq(waitpid(r->pid, &status, 0), r->pid);
	r->pid = 0;
	(void)rmdir(r->root);
	return (WIFEXITED(status) ? WEXITSTATUS(status) : 128);
}

int
rig_logged(struct rig *r, const char *text)
{
	static char log[1 << 20];
	ssize_t n = pread(r->log, log, sizeof(log) - 1, 0);

	ck_assert_int_ge(n, 0);
	log[n] = '\0';
	return (strstr(log, text) != NULL);
}

int
rig_has(const char *text, const char *word)
{
	return (strstr(text, word) != NULL);
}

void
rig_stop(struct rig *r)
{
	int status;

	close(r->master);
	ck_assert_int_eq(waitpid(r->pid, &status, 0), r->pid);
	ck_assert_msg(
	    WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", status);
	(void)rmdir(r->root);
	/* Law 10: a secret, a placeholder, a byte of a body. */
	ck_assert(!rig_logged(r, "secret-0123"));
	ck_assert(!rig_logged(r, "ph-"));
	ck_assert(!rig_logged(r, "MARKER"));
	ck_assert(!rig_logged(r, "Sanitizer"));
	close(r->http);
	close(r->spawn);
	close(r->up);
	close(r->ca);
	close(r->secret);
	close(r->log);
	SSL_CTX_free(r->tls);
}

/* Runs */

struct msg_out_listen
rig_run(uint64_t run_id)
{
	struct msg_out_listen l = { .http_gen = RIG_GEN,
		.run_id = run_id,
		.max_requests = 1,
		.no_tools = 1 };

	(void)snprintf(l.model, sizeof(l.model), "m1");
	(void)snprintf(
	    l.placeholder, sizeof(l.placeholder), "ph-%" PRIu64, run_id);
	(void)snprintf(
	    l.request_id, sizeof(l.request_id), "req_%" PRIu64, run_id);
	(void)snprintf(l.key_id, sizeof(l.key_id), "alice");
	return (l);
}

uint16_t
rig_listen(struct rig *r, const struct msg_out_listen *l)
{
	uint16_t port;
	int fd = listener(&port);

	rig_send(r->spawn, MT_OUT_LISTEN, l, &fd, 1);
	close(fd);
	return (port);
}

void
rig_end(struct rig *r, uint64_t run_id)
{
	struct msg_out_end e = { RIG_GEN, run_id };

	rig_send(r->spawn, MT_OUT_END, &e, NULL, 0);
}

struct msg_out_closed
rig_close(struct rig *r, uint64_t run_id)
{
	struct msg_out_run o = { run_id };
	union msg_any m;

	rig_send(r->http, MT_OUT_CLOSE, &o, NULL, 0);
	rig_expect(r->http, MT_OUT_CLOSED, &m);
	ck_assert_uint_eq(m.m_OUT_CLOSED.run_id, run_id);
	return (m.m_OUT_CLOSED);
}

void
rig_expect_opened(struct rig *r, uint64_t run_id)
{
	union msg_any m;

	rig_expect(r->http, MT_OUT_OPENED, &m);
	ck_assert_uint_eq(m.m_OUT_OPENED.run_id, run_id);
}

void
rig_expect_refused(struct rig *r, uint64_t run_id, const char *reason)
{
	union msg_any m;

	rig_expect(r->http, MT_OUT_REFUSED, &m);
	ck_assert_uint_eq(m.m_OUT_REFUSED.run_id, run_id);
	ck_assert_str_eq(m.m_OUT_REFUSED.reason, reason);
}

void
rig_expect_quiet(int fd)
{
	union msg_any m;

	ck_assert_int_eq(rig_recv(fd, &m, RIG_QUIET), 0);
}

SSL *
rig_exchange(struct rig *r, uint64_t run_id, int *client)
{
	struct msg_out_listen l = rig_run(run_id);
	uint16_t port = rig_listen(r, &l);
	SSL *up;

	*client = rig_ask(port, rig_request(run_id, "", RIG_BODY));
	up = rig_up_accept(r);
	ck_assert_ptr_nonnull(up);
	rig_expect_opened(r, run_id);
	(void)rig_up_read(up, NULL);
	return (up);
}

/* The client */

static int
dial(uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&in, sizeof(in)) == 0)
		return (fd);
	close(fd);
	return (-1);
}

int
rig_dial(uint16_t port)
{
	int fd = dial(port);

	ck_assert_int_ne(fd, -1);
	return (fd);
}

int
rig_unheard(uint16_t port)
{
	int fd, i;

	for (i = 0; i < RIG_WAIT / 10; i++) {
		if ((fd = dial(port)) == -1)
			return (1);
		close(fd);
		usleep(10000);
	}
	return (0);
}

void
rig_write(int fd, const void *data, size_t len)
{
	const char *p = data;
	ssize_t n;

	while (len > 0) {
		n = send(fd, p, len, MSG_NOSIGNAL);
		if (n == -1)
			return; /* the test sees by what it reads */
		p += n;
		len -= (size_t)n;
	}
}

int
rig_ask(uint16_t port, const char *text)
{
	int fd = rig_dial(port);

	rig_write(fd, text, strlen(text));
	return (fd);
}

char *
rig_read(int fd, size_t *len)
{
	static char *buf;
	size_t at = 0;
	ssize_t n;

	if (buf == NULL)
		buf = malloc(BIG);
	for (;;) {
		ck_assert_msg(wait_for(fd, POLLIN, RIG_WAIT),
		    "no end after %zu bytes", at);
		n = recv(fd, buf + at, BIG - 1 - at, 0);
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	buf[at] = '\0';
	if (len != NULL)
		*len = at;
	close(fd);
	return (buf);
}

int
rig_comes(int fd, const char *text)
{
	char buf[8192];
	ssize_t n = 0;
	int ms;

	for (ms = 0; ms < RIG_WAIT && n >= 0; ms += 10) {
		n = recv(fd, buf, sizeof(buf), MSG_PEEK | MSG_DONTWAIT);
		if (n > 0 && memmem(buf, (size_t)n, text, strlen(text)) != NULL)
			return (1);
		if (n == 0)
			break;
		if (n == -1 && errno == EAGAIN)
			n = 0;
		usleep(10000);
	}
	return (0);
}

int
rig_is_closed(int fd, int ms)
{
	char c;

	return (wait_for(fd, POLLIN, ms) && recv(fd, &c, 1, MSG_PEEK) <= 0);
}

const char *
rig_request(uint64_t run_id, const char *fields, const char *body)
{
	static char text[65536];

	(void)snprintf(text, sizeof(text),
	    "POST /v1/messages?beta=true HTTP/1.1\r\nHost: 127.0.0.1:3128\r\n"
	    "x-api-key: ph-%" PRIu64 "\r\nContent-Type: application/json\r\n%s"
	    "Content-Length: %zu\r\n\r\n%s",
	    run_id, fields, strlen(body), body);
	return (text);
}

/* The provider */

int
rig_up_waiting(struct rig *r, int ms)
{
	return (wait_for(r->up, POLLIN, ms));
}

SSL *
rig_up_accept(struct rig *r)
{
	struct timeval tv = { RIG_WAIT / 1000, 0 };
	SSL *ssl = SSL_new(r->tls);
	int fd;

	ck_assert_msg(
	    rig_up_waiting(r, RIG_WAIT), "nobody connects to the provider");
	fd = accept4(r->up, NULL, NULL, SOCK_CLOEXEC);
	ck_assert_int_ne(fd, -1);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	(void)SSL_set_fd(ssl, fd);
	if (SSL_accept(ssl) != 1) {
		close(fd);
		SSL_free(ssl);
		return (NULL);
	}
	return (ssl);
}

char *
rig_up_read(SSL *ssl, size_t *len)
{
	static char *buf;
	size_t at = 0, want = BIG - 1;
	const char *end, *cl;
	int n;

	if (buf == NULL)
		buf = malloc(BIG);
	while (at < want) {
		n = SSL_read(ssl, buf + at, (int)(BIG - 1 - at));
		ck_assert_msg(n > 0, "the request ends after %zu bytes", at);
		at += (size_t)n;
		buf[at] = '\0';
		if (want == BIG - 1 &&
		    (end = strstr(buf, "\r\n\r\n")) != NULL) {
			cl = strstr(buf, "Content-Length: ");
			ck_assert_ptr_nonnull(cl);
			want = (size_t)(end - buf) + 4 +
			    strtoul(cl + 16, NULL, 10);
		}
	}
	ck_assert_uint_eq(at, want);
	if (len != NULL)
		*len = at;
	return (buf);
}

void
rig_up_write(SSL *ssl, const char *text)
{
	ck_assert_int_eq(
	    SSL_write(ssl, text, (int)strlen(text)), (int)strlen(text));
}

void
rig_up_close(SSL *ssl, int clean)
{
	int fd = SSL_get_fd(ssl);

	if (clean)
		(void)SSL_shutdown(ssl);
	SSL_free(ssl);
	close(fd);
}

int
rig_up_is_closed(SSL *ssl, int ms)
{
	char c;
	int n;

	if (!wait_for(SSL_get_fd(ssl), POLLIN, ms))
		return (0);
	n = SSL_read(ssl, &c, 1);
	return (n <= 0);
}
