/* SPDX-License-Identifier: ISC */
/* Drives olpd-http from outside; see httpd_rig.h. */
#include "httpd_rig.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <bsd/string.h>
#include <check.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/memfd.h"

static void
pair(int fd[2])
{
	ck_assert_int_eq(
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd), 0);
}

void
rig_send(int fd, uint32_t type, const void *m, const int *fds, size_t nfds)
{
	static uint8_t buf[LIM_MSG_BYTES];
	union {
		char buf[CMSG_SPACE(sizeof(int) * LIM_MSG_FDS)];
		struct cmsghdr align;
	} cm;
	struct iovec iov = { buf, 0 };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	long len = msg_pack(type, m, buf, sizeof(buf));

	ck_assert_int_gt(len, 0);
	iov.iov_len = (size_t)len;
	if (nfds > 0) {
		memset(&cm, 0, sizeof(cm));
		mh.msg_control = cm.buf;
		mh.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
		cm.align.cmsg_level = SOL_SOCKET;
		cm.align.cmsg_type = SCM_RIGHTS;
		cm.align.cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(&cm.align), fds, sizeof(int) * nfds);
	}
	ck_assert_int_eq(sendmsg(fd, &mh, MSG_NOSIGNAL), len);
}

static int
readable(int fd, int ms)
{
	struct pollfd p = { fd, POLLIN, 0 };

	return (poll(&p, 1, ms) == 1);
}

struct rig_msg *
rig_expect(int fd, uint32_t type)
{
	static struct rig_msg m;
	static uint8_t buf[LIM_MSG_BYTES];
	char cm[CMSG_SPACE(sizeof(int) * LIM_MSG_FDS)]
	    __attribute__((aligned(8)));
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr mh = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = cm,
		.msg_controllen = sizeof(cm) };
	struct cmsghdr *c;
	ssize_t n;

	ck_assert_msg(readable(fd, RIG_MS), "no message, %s was expected",
	    msg_name(type));
	n = recvmsg(fd, &mh, MSG_CMSG_CLOEXEC);
	ck_assert_msg(n > 0, "the link ended, %s was expected", msg_name(type));
	m.nfds = 0;
	for (c = CMSG_FIRSTHDR(&mh); c != NULL; c = CMSG_NXTHDR(&mh, c)) {
		m.nfds = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(m.fd, CMSG_DATA(c), m.nfds * sizeof(int));
	}
	ck_assert_int_eq(msg_unpack(buf, (size_t)n, &m.type, &m.body), 0);
	ck_assert_msg(m.type == type, "got %s, %s was expected",
	    msg_name(m.type), msg_name(type));
	return (&m);
}

/* Bytes read from callers' connections ahead of what was asked for. */
static struct {
	size_t at, len;
	unsigned char buf[16384];
} ahead[256];

int
rig_quiet(int fd, int ms)
{
	return (ahead[fd].at == ahead[fd].len && !readable(fd, ms));
}

static int
byte(int fd)
{
	ssize_t n;

	/* No ck_assert for each byte: it writes to a pipe. */
	if (ahead[fd].at == ahead[fd].len) {
		if (!readable(fd, RIG_MS))
			ck_abort_msg("nothing more comes");
		n = recv(fd, ahead[fd].buf, sizeof(ahead[fd].buf), 0);
		if (n <= 0)
			return (-1);
		ahead[fd].at = 0;
		ahead[fd].len = (size_t)n;
	}
	return (ahead[fd].buf[ahead[fd].at++]);
}

int
rig_eof(int fd)
{
	char c;

	while (readable(fd, RIG_MS))
		if (recv(fd, &c, 1, 0) <= 0)
			return (1);
	return (0);
}

/* Start and stop */

void
rig_defaults(struct rig *r)
{
	memset(r, 0, sizeof(*r));
	r->spawn = r->egress = -1;
	r->http = (struct msg_conf_http){ .queue = 200,
		.queue_per_key = 150,
		.runs = 4,
		.connections = 64,
		.body_max = 4 * 1024 * 1024,
		.head_s = 10,
		.body_s = 10,
		.queue_s = 20,
		.first_byte_s = 20,
		.idle_s = 20,
		.version = "0.0-test",
		.instance = "rig" };
}

static int
tcp_listen(int *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	ck_assert_int_eq(listen(fd, 256), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	*port = ntohs(a.sin_port);
	return (fd);
}

static int
unix_listen(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)strlcpy(a.sun_path, path, sizeof(a.sun_path));
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	ck_assert_int_eq(chmod(path, 0666), 0);
	ck_assert_int_eq(listen(fd, 64), 0);
	return (fd);
}

static void
send_rows(struct rig *r, const char *cert, const char *key)
{
	struct msg_conf_provider demo = {
		.name = "demo", .timeout_s = 30, .installed = 1
	};
	struct msg_conf_model model = {
		.name = "demo", .provider = "demo", .model = "demo-1"
	};
	struct msg_conf_listen l = { .text = "rig" };
	struct msg_conf_tls tls = { .id = 1 };
	int fd[2];

	rig_send(r->master, MT_CONF_HTTP, &r->http, NULL, 0);
	rig_send(r->master, MT_CONF_PROVIDER, &demo, NULL, 0);
	rig_send(r->master, MT_CONF_MODEL, &model, NULL, 0);
	(void)strlcpy(model.name, "second", sizeof(model.name));
	rig_send(r->master, MT_CONF_MODEL, &model, NULL, 0);
	(void)strlcpy(model.name, "sonnet", sizeof(model.name));
	(void)strlcpy(model.provider, "claude", sizeof(model.provider));
	rig_send(r->master, MT_CONF_MODEL, &model, NULL, 0);
	rig_send(r->master, MT_CONF_LISTEN, &l, &r->listen[0], 1);
	l.is_unix = 1;
	rig_send(r->master, MT_CONF_LISTEN, &l, &r->listen[1], 1);
	if (cert == NULL)
		return;
	fd[0] = open(cert, O_RDONLY | O_CLOEXEC);
	fd[1] = open(key, O_RDONLY | O_CLOEXEC);
	ck_assert(fd[0] != -1 && fd[1] != -1);
	rig_send(r->master, MT_CONF_TLS, &tls, fd, 2);
	close(fd[0]);
	close(fd[1]);
	l.is_unix = 0;
	l.tls = 1;
	rig_send(r->master, MT_CONF_LISTEN, &l, &r->listen[2], 1);
}

void
rig_configure(
    struct rig *r, uint64_t generation, const char *cert, const char *key)
{
	struct msg_generation g = { generation };

	rig_send(r->master, MT_CONF_BEGIN, &g, NULL, 0);
	send_rows(r, cert, key);
	rig_send(r->master, MT_CONF_END, &g, NULL, 0);
}

static pid_t
launch(int channel)
{
	pid_t pid = fork();

	ck_assert_int_ne(pid, -1);
	if (pid != 0)
		return (pid);
	/* The copy of what may be fd 3 already loses close-on-exec. */
	if (channel == 3)
		(void)fcntl(3, F_SETFD, 0);
	else
		(void)dup2(channel, 3);
	(void)dup2(open("/dev/null", O_RDWR), 0);
	/* The cage has no ptrace(2), by which leaks are looked for, nor
	 * sigaltstack(2). */
	(void)setenv("ASAN_OPTIONS", "detect_leaks=0:use_sigaltstack=0", 1);
	execl(OLPD_HTTP, "olpd-http",
	    getenv("RIG_VERBOSE") != NULL ? "-v" : NULL, NULL);
	_exit(127);
}

void
rig_start(struct rig *r)
{
	struct msg_cage cage = {
		.privileged = geteuid() == 0, .uid = 69990, .gid = 69990
	};
	int fd[2];

	(void)strlcpy(r->dir, "/tmp/olp-rig.XXXXXX", sizeof(r->dir));
	ck_assert_ptr_nonnull(mkdtemp(r->dir));
	ck_assert_int_eq(chmod(r->dir, 0755), 0);
	(void)snprintf(
	    r->unix_path, sizeof(r->unix_path), "%s/api.sock", r->dir);
	r->listen[0] = tcp_listen(&r->port);
	r->listen[1] = unix_listen(r->unix_path);
	r->listen[2] = tcp_listen(&r->tls_port);
	pair(fd);
	r->pid = launch(fd[1]);
	close(fd[1]);
	r->master = fd[0];
	ck_assert_uint_eq(
	    rig_expect(r->master, MT_HELLO)->body.m_HELLO.proc, PROC_HTTP);
	(void)strlcpy(cage.root, r->dir, sizeof(cage.root));
	rig_send(r->master, MT_CAGE, &cage, NULL, 0);
	rig_configure(r, 1, NULL, NULL);
	(void)rig_expect(r->master, MT_READY);
	if (!r->no_spawn)
		rig_spawn(r);
}

void
rig_stop(struct rig *r)
{
	int status;

	close(r->master);
	(void)unlink(r->unix_path);
	(void)rmdir(r->dir);
	ck_assert_int_eq(waitpid(r->pid, &status, 0), r->pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	    "olpd-http ended with %#x", status);
	if (r->spawn != -1)
		close(r->spawn);
	if (r->egress != -1)
		close(r->egress);
	close(r->listen[0]);
	close(r->listen[1]);
	close(r->listen[2]);
}

static int
link_new(struct rig *r, enum proc peer, uint32_t instance)
{
	struct msg_link m = { .peer = peer,
		.instance = instance,
		.generation = ++r->generation };
	int fd[2];

	pair(fd);
	rig_send(r->master, MT_LINK, &m, &fd[1], 1);
	close(fd[1]);
	return (fd[0]);
}

void
rig_spawn(struct rig *r)
{
	struct msg_posture p = {
		.available = 1, .active = 1, .enforcement = "full; uid"
	};
	struct msg_posture_provider pp = { .name = "demo",
		.read_protection = "no-tools",
		.tier = "shared-os-user",
		.enforcement = "full" };

	if (r->spawn != -1)
		close(r->spawn);
	r->spawn = link_new(r, PROC_SPAWN, 0);
	rig_send(r->spawn, MT_POSTURE, &p, NULL, 0);
	rig_send(r->spawn, MT_POSTURE_PROVIDER, &pp, NULL, 0);
}

void
rig_egress(struct rig *r, uint32_t instance)
{
	if (r->egress != -1)
		close(r->egress);
	r->egress = link_new(r, PROC_EGRESS, instance);
}

/* Spawn's part */

uint64_t
rig_auth(struct rig *r, const char *key_id, int owner)
{
	static uint64_t grant = 1000;
	struct msg_auth_ok ok = {
		.owner = owner, .providers_n = 1, .runs = 100
	};
	struct rig_msg *m = rig_expect(r->spawn, MT_AUTH);

	ok.auth_id = m->body.m_AUTH.auth_id;
	ok.grant = ++grant;
	(void)strlcpy(ok.key_id, key_id, sizeof(ok.key_id));
	(void)strlcpy(ok.providers[0], "demo", sizeof(ok.providers[0]));
	rig_send(r->spawn, MT_AUTH_OK, &ok, NULL, 0);
	return (grant);
}

void
rig_auth_no(struct rig *r, enum olp_err err)
{
	struct msg_auth_no no = { .err = err };

	no.auth_id = rig_expect(r->spawn, MT_AUTH)->body.m_AUTH.auth_id;
	rig_send(r->spawn, MT_AUTH_NO, &no, NULL, 0);
}

void
rig_run_start(struct rig *r, struct rig_run *run)
{
	struct rig_msg *m = rig_expect(r->spawn, MT_RUN_START);
	ssize_t n;
	size_t i;

	memset(run, 0, sizeof(*run));
	run->out = run->err = -1;
	run->id = m->body.m_RUN_START.run_id;
	run->grant = m->body.m_RUN_START.grant;
	ck_assert_str_eq(m->body.m_RUN_START.model, "demo-1");
	ck_assert_uint_eq(m->nfds, 3);
	ck_assert_int_ge(memfd_check(m->fd[0]), 0);
	n = pread(m->fd[0], run->input, sizeof(run->input) - 1, 0);
	ck_assert_int_ge(n, 0);
	for (i = 0; i < m->nfds; i++)
		close(m->fd[i]);
}

void
rig_run_started(struct rig *r, struct rig_run *run, uint32_t egress)
{
	struct msg_run_started m = { .run_id = run->id,
		.egress = egress,
		.enforcement = "full; uid; userns" };
	int out[2], err[2], fds[2];

	ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(err, O_CLOEXEC), 0);
	fds[0] = out[0];
	fds[1] = err[0];
	rig_send(r->spawn, MT_RUN_STARTED, &m, fds, 2);
	close(out[0]);
	close(err[0]);
	run->out = out[1];
	run->err = err[1];
}

void
rig_run_failed(struct rig *r, const struct rig_run *run, enum olp_err err)
{
	struct msg_run_failed m = {
		.run_id = run->id, .err = err, .detail = "step /secret/path"
	};

	rig_send(r->spawn, MT_RUN_FAILED, &m, NULL, 0);
}

static void
run_close(struct rig_run *run)
{
	if (run->out != -1)
		close(run->out);
	if (run->err != -1)
		close(run->err);
	run->out = run->err = -1;
}

void
rig_run_exited(struct rig *r, struct rig_run *run)
{
	struct msg_run_exited m = { .run_id = run->id };

	run_close(run);
	rig_send(r->spawn, MT_RUN_EXITED, &m, NULL, 0);
}

void
rig_expect_kill(struct rig *r, const struct rig_run *run)
{
	ck_assert_uint_eq(
	    rig_expect(r->spawn, MT_RUN_KILL)->body.m_RUN_KILL.run_id, run->id);
}

void
rig_say(const struct rig_run *run, const char *line)
{
	ck_assert_int_eq(
	    write(run->out, line, strlen(line)), (ssize_t)strlen(line));
	ck_assert_int_eq(write(run->out, "\n", 1), 1);
}

void
rig_say_text(const struct rig_run *run, const char *text)
{
	char line[4096];

	(void)snprintf(
	    line, sizeof(line), "{\"type\":\"text\",\"text\":\"%s\"}", text);
	rig_say(run, line);
}

void
rig_say_answer(const struct rig_run *run, const char *text)
{
	rig_say(run, "{\"type\":\"start\",\"model\":\"demo-1\"}");
	rig_say_text(run, text);
	rig_say(run, "{\"type\":\"usage\",\"in\":3,\"out\":5}");
	rig_say(run, "{\"type\":\"stop\",\"reason\":\"end\"}");
}

void
rig_closed(struct rig *r, uint64_t run, int opened, uint32_t status)
{
	struct msg_out_closed m = { .run_id = run,
		.opened = opened,
		.requests = (uint32_t)opened,
		.status = status,
		.complete = 1,
		.in_tokens = 11,
		.out_tokens = 7 };

	ck_assert_uint_eq(
	    rig_expect(r->egress, MT_OUT_CLOSE)->body.m_OUT_CLOSE.run_id, run);
	rig_send(r->egress, MT_OUT_CLOSED, &m, NULL, 0);
}

/* Callers */

int
rig_connect(const struct rig *r)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)r->port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	ahead[fd].at = ahead[fd].len = 0;
	return (fd);
}

void
rig_write(int fd, const char *s)
{
	size_t left = strlen(s);
	ssize_t n;

	while (left > 0) {
		n = send(fd, s, left, MSG_NOSIGNAL);
		ck_assert_int_gt(n, 0);
		s += n;
		left -= (size_t)n;
	}
}

void
rig_post(int fd, const char *body)
{
	char head[512];

	(void)snprintf(head, sizeof(head),
	    "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
	    "Authorization: Bearer olp_good\r\nContent-Type: "
	    "application/json\r\n"
	    "Content-Length: %zu\r\n\r\n",
	    strlen(body));
	rig_write(fd, head);
	rig_write(fd, body);
}

void
rig_post_text(int fd, const char *model, const char *text, int stream)
{
	char body[65536];

	(void)snprintf(body, sizeof(body),
	    "{\"model\":\"%s\",\"stream\":%s,\"messages\":[{\"role\":\"user\","
	    "\"content\":\"%s\"}]}",
	    model, stream ? "true" : "false", text);
	rig_post(fd, body);
}

void
rig_get(int fd, const char *path, const char *token)
{
	char head[1024];

	(void)snprintf(head, sizeof(head),
	    "GET %s HTTP/1.1\r\nHost: localhost\r\n%s%s%s\r\n", path,
	    token != NULL ? "x-api-key: " : "", token != NULL ? token : "",
	    token != NULL ? "\r\n" : "");
	rig_write(fd, head);
}

char *
rig_until(int fd, const char *text)
{
	static char buf[1 << 20];
	size_t len = 0;
	int c;

	buf[0] = '\0';
	while (
	    len < strlen(text) || strcmp(buf + len - strlen(text), text) != 0) {
		if ((c = byte(fd)) == -1 || len + 2 >= sizeof(buf))
			ck_abort_msg("end before '%s': '%s'", text, buf);
		buf[len++] = (char)c;
		buf[len] = '\0';
	}
	return (buf);
}

static void
take(int fd, struct rig_answer *a, size_t n)
{
	int c;

	a->body = realloc(a->body, a->len + n + 1);
	while (n-- > 0) {
		if ((c = byte(fd)) == -1)
			ck_abort_msg("the answer breaks off");
		a->body[a->len++] = (char)c;
	}
	a->body[a->len] = '\0';
}

static void
take_chunks(int fd, struct rig_answer *a)
{
	char line[64];
	size_t n, size;
	int c;

	for (;;) {
		for (n = 0; (c = byte(fd)) != '\n'; n++) {
			if (c == -1) {
				a->cut = a->closed = 1;
				return;
			}
			if (n + 1 == sizeof(line))
				ck_abort_msg("a chunk line is too long");
			line[n] = (char)c;
		}
		line[n] = '\0';
		size = strtoul(line, NULL, 16);
		take(fd, a, size);
		ck_assert_int_eq(byte(fd), '\r');
		ck_assert_int_eq(byte(fd), '\n');
		if (size == 0)
			return;
	}
}

void
rig_answer(int fd, struct rig_answer *a)
{
	const char *len;
	int c;

	memset(a, 0, sizeof(*a));
	a->body = calloc(1, 1);
	(void)strlcpy(a->head, rig_until(fd, "\r\n\r\n"), sizeof(a->head));
	ck_assert_int_eq(sscanf(a->head, "HTTP/1.1 %d ", &a->status), 1);
	len = rig_field(a, "Content-Length");
	if (*len != '\0')
		take(fd, a, strtoul(len, NULL, 10));
	else if (strcmp(rig_field(a, "Transfer-Encoding"), "chunked") == 0)
		take_chunks(fd, a);
	else {
		while ((c = byte(fd)) != -1) {
			a->body = realloc(a->body, a->len + 2);
			a->body[a->len++] = (char)c;
			a->body[a->len] = '\0';
		}
		a->closed = 1;
	}
	if (strcmp(rig_field(a, "Connection"), "close") == 0 && !a->closed)
		a->closed = byte(fd) == -1;
}

void
rig_answer_free(struct rig_answer *a)
{
	free(a->body);
	a->body = NULL;
}

const char *
rig_field(const struct rig_answer *a, const char *name)
{
	static char value[4][1024];
	static unsigned int turn;
	const char *s = strstr(a->head, "\r\n");
	size_t n = strlen(name);
	char *v = value[turn = (turn + 1) % 4];

	for (v[0] = '\0'; s != NULL && s[2] != '\r'; s = strstr(s + 2, "\r\n"))
		if (strncasecmp(s + 2, name, n) == 0 && s[2 + n] == ':') {
			(void)strlcpy(v, s + 2 + n + 2, 1024);
			v[strcspn(v, "\r")] = '\0';
			break;
		}
	return (v);
}

void
rig_expect_error(int fd, int status, const char *code)
{
	struct rig_answer a;
	char want[96];

	rig_answer(fd, &a);
	(void)snprintf(want, sizeof(want), "\"code\":\"%s\"", code);
	ck_assert_msg(a.status == status && strstr(a.body, want) != NULL,
	    "wanted %d %s, got %s%s", status, code, a.head, a.body);
	ck_assert_str_ne(rig_field(&a, "X-OLP-Request-Id"), "");
	ck_assert_ptr_null(strstr(a.body, "/secret"));
	rig_answer_free(&a);
}
