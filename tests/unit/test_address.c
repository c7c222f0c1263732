/* SPDX-License-Identifier: ISC */
/* Which addresses olpd-egress may connect to. */
#include "tests/unit/suite.h"
#include "worker-http/egress/address.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static struct sockaddr_storage
to_sockaddr(const char *text)
{
	struct sockaddr_storage ss;
	struct sockaddr_in in4 = { .sin_family = AF_INET,
		.sin_port = htons(443) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
		.sin6_port = htons(443) };

	memset(&ss, 0, sizeof(ss));
	if (inet_pton(AF_INET, text, &in4.sin_addr) == 1)
		memcpy(&ss, &in4, sizeof(in4));
	else {
		ck_assert_int_eq(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
		memcpy(&ss, &in6, sizeof(in6));
	}
	return (ss);
}

static const char *
refused(const char *text, const struct address *allow, size_t n)
{
	struct sockaddr_storage ss = to_sockaddr(text);

	return (address_refused((struct sockaddr *)&ss, allow, n));
}

static const char *const public[] = { "1.1.1.1", "9.255.255.255", "11.0.0.0",
	"100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
	"160.79.104.10", "169.253.255.255", "169.255.0.0", "172.15.255.255",
	"172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0",
	"198.17.255.255", "198.20.0.0", "203.0.114.0", "223.255.255.255",
	"2001:200::1", "2607:6bc0::10", "2a00::1", "2003::1", "3ffe::1",
	"::ffff:1.1.1.1", "64:ff9b::1.1.1.1" };

START_TEST(test_public)
{
	ck_assert_msg(refused(public[_i], NULL, 0) == NULL, "%s", public[_i]);
}
END_TEST

static const struct {
	const char *address, *why;
} private[] = {
	{ "0.0.0.0", "an address of this host" },
	{ "0.255.255.255", "an address of this host" },
	{ "10.0.0.0", "a private address" },
	{ "10.255.255.255", "a private address" },
	{ "100.64.0.0", "a carrier's private address" },
	{ "100.127.255.255", "a carrier's private address" },
	{ "127.0.0.1", "a loopback address" },
	{ "127.255.255.255", "a loopback address" },
	{ "169.254.0.0", "a link-local address" },
	{ "169.254.169.254", "a link-local address" },
	{ "172.16.0.0", "a private address" },
	{ "172.31.255.255", "a private address" },
	{ "192.0.0.170", "a reserved address" },
	{ "192.0.2.1", "a documentation address" },
	{ "192.88.99.1", "a 6to4 relay address" },
	{ "192.168.0.0", "a private address" },
	{ "192.168.255.255", "a private address" },
	{ "198.18.0.0", "a benchmark address" },
	{ "198.19.255.255", "a benchmark address" },
	{ "198.51.100.1", "a documentation address" },
	{ "203.0.113.1", "a documentation address" },
	{ "224.0.0.1", "a multicast address" },
	{ "239.255.255.255", "a multicast address" },
	{ "240.0.0.1", "a reserved address" },
	{ "255.255.255.255", "a reserved address" },
	{ "::", "a reserved address" },
	{ "::1", "a loopback address" },
	{ "::2", "a reserved address" },
	{ "::7f00:1", "a reserved address" }, /* IPv4-compatible, obsolete */
	{ "::ffff:127.0.0.1", "a loopback address" },
	{ "::ffff:10.1.2.3", "a private address" },
	{ "::ffff:0:127.0.0.1",
	    "a reserved address" }, /* translated, RFC 2765 */
	{ "64:ff9b::127.0.0.1", "a loopback address" },
	{ "64:ff9b::192.168.1.1", "a private address" },
	{ "64:ff9b:1::1.1.1.1", "a reserved address" },
	{ "100::1", "a reserved address" },
	{ "1fff:ffff::1", "a reserved address" },
	{ "2001::1", "a reserved address" },
	{ "2001:10::1", "a reserved address" },
	{ "2001:1ff::1", "a reserved address" },
	{ "2001:db8::1", "a documentation address" },
	{ "2002:7f00:1::", "a 6to4 address" },
	{ "2002:a00:1::", "a 6to4 address" },
	{ "3fff::1", "a documentation address" },
	{ "3fff:fff::1", "a documentation address" },
	{ "4000::1", "a reserved address" },
	{ "5f00::1", "a reserved address" },
	{ "fc00::1", "a private address" },
	{ "fdff::1", "a private address" },
	{ "fe80::1", "a link-local address" },
	{ "febf::1", "a link-local address" },
	{ "fec0::1", "a reserved address" },
	{ "ff02::1", "a multicast address" },
};

START_TEST(test_private)
{
	const char *why = refused(private[_i].address, NULL, 0);

	ck_assert_msg(why != NULL, "%s", private[_i].address);
	ck_assert_str_eq(why, private[_i].why);
}
END_TEST

START_TEST(test_allow)
{
	struct address allow[2];

	ck_assert_int_eq(address_parse("127.0.0.1", &allow[0]), 0);
	ck_assert_int_eq(address_parse("fd00::5", &allow[1]), 0);
	ck_assert_ptr_null(refused("127.0.0.1", allow, 2));
	ck_assert_ptr_null(refused("::ffff:127.0.0.1", allow, 2));
	ck_assert_ptr_null(refused("fd00::5", allow, 2));
	ck_assert_ptr_null(refused("1.1.1.1", allow, 2));
	ck_assert_ptr_nonnull(refused("fd00::5", allow, 1));
	ck_assert_ptr_nonnull(refused("127.0.0.2", allow, 2));
	ck_assert_ptr_nonnull(refused("::1", allow, 2));
	ck_assert_ptr_nonnull(refused("64:ff9b::127.0.0.1", allow, 2));
}
END_TEST

START_TEST(test_parse)
{
	static const char *const bad[] = { "", "localhost", "127.1",
		"127.0.0.1/8", "127.0.0.256", "[::1]", "::1%lo", "1.2.3.4:5",
		" 1.2.3.4", "0177.0.0.1", "2130706433" };
	struct address a;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(address_parse(bad[i], &a) == -1, "%s", bad[i]);
}
END_TEST

START_TEST(test_family)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "/x" };

	ck_assert_str_eq(address_refused((struct sockaddr *)&un, NULL, 0),
	    "an address that is not IP");
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("address");
	TCase *tc = tcase_create("address");

	tcase_add_loop_test(
	    tc, test_public, 0, sizeof(public) / sizeof(public[0]));
	tcase_add_loop_test(
	    tc, test_private, 0, sizeof(private) / sizeof(private[0]));
	tcase_add_test(tc, test_allow);
	tcase_add_test(tc, test_parse);
	tcase_add_test(tc, test_family);
	suite_add_tcase(s, tc);
	return (suite_run(s));
}
