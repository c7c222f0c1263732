/* SPDX-License-Identifier: ISC */
/* The queue: bounds, fairness, limits, refused starts. */
#include <check.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/suite.h"
#include "worker-http/queue.h"

static struct queue *q;

static void
setup(void)
{
	q = queue_new();
	queue_limits(q, 1000, 500, 2);
	queue_set_provider(q, "p", 0);
}

static struct queue_item items[300];
static struct queue_slot slots[64];

static struct queue_item *
add(size_t i, const char *key)
{
	ck_assert_int_eq(queue_add(q, &items[i], key, 0, "p"), ERR_OK);
	return (&items[i]);
}

static void
release_all(void)
{
	size_t i;

	for (i = 0; i < 64; i++)
		queue_release(q, &slots[i]);
	for (i = 0; i < 300; i++)
		queue_del(q, &items[i]);
	queue_free(q);
}

/* A waits with a hundred, B comes with one: it starts within (running slots +
 * 1) starts. */
START_TEST(fair)
{
	struct queue_item *it;
	size_t i, starts = 0;

	for (i = 0; i < 100; i++)
		(void)add(i, "a");
	ck_assert_ptr_eq(queue_next(q, &slots[0]), &items[0]);
	ck_assert_ptr_eq(queue_next(q, &slots[1]), &items[1]);
	ck_assert_ptr_null(queue_next(q, &slots[2]));
	(void)add(100, "b");
	do {
		queue_release(q, &slots[starts & 1]);
		it = queue_next(q, &slots[starts & 1]);
		starts++;
	} while (it != &items[100]);
	ck_assert_uint_le(starts, 3);
	release_all();
}
END_TEST

START_TEST(round_robin)
{
	static const size_t order[] = { 0, 3, 6, 1, 4, 7, 2, 5, 8 };
	size_t i;

	for (i = 0; i < 9; i++)
		(void)add(i, i < 3 ? "a" : i < 6 ? "b" : "c");
	ck_assert_uint_eq(queue_position(&items[5]), 2);
	for (i = 0; i < 9; i++) {
		ck_assert_ptr_eq(queue_next(q, &slots[0]), &items[order[i]]);
		ck_assert_uint_eq(queue_running(q), 1);
		queue_release(q, &slots[0]);
	}
	ck_assert_uint_eq(queue_waiting(q), 0);
	release_all();
}
END_TEST

START_TEST(bounds)
{
	size_t i;

	queue_limits(q, 5, 3, 2);
	for (i = 0; i < 3; i++)
		(void)add(i, "a");
	ck_assert_int_eq(queue_add(q, &items[3], "a", 0, "p"), ERR_QUEUE_FULL);
	(void)add(4, "b");
	(void)add(5, "c");
	ck_assert_int_eq(queue_add(q, &items[6], "d", 0, "p"), ERR_QUEUE_FULL);
	queue_del(q, &items[0]);
	queue_del(q, &items[0]);
	(void)add(6, "d");
	/* A refused start always has its place back. */
	queue_add_first(q, &items[0], "a", 0, "p");
	ck_assert_ptr_eq(queue_next(q, &slots[0]), &items[0]);
	release_all();
}
END_TEST

START_TEST(limits)
{
	queue_limits(q, 1000, 500, 10);
	ck_assert_int_eq(queue_add(q, &items[0], "a", 1, "p"), ERR_OK);
	ck_assert_int_eq(queue_add(q, &items[1], "a", 1, "p"), ERR_OK);
	queue_set_provider(q, "one", 1);
	ck_assert_int_eq(queue_add(q, &items[2], "b", 0, "one"), ERR_OK);
	ck_assert_int_eq(queue_add(q, &items[3], "b", 0, "one"), ERR_OK);
	ck_assert_int_eq(queue_add(q, &items[4], "b", 0, "p"), ERR_OK);
	ck_assert_ptr_eq(queue_next(q, &slots[0]), &items[0]);
	ck_assert_ptr_eq(queue_next(q, &slots[1]), &items[2]);
	/* The key is at its limit, the provider too: what is left is b's other
	 * one. */
	ck_assert_ptr_eq(queue_next(q, &slots[2]), &items[4]);
	ck_assert_ptr_null(queue_next(q, &slots[3]));
	queue_release(q, &slots[1]);
	ck_assert_ptr_eq(queue_next(q, &slots[1]), &items[3]);
	queue_release(q, &slots[0]);
	ck_assert_ptr_eq(queue_next(q, &slots[0]), &items[1]);
	ck_assert_ptr_null(queue_next(q, &slots[3]));
	release_all();
}
END_TEST

START_TEST(held)
{
	add(0, "a")->held = 1;
	(void)add(1, "a");
	ck_assert_ptr_eq(queue_next(q, &slots[0]), &items[1]);
	ck_assert_ptr_null(queue_next(q, &slots[1]));
	items[0].held = 0;
	ck_assert_ptr_eq(queue_next(q, &slots[1]), &items[0]);
	release_all();
}
END_TEST

START_TEST(refused)
{
	static const enum olp_err why[] = { ERR_BUSY_KEY, ERR_BUSY_PROVIDER,
		ERR_BUSY_TOTAL, ERR_BUSY_MEMORY };
	size_t i;

	queue_set_provider(q, "r", 0);
	for (i = 0; i < 4; i++) {
		(void)add(0, "a");
		ck_assert_int_eq(queue_add(q, &items[1], "b", 0, "r"), ERR_OK);
		ck_assert_ptr_eq(queue_next(q, &slots[0]), &items[0]);
		queue_release(q, &slots[0]);
		queue_add_first(q, &items[0], "a", 0, "p");
		queue_refused(q, "a", "p", why[i]);
		ck_assert(queue_blocked(q));
		/* Nobody else is held up by a key's or a provider's limit. */
		if (i < 2)
			ck_assert_ptr_eq(queue_next(q, &slots[1]), &items[1]);
		ck_assert_ptr_null(queue_next(q, &slots[2]));
		if (i == 0)
			queue_release(
			    q, &slots[1]); /* a run's end lets it try again */
		else
			queue_retry(q);
		ck_assert(!queue_blocked(q));
		ck_assert_ptr_eq(queue_next(q, &slots[0]), &items[0]);
		queue_release(q, &slots[0]);
		queue_release(q, &slots[1]);
		queue_del(q, &items[1]);
	}
	release_all();
}
END_TEST

/* A reload while things wait and run. */
START_TEST(reload)
{
	queue_set_provider(q, "gone", 1);
	ck_assert_int_eq(queue_add(q, &items[0], "a", 0, "gone"), ERR_OK);
	ck_assert_int_eq(queue_add(q, &items[1], "a", 0, "gone"), ERR_OK);
	ck_assert_ptr_eq(queue_next(q, &slots[0]), &items[0]);
	queue_clear_providers(q);
	queue_set_provider(q, "p", 3);
	ck_assert_ptr_eq(queue_next(q, &slots[1]), &items[1]);
	queue_release(q, &slots[0]);
	queue_release(q, &slots[1]);
	queue_clear_providers(q);
	ck_assert_uint_eq(queue_running(q), 0);
	release_all();
}
END_TEST

START_TEST(shown)
{
	struct evbuffer *b = evbuffer_new();

	(void)add(0, "a");
	(void)queue_next(q, &slots[0]);
	(void)add(1, "a");
	queue_put_keys(q, b);
	(void)evbuffer_add(b, "", 1);
	ck_assert_str_eq((char *)evbuffer_pullup(b, -1),
	    "[{\"key\":\"a\",\"waiting\":1,\"running\":1}]");
	evbuffer_free(b);
	release_all();
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("queue");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, fair);
	tcase_add_test(t, round_robin);
	tcase_add_test(t, bounds);
	tcase_add_test(t, limits);
	tcase_add_test(t, held);
	tcase_add_test(t, refused);
	tcase_add_test(t, reload);
	tcase_add_test(t, shown);
	suite_add_tcase(s, t);
	return (suite_run(s));
}
