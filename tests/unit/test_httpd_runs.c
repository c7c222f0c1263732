/* SPDX-License-Identifier: ISC */
/*
 * The real olpd-http: runs, queue, callers that leave, keys that end, and
 * the death of worker-spawn and egress on both sides of the commit point.
 */
#include <sys/socket.h>

#include <bsd/string.h>
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "httpd_rig.h"
#include "tests/unit/suite.h"

static struct rig rig;

static void
setup(void)
{
	rig_defaults(&rig);
	rig_start(&rig);
}

static void
setup_one_run(void)
{
	rig_defaults(&rig);
	rig.http.runs = 1;
	rig_start(&rig);
}

static void
setup_no_spawn(void)
{
	rig_defaults(&rig);
	rig.no_spawn = 1;
	rig_start(&rig);
}

static void
teardown(void)
{
	rig_stop(&rig);
}

/* Up to RUN_START. */
static int
ask(struct rig_run *run, const char *key, const char *text, int stream)
{
	int fd = rig_connect(&rig);

	rig_post_text(fd, "demo", text, stream);
	(void)rig_auth(&rig, key, 0);
	rig_run_start(&rig, run);
	return (fd);
}

static int
ask_started(struct rig_run *run, const char *text, int stream, uint32_t egress)
{
	int fd = ask(run, "alice", text, stream);

	rig_run_started(&rig, run, egress);
	return (fd);
}

static void
expect_text(int fd, const char *text)
{
	struct rig_answer a;

	rig_answer(fd, &a);
	ck_assert_msg(a.status == 200 && strstr(a.body, text) != NULL, "%s%s",
	    a.head, a.body);
	rig_answer_free(&a);
}

static void
leave(int fd, int how)
{
	struct linger rst = { 1, 0 };

	if (how == 1)
		(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &rst, sizeof(rst));
	if (how == 2)
		(void)shutdown(fd, SHUT_WR); /* counts as gone */
	else
		close(fd);
}

/* Callers that leave, by FIN, by RST and by ending their sending side alone. */

START_TEST(leaves_while_asked_for)
{
	struct msg_auth_ok ok = { .grant = 77, .key_id = "alice" };
	int fd = rig_connect(&rig);

	rig_post_text(fd, "demo", "x", 0);
	ok.auth_id = rig_expect(rig.spawn, MT_AUTH)->body.m_AUTH.auth_id;
	leave(fd, _i);
	usleep(50000);
	rig_send(rig.spawn, MT_AUTH_OK, &ok, NULL, 0);
	ck_assert_uint_eq(
	    rig_expect(rig.spawn, MT_GRANT_END)->body.m_GRANT_END.grant, 77);
	ck_assert(rig_quiet(rig.spawn, 50));
}
END_TEST

START_TEST(leaves_while_starting)
{
	struct rig_run run;
	int fd = ask(&run, "alice", "x", 0);

	leave(fd, _i);
	rig_expect_kill(&rig, &run);
	ck_assert_uint_eq(
	    rig_expect(rig.spawn, MT_GRANT_END)->body.m_GRANT_END.grant,
	    run.grant);
	rig_run_started(&rig, &run, 0); /* on its way meanwhile */
	rig_run_exited(&rig, &run);
	ck_assert(rig_quiet(rig.spawn, 50));
}
END_TEST

START_TEST(leaves_while_plain)
{
	struct rig_run run;
	int fd = ask_started(&run, "x", 0, 0);

	rig_say(&run, "{\"type\":\"start\",\"model\":\"m\"}");
	rig_say_text(&run, "part");
	leave(fd, _i);
	rig_expect_kill(&rig, &run);
	(void)rig_expect(rig.spawn, MT_GRANT_END);
	rig_run_exited(&rig, &run);
}
END_TEST

START_TEST(leaves_while_streaming)
{
	struct rig_run run;
	int fd = ask_started(&run, "x", 1, 0);

	rig_say(&run, "{\"type\":\"start\",\"model\":\"m\"}");
	rig_say_text(&run, "part");
	(void)rig_until(fd, "part");
	leave(fd, _i);
	rig_expect_kill(&rig, &run);
	(void)rig_expect(rig.spawn, MT_GRANT_END);
	rig_run_exited(&rig, &run);
}
END_TEST

/* With text that it does not take: its socket is full, and its end is seen all
 * the same. */
START_TEST(leaves_while_held_up)
{
	struct rig_run run;
	char line[1100];
	int fd = ask_started(&run, "x", 1, 0), blocked = 0;

	rig_say(&run, "{\"type\":\"start\",\"model\":\"m\"}");
	(void)snprintf(line, sizeof(line),
	    "{\"type\":\"text\",\"text\":\"%01000d\"}\n", 0);
	ck_assert_int_eq(fcntl(run.out, F_SETFL, O_NONBLOCK), 0);
	while (blocked < 20) {
		if (write(run.out, line, strlen(line)) > 0) {
			blocked = 0;
			continue;
		}
		blocked++;
		usleep(10000);
	}
	leave(fd, _i);
	rig_expect_kill(&rig, &run);
	(void)rig_expect(rig.spawn, MT_GRANT_END);
	rig_run_exited(&rig, &run);
}
END_TEST

START_TEST(leaves_while_queued)
{
	struct rig_run first, third;
	int a = ask_started(&first, "first", 0, 0), b = rig_connect(&rig),
	    c = rig_connect(&rig);

	rig_post_text(b, "demo", "second", 0);
	(void)rig_auth(&rig, "alice", 0);
	rig_post_text(c, "demo", "third", 0);
	(void)rig_auth(&rig, "alice", 0);
	ck_assert(rig_quiet(rig.spawn, 50));
	leave(b, _i);
	(void)rig_expect(rig.spawn, MT_GRANT_END);
	rig_say_answer(&first, "one");
	expect_text(a, "one");
	(void)rig_expect(rig.spawn, MT_GRANT_END);
	rig_run_exited(&rig, &first);
	rig_run_start(&rig, &third); /* the second never starts */
	ck_assert_str_eq(third.input, "third");
	close(a);
	close(c);
}
END_TEST

/* The queue. */

START_TEST(waits_for_its_turn)
{
	struct rig_run first, second;
	int a = ask_started(&first, "first", 0, 0), b = rig_connect(&rig);

	rig_post_text(b, "demo", "second", 0);
	(void)rig_auth(&rig, "alice", 0);
	rig_say_answer(&first, "one");
	expect_text(a, "one");
	(void)rig_expect(rig.spawn, MT_GRANT_END);
	ck_assert(rig_quiet(rig.spawn, 20)); /* the first is not gone yet */
	rig_run_exited(&rig, &first);
	rig_run_start(&rig, &second);
	rig_run_started(&rig, &second, 0);
	rig_say_answer(&second, "two");
	expect_text(b, "two");
	close(a);
	close(b);
}
END_TEST

/* A queues a hundred, B one: B starts within (running slots + 1) starts. */
START_TEST(is_fair)
{
	int fd[100], b, i, starts = 0;
	struct rig_run run;

	rig.http.connections = 200;
	rig_configure(&rig, 2, NULL, NULL);
	(void)rig_expect(rig.master, MT_CONF_ACK);
	fd[0] = ask_started(&run, "a", 0, 0);
	for (i = 1; i < 100; i++) {
		fd[i] = rig_connect(&rig);
		rig_post_text(fd[i], "demo", "a", 0);
		(void)rig_auth(&rig, "alice", 0);
	}
	b = rig_connect(&rig);
	rig_post_text(b, "demo", "b", 0);
	(void)rig_auth(&rig, "bob", 0);
	do {
		rig_say_answer(&run, "ok");
		(void)rig_expect(rig.spawn, MT_GRANT_END);
		rig_run_exited(&rig, &run);
		rig_run_start(&rig, &run);
		rig_run_started(&rig, &run, 0);
		starts++;
	} while (strcmp(run.input, "b") != 0);
	ck_assert_int_le(starts, 2);
	for (i = 0; i < 100; i++)
		close(fd[i]);
	close(b);
}
END_TEST

START_TEST(queue_is_bounded)
{
	struct rig_run run;
	int fd[4], i;

	rig.http.queue_per_key = 2;
	rig_configure(&rig, 2, NULL, NULL);
	(void)rig_expect(rig.master, MT_CONF_ACK);
	fd[0] = ask_started(&run, "a", 0, 0);
	for (i = 1; i < 4; i++) {
		fd[i] = rig_connect(&rig);
		rig_post_text(fd[i], "demo", "a", 0);
		(void)rig_auth(&rig, "alice", 0);
	}
	rig_expect_error(fd[3], 429, "queue_full");
	for (i = 0; i < 4; i++)
		close(fd[i]);
}
END_TEST

/* worker-spawn has the last word: what it refuses waits, and is tried again. */
START_TEST(refused_start_waits)
{
	struct rig_run run, other;
	int a = ask_started(&run, "a", 0, 0), b = ask(&other, "alice", "b", 0);

	rig_run_failed(&rig, &other, ERR_BUSY_MEMORY);
	ck_assert(rig_quiet(rig.spawn, 100));
	rig_say_answer(&run, "ok");
	expect_text(a, "ok");
	(void)rig_expect(rig.spawn, MT_GRANT_END);
	rig_run_exited(&rig, &run);
	rig_run_start(&rig, &other);
	ck_assert_str_eq(other.input, "b");
	rig_run_failed(&rig, &other,
	    ERR_BUSY_KEY); /* nothing of ours runs: after a second */
	ck_assert(rig_quiet(rig.spawn, 500));
	rig_run_start(&rig, &other);
	rig_run_failed(&rig, &other, ERR_RATE);
	rig_expect_error(b, 429, "rate_limit_exceeded");
	close(a);
	close(b);
}
END_TEST

START_TEST(stale_grant_is_renewed)
{
	struct rig_run run;
	uint64_t grant;
	int fd = ask(&run, "alice", "a", 0);

	rig_run_failed(&rig, &run, ERR_STALE);
	grant = rig_auth(&rig, "alice", 0);
	rig_run_start(&rig, &run);
	ck_assert_uint_eq(run.grant, grant);
	rig_run_started(&rig, &run, 0);
	rig_say_answer(&run, "ok");
	expect_text(fd, "ok");
	close(fd);
}
END_TEST

/* A key that ends. */
START_TEST(key_gone)
{
	struct msg_key_gone gone = { "alice" };
	struct rig_run first, bobs;
	struct rig_answer a;
	int stream = ask_started(&first, "first", 1, 0),
	    queued = rig_connect(&rig), bob;

	rig_post_text(queued, "demo", "second", 0);
	(void)rig_auth(&rig, "alice", 0);
	bob = rig_connect(&rig);
	rig_post_text(bob, "demo", "bob's", 0);
	(void)rig_auth(&rig, "bob", 0);
	rig_say(&first, "{\"type\":\"start\",\"model\":\"m\"}");
	rig_say_text(&first, "part");
	(void)rig_until(stream, "part");
	rig_send(rig.spawn, MT_KEY_GONE, &gone, NULL, 0);
	rig_expect_error(queued, 401, "key_revoked");
	(void)rig_until(stream, "\"code\":\"key_revoked\"");
	rig_expect_kill(&rig, &first);
	(void)rig_expect(rig.spawn, MT_GRANT_END);
	(void)rig_expect(rig.spawn, MT_GRANT_END);
	rig_run_exited(&rig, &first);
	rig_run_start(&rig, &bobs); /* nobody else is touched */
	ck_assert_str_eq(bobs.input, "bob's");
	rig_run_started(&rig, &bobs, 0);
	rig_say_answer(&bobs, "ok");
	expect_text(bob, "ok");
	close(stream);
	close(queued);
	close(bob);
	(void)a;
}
END_TEST

START_TEST(key_gone_plain)
{
	struct msg_key_gone gone = { "alice" };
	struct rig_run run;
	int fd = ask_started(&run, "first", 0, 0);

	rig_send(rig.spawn, MT_KEY_GONE, &gone, NULL, 0);
	rig_expect_error(fd, 401, "key_revoked");
	rig_expect_kill(&rig, &run);
	close(fd);
}
END_TEST

/* worker-spawn dies. */

START_TEST(waits_for_spawn)
{
	struct rig_run run;
	int fd = rig_connect(&rig);

	rig_post_text(fd, "demo", "x", 0);
	ck_assert(rig_quiet(fd, 100));
	rig_spawn(&rig);
	(void)rig_auth(&rig, "alice", 0);
	rig_run_start(&rig, &run);
	rig_run_started(&rig, &run, 0);
	rig_say_answer(&run, "ok");
	expect_text(fd, "ok");
	close(fd);
}
END_TEST

START_TEST(spawn_dies_while_asked)
{
	struct rig_run run;
	int fd = rig_connect(&rig);

	rig_post_text(fd, "demo", "x", 0);
	(void)rig_expect(rig.spawn, MT_AUTH);
	rig_spawn(&rig);
	(void)rig_auth(&rig, "alice", 0);
	rig_run_start(&rig, &run);
	rig_run_started(&rig, &run, 0);
	rig_say_answer(&run, "ok");
	expect_text(fd, "ok");
	close(fd);
}
END_TEST

/* Nothing was executed: again, and the order of the queue stays. */
START_TEST(spawn_dies_before_start)
{
	struct rig_run first, second;
	uint64_t grant;
	int a = ask(&first, "alice", "first", 0), b = rig_connect(&rig);

	rig_post_text(b, "demo", "second", 0);
	(void)rig_auth(&rig, "alice", 0);
	rig_spawn(&rig);
	grant = rig_auth(&rig, "alice", 0);
	(void)rig_auth(&rig, "alice", 0);
	rig_run_start(&rig, &first);
	ck_assert_str_eq(first.input, "first");
	ck_assert_uint_eq(first.grant, grant);
	rig_run_started(&rig, &first, 0);
	rig_say_answer(&first, "one");
	expect_text(a, "one");
	(void)rig_expect(rig.spawn, MT_GRANT_END);
	rig_run_exited(&rig, &first);
	rig_run_start(&rig, &second);
	ck_assert_str_eq(second.input, "second");
	close(a);
	close(b);
}
END_TEST

START_TEST(spawn_dies_in_a_run_without_broker)
{
	struct rig_run run;
	int fd = ask_started(&run, "x", 0, 0);

	rig_spawn(&rig);
	close(run.out); /* as the kernel ends the client */
	rig_expect_error(fd, 502, "run_lost");
	ck_assert(rig_quiet(rig.spawn, 100));
	close(fd);
}
END_TEST

/* The commit point: a request that no provider has heard of survives, once. */
START_TEST(spawn_dies_before_the_request_went_out)
{
	struct rig_run run;
	uint64_t first;
	int fd, stream = _i;

	rig_egress(&rig, 1);
	fd = ask_started(&run, "x", stream, 1);
	first = run.id;
	rig_spawn(&rig);
	close(run.out);
	rig_closed(&rig, run.id, 0, 0);
	(void)rig_auth(&rig, "alice", 0);
	rig_run_start(&rig, &run);
	ck_assert_uint_ne(run.id, first);
	ck_assert_str_eq(run.input, "x");
	rig_run_started(&rig, &run, 1);

	/* A second time it is not. */
	rig_spawn(&rig);
	close(run.out);
	rig_closed(&rig, run.id, 0, 0);
	rig_expect_error(fd, 502, "run_lost");
	close(fd);
}
END_TEST

START_TEST(spawn_dies_after_the_request_went_out)
{
	struct msg_out_run opened;
	struct rig_run run;
	int fd, how = _i;

	rig_egress(&rig, 1);
	fd = ask_started(&run, "x", 0, 1);
	opened.run_id = run.id;
	if (how == 0) /* told before, or only by the answer */
		rig_send(rig.egress, MT_OUT_OPENED, &opened, NULL, 0);
	usleep(20000);
	rig_spawn(&rig);
	close(run.out);
	rig_closed(&rig, run.id, 1, 200);
	rig_expect_error(fd, 502, "run_lost");
	ck_assert(rig_quiet(rig.spawn, 100));
	close(fd);
}
END_TEST

/* What the client had written before counts. */
START_TEST(spawn_dies_after_the_answer)
{
	struct rig_run run;
	int fd;

	rig_egress(&rig, 1);
	fd = ask_started(&run, "x", 0, 1);
	rig_say_answer(&run, "whole");
	close(run.out);
	rig_spawn(&rig);
	rig_closed(&rig, run.id, 1, 200);
	expect_text(fd, "whole");
	close(fd);
}
END_TEST

START_TEST(spawn_dies_in_a_stream)
{
	struct rig_run run;
	struct rig_answer a;
	int fd;

	rig_egress(&rig, 1);
	fd = ask_started(&run, "x", 1, 1);
	rig_say(&run, "{\"type\":\"start\",\"model\":\"m\"}");
	rig_say_text(&run, "part");
	usleep(20000);
	rig_spawn(&rig);
	close(run.out);
	rig_closed(&rig, run.id, 0,
	    0); /* whatever it says: text has gone to the caller */
	rig_answer(fd, &a);
	ck_assert_int_eq(a.status, 200);
	ck_assert_ptr_nonnull(strstr(a.body, "\"code\":\"run_lost\""));
	ck_assert_int_eq(a.cut, 1);
	rig_answer_free(&a);
	ck_assert(rig_quiet(rig.spawn, 100));
	close(fd);
}
END_TEST

/* egress dies. */

START_TEST(egress_dies_before_the_request_went_out)
{
	struct rig_run run;
	uint64_t grant;
	int fd;

	rig_egress(&rig, 1);
	fd = ask_started(&run, "x", 0, 1);
	grant = run.grant;
	usleep(20000);
	close(rig.egress);
	rig.egress = -1;
	rig_expect_kill(&rig, &run);
	ck_assert(rig_quiet(rig.spawn, 50)); /* not before the first is gone */
	rig_run_exited(&rig, &run);
	rig_run_start(&rig, &run);
	ck_assert_uint_eq(
	    run.grant, grant); /* worker-spawn lives, and so does the grant */
	rig_egress(&rig, 2);
	rig_run_started(&rig, &run, 2);
	rig_say_answer(&run, "ok");
	rig_closed(&rig, run.id, 1, 200);
	expect_text(fd, "ok");
	close(fd);
}
END_TEST

START_TEST(egress_dies_after_the_request_went_out)
{
	struct msg_out_run opened;
	struct rig_run run;
	int fd;

	rig_egress(&rig, 1);
	fd = ask_started(&run, "x", 0, 1);
	opened.run_id = run.id;
	rig_send(
	    rig.egress, MT_OUT_OPENED, &opened, NULL, 0); /* its last word */
	close(rig.egress);
	rig.egress = -1;
	rig_expect_kill(&rig, &run);
	rig_run_exited(&rig, &run);
	rig_expect_error(fd, 502, "run_lost");
	close(fd);
}
END_TEST

START_TEST(both_die)
{
	struct rig_run run;
	int fd;

	rig_egress(&rig, 1);
	fd = ask_started(&run, "x", 0, 1);
	usleep(20000);
	close(rig.egress);
	rig.egress = -1;
	close(rig.spawn);
	rig.spawn = -1;
	close(run.out);
	rig_expect_error(fd, 502, "run_lost");
	close(fd);
}
END_TEST

/* A run on an egress that is dead before we hear of it. */
START_TEST(egress_was_dead_already)
{
	struct rig_run run;
	int fd;

	rig_egress(&rig, 3);
	close(rig.egress);
	rig.egress = -1;
	usleep(20000);
	fd = ask_started(&run, "x", 0, 2);
	rig_expect_kill(&rig, &run);
	rig_run_exited(&rig, &run);
	rig_run_start(&rig, &run);
	/* And one whose link is still on its way. */
	rig_run_started(&rig, &run, 4);
	rig_say_answer(&run, "ok");
	usleep(20000);
	rig_egress(&rig, 4);
	rig_closed(&rig, run.id, 1, 200);
	expect_text(fd, "ok");
	close(fd);
}
END_TEST

/* worker-spawn noticed the death of egress first, and had to end the run. */
START_TEST(spawn_says_lost)
{
	struct msg_run_exited m = {
		.err = ERR_RUN_LOST, .status = 137, .signal = 9
	};
	struct rig_run run;
	int fd, dies = _i;

	rig_egress(&rig, 1);
	fd = ask_started(&run, "x", 0, 1);
	m.run_id = run.id;
	rig_send(rig.spawn, MT_RUN_EXITED, &m, NULL, 0);
	usleep(20000);
	close(run.out);
	if (dies) {
		close(rig.egress);
		rig.egress = -1;
		rig_egress(&rig, 2);
	} else
		rig_closed(&rig, run.id, 0, 0);
	rig_run_start(&rig, &run);
	rig_run_started(&rig, &run, dies ? 2 : 1);
	rig_say_answer(&run, "ok");
	rig_closed(&rig, run.id, 1, 200);
	expect_text(fd, "ok");
	close(fd);
}
END_TEST

/* What egress reports. */

START_TEST(broker_refuses)
{
	struct msg_out_refused no = { .reason = "tools must be empty" };
	struct rig_run run;
	int fd;

	rig_egress(&rig, 1);
	fd = ask_started(&run, "x", 0, 1);
	no.run_id = run.id;
	rig_send(rig.egress, MT_OUT_REFUSED, &no, NULL, 0);
	rig_expect_kill(&rig, &run); /* at once */
	rig_closed(&rig, run.id, 0, 0);
	rig_run_exited(&rig, &run);
	rig_expect_error(fd, 502, "broker_refused");
	close(fd);
}
END_TEST

/* The client's own words against what egress saw of the provider. */
START_TEST(provider_statuses)
{
	static const struct {
		uint32_t status;
		int answer;
		const char *code;
	} t[] = {
		{ 400, 400, "provider_rejected" },
		{ 401, 502, "provider_auth" },
		{ 403, 502, "provider_auth" },
		{ 404, 404, "model_not_found" },
		{ 413, 400, "provider_rejected" },
		{ 429, 429, "provider_rate_limited" },
		{ 500, 502, "provider_error" },
		{ 529, 503, "provider_overloaded" },
	};
	struct msg_out_closed m;
	struct msg_out_run opened;
	struct rig_run run;
	struct rig_answer a;
	char want[64];
	size_t i;
	int fd;

	rig_egress(&rig, 1);
	for (i = 0; i < 2 * sizeof(t) / sizeof(t[0]); i++) {
		fd = ask_started(&run, "x", 0, 1);
		opened.run_id = run.id;
		rig_send(rig.egress, MT_OUT_OPENED, &opened, NULL, 0);
		if (i & 1) /* an answer made up by the client is none */
			rig_say_answer(&run, "made up");
		else
			rig_say(&run,
			    "{\"type\":\"error\",\"message\":\"some error\"}");
		memset(&m, 0, sizeof(m));
		m.run_id = rig_expect(rig.egress, MT_OUT_CLOSE)
			       ->body.m_OUT_CLOSE.run_id;
		m.opened = m.complete = 1;
		m.requests = 1;
		m.status = t[i / 2].status;
		m.retry_s = 42;
		rig_send(rig.egress, MT_OUT_CLOSED, &m, NULL, 0);
		if (!(i & 1)) {
			rig_expect_kill(&rig, &run);
			rig_run_exited(&rig, &run);
		}
		rig_answer(fd, &a);
		(void)snprintf(
		    want, sizeof(want), "\"code\":\"%s\"", t[i / 2].code);
		ck_assert_msg(
		    a.status == t[i / 2].answer && strstr(a.body, want) != NULL,
		    "%u: %s%s", t[i / 2].status, a.head, a.body);
		if (t[i / 2].status == 429)
			ck_assert_str_eq(rig_field(&a, "Retry-After"), "42");
		rig_answer_free(&a);
		if (i & 1) {
			rig_expect_kill(&rig, &run);
			rig_run_exited(&rig, &run);
		}
		(void)rig_expect(rig.spawn, MT_GRANT_END);
		close(fd);
	}
}
END_TEST

/* A client that left its provider's answer in the middle has no whole one. */
START_TEST(answer_not_seen_whole)
{
	static const struct {
		enum olp_err err;
		const char *code;
	} t[] = {
		{ ERR_OK, "client_unexpected" },
		{ ERR_PROVIDER_CUT, "provider_cut" },
	};
	struct msg_out_closed m = {
		.opened = 1, .requests = 1, .status = 200, .err = t[_i / 2].err
	};
	struct rig_run run;
	int fd, stream = _i & 1;

	rig_egress(&rig, 1);
	fd = ask_started(&run, "x", stream, 1);
	rig_say_answer(&run, "half");
	m.run_id =
	    rig_expect(rig.egress, MT_OUT_CLOSE)->body.m_OUT_CLOSE.run_id;
	rig_send(rig.egress, MT_OUT_CLOSED, &m, NULL, 0);
	rig_expect_kill(&rig, &run);
	rig_run_exited(&rig, &run);
	if (stream)
		expect_text(fd, t[_i / 2].code);
	else
		rig_expect_error(fd, 502, t[_i / 2].code);
	close(fd);
}
END_TEST

/* Usage is egress's, and the last byte waits for it. */
START_TEST(usage_is_egress_own)
{
	struct rig_run run;
	struct rig_answer a;
	int fd;

	rig_egress(&rig, 1);
	fd = ask_started(&run, "x", 0, 1);
	rig_say_answer(&run, "ok");
	(void)rig_quiet(fd, 100);
	rig_closed(&rig, run.id, 1, 200);
	rig_answer(fd, &a);
	ck_assert_ptr_nonnull(strstr(a.body,
	    "\"prompt_tokens\":11,\"completion_tokens\":7,\"total_tokens\":"
	    "18"));
	rig_answer_free(&a);
	close(fd);
}
END_TEST

/* An egress that does not answer holds up nobody for long. */
START_TEST(egress_is_silent)
{
	struct rig_run run;
	int fd;

	rig_egress(&rig, 1);
	fd = ask_started(&run, "x", 0, 1);
	rig_say_answer(&run, "ok");
	expect_text(fd, "ok");
	close(fd);
}
END_TEST

/* Breaches of the protocol are told to the master, and the link is over. */
START_TEST(breaches)
{
	struct msg_run_exited odd = { .run_id = 99 };
	struct msg_out_run out = { 99 };
	struct msg_peer_bad *bad;
	struct rig_msg *m;

	rig_egress(&rig, 6);
	rig_send(rig.egress, MT_OUT_OPENED, &out, NULL, 0);
	m = rig_expect(rig.master, MT_PEER_BAD);
	bad = &m->body.m_PEER_BAD;
	ck_assert_uint_eq(bad->peer, PROC_EGRESS);
	ck_assert_uint_eq(bad->instance, 6);
	ck_assert(rig_eof(rig.egress));
	rig_send(rig.spawn, MT_RUN_EXITED, &odd, NULL, 0);
	m = rig_expect(rig.master, MT_PEER_BAD);
	bad = &m->body.m_PEER_BAD;
	ck_assert_uint_eq(bad->peer, PROC_SPAWN);
	ck_assert(rig_eof(rig.spawn));
}
END_TEST

/* One egress has no say over another's run. */
START_TEST(foreign_egress)
{
	struct msg_out_refused no = { .reason = "not mine" };
	struct rig_run run;
	int fd, first;

	rig_egress(&rig, 1);
	fd = ask_started(&run, "x", 0, 1);
	first = rig.egress;
	rig.egress = -1;
	rig_egress(&rig, 2);
	usleep(20000);
	no.run_id = run.id;
	rig_send(rig.egress, MT_OUT_REFUSED, &no, NULL, 0);
	(void)rig_expect(rig.master, MT_PEER_BAD);
	ck_assert(rig_eof(rig.egress));
	close(rig.egress);
	rig.egress = first;
	rig_say_answer(&run, "ok");
	rig_closed(&rig, run.id, 1, 200);
	expect_text(fd, "ok");
	close(fd);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("httpd_runs");
	TCase *t = tcase_create("leaving");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, leaves_while_asked_for, 0, 3);
	tcase_add_loop_test(t, leaves_while_starting, 0, 3);
	tcase_add_loop_test(t, leaves_while_plain, 0, 3);
	tcase_add_loop_test(t, leaves_while_streaming, 0, 3);
	tcase_add_loop_test(t, leaves_while_held_up, 0, 3);
	suite_add_tcase(s, t);

	t = tcase_create("queue");
	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup_one_run, teardown);
	tcase_add_loop_test(t, leaves_while_queued, 0, 3);
	tcase_add_test(t, waits_for_its_turn);
	tcase_add_test(t, is_fair);
	tcase_add_test(t, queue_is_bounded);
	tcase_add_test(t, key_gone);
	suite_add_tcase(s, t);

	t = tcase_create("spawn");
	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, refused_start_waits);
	tcase_add_test(t, stale_grant_is_renewed);
	tcase_add_test(t, key_gone_plain);
	tcase_add_test(t, spawn_dies_while_asked);
	tcase_add_test(t, spawn_dies_in_a_run_without_broker);
	tcase_add_loop_test(t, spawn_dies_before_the_request_went_out, 0, 2);
	tcase_add_loop_test(t, spawn_dies_after_the_request_went_out, 0, 2);
	tcase_add_test(t, spawn_dies_after_the_answer);
	tcase_add_test(t, spawn_dies_in_a_stream);
	suite_add_tcase(s, t);

	t = tcase_create("spawn, one run");
	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup_one_run, teardown);
	tcase_add_test(t, spawn_dies_before_start);
	suite_add_tcase(s, t);

	t = tcase_create("no spawn");
	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup_no_spawn, teardown);
	tcase_add_test(t, waits_for_spawn);
	suite_add_tcase(s, t);

	t = tcase_create("egress");
	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, egress_dies_before_the_request_went_out);
	tcase_add_test(t, egress_dies_after_the_request_went_out);
	tcase_add_test(t, both_die);
	tcase_add_test(t, egress_was_dead_already);
	tcase_add_loop_test(t, spawn_says_lost, 0, 2);
	tcase_add_test(t, broker_refuses);
	tcase_add_test(t, provider_statuses);
	tcase_add_loop_test(t, answer_not_seen_whole, 0, 4);
	tcase_add_test(t, usage_is_egress_own);
	tcase_add_test(t, egress_is_silent);
	tcase_add_test(t, breaches);
	tcase_add_test(t, foreign_egress);
	suite_add_tcase(s, t);
	return (s);
}

int
main(void)
{
	return (suite_run(suite()));
}
