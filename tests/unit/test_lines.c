/* SPDX-License-Identifier: ISC */
/* Lines in every cut, too long ones, one without newline (C071, C072, C074). */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "common/lines.h"
#include "tests/unit/suite.h"

static char got[4096];
static int stop_at;

static int
take(void *arg, char *line, size_t len)
{
	(void)arg;
	ck_assert_uint_eq(strlen(line) <= len, 1);
	strncat(got, line, sizeof(got) - strlen(got) - 2);
	strcat(got, "|");
	return (stop_at > 0 && --stop_at == 0 ? 5 : 0);
}

START_TEST(every_cut)
{
	static const char text[] = "one\n\ntwo three\nfour\n";
	size_t a, b, n = strlen(text);
	struct lines *l;

	for (a = 0; a <= n; a++)
		for (b = a; b <= n; b++) {
			got[0] = '\0';
			l = lines_new(100, take, NULL);
			lines_feed(l, text, a);
			lines_feed(l, text + a, b - a);
			lines_feed(l, text + b, n - b);
			lines_end(l);
			ck_assert_str_eq(got, "one||two three|four|");
			lines_free(l);
		}
}
END_TEST

START_TEST(no_newline_at_the_end)
{
	struct lines *l = lines_new(100, take, NULL);

	got[0] = '\0';
	lines_feed(l, "a\nlast", 6);
	ck_assert_str_eq(got, "a|");
	lines_end(l);
	ck_assert_str_eq(got, "a|last|");
	lines_free(l);
}
END_TEST

START_TEST(too_long_is_skipped)
{
	struct lines *l = lines_new(10, take, NULL);
	int i;

	got[0] = '\0';
	lines_feed(l, "0123456789\n", 11);
	lines_feed(l, "0123456789A", 11);
	for (i = 0; i < 1000; i++)
		lines_feed(l, "xxxxxxxxxx", 10);
	lines_feed(l, "\nresult\n", 8);
	ck_assert_str_eq(got, "0123456789|result|");
	ck_assert_uint_eq(lines_skipped(l), 10011);
	lines_free(l);
}
END_TEST

START_TEST(callback_stops)
{
	struct lines *l = lines_new(10, take, NULL);

	got[0] = '\0';
	stop_at = 2;
	ck_assert_int_eq(lines_feed(l, "a\nb\nc\n", 6), 5);
	ck_assert_str_eq(got, "a|b|");
	lines_free(l);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("lines");
	TCase *t = tcase_create("lines");

	tcase_add_test(t, every_cut);
	tcase_add_test(t, no_newline_at_the_end);
	tcase_add_test(t, too_long_is_skipped);
	tcase_add_test(t, callback_stops);
	suite_add_tcase(s, t);
	return (suite_run(s));
}
