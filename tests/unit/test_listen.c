/* SPDX-License-Identifier: ISC */
/* Listeners: bound, kept, replaced, all or none, taken from systemd. */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/chan.h"
#include "common/conf/parse.h"
#include "common/log.h"
#include "master/listen.h"
#include "tests/unit/suite.h"

static char dir[64];
static struct conf_errors errs;

static void
setup(void)
{
	(void)snprintf(dir, sizeof(dir), "/tmp/test_listen.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	umask(077);
}

static void
teardown(void)
{
	listen_close();
	ck_assert_int_eq(rmdir(dir), 0); /* nothing is left behind */
}

/* A port that is free now. */
static int
port(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&sin, len), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&sin, &len), 0);
	close(fd);
	return (ntohs(sin.sin_port));
}

static int
reach(int p)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)p),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), r;

	r = connect(fd, (struct sockaddr *)&sin, sizeof(sin));
	close(fd);
	return (r == 0);
}

static struct conf *
conf(const char *text)
{
	struct conf *c;

	c = conf_load_text("t", text, strlen(text), &errs);
	ck_assert_msg(c != NULL, "%s", errs.n > 0 ? errs.line[0] : "");
	return (c);
}

static int
plan(const char *text)
{
	struct conf *c = conf(text);
	int r = listen_plan(c, &errs);

	if (r == 0)
		listen_commit();
	conf_free(c);
	return (r);
}

static void
gone(struct chan *c, int error, void *arg)
{
	(void)c;
	(void)error;
	(void)arg;
}

/* What http would be sent: how many rows of this type; the last one's
 * descriptors. */
static int
sent(uint32_t want, const char *text, int fd[2])
{
	union {
		char buf[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} cm;
	uint8_t buf[4096];
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	union msg_any m;
	uint32_t type;
	struct chan *c;
	ssize_t n;
	int sv[2], got[2], found = 0;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv), 0);
	c = chan_new(NULL, sv[0], PROC_MASTER, PROC_HTTP, NULL, 0, gone, NULL);
	listen_send(c);
	for (;;) {
		mh.msg_control = cm.buf;
		mh.msg_controllen = sizeof(cm.buf);
		if ((n = recvmsg(sv[1], &mh, MSG_DONTWAIT)) == -1)
			break;
		ck_assert_int_eq(msg_unpack(buf, (size_t)n, &type, &m), 0);
		memcpy(got, CMSG_DATA(CMSG_FIRSTHDR(&mh)),
		    msg_fds(type) * sizeof(int));
		if (type == want &&
		    (text == NULL || strcmp(m.m_CONF_LISTEN.text, text) == 0)) {
			found++;
			memcpy(fd, got, sizeof(got));
			continue;
		}
		close(got[0]);
		if (msg_fds(type) == 2)
			close(got[1]);
	}
	chan_free(c);
	close(sv[1]);
	return (found);
}

static ino_t
inode(const char *text)
{
	struct stat st;
	int fd[2];

	ck_assert_int_eq(sent(MT_CONF_LISTEN, text, fd), 1);
	ck_assert_int_eq(fstat(fd[0], &st), 0);
	close(fd[0]);
	return (st.st_ino);
}

START_TEST(test_reload)
{
	char text[256], name[64];
	int a = port(), b = port(), c = port(), fd[2];
	ino_t was;

	(void)snprintf(text, sizeof(text),
	    "listen on 127.0.0.1 port %d\nlisten on 127.0.0.1 port %d\n", a, b);
	ck_assert_int_eq(plan(text), 0);
	ck_assert(reach(a) && reach(b));
	(void)snprintf(name, sizeof(name), "127.0.0.1:%d", a);
	was = inode(name);
	(void)snprintf(text, sizeof(text),
	    "listen on 127.0.0.1 port %d\nlisten on 127.0.0.1 port %d\n", a, c);
	ck_assert_int_eq(plan(text), 0);
	ck_assert(reach(a) && !reach(b) && reach(c));
	ck_assert_uint_eq(inode(name), was);
	ck_assert_int_eq(sent(MT_CONF_LISTEN, NULL, fd), 2);
}
END_TEST

START_TEST(test_all_or_none)
{
	char text[512], name[64];
	int a = port(), b = port(), c = port(), fd[2];
	ino_t was;

	(void)snprintf(text, sizeof(text),
	    "listen on 127.0.0.1 port %d\nlisten on 127.0.0.1 port %d\n", a, b);
	ck_assert_int_eq(plan(text), 0);
	(void)snprintf(name, sizeof(name), "127.0.0.1:%d", a);
	was = inode(name);
	/* No such address here; and no such group. */
	(void)snprintf(text, sizeof(text),
	    "listen on 127.0.0.1 port %d\nlisten on 127.0.0.1 port %d\n"
	    "listen on 192.0.2.1 port %d insecure\n"
	    "listen on socket \"%s/s\" group \"no-such-group\"\n",
	    a, c, c, dir);
	ck_assert_int_eq(plan(text), -1);
	ck_assert_uint_eq(errs.n, 2);
	ck_assert_ptr_nonnull(strstr(errs.line[0], "t:3: listen on 192.0.2.1"));
	ck_assert_ptr_nonnull(strstr(errs.line[1], "no such group"));
	ck_assert(reach(a) && reach(b) && !reach(c));
	ck_assert_uint_eq(inode(name), was);
	ck_assert_int_eq(sent(MT_CONF_LISTEN, NULL, fd), 2);
}
END_TEST

static int
unix_at(const char *path, int accepts)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	if (accepts)
		ck_assert_int_eq(listen(fd, 1), 0);
	return (fd);
}

START_TEST(test_unix)
{
	char path[128], text[256];
	struct stat st;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/s", dir);
	(void)snprintf(
	    text, sizeof(text), "listen on socket \"%s\" mode 0666\n", path);
	/* Somebody accepts there; then it is what a dead process left. */
	fd = unix_at(path, 1);
	ck_assert_int_eq(plan(text), -1);
	ck_assert_ptr_nonnull(strstr(errs.line[0], "in use"));
	close(fd);
	ck_assert_int_eq(plan(text), 0);
	ck_assert_int_eq(lstat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0666);
	/* The mode changes with a reload, the socket stays. */
	(void)snprintf(text, sizeof(text), "listen on socket \"%s\"\n", path);
	ck_assert_int_eq(plan(text), 0);
	ck_assert_int_eq(lstat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0660);
	/* Configured away: its file goes. */
	(void)snprintf(
	    text, sizeof(text), "listen on 127.0.0.1 port %d\n", port());
	ck_assert_int_eq(plan(text), 0);
	ck_assert_int_eq(lstat(path, &st), -1);
}
END_TEST

START_TEST(test_no_socket)
{
	char path[128], text[256];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/s", dir);
	(void)snprintf(text, sizeof(text), "listen on socket \"%s\"\n", path);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	ck_assert_int_ne(fd, -1);
	close(fd);
	ck_assert_int_eq(plan(text), -1);
	ck_assert_int_eq(unlink(path), 0); /* it is still there */
	ck_assert_int_eq(symlink("/nonexistent", path), 0);
	ck_assert_int_eq(plan(text), -1);
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

static void
file(const char *name, const char *text, mode_t mode)
{
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_CREAT | O_WRONLY, mode);
	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(fchmod(fd, mode), 0);
	ck_assert_int_gt(write(fd, text, strlen(text)), 0);
	close(fd);
}

static void
assert_reads(int fd, const char *want)
{
	char buf[16] = "";

	ck_assert_int_gt(read(fd, buf, sizeof(buf) - 1), 0);
	ck_assert_str_eq(buf, want);
	close(fd);
}

/* Each worker-http reads them from the start, also when they are gone. */
START_TEST(test_tls)
{
	char text[512], path[128];
	int fd[2], i;

	file("c", "cert", 0644);
	file("k", "key", 0600);
	(void)snprintf(text, sizeof(text),
	    "listen on 127.0.0.1 port %d tls cert \"%s/c\" key \"%s/k\"\n",
	    port(), dir, dir);
	ck_assert_int_eq(plan(text), 0);
	for (i = 0; i < 2; i++) {
		ck_assert_int_eq(sent(MT_CONF_TLS, NULL, fd), 1);
		assert_reads(fd[0], "cert");
		assert_reads(fd[1], "key");
		(void)snprintf(path, sizeof(path), "%s/c", dir);
		(void)unlink(path);
		(void)snprintf(path, sizeof(path), "%s/k", dir);
		(void)unlink(path);
	}
}
END_TEST

START_TEST(test_systemd)
{
	char text[256], path[128], num[16];
	int u, p = port(), other = port(), t, fd[2];
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)p),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct stat st;
	ino_t tcp;

	(void)snprintf(path, sizeof(path), "%s/s", dir);
	u = unix_at(path, 1);
	t = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(t, (struct sockaddr *)&sin, sizeof(sin)), 0);
	ck_assert_int_eq(listen(t, 1), 0);
	ck_assert_int_eq(fstat(t, &st), 0);
	tcp = st.st_ino;
	/* At numbers that the test's own files do not have. */
	ck_assert_int_eq(dup2(t, 20), 20);
	ck_assert_int_eq(dup2(u, 21), 21);
	close(t);
	close(u);
	(void)snprintf(num, sizeof(num), "%d", (int)getpid());
	setenv("LISTEN_PID", num, 1);
	setenv("LISTEN_FDS", "19", 1); /* 3 to 21 */
	(void)snprintf(text, sizeof(text),
	    "listen on 127.0.0.1 port %d\nlisten on socket \"%s\"\n"
	    "listen on 127.0.0.1 port %d\n",
	    p, path, other);
	ck_assert_int_eq(plan(text), 0);
	(void)snprintf(num, sizeof(num), "127.0.0.1:%d", p);
	ck_assert_uint_eq(inode(num), tcp);
	ck_assert_int_eq(fcntl(20, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(sent(MT_CONF_LISTEN, NULL, fd), 3);
	ck_assert(reach(p) && reach(other));
	/* The file of its socket is systemd's. */
	listen_close();
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("listen");
	TCase *tc = tcase_create("listen");

	log_init("test_listen", 0);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_reload);
	tcase_add_test(tc, test_all_or_none);
	tcase_add_test(tc, test_unix);
	tcase_add_test(tc, test_no_socket);
	tcase_add_test(tc, test_tls);
	tcase_add_test(tc, test_systemd);
	suite_add_tcase(s, tc);
	return (suite_run(s));
}
