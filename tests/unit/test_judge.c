/* SPDX-License-Identifier: ISC */
/*
 * What a run's end means: a table of records and what each is judged to be.
 * Laws 7 and 8 are decided here, so the second half tries every record there
 * can be.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "proto/msg.h"
#include "worker-http/job.h"
#include "worker-http/judge.h"
#include "worker-http/run_record.h"

static struct rendered prompt;
static struct job waits = { .rendered = &prompt };
static struct job heard = { .first_text = 1 };
static struct job again = { .rendered = &prompt, .restarts = LIM_JOB_RESTARTS };

static struct msg_out_closed unopened;
static struct msg_out_closed unanswered = { .opened = 1 };
static struct msg_out_closed whole = {
	.opened = 1, .complete = 1, .status = 200
};
static struct msg_out_closed half = { .opened = 1, .status = 200 };
static struct msg_out_closed told_half = {
	.opened = 1, .status = 200, .err = ERR_PROVIDER_CUT
};
static struct msg_out_closed limit = {
	.opened = 1, .complete = 1, .status = 429
};
static struct msg_out_closed half_limit = { .opened = 1, .status = 429 };
static struct msg_out_closed away = { .err = ERR_UNREACHABLE };
static struct msg_out_closed never = { .complete = 1, .status = 200 };

/* A run behind a broker, and one whose end was seen. */
#define GOING .job = &waits, .egress = 1
#define ENDED GOING, .exited = 1

static const struct {
	const char *what;
	struct run r;
	int again;
	enum olp_err why;
} failed[] = {
	/* egress died */
	{ "before it asked", { ENDED, .lost_egress = 1 }, 1, ERR_RUN_LOST },
	{ "and worker-spawn knew it",
	    { ENDED, .lost_egress = 1, .exit_err = ERR_RUN_LOST }, 1,
	    ERR_RUN_LOST },
	{ "after it asked", { ENDED, .lost_egress = 1, .opened = 1 }, 0,
	    ERR_RUN_LOST },
	{ "the client had spoken", { ENDED, .lost_egress = 1, .text = 1 }, 0,
	    ERR_RUN_LOST },
	{ "the caller was told something",
	    { .job = &heard, .egress = 1, .exited = 1, .lost_egress = 1 }, 0,
	    ERR_RUN_LOST },
	{ "a second time",
	    { .job = &again, .egress = 1, .exited = 1, .lost_egress = 1 }, 0,
	    ERR_RUN_LOST },
	{ "the client's end was not seen",
	    { GOING, .lost_egress = 1, .exit_late = 1 }, 0, ERR_RUN_LOST },
	{ "the client could not be ended",
	    { ENDED, .lost_egress = 1, .exit_err = ERR_STUCK }, 0,
	    ERR_RUN_LOST },
	{ "and worker-spawn too", { ENDED, .lost_egress = 1, .lost_spawn = 1 },
	    0, ERR_RUN_LOST },
	{ "but the deadline was first",
	    { ENDED, .lost_egress = 1, .forced = 1, .err = ERR_IDLE }, 0,
	    ERR_IDLE },

	/* worker-spawn died */
	{ "before egress asked",
	    { ENDED, .at_eof = 1, .lost_spawn = 1, .out = &unopened }, 1,
	    ERR_RUN_LOST },
	{ "after egress asked",
	    { ENDED, .at_eof = 1, .lost_spawn = 1, .out = &half }, 0,
	    ERR_RUN_LOST },
	{ "and egress did not say", { ENDED, .at_eof = 1, .lost_spawn = 1 }, 0,
	    ERR_RUN_LOST },
	{ "no broker",
	    { .job = &waits, .exited = 1, .at_eof = 1, .lost_spawn = 1 }, 0,
	    ERR_RUN_LOST },
	{ "the client's own account of that",
	    { ENDED, .lost_spawn = 1, .err = ERR_UNREACHABLE,
		.out = &unopened },
	    1, ERR_RUN_LOST },
	{ "the same, after egress asked",
	    { ENDED, .lost_spawn = 1, .err = ERR_UNREACHABLE,
		.out = &unanswered },
	    0, ERR_RUN_LOST },
	{ "but the provider had said no",
	    { ENDED, .lost_spawn = 1, .err = ERR_UNREACHABLE, .out = &limit },
	    0, ERR_PROVIDER_LIMIT },
	{ "or half of it",
	    { ENDED, .lost_spawn = 1, .err = ERR_UNREACHABLE,
		.out = &half_limit },
	    0, ERR_PROVIDER_LIMIT },
	{ "or egress had",
	    { ENDED, .lost_spawn = 1, .err = ERR_UNREACHABLE, .refused = 1,
		.out = &unopened },
	    0, ERR_BROKER },
	{ "worker-spawn found no egress",
	    { ENDED, .at_eof = 1, .exit_err = ERR_RUN_LOST, .out = &unopened },
	    1, ERR_RUN_LOST },

	/* nobody died */
	{ "not ended in time", { GOING, .err = ERR_PROVIDER }, 0, ERR_STUCK },
	{ "the same past a deadline", { GOING, .forced = 1, .err = ERR_TOTAL },
	    0, ERR_TOTAL },
	{ "ended late, and seen",
	    { ENDED, .exit_err = ERR_STUCK, .forced = 1, .err = ERR_TOTAL }, 0,
	    ERR_STUCK },
	{ "worker-spawn knows why it said no more",
	    { ENDED, .at_eof = 1, .err = ERR_CLIENT, .exit_err = ERR_OOM }, 0,
	    ERR_OOM },
	{ "the client knows better",
	    { ENDED, .err = ERR_CONTEXT_LENGTH, .exit_err = ERR_OOM }, 0,
	    ERR_CONTEXT_LENGTH },
	{ "worker-spawn could not start it",
	    { ENDED, .forced = 1, .err = ERR_SANDBOX, .out = &limit }, 0,
	    ERR_SANDBOX },
	{ "an answer that nobody gave",
	    { ENDED, .err = ERR_CLIENT_ODD, .out = &limit }, 0,
	    ERR_CLIENT_ODD },
	{ "the provider's status", { ENDED, .err = ERR_CLIENT, .out = &limit },
	    0, ERR_PROVIDER_LIMIT },
	{ "against another word of the client",
	    { ENDED, .err = ERR_PROVIDER, .out = &limit }, 0,
	    ERR_PROVIDER_LIMIT },
	{ "the client's finer word for the same",
	    { ENDED, .err = ERR_QUEUE_FULL, .out = &limit }, 0,
	    ERR_QUEUE_FULL },
	{ "the provider before egress",
	    { ENDED, .err = ERR_PROVIDER, .refused = 1, .out = &limit }, 0,
	    ERR_PROVIDER_LIMIT },
	{ "egress refused",
	    { ENDED, .err = ERR_PROVIDER, .refused = 1, .out = &away }, 0,
	    ERR_BROKER },
	{ "egress could not", { ENDED, .err = ERR_PROVIDER, .out = &away }, 0,
	    ERR_UNREACHABLE },
	{ "the provider broke off, says egress",
	    { ENDED, .err = ERR_PROVIDER, .out = &told_half }, 0,
	    ERR_PROVIDER_CUT },
	{ "the provider broke off, as it looks",
	    { ENDED, .err = ERR_CLIENT, .at_eof = 1, .out = &half }, 0,
	    ERR_PROVIDER_CUT },
	{ "the client knows better",
	    { ENDED, .err = ERR_CONTEXT_LENGTH, .out = &half }, 0,
	    ERR_CONTEXT_LENGTH },
	{ "the client's own account",
	    { ENDED, .err = ERR_PROVIDER_AUTH, .out = &whole }, 0,
	    ERR_PROVIDER_AUTH },
	{ "no account at all",
	    { ENDED, .err = ERR_CLIENT, .at_eof = 1, .out = &whole }, 0,
	    ERR_CLIENT },
};

START_TEST(failures)
{
	const struct run *r = &failed[_i].r;

	ck_assert_msg(judge_again(r) == failed[_i].again, "%s: again is not %d",
	    failed[_i].what, failed[_i].again);
	ck_assert_msg(judge_reason(r) == failed[_i].why, "%s: %s, not %s",
	    failed[_i].what, err_name(judge_reason(r)),
	    err_name(failed[_i].why));
}
END_TEST

START_TEST(words)
{
	static const struct {
		struct msg_out_closed *out;
		int refused;
		enum olp_err e;
	} t[] = {
		{ NULL, 0, ERR_OK }, /* no broker, or it does not answer */
		{ &whole, 0, ERR_OK },
		{ &whole, 1, ERR_OK }, /* of a request more */
		{ &half, 0, ERR_CLIENT_ODD },
		{ &told_half, 0, ERR_PROVIDER_CUT },
		{ &half, 1, ERR_BROKER },
		{ &told_half, 1, ERR_BROKER },
		{ &limit, 0, ERR_PROVIDER_LIMIT },
		{ &limit, 1, ERR_PROVIDER_LIMIT },
		{ &unopened, 0, ERR_CLIENT_ODD },
		{ &unopened, 1, ERR_BROKER },
		{ &unanswered, 0, ERR_CLIENT_ODD },
		{ &away, 0, ERR_CLIENT_ODD },
		{ &never, 0, ERR_CLIENT_ODD },
	};
	struct run r = { ENDED, .refused = t[_i].refused, .out = t[_i].out };

	ck_assert_msg(
	    judge_word(&r) == t[_i].e, "%d: %s", _i, err_name(judge_word(&r)));
}
END_TEST
#define NWORDS 14

START_TEST(answers)
{
	struct run r = { ENDED, .stop = STOP_END };

	ck_assert_int_eq(judge_answer(&r), ERR_CLIENT);
	r.stop = STOP_LENGTH;
	ck_assert_int_eq(judge_answer(&r), ERR_OK);
	r.text = 1;
	ck_assert_int_eq(judge_answer(&r), ERR_OK);
	r.stop = STOP_END;
	ck_assert_int_eq(judge_answer(&r), ERR_OK);
	r.stop = STOP_TOOL;
	ck_assert_int_eq(judge_answer(&r), ERR_CLIENT_ODD);
}
END_TEST

/* Each record: a bit of `n` per thing that may have happened. */
static struct run
record(unsigned int n)
{
	static struct msg_out_closed *const out[] = { NULL, &unopened, &half,
		&limit };
	static const enum olp_err ends[] = { ERR_OK, ERR_RUN_LOST, ERR_STUCK,
		ERR_OOM };
	struct run r = {
		.job = n & 1 ? &waits : &heard,
		.egress = n >> 1 & 1,
		.exited = n >> 2 & 1,
		.lost_egress = n >> 3 & 1,
		.lost_spawn = n >> 4 & 1,
		.opened = n >> 5 & 1,
		.refused = n >> 6 & 1,
		.at_eof = n >> 7 & 1,
		.forced = n >> 8 & 1,
		.text = n >> 9 & 1,
		.out = out[n >> 10 & 3],
		.exit_err = ends[n >> 12 & 3],
		.err = n >> 14 & 1 ? ERR_PROVIDER : ERR_CLIENT,
	};

	if (r.out != NULL)
		r.opened |= r.out->opened;
	return (r);
}
#define NRECORDS (1U << 15)

/* Law 8: what a provider may have heard of is not asked again. */
START_TEST(never_again)
{
	unsigned int n, some = 0;
	struct run r;

	for (n = 0; n < NRECORDS; n++) {
		r = record(n);
		if (!judge_again(&r))
			continue;
		some++;
		ck_assert_msg(!r.opened && r.text == 0 && r.job == &waits &&
			r.egress != 0 && r.exited && !r.forced &&
			!(r.lost_egress && r.lost_spawn) &&
			(r.lost_egress || r.out == &unopened),
		    "record %x", n);
	}
	ck_assert_uint_gt(some, 0);
}
END_TEST

/* Law 6: each failure has its error. */
START_TEST(always_a_reason)
{
	unsigned int n;
	struct run r;

	for (n = 0; n < NRECORDS; n++) {
		r = record(n);
		ck_assert_msg(
		    judge_reason(&r) > ERR_OK && judge_reason(&r) < ERR_MAX,
		    "record %x", n);
	}
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("judge");
	TCase *t = tcase_create("all");
	SRunner *sr;
	int n;

	tcase_add_loop_test(t, failures, 0, sizeof(failed) / sizeof(failed[0]));
	tcase_add_loop_test(t, words, 0, NWORDS);
	tcase_add_test(t, answers);
	tcase_add_test(t, never_again);
	tcase_add_test(t, always_a_reason);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	n = srunner_ntests_failed(sr);
	srunner_free(sr);
	return (n == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}
