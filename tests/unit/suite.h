/* SPDX-License-Identifier: ISC */
/* How each unit suite ends: run, told on standard output, counted. */
#ifndef OLP_SUITE_H
#define OLP_SUITE_H

#include <check.h>
#include <stdlib.h>

/* main()'s value. Takes the suite. */
static inline int
suite_run(Suite *s)
{
	SRunner *r = srunner_create(s);
	int failed;

	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return (failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

#endif
