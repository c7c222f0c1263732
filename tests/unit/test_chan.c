/* SPDX-License-Identifier: ISC */
/* A channel's checks: who, what, how many descriptors, in which state; and its
 * end. */
#include <sys/socket.h>
#include <sys/wait.h>

#include <check.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/chan.h"
#include "common/log.h"
#include "common/memfd.h"
#include "tests/unit/suite.h"

static struct event_base *base;
static struct chan *http, *spawn; /* the two ends */
static int nkill, nstart, gone_error, was_gone;
static int took[3];

static int
on_kill(struct chan *c, struct msg *m)
{
	const struct msg_run_kill *k = m->body;

	(void)c;
	ck_assert_uint_eq(k->run_id, 7);
	nkill++;
	return (0);
}

static int
on_start(struct chan *c, struct msg *m)
{
	(void)c;
	took[0] = msg_take_fd(m, 0);
	nstart++;
	return (0);
}

static int
on_refuse(struct chan *c, struct msg *m)
{
	(void)c;
	(void)m;
	return (-1);
}

static int
on_free(struct chan *c, struct msg *m)
{
	(void)m;
	chan_free(c);
	spawn = NULL;
	event_base_loopbreak(base);
	return (0);
}

static const struct msg_handler from_http[] = {
	{ MT_RUN_KILL, on_kill, ST_READY },
	{ MT_RUN_START, on_start, ST_ANY },
	{ MT_GRANT_END, on_refuse, ST_ANY },
	{ MT_AUTH, on_free, ST_ANY },
};

static void
gone(struct chan *c, int error, void *arg)
{
	(void)c;
	(void)arg;
	was_gone = 1;
	gone_error = error;
	event_base_loopbreak(base);
}

static int raw; /* http's end of the pair, for tests that write by hand */

static void
setup(void)
{
	int sv[2];

	log_init("test", 0);
	base = event_base_new();
	ck_assert_int_eq(
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv), 0);
	raw = sv[0];
	http =
	    chan_new(base, sv[0], PROC_HTTP, PROC_SPAWN, NULL, 0, gone, NULL);
	spawn = chan_new(
	    base, sv[1], PROC_SPAWN, PROC_HTTP, from_http, 4, gone, NULL);
	chan_arm(spawn);
	nkill = nstart = was_gone = 0;
	gone_error = -1;
}

static void
teardown(void)
{
	chan_free(http);
	chan_free(spawn);
	event_base_free(base);
}

static void
turn(void)
{
	event_base_loop(base, EVLOOP_NONBLOCK);
}

START_TEST(states)
{
	struct msg_run_kill k = { 7 };

	chan_set_state(spawn, ST_READY);
	ck_assert_int_eq(chan_send(http, MT_RUN_KILL, &k), 0);
	turn();
	ck_assert_int_eq(nkill, 1);
	chan_set_state(spawn, ST_DRAIN);
	ck_assert_int_eq(chan_send(http, MT_RUN_KILL, &k), 0);
	turn();
	ck_assert_int_eq(nkill, 1);
	ck_assert_int_eq(gone_error, EPROTO);
}
END_TEST

static void
send_raw(uint32_t type, const void *m, size_t nfds)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * 8)];
		struct cmsghdr align;
	} cm = { { 0 } };
	static uint8_t buf[LIM_MSG_BYTES];
	struct iovec iov = { buf, 0 };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fd[8], nul = open("/dev/null", O_RDONLY | O_CLOEXEC);
	long len = msg_pack(type, m, buf, sizeof(buf));
	size_t i;

	ck_assert_int_gt(len, 0);
	iov.iov_len = (size_t)len;
	for (i = 0; i < nfds; i++)
		fd[i] = nul;
	if (nfds > 0) {
		mh.msg_control = cm.buf;
		mh.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
		cm.align.cmsg_level = SOL_SOCKET;
		cm.align.cmsg_type = SCM_RIGHTS;
		cm.align.cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(&cm.align), fd, sizeof(int) * nfds);
	}
	ck_assert_int_eq(sendmsg(raw, &mh, 0), len);
	close(nul);
}

static int
count_fds(void)
{
	int i, n = 0;

	for (i = 0; i < 1024; i++)
		n += fcntl(i, F_GETFD) != -1;
	return (n);
}

START_TEST(wrong_side)
{
	struct msg_auth_no no = { 1, 1 };

	send_raw(MT_AUTH_NO, &no, 0); /* spawn's to send, not http's */
	turn();
	ck_assert_int_eq(gone_error, EPROTO);
}
END_TEST

START_TEST(no_row)
{
	struct msg_hello h = { 1, PROC_HTTP };

	send_raw(MT_HELLO, &h, 0);
	turn();
	ck_assert_int_eq(gone_error, EPROTO);
}
END_TEST

START_TEST(descriptors_exact)
{
	static const size_t n[] = { 0, 1, 2, 4, 8 };
	static struct msg_run_start rs;
	int before = count_fds();

	send_raw(MT_RUN_START, &rs, n[_i]);
	turn();
	ck_assert_int_eq(nstart, 0);
	ck_assert_int_eq(gone_error, EPROTO);
	ck_assert_int_eq(count_fds(), before); /* none leaked */
}
END_TEST

START_TEST(untaken_are_closed)
{
	static struct msg_run_start rs;
	int before = count_fds();

	send_raw(MT_RUN_START, &rs, 3);
	turn();
	ck_assert_int_eq(nstart, 1);
	ck_assert_int_eq(count_fds(), before + 1);
	close(took[0]);
}
END_TEST

START_TEST(handler_refuses)
{
	struct msg_grant_end g = { 1 };

	ck_assert_int_eq(chan_send(http, MT_GRANT_END, &g), 0);
	turn();
	ck_assert_int_eq(gone_error, EPROTO);
}
END_TEST

START_TEST(handler_frees)
{
	static struct msg_auth a;

	ck_assert_int_eq(chan_send(http, MT_AUTH, &a), 0);
	ck_assert_int_eq(chan_send(http, MT_AUTH, &a), 0);
	turn();
	ck_assert_ptr_null(spawn);
}
END_TEST

START_TEST(garbage)
{
	ck_assert_int_eq(send(raw, "\x93hello", 6, 0), 6);
	turn();
	ck_assert_int_eq(gone_error, EPROTO);
}
END_TEST

START_TEST(oversized)
{
	static char big[LIM_MSG_BYTES + 2];

	ck_assert_int_eq(send(raw, big, sizeof(big), 0), sizeof(big));
	turn();
	ck_assert_int_eq(gone_error, EPROTO);
}
END_TEST

START_TEST(not_ours_to_send)
{
	struct msg_auth_no no = { 1, 1 };
	struct msg_run_kill k = { 7 };
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(chan_send(http, MT_AUTH_NO, &no), -1);
	ck_assert_int_eq(chan_send_fds(http, MT_RUN_KILL, &k, &fd, 1), -1);
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1); /* given away all the same */
}
END_TEST

/*
 * The peer is killed with unread packets of ours in its queue: we get
 * ECONNRESET once, and what it had sent before must still be handled.
 */
START_TEST(reset_is_not_the_end)
{
	struct msg_run_kill k = { 7 };
	struct msg_grant_end g = { 1 };

	chan_set_state(spawn, ST_READY);
	ck_assert_int_eq(chan_send(http, MT_RUN_KILL, &k), 0);
	(void)g;
	ck_assert_int_eq(chan_send(spawn, MT_RUN_FAILED,
			     &(struct msg_run_failed){ 1, 2, 0, "" }),
	    0);
	chan_free(http); /* with the packet unread */
	http = NULL;
	turn();
	turn();
	ck_assert_int_eq(nkill, 1);
	ck_assert_int_eq(was_gone, 1);
	ck_assert_int_eq(gone_error, 0);
}
END_TEST

START_TEST(peer_that_does_not_read)
{
	struct msg_run_kill k = { 7 };
	int i, r = 0;

	chan_arm(http);
	event_base_loop(base, EVLOOP_NONBLOCK);
	for (i = 0; i < 10000 && r == 0; i++)
		r = chan_send(http, MT_RUN_KILL, &k);
	ck_assert_int_eq(r, -1);
	ck_assert_int_gt(i, LIM_CHAN_QUEUE);
	chan_set_state(spawn, ST_READY);
	for (i = 0; i < 1000 && !was_gone; i++)
		turn();
	ck_assert_int_eq(gone_error, ENOBUFS);
}
END_TEST

START_TEST(queued_arrives_in_order)
{
	struct msg_run_kill k = { 7 };
	int i, n = 600;

	chan_arm(http);
	chan_set_state(spawn, ST_READY);
	for (i = 0; i < n; i++)
		ck_assert_int_eq(chan_send(http, MT_RUN_KILL, &k), 0);
	for (i = 0; i < 1000 && nkill < n; i++)
		turn();
	ck_assert_int_eq(nkill, n);
	ck_assert_int_eq(was_gone, 0);
}
END_TEST

START_TEST(step_times_out)
{
	ck_assert_int_eq(chan_step(http, 10), -1);
	ck_assert_int_eq(errno, ETIMEDOUT);
	chan_free(spawn);
	spawn = NULL;
	ck_assert_int_eq(chan_step(http, 10), -1);
	ck_assert_int_eq(errno, EPIPE);
}
END_TEST

START_TEST(memfds)
{
	char b[6] = "";
	int fd = memfd_sealed("x", "hello", 5), again, p[2];

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(memfd_check(fd), 5);
	ck_assert_int_eq(lseek(fd, 3, SEEK_SET), 3);
	ck_assert_int_ge(again = memfd_reopen(fd), 0);
	ck_assert_int_eq(read(again, b, 6), 5);
	ck_assert_str_eq(b, "hello");
	ck_assert_int_eq(write(again, "x", 1), -1);
	ck_assert_int_eq(write(fd, "x", 1), -1);
	close(again);
	close(fd);
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(memfd_check(fd), -1);
	close(fd);
	ck_assert_int_eq(pipe2(p, O_CLOEXEC), 0);
	ck_assert_int_eq(memfd_check(p[0]), -1);
	close(p[0]);
	close(p[1]);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("chan");
	TCase *t = tcase_create("chan");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, states);
	tcase_add_test(t, wrong_side);
	tcase_add_test(t, no_row);
	tcase_add_loop_test(t, descriptors_exact, 0, 5);
	tcase_add_test(t, untaken_are_closed);
	tcase_add_test(t, handler_refuses);
	tcase_add_test(t, handler_frees);
	tcase_add_test(t, garbage);
	tcase_add_test(t, oversized);
	tcase_add_test(t, not_ours_to_send);
	tcase_add_test(t, reset_is_not_the_end);
	tcase_add_test(t, peer_that_does_not_read);
	tcase_add_test(t, queued_arrives_in_order);
	tcase_add_test(t, step_times_out);
	tcase_add_test(t, memfds);
	suite_add_tcase(s, t);
	return (suite_run(s));
}
