/* SPDX-License-Identifier: ISC */
/*
 * Where lines go, and that nobody waits for who does not read them: a pipe, a
 * socket, the journal.  Each test runs in a process of its own, whose
 * standard error is what is tested.
 */
#include <sys/socket.h>

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/limits.h"
#include "common/log.h"
#include "tests/unit/suite.h"

enum { PIPE, SOCKET, KINDS };

static long
now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (t.tv_sec * 1000 + t.tv_nsec / 1000000);
}

/* The reading end of what becomes standard error. */
static int
become(int kind)
{
	int p[2];

	ck_assert_int_eq(
	    kind == PIPE ? pipe(p) : socketpair(AF_UNIX, SOCK_STREAM, 0, p), 0);
	ck_assert_int_eq(dup2(p[1], STDERR_FILENO), STDERR_FILENO);
	close(p[1]);
	(void)signal(SIGPIPE, SIG_IGN);
	log_init("test", 0);
	log_never_block();
	ck_assert_int_eq(fcntl(p[0], F_SETFL, O_NONBLOCK), 0);
	return (p[0]);
}

/* All that has come; static. */
static const char *
come(int fd)
{
	static char buf[4 << 20];
	size_t at = 0;
	ssize_t n;

	while ((n = read(fd, buf + at, sizeof(buf) - 1 - at)) > 0)
		at += (size_t)n;
	buf[at] = '\0';
	return (buf);
}

static size_t
count(const char *s, const char *what)
{
	size_t n = 0;

	for (; (s = strstr(s, what)) != NULL; s++)
		n++;
	return (n);
}

START_TEST(nobody_reads)
{
	struct log_field f = { "OLP_KEY_ID", "alice" };
	int fd = become(_i);
	size_t i, here;
	unsigned long lost = 0;
	const char *s;
	long t = now_ms();

	for (i = 0; i < 2000; i++)
		log_event(EV_REQUEST, &f, 1, "request %zu: %0200d", i, 0);
	t = now_ms() - t;
	ck_assert_int_ge(t, LIM_LOG_WAIT_MS);
	ck_assert_int_lt(t, LIM_LOG_WAIT_MS + 3000); /* not once a line */
	s = come(fd);
	here = count(s, "[OLP_KEY_ID=alice]\n");
	ck_assert_uint_gt(here, 10);
	ck_assert_uint_eq(count(s, "\n"), here); /* none in part */
	log_warnx("again");
	s = come(fd);
	ck_assert_ptr_eq(strstr(s, "<4>test: again\n"), s);
	s += strlen("<4>test: again\n");
	ck_assert_int_eq(
	    sscanf(s, "<4>test: log: %lu lines were lost: nobody read them",
		&lost),
	    1);
	ck_assert_uint_eq(lost + here, 2000);
	log_info("as before");
	ck_assert_str_eq(come(fd), "<6>test: as before\n");
}
END_TEST

/* The reader comes back in time: nothing is lost. */
START_TEST(slow_reader)
{
	int fd = become(_i), p[2];
	size_t i, n = 0;
	char c;
	pid_t pid;

	ck_assert_int_eq(pipe(p), 0);
	if ((pid = fork()) == 0) {
		for (i = 0; i < 3000; i++)
			log_info("line %zu: %0200d", i, 0);
		_exit(0);
	}
	close(p[1]);
	close(STDERR_FILENO);
	do {
		usleep(5000);
		i = count(come(fd), "<6>test: line ");
		n += i;
	} while (i > 0 || n == 0);
	ck_assert_uint_eq(n, 3000);
	ck_assert_int_eq(read(p[0], &c, 1), 0);
}
END_TEST

START_TEST(nobody_at_all)
{
	int fd = become(_i);

	close(fd);
	log_info("into the void");
	log_info("and again");
}
END_TEST

/* Fields are framed, so no value makes one of its own. */
START_TEST(journal)
{
	struct log_field f[] = { { "OLP_KEY_ID", "a\nOLP_STATUS=200" },
		{ "OLP_UID", NULL } };
	int fd = become(PIPE), p[2];
	char buf[16384];
	uint64_t len = 16;
	ssize_t n;
	char *at;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, p), 0);
	log_journal(p[1]);
	log_event(EV_REQUEST, f, 2, "request 1: answered");
	n = recv(p[0], buf, sizeof(buf), MSG_DONTWAIT);
	ck_assert_int_gt(n, 0);
	at = memmem(buf, (size_t)n, "OLP_KEY_ID\n", 11);
	ck_assert_ptr_ne(at, NULL);
	ck_assert_mem_eq(at + 11, &len, sizeof(len)); /* little endian here */
	ck_assert_mem_eq(at + 19, "a\nOLP_STATUS=200\n", 17);
	ck_assert_ptr_eq(memmem(buf, (size_t)n, "OLP_UID", 7), NULL);
	ck_assert_ptr_ne(memmem(buf, (size_t)n, "MESSAGE_ID\n", 11), NULL);
	ck_assert_str_eq(come(fd), "");
}
END_TEST

/* A journal that takes nothing costs one wait; the lines go elsewhere. */
START_TEST(journal_stalls)
{
	int fd = become(PIPE), p[2];
	size_t i, here;
	long t = now_ms();

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, p), 0);
	log_journal(p[1]);
	for (i = 0; i < 2000; i++)
		log_info("line %zu", i);
	ck_assert_int_lt(now_ms() - t, LIM_LOG_WAIT_MS + 3000);
	for (here = 0; recv(p[0], &t, 1, MSG_DONTWAIT) > 0; here++)
		continue;
	ck_assert_uint_gt(here, 5);
	ck_assert_uint_eq(here + count(come(fd), "<6>test: line "), 2000);
}
END_TEST

START_TEST(foreign_bytes)
{
	char buf[64];

	ck_assert_str_eq(
	    log_vis(buf, sizeof(buf), "a\nb\x1b[31m\t", 9), "a\\nb\\^[[31m\\t");
	ck_assert_uint_lt(strlen(log_vis(buf, sizeof(buf),
			      "\x01\x02\x03\x04\x05\x06\x07"
			      "\x01\x02\x03\x04\x05\x06\x07"
			      "\x01\x02\x03\x04\x05\x06\x07",
			      21)),
	    sizeof(buf));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("log");
	TCase *t = tcase_create("log");

	tcase_add_loop_test(t, nobody_reads, 0, KINDS);
	tcase_add_loop_test(t, slow_reader, 0, KINDS);
	tcase_add_loop_test(t, nobody_at_all, 0, KINDS);
	tcase_add_test(t, journal);
	tcase_add_test(t, journal_stalls);
	tcase_add_test(t, foreign_bytes);
	suite_add_tcase(s, t);
	return (suite_run(s));
}
