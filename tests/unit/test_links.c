/* SPDX-License-Identifier: ISC */
/* Who is wired to whom, in which order, and whose word about whom counts. */
#include <sys/socket.h>

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "master/super.h"
#include "master/wire.h"
#include "tests/unit/suite.h"

/* A worker that exists for the tables alone; raw is its own end. */
struct fake {
	struct super s;
	int raw;
};
static struct fake http, spawn, one, two;

static void
gone(struct chan *c, int error, void *arg)
{
	(void)c;
	(void)error;
	(void)arg;
}

static void
born(struct fake *f, enum proc proc, uint32_t instance, uint64_t birth)
{
	int sv[2];

	memset(&f->s, 0, sizeof(f->s));
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv), 0);
	f->s.proc = proc;
	f->s.instance = instance;
	f->s.birth = birth;
	f->s.state = SUPER_READY;
	f->s.chan =
	    chan_new(NULL, sv[0], PROC_MASTER, proc, NULL, 0, gone, NULL);
	f->raw = sv[1];
	TAILQ_INSERT_TAIL(&supers, &f->s, entry);
}

static void
dies(struct fake *f)
{
	wire_down(&f->s);
	TAILQ_REMOVE(&supers, &f->s, entry);
	chan_free(f->s.chan);
	close(f->raw);
}

/* The next LINK at that worker; -1: none.  Its descriptor is returned. */
static int
linked(const struct fake *f, struct msg_link *l)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} cm;
	uint8_t buf[1024];
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr mh = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = cm.buf,
		.msg_controllen = sizeof(cm.buf) };
	ssize_t n = recvmsg(f->raw, &mh, MSG_DONTWAIT);
	union msg_any m;
	uint32_t type;
	int fd;

	if (n == -1)
		return (-1);
	ck_assert_int_eq(msg_unpack(buf, (size_t)n, &type, &m), 0);
	ck_assert_uint_eq(type, MT_LINK);
	*l = m.m_LINK;
	ck_assert_ptr_nonnull(CMSG_FIRSTHDR(&mh));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&mh)), sizeof(fd));
	return (fd);
}

static void
assert_pair(int a, int b)
{
	char c = 0;

	ck_assert_int_eq(write(a, "x", 1), 1);
	ck_assert_int_eq(read(b, &c, 1), 1);
	ck_assert_int_eq(c, 'x');
	close(a);
	close(b);
}

START_TEST(test_two)
{
	struct msg_link l, m;
	int a, b;

	born(&http, PROC_HTTP, 0, 7);
	wire_up(&http.s); /* nobody to talk to yet */
	ck_assert_int_eq(linked(&http, &l), -1);
	born(&spawn, PROC_SPAWN, 0, 8);
	wire_up(&spawn.s);
	a = linked(&http, &l);
	b = linked(&spawn, &m);
	ck_assert_uint_eq(l.peer, PROC_SPAWN);
	ck_assert_uint_eq(l.birth, 8);
	ck_assert_uint_eq(m.peer, PROC_HTTP);
	ck_assert_uint_eq(m.birth, 7);
	ck_assert_uint_eq(l.generation, m.generation);
	ck_assert_uint_ne(l.generation, 0);
	ck_assert_str_eq(l.cred, "");
	assert_pair(a, b);
	ck_assert_int_eq(linked(&http, &l), -1);
	ck_assert_int_eq(linked(&spawn, &l), -1);
}
END_TEST

START_TEST(test_egress_order)
{
	struct msg_link h, s, e1, e2;

	born(&http, PROC_HTTP, 0, 1);
	born(&spawn, PROC_SPAWN, 0, 2);
	wire_up(&spawn.s);
	(void)linked(&http, &h);
	(void)linked(&spawn, &s);
	born(&one, PROC_EGRESS, 3, 3);
	wire_up(&one.s);
	(void)linked(&http, &h);
	(void)linked(&spawn, &s);
	(void)linked(&one, &e1);
	(void)linked(&one, &e2);
	/* http knows it before spawn can name it. */
	ck_assert_uint_eq(h.peer, PROC_EGRESS);
	ck_assert_uint_eq(h.instance, 3);
	ck_assert_uint_eq(s.instance, 3);
	ck_assert_uint_lt(h.generation, s.generation);
	ck_assert_uint_eq(e1.peer, PROC_HTTP);
	ck_assert_uint_eq(e1.instance, 0);
	ck_assert_uint_eq(e2.peer, PROC_SPAWN);
	/* Two egresses have nothing to say to each other. */
	born(&two, PROC_EGRESS, 4, 4);
	wire_up(&two.s);
	ck_assert_int_eq(linked(&one, &e1), -1);
}
END_TEST

/* A new http gets its egresses before spawn, which could send it a run. */
START_TEST(test_restart_order)
{
	struct msg_link a, b, c;

	born(&http, PROC_HTTP, 0, 1);
	born(&spawn, PROC_SPAWN, 0, 2);
	born(&one, PROC_EGRESS, 1, 3);
	born(&two, PROC_EGRESS, 2, 4);
	wire_up(&spawn.s);
	dies(&http);
	born(&http, PROC_HTTP, 0, 5);
	wire_up(&http.s);
	(void)linked(&http, &a);
	(void)linked(&http, &b);
	(void)linked(&http, &c);
	ck_assert_uint_eq(a.peer, PROC_EGRESS);
	ck_assert_uint_eq(b.peer, PROC_EGRESS);
	ck_assert_uint_eq(c.peer, PROC_SPAWN);
	dies(&spawn);
	born(&spawn, PROC_SPAWN, 0, 6);
	wire_up(&spawn.s);
	(void)linked(&spawn, &a);
	(void)linked(&spawn, &b);
	(void)linked(&spawn, &c);
	ck_assert_uint_eq(a.peer, PROC_EGRESS);
	ck_assert_uint_eq(b.peer, PROC_EGRESS);
	ck_assert_uint_eq(c.peer, PROC_HTTP);
	ck_assert_uint_eq(c.birth, 5);
}
END_TEST

START_TEST(test_not_ready)
{
	struct msg_link l;

	born(&http, PROC_HTTP, 0, 1);
	born(&spawn, PROC_SPAWN, 0, 2);
	http.s.state = SUPER_SETUP;
	wire_up(&spawn.s);
	ck_assert_int_eq(linked(&spawn, &l), -1);
	http.s.state = SUPER_READY;
	wire_up(&http.s);
	ck_assert_int_ne(linked(&spawn, &l), -1);
}
END_TEST

/* PEER_BAD counts for the pair in use, and only among its two ends. */
START_TEST(test_peer)
{
	struct msg_link hs, he, old;

	born(&http, PROC_HTTP, 0, 1);
	born(&spawn, PROC_SPAWN, 0, 2);
	wire_up(&spawn.s);
	(void)linked(&http, &hs);
	born(&one, PROC_EGRESS, 1, 3);
	wire_up(&one.s);
	(void)linked(&http, &he);
	ck_assert_ptr_eq(
	    wire_peer(&http.s, PROC_SPAWN, 0, hs.generation), &spawn.s);
	ck_assert_ptr_eq(
	    wire_peer(&spawn.s, PROC_HTTP, 0, hs.generation), &http.s);
	ck_assert_ptr_eq(
	    wire_peer(&http.s, PROC_EGRESS, 1, he.generation), &one.s);
	ck_assert_ptr_null(wire_peer(&http.s, PROC_EGRESS, 1, hs.generation));
	ck_assert_ptr_null(wire_peer(&http.s, PROC_EGRESS, 2, he.generation));
	ck_assert_ptr_null(wire_peer(&spawn.s, PROC_EGRESS, 1, he.generation));
	ck_assert_ptr_null(wire_peer(&http.s, PROC_SPAWN, 0, 0));
	ck_assert_ptr_null(wire_peer(&http.s, PROC_HTTP, 0, 0));
	ck_assert_ptr_null(wire_peer(&http.s, PROC_TUI, 0, hs.generation));
	old = hs;
	dies(&spawn);
	ck_assert_ptr_null(wire_peer(&http.s, PROC_SPAWN, 0, old.generation));
	born(&spawn, PROC_SPAWN, 0, 4);
	wire_up(&spawn.s);
	(void)linked(&http, &hs);
	ck_assert_uint_gt(hs.generation, old.generation);
	ck_assert_ptr_null(wire_peer(&http.s, PROC_SPAWN, 0, old.generation));
	ck_assert_ptr_eq(
	    wire_peer(&http.s, PROC_SPAWN, 0, hs.generation), &spawn.s);
	/* The end of http is the end of its pairs, not of the others. */
	dies(&http);
	ck_assert_uint_eq(one.s.link[0], 0);
	ck_assert_uint_eq(spawn.s.link[0], 0);
	ck_assert_uint_ne(one.s.link[1], 0);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("links");
	TCase *tc = tcase_create("links");

	tcase_add_test(tc, test_two);
	tcase_add_test(tc, test_egress_order);
	tcase_add_test(tc, test_restart_order);
	tcase_add_test(tc, test_not_ready);
	tcase_add_test(tc, test_peer);
	suite_add_tcase(s, tc);
	return (suite_run(s));
}
