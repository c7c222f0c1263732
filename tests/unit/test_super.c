/* SPDX-License-Identifier: ISC */
/*
 * A worker's life as the master sees it, with real processes: this program
 * itself, started as olpd-http out of a folder of its own, does what the file
 * "mode" there says.
 */
#include <sys/socket.h>
#include <sys/stat.h>

#include <check.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/conf/parse.h"
#include "common/host/start.h"
#include "common/log.h"
#include "master/place.h"
#include "master/rows.h"
#include "master/super.h"
#include "tests/unit/suite.h"

/* ---- as olpd-http ---- */

static void
say(uint32_t type, const void *m)
{
	uint8_t buf[1024];
	long n = msg_pack(type, m, buf, sizeof(buf));

	if (n == -1 || send(3, buf, (size_t)n, MSG_NOSIGNAL) != n)
		_exit(9);
}

static uint32_t
hear(union msg_any *m)
{
	static uint8_t buf[LIM_MSG_BYTES];
	uint32_t type;
	ssize_t n = recv(3, buf, sizeof(buf), 0);

	if (n <= 0)
		_exit(0); /* the master closed it */
	if (msg_unpack(buf, (size_t)n, &type, m) == -1)
		_exit(8);
	return (type);
}

/* Descriptors 0 to 3 and nothing else, nothing of the environment. */
static int
is_clean(void)
{
	int fd;

	for (fd = 4; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) != -1)
			return (0);
	return (fcntl(3, F_GETFD) == 0 && getenv("HOME") == NULL &&
	    getenv("SECRET") == NULL && getenv("PATH") != NULL);
}

static int
worker(const char *mode)
{
	struct msg_hello hello = { PROTO_VERSION, PROC_HTTP };
	struct msg_generation g = { 0 };
	struct msg_empty none = { 0 };
	union msg_any m;
	uint32_t type;

	if (strcmp(mode, "exit") == 0)
		return (5);
	if (strcmp(mode, "version") == 0)
		hello.version++;
	if (strcmp(mode, "proc") == 0)
		hello.proc = PROC_SPAWN;
	say(MT_HELLO, &hello);
	while ((type = hear(&m)) != MT_CONF_END)
		if (type == MT_CONF_BEGIN)
			g = m.m_CONF_BEGIN;
	if (strcmp(mode, "future") == 0)
		g.generation++;
	if (!is_clean())
		return (7);
	say(MT_READY, &g);
	if (strcmp(mode, "twice") == 0)
		say(MT_READY, &g);
	if (strcmp(mode, "crash") == 0)
		raise(SIGSYS);
	for (;;)
		switch (hear(&m)) {
		case MT_DRAIN:
			say(MT_DRAINED, &none);
			break;
		case MT_CONF_END:
			say(MT_CONF_ACK, &m.m_CONF_END);
			break;
		case MT_PING:
			say(MT_PONG, &m.m_PING);
			break;
		default:
			break;
		}
}

/* ---- the master's side ---- */

static struct event_base *base;
static char dir[] = "/tmp/test_super.XXXXXX";
static struct super *s;

static void
news(void)
{
}

static void
sigchld(evutil_socket_t sig, short what, void *arg)
{
	(void)sig;
	(void)what;
	(void)arg;
	super_reap();
}

static void
put(const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	ck_assert_ptr_nonnull(f = fopen(path, "w"));
	fputs(text, f);
	fclose(f);
}

static void
begin(const char *mode)
{
	struct conf_errors errs = { 0 };
	char self[PATH_MAX], path[PATH_MAX];
	const char *text = "limit runs 3\n";
	struct event *ev;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n] = '\0';
	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/olpd-http", dir);
	ck_assert_int_eq(symlink(self, path), 0);
	put("mode", mode);
	(void)snprintf(place.libexec, sizeof(place.libexec), "%s", dir);
	rows.conf = conf_load_text("t", text, strlen(text), &errs);
	rows.generation = 4;
	setenv("TZ", dir, 1);
	setenv("SECRET", "x", 1);
	start_init();
	ck_assert_ptr_nonnull(base = event_base_new());
	ck_assert_ptr_nonnull(ev = evsignal_new(base, SIGCHLD, sigchld, NULL));
	event_add(ev, NULL);
	super_init(base, news);
	super_new(PROC_HTTP, NULL);
	s = super_find(PROC_HTTP, 0);
}

static int
is_ready(void)
{
	return (s->state == SUPER_READY);
}

static int
died(void)
{
	return (s->restarts > 0 && s->state == SUPER_DOWN);
}

static int
born_again(void)
{
	return (s->restarts > 0 && s->state == SUPER_READY);
}

static int
is_down(void)
{
	return (s->state == SUPER_DOWN);
}

/* The loop, until it is so; 5 s at most. */
static void
until(int (*cond)(void), const char *what)
{
	struct timeval tv = { 0, 5000 };
	int i;

	for (i = 0; i < 1000 && !cond(); i++) {
		event_base_loopexit(base, &tv);
		event_base_dispatch(base);
	}
	ck_assert_msg(cond(), "not %s: state %d, restarts %u, %s", what,
	    s->state, s->restarts, s->why);
}
#define UNTIL(cond) until(cond, #cond)

static void
end(void)
{
	char path[PATH_MAX];

	super_drain();
	super_end(s);
	UNTIL(is_down);
	(void)snprintf(path, sizeof(path), "%s/mode", dir);
	unlink(path);
	(void)snprintf(path, sizeof(path), "%s/olpd-http", dir);
	unlink(path);
	rmdir(dir);
}

START_TEST(test_life)
{
	struct msg_status st = { 0 };

	begin("good");
	ck_assert_int_eq(s->state, SUPER_HELLO);
	UNTIL(is_ready);
	ck_assert_uint_eq(s->acked, 4);
	ck_assert_ptr_eq(super_ready(PROC_HTTP), s);
	ck_assert_ptr_null(super_ready(PROC_SPAWN));
	ck_assert_uint_eq(s->restarts, 0);
	super_list(&st);
	ck_assert_uint_eq(st.workers_n, 1);
	ck_assert_ptr_eq(strstr(st.workers[0], "olpd-http "), st.workers[0]);
	end();
}
END_TEST

static int
acked(void)
{
	return (s->acked == rows.generation);
}

START_TEST(test_reload)
{
	begin("good");
	UNTIL(is_ready);
	rows.generation = 5;
	super_rows(PROC_SPAWN); /* there is none */
	super_rows(PROC_HTTP);
	UNTIL(acked);
	ck_assert_uint_eq(s->restarts, 0);
	end();
}
END_TEST

START_TEST(test_killed)
{
	pid_t was;
	uint64_t birth;

	begin("good");
	UNTIL(is_ready);
	was = s->pid;
	birth = s->birth;
	ck_assert_int_eq(kill(was, SIGKILL), 0);
	UNTIL(born_again);
	ck_assert_int_ne(s->pid, was);
	ck_assert_uint_gt(s->birth, birth);
	/* It had not lived for long: there was a pause. */
	ck_assert_int_eq(s->backoff, LIM_BACKOFF_MS);
	/* One that has is replaced at once. */
	s->born -= LIM_LIVED_MS;
	s->restarts = 0;
	ck_assert_int_eq(kill(s->pid, SIGKILL), 0);
	UNTIL(born_again);
	ck_assert_int_eq(s->backoff, 0);
	end();
}
END_TEST

START_TEST(test_our_kill)
{
	begin("good");
	UNTIL(is_ready);
	super_kill(s, "for a reason");
	super_kill(s, "for another");
	ck_assert_int_eq(s->state, SUPER_ENDING);
	ck_assert_ptr_null(s->chan);
	ck_assert_str_eq(s->why, "for a reason");
	UNTIL(born_again);
	ck_assert_str_eq(s->why, "");
	end();
}
END_TEST

static const char *const bad[] = { "exit", "version", "proc", "future" };

/* None of these is ever ready; the pauses double. */
START_TEST(test_bad)
{
	int before = LIM_BACKOFF_MS / 2, i;

	begin(bad[_i]);
	for (i = 0; i < 3; i++) {
		s->restarts = 0;
		UNTIL(died);
		ck_assert(!s->was_ready);
		ck_assert_int_eq(s->backoff, before * 2);
		before = s->backoff;
		if (_i == 1)
			ck_assert_ptr_nonnull(strstr(s->why, "version"));
		if (_i > 1)
			ck_assert_str_eq(s->why, "broke the protocol");
	}
	put("mode", "good");
	UNTIL(is_ready);
	end();
}
END_TEST

static const char *const ill[] = { "twice", "crash" };

/* These are; but do not live. The pause has a lower bound then. */
START_TEST(test_ill)
{
	begin(ill[_i]);
	UNTIL(died);
	ck_assert(s->was_ready);
	s->backoff = LIM_BACKOFF_READY_MS;
	s->restarts = 0;
	UNTIL(died);
	ck_assert_int_eq(s->backoff, LIM_BACKOFF_READY_MS);
	end();
}
END_TEST

START_TEST(test_no_program)
{
	char path[PATH_MAX];

	begin("good");
	UNTIL(is_ready);
	(void)snprintf(path, sizeof(path), "%s/olpd-http", dir);
	ck_assert_int_eq(unlink(path), 0);
	super_kill(s, NULL);
	s->was_ready = 0;
	s->restarts = 1;
	UNTIL(died);
	end();
}
END_TEST

static int
is_drained(void)
{
	return (super_drained());
}

START_TEST(test_drain)
{
	begin("good");
	UNTIL(is_ready);
	ck_assert(!super_drained());
	super_drain();
	UNTIL(is_drained);
	ck_assert_int_eq(s->state, SUPER_READY); /* until it is told to end */
	super_end(s);
	UNTIL(is_down);
	ck_assert(s->planned);
	ck_assert_uint_eq(s->restarts, 0);
	end();
}
END_TEST

/* While stopping nobody is started again. */
START_TEST(test_drain_dies)
{
	begin("good");
	UNTIL(is_ready);
	super_drain();
	ck_assert_int_eq(kill(s->pid, SIGKILL), 0);
	UNTIL(is_down);
	ck_assert(super_drained());
	ck_assert_uint_eq(s->restarts, 0);
	end();
}
END_TEST

int
main(int argc, char **argv)
{
	Suite *suite;
	TCase *tc;
	char path[PATH_MAX], mode[32] = "";
	FILE *f;

	(void)argc;
	if (strcmp(argv[0], "olpd-http") == 0) {
		/* TZ is one of the few variables that come through. */
		(void)snprintf(path, sizeof(path), "%s/mode", getenv("TZ"));
		if ((f = fopen(path, "r")) == NULL ||
		    fgets(mode, sizeof(mode), f) == NULL)
			return (6);
		fclose(f);
		return (worker(mode));
	}
	log_init("test_super", 0);
	suite = suite_create("super");
	tc = tcase_create("super");
	tcase_add_test(tc, test_life);
	tcase_add_test(tc, test_reload);
	tcase_add_test(tc, test_killed);
	tcase_add_test(tc, test_our_kill);
	tcase_add_loop_test(tc, test_bad, 0, 4);
	tcase_add_loop_test(tc, test_ill, 0, 2);
	tcase_add_test(tc, test_no_program);
	tcase_add_test(tc, test_drain);
	tcase_add_test(tc, test_drain_dies);
	tcase_set_timeout(tc, 30);
	suite_add_tcase(suite, tc);
	return (suite_run(suite));
}
