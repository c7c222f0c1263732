/* SPDX-License-Identifier: ISC */
/*
 * The probe's report judged: whole, cut short, with a boundary open, with a
 * need unmet.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/provider/provider.h"
#include "tests/unit/suite.h"
#include "worker-spawn/posture.h"

static const struct posture_place full_place = { 1, 7, "cgroup" };
static struct posture p;
static char text[LIM_ENFORCEMENT];

static void
judge(const char *report)
{
	posture_judge(&p, &full_place, report, 0);
	posture_enforcement(&p, 1, text, sizeof(text));
}

START_TEST(held)
{
	judge("files.shadow=ENOENT\nnet.tcp=EACCES\nworks.home=ok\ndone=3\n");
	ck_assert_int_eq(p.available, 1);
	ck_assert_int_eq(posture_full(&p), 1);
	ck_assert_str_eq(text,
	    "full; uid; userns; landlock=7; seccomp; net=broker; "
	    "limits=cgroup");
	ck_assert_int_eq(posture_allows(&p, 0, 1), ERR_OK);
	posture_enforcement(&p, 0, text, sizeof(text));
	ck_assert_str_eq(text,
	    "full; uid; userns; landlock=7; seccomp; net=none; limits=cgroup");
}
END_TEST

START_TEST(open_boundary)
{
	struct msg_posture m;

	judge("files.shadow=OPEN\nfiles.var=OPEN\nnet.tcp=OPEN\nworks.home="
	      "ok\ndone=4\n");
	ck_assert_int_eq(p.available, 1);
	ck_assert_int_eq(posture_full(&p), 0);
	ck_assert_str_eq(text,
	    "partial; missing=files,net; uid; userns; landlock=7; seccomp; "
	    "net=broker; limits=cgroup");
	ck_assert_str_eq(p.message, "files.shadow, files.var, net.tcp");
	ck_assert_int_eq(posture_allows(&p, 0, 0), ERR_SANDBOX);
	ck_assert_int_eq(posture_allows(&p, 1, 0), ERR_OK);
	ck_assert_int_eq(posture_allows(&p, 1, 1), ERR_SANDBOX);
	posture_message(&p, &m);
	ck_assert_int_eq(m.available, 1);
	ck_assert_int_eq(m.active, 0);
	ck_assert_uint_eq(m.missing_n, 2);
	ck_assert_str_eq(m.missing[1], "net");
	ck_assert_str_eq(m.enforcement, text);
}
END_TEST

/* What was found not to hold is not listed as a mechanism. */
START_TEST(open_mechanism)
{
	judge("landlock.write=OPEN\nseccomp.client=OPEN\ndone=2\n");
	ck_assert_str_eq(text,
	    "partial; missing=landlock,seccomp; uid; userns; net=broker; "
	    "limits=cgroup");
}
END_TEST

START_TEST(need_unmet)
{
	judge("files.shadow=ENOENT\nworks.home=EROFS\nworks.listener="
	      "ECONNREFUSED\ndone=3\n");
	ck_assert_int_eq(p.available, 0);
	ck_assert_str_eq(
	    p.message, "works.home=EROFS, works.listener=ECONNREFUSED");
	ck_assert_str_eq(text, "none");
	ck_assert_int_eq(posture_allows(&p, 1, 0), ERR_SANDBOX);
}
END_TEST

/* A report that is not whole is no pass, however it ends. */
START_TEST(not_whole)
{
	static const char *const reports[] = { "", "done=0\n",
		"files.shadow=ENOENT\n", "files.shadow=ENOENT\ndone=2\n",
		"files.shadow=ENOENT\ndone=1",
		"files.shadow=ENOENT\ndone=1\nfiles.var=OPEN\n",
		"files.shadow\ndone=1\n", "shadow=ENOENT\ndone=1\n",
		"files.shadow=\ndone=1\n", ".x=ENOENT\ndone=1\n",
		"files.shadow=ENOENT\n\ndone=2\n" };
	size_t i;

	for (i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
		judge(reports[i]);
		ck_assert_msg(!p.available, "%s", reports[i]);
		ck_assert_str_eq(p.message, "the probe's report is not whole");
	}
	posture_judge(&p, &full_place, "files.shadow=ENOENT\ndone=1\n", 1);
	ck_assert_int_eq(p.available, 0);
}
END_TEST

START_TEST(every_cut)
{
	static const char whole[] =
	    "files.shadow=ENOENT\nnet.tcp=EACCES\nworks.home=ok\ndone=3\n";
	char cut[sizeof(whole)];
	size_t n;

	for (n = 0; n < sizeof(whole) - 1; n++) {
		memcpy(cut, whole, n);
		cut[n] = '\0';
		judge(cut);
		ck_assert_int_eq(p.available, 0);
	}
}
END_TEST

/* Started by an ordinary user: it works, and says what it is not. */
START_TEST(shared_user)
{
	static const struct posture_place shared = { 0, 4, "rlimit" };

	posture_judge(
	    &p, &shared, "files.shadow=ENOENT\ngroups.none=OPEN\ndone=2\n", 0);
	posture_enforcement(&p, 1, text, sizeof(text));
	ck_assert_str_eq(text,
	    "partial; missing=groups,uid; userns; landlock=4; seccomp; "
	    "net=broker; limits=rlimit");
	ck_assert_int_eq(posture_allows(&p, 0, 0), ERR_SANDBOX);
	ck_assert_int_eq(posture_allows(&p, 1, 0), ERR_OK);
	posture_judge(&p, &shared, "files.shadow=ENOENT\ndone=1\n", 0);
	ck_assert_str_eq(p.message, "clients run as the user who started olpd");
}
END_TEST

/*
 * Old kernel: what is not there is not claimed, and it is full all the same
 * when all held.
 */
START_TEST(no_landlock)
{
	static const struct posture_place old = { 1, 0, "kill" };

	posture_judge(&p, &old, "files.shadow=ENOENT\ndone=1\n", 0);
	posture_enforcement(&p, 1, text, sizeof(text));
	ck_assert_str_eq(
	    text, "full; uid; userns; seccomp; net=broker; limits=kill");
}
END_TEST

START_TEST(many_missing)
{
	char report[4096] = "";
	int i;

	for (i = 0; i < 40; i++)
		(void)snprintf(report + strlen(report),
		    sizeof(report) - strlen(report),
		    "boundary-with-a-long-name-%d.x=OPEN\n", i);
	(void)strcat(report, "done=40\n");
	judge(report);
	ck_assert_uint_eq(p.nmissing, 16);
	ck_assert_uint_lt(strlen(text), sizeof(text));
	ck_assert_int_eq(posture_full(&p), 0);
}
END_TEST

START_TEST(provider)
{
	static const struct provider_launch l = { .name = "x",
		.read_protection = PROTECT_NO_TOOLS,
		.tier = TIER_PER_OS_USER,
		.listener = LISTENER_HTTP };
	struct msg_posture_provider m;

	judge("files.shadow=ENOENT\ndone=1\n");
	posture_provider(&p, &l, ERR_TIER, &m);
	ck_assert_str_eq(m.name, "x");
	ck_assert_str_eq(m.read_protection, "no-tools");
	ck_assert_str_eq(m.tier, "per-os-user");
	ck_assert_str_eq(m.enforcement, "full");
	ck_assert_uint_eq(m.err, ERR_TIER);
	ck_assert_uint_eq(m.layers_n, 8);
	ck_assert_str_eq(m.layers[6], "net=broker");
	posture_unavailable(&p, &full_place, "no bwrap");
	posture_provider(&p, &l, ERR_SANDBOX, &m);
	ck_assert_str_eq(m.enforcement, "none");
	ck_assert_uint_eq(m.layers_n, 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("posture");
	TCase *tc = tcase_create("report");

	tcase_add_test(tc, held);
	tcase_add_test(tc, open_boundary);
	tcase_add_test(tc, open_mechanism);
	tcase_add_test(tc, need_unmet);
	tcase_add_test(tc, not_whole);
	tcase_add_test(tc, every_cut);
	tcase_add_test(tc, shared_user);
	tcase_add_test(tc, no_landlock);
	tcase_add_test(tc, many_missing);
	tcase_add_test(tc, provider);
	suite_add_tcase(suite, tc);
	return (suite_run(suite));
}
