/* SPDX-License-Identifier: ISC */
/*
 * Every message both ways, each truncated and lengthened form, each field
 * of a wrong kind.  The list of messages is the list of tests.
 */
#include <check.h>
#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/pack.h"
#include "proto/err.h"
#include "proto/msg.h"
#include "tests/unit/suite.h"

static union msg_any in, out;
static uint8_t buf[LIM_MSG_BYTES];

static void
fill_str(char *s, size_t size, unsigned int seed)
{
	size_t i;

	for (i = 0; i + 1 < size; i++)
		s[i] = (char)('a' + (i + seed) % 26);
	s[size - 1] = '\0';
}

static void
fill_list(char (*list)[LIM_LIST_STR], size_t size, size_t *n)
{
	size_t i;

	for (i = 0; i < size; i++)
		fill_str(list[i], i % 2 ? LIM_LIST_STR : 1, (unsigned int)i);
	*n = size;
}

/* clang-format off */
#define FILL_U64(p, name, size)  (p)->name = UINT64_MAX;
#define FILL_U32(p, name, size)  (p)->name = UINT32_MAX;
#define FILL_BOOL(p, name, size) (p)->name = 1;
#define FILL_STR(p, name, size)  fill_str((p)->name, size, 3);
#define FILL_BIN(p, name, size)  memset((p)->name, 0xff, size);
#define FILL_LIST(p, name, size) fill_list((p)->name, size, &(p)->name##_n);
#define FILL(kind, name, size)   FILL_##kind(p, name, size)
#define FILLER(num, NAME, tag, from, to, fds)                    \
	static void                                              \
	fill_##NAME(union msg_any *any)                          \
	{                                                        \
		struct msg_##tag *p = (struct msg_##tag *)any;   \
		(void)p;                                         \
		MSG_FIELDS_##tag(FILL)                           \
	}
MSG_LIST(FILLER)

static const struct {
	uint32_t num;
	const char *name;
	void (*fill)(union msg_any *);
} all[] = {
#define ROW(num, NAME, tag, from, to, fds) { num, #NAME, fill_##NAME },
	MSG_LIST(ROW)
};
/* clang-format on */
#define NALL ((int)(sizeof(all) / sizeof(all[0])))

static long
pack(int i, int filled)
{
	long len;

	memset(&in, 0, sizeof(in));
	if (filled)
		all[i].fill(&in);
	len = msg_pack(all[i].num, &in, buf, sizeof(buf));
	ck_assert_msg(len > 0, "%s", all[i].name);
	return (len);
}

START_TEST(both_ways)
{
	uint32_t type;
	int filled;
	long len;

	for (filled = 0; filled <= 1; filled++) {
		len = pack(_i, filled);
		ck_assert_int_eq(msg_unpack(buf, (size_t)len, &type, &out), 0);
		ck_assert_uint_eq(type, all[_i].num);
		ck_assert_mem_eq(&in, &out, msg_size(type));
	}
}
END_TEST

START_TEST(every_truncation)
{
	uint32_t type;
	long len = pack(_i, 1), n;

	for (n = 0; n<len; n += len> 4096 ? 7 : 1)
		ck_assert_int_eq(msg_unpack(buf, (size_t)n, &type, &out), -1);
	buf[len] = 0;
	ck_assert_int_eq(msg_unpack(buf, (size_t)len + 1, &type, &out), -1);
}
END_TEST

/* An array of the right arity in which one element is nil or a map. */
START_TEST(every_wrong_kind)
{
	static const uint8_t wrong[] = { 0xc0, 0x80, 0xff, 0xca };
	long len = pack(_i, 0), off;
	uint32_t type;
	size_t w;
	uint8_t keep;

	for (off = 1; off < len; off++)
		for (w = 0; w < sizeof(wrong); w++) {
			keep = buf[off];
			/* Inside a number's bytes any value is right; elsewhere
			 * none of these is. */
			buf[off] = wrong[w];
			if (msg_unpack(buf, (size_t)len, &type, &out) == 0)
				ck_assert_uint_eq(
				    msg_pack(type, &out, buf, sizeof(buf)),
				    len);
			(void)pack(_i, 0);
			buf[off] = keep;
		}
}
END_TEST

START_TEST(wrong_arity)
{
	uint32_t type;
	long len = pack(_i, 0);

	ck_assert_msg(
	    (buf[0] & 0xf0) == 0x90 || buf[0] == 0xdc, "%s", all[_i].name);
	if ((buf[0] & 0xf0) != 0x90)
		return;
	buf[0]++; /* one element more than there is */
	ck_assert_int_eq(msg_unpack(buf, (size_t)len, &type, &out), -1);
	buf[len] = 0xc2;
	ck_assert_int_eq(msg_unpack(buf, (size_t)len + 1, &type, &out), -1);
	buf[0] -= 2;
	ck_assert_int_eq(msg_unpack(buf, (size_t)len, &type, &out), -1);
}
END_TEST

START_TEST(too_long_and_nul)
{
	/* RUN_KILL is [114, u64]; AUTH is [100, u64, str]. */
	static const uint8_t nul[] = { 0x93, 100, 0xcf, 0, 0, 0, 0, 0, 0, 0, 1,
		0xa3, 'a', 0, 'b' };
	uint8_t big[4 + 9 + LIM_TOKEN + 8] = { 0x93, 100, 1, 0xd9, LIM_TOKEN };
	uint32_t type;

	ck_assert_int_eq(msg_unpack(nul, sizeof(nul), &type, &out), -1);
	memset(big + 5, 'x', LIM_TOKEN);
	ck_assert_int_eq(msg_unpack(big, 5 + LIM_TOKEN, &type, &out), -1);
	big[4] = LIM_TOKEN - 1;
	ck_assert_int_eq(msg_unpack(big, 5 + LIM_TOKEN - 1, &type, &out), 0);
}
END_TEST

START_TEST(lengths_that_lie)
{
	static const uint8_t huge_array[] = { 0xdd, 0xff, 0xff, 0xff, 0xff };
	static const uint8_t array16[] = { 0xdc, 0xff, 0xff, 1, 2, 3 };
	static const uint8_t huge_str[] = { 0x93, 100, 1, 0xdb, 0xff, 0xff,
		0xff, 0xff, 'a' };
	static const uint8_t deep[] = { 0x91, 0x91, 0x91, 0x91, 0x91, 0x01 };
	static const uint8_t unknown[] = { 0x91, 0x7f };
	uint32_t type;

	ck_assert_int_eq(pack_scan(huge_array, sizeof(huge_array)), -1);
	ck_assert_int_eq(pack_scan(array16, sizeof(array16)), -1);
	ck_assert_int_eq(pack_scan(deep, sizeof(deep)), -1);
	ck_assert_int_eq(
	    msg_unpack(huge_str, sizeof(huge_str), &type, &out), -1);
	ck_assert_int_eq(msg_unpack(unknown, sizeof(unknown), &type, &out), -1);
	ck_assert_uint_eq(type, 0x7f);
}
END_TEST

START_TEST(does_not_fit)
{
	uint8_t small[8];

	memset(&in, 0, sizeof(in));
	fill_CAGE(&in);
	ck_assert_int_eq(msg_pack(MT_CAGE, &in, small, sizeof(small)), -1);
	ck_assert_int_eq(msg_pack(9999, &in, buf, sizeof(buf)), -1);
}
END_TEST

START_TEST(numbers_once)
{
	int i, j;

	for (i = 0; i < NALL; i++)
		for (j = i + 1; j < NALL; j++)
			ck_assert_uint_ne(all[i].num, all[j].num);
	ck_assert_str_eq(msg_name(MT_RUN_START), "RUN_START");
	ck_assert_str_eq(msg_name(12345), "unknown");
}
END_TEST

START_TEST(error_names)
{
	int e, f;

	for (e = 0; e < ERR_MAX; e++) {
		ck_assert_ptr_nonnull(err_name((enum olp_err)e));
		ck_assert_uint_gt(strlen(err_text((enum olp_err)e)), 5);
		for (f = 0; f < e; f++)
			ck_assert_str_ne(err_name((enum olp_err)e),
			    err_name((enum olp_err)f));
	}
	ck_assert_str_eq(err_name((enum olp_err) - 1), "internal_error");
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("msg");
	TCase *t = tcase_create("msg");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, both_ways, 0, NALL);
	tcase_add_loop_test(t, every_truncation, 0, NALL);
	tcase_add_loop_test(t, every_wrong_kind, 0, NALL);
	tcase_add_loop_test(t, wrong_arity, 0, NALL);
	tcase_add_test(t, too_long_and_nul);
	tcase_add_test(t, lengths_that_lie);
	tcase_add_test(t, does_not_fit);
	tcase_add_test(t, numbers_once);
	tcase_add_test(t, error_names);
	suite_add_tcase(s, t);
	return (suite_run(s));
}
